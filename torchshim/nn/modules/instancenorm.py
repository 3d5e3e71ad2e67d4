"""InstanceNorm."""
from __future__ import annotations


from ...engine import warn
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase


class _InstanceNorm(_NormBase):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *,
                 bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self):
        """How many dimensions an input without a batch has."""
        return self._dims[0]

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        if local_metadata.get("version") is None and not self.track_running_stats:
            # before version 1 every instance norm kept running statistics
            names = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if names:
                names_text, klass = " and ".join(f'"{prefix}{name}"' for name in names), type(self).__name__
                error_msgs.append(f"Unexpected running stats buffer(s) {names_text} for {klass} with track_running_stats=False. If "
                                  "state_dict is a checkpoint saved before 0.4.0, this may be expected because "
                                  f"{klass} does not track running stats by default since 0.4.0. Please remove these keys from state_dict. "
                                  "If the running stats are actually needed, instead set track_running_stats=True in "
                                  f"{klass} to enable them. See the documentation of {klass} for details.")
                for name in names:
                    state_dict.pop(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def forward(self, input):
        self._check_input_dim(input)
        batched = input.dim() != self._get_no_batch_dim()
        c = input.shape[1 if batched else 0]
        if c != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={1 if batched else 0} to match num_features ({self.num_features}), but "
                                 f"got: {c}.")
            warn(f"input's size at dim={1 if batched else 0} does not match num_features. You can silence this warning by not "
                 "passing in num_features, which is not used because affine=False")
        x = input if batched else input.unsqueeze(0)
        y = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps)
        return y if batched else y.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Instance norm of (N, C, L) or (C, L)."""
    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance norm of (N, C, H, W) or (C, H, W)."""
    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance norm of (N, C, D, H, W) or (C, D, H, W)."""
    _dims = (4, 5)


class _LazyInstanceNorm(_LazyNormBase):
    """torch gives these affine parameters and running statistics by default, which the others have not."""

    def initialize_parameters(self, input):
        """Shapes from the input's channels, then the usual initialisation."""
        super().initialize_parameters(input if input.dim() == self._dims[1] else input.unsqueeze(0))


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """InstanceNorm1d that learns num_features from its first input."""
    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """InstanceNorm2d that learns num_features from its first input."""
    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """InstanceNorm3d that learns num_features from its first input."""
    cls_to_become = InstanceNorm3d
