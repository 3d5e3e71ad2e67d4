"""What computes ATen's operators of distances, samples, pooling and losses that no public function is: see `kernels`."""
from __future__ import annotations

import torchshim as torch

from ..nn import functional as F

_REDUCTIONS = ("none", "mean", "sum")
_CDIST = {None: "use_mm_for_euclid_dist_if_necessary", 0: "use_mm_for_euclid_dist_if_necessary", 1: "use_mm_for_euclid_dist",
          2: "donot_use_mm_for_euclid_dist"}


def _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim=1):
    if (list(expand1), list(expand2), list(expand3), list(sumdim)) == ([1, 3], [0], [1, 2], [2, 3]):
        return F.bilinear(i1, i3, i2)
    made = 1
    for x, dims in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for d in dims:
            x = x.unsqueeze(d)
        made = made * x
    return made.sum(tuple(sumdim)) if sumdim else made


def _unique(with_dim):
    def kernel(self, *args, sorted=True, return_inverse=False, return_counts=False):
        dim, rest = (args[0], args[1:]) if with_dim else (None, args)
        sorted, inverse, counts = [*rest, *(sorted, return_inverse, return_counts)[len(rest):]]
        made = torch.unique(self, sorted=sorted, return_inverse=True, return_counts=True, dim=dim)
        nothing = self.new_empty(0, dtype=torch.int64)
        return made[0], made[1] if inverse or with_dim else nothing, made[2] if counts or with_dim else nothing
    return kernel


def _unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    made = torch.unique_consecutive(self, return_inverse=True, return_counts=True, dim=dim)
    nothing = self.new_empty(0, dtype=torch.int64)
    return made[0], made[1] if return_inverse else nothing, made[2] if return_counts else nothing


def _unpool(self, indices, output_size, *rest):
    lead = self.shape[:self.ndim - len(output_size)]
    flat = self.new_zeros(*lead, torch.Size(output_size).numel())
    flat.scatter_(-1, indices.reshape(*lead, -1), self.reshape(*lead, -1))
    return flat.view(*lead, *output_size)


def _fractional(n):
    f = getattr(F, f"fractional_max_pool{n}d")
    return lambda self, kernel_size, output_size, random_samples: tuple(f(
        self, tuple(kernel_size), output_size=tuple(output_size), return_indices=True, _random_samples=random_samples))


def _ctc(log_probs, targets, input_lengths, target_lengths, blank=0, zero_infinity=False):
    most = int(max(target_lengths))
    alpha = log_probs.new_empty(log_probs.shape[1] if log_probs.ndim > 2 else 1, log_probs.shape[0], 2 * most + 1)   # nobody reads it here
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, "none"), alpha


def _nll2d(self, target, weight, reduction, ignore_index):
    from .kernels import _nll_forward
    return _nll_forward(self, target, weight, reduction, ignore_index)


def _multilabel(self, target, reduction=1):
    rows = target.reshape(-1, target.shape[-1])
    listed = (rows >= 0).cumprod(-1)
    marked = torch.zeros_like(rows).scatter_add_(-1, rows.clamp(min=0), listed).clamp(max=1)
    return F.multilabel_margin_loss(self, target, reduction=_REDUCTIONS[reduction]), marked.view_as(target).to(self.dtype)


def _resized(n, mode):
    def kernel(self, size, *rest):
        from .kernels import _resized
        corners, scales = (rest[0], rest[1:]) if mode not in ("nearest", "nearest-exact") else (None, rest)
        return _resized(self, size, scales, mode, corners)
    return kernel


def _antialiased(mode):
    return lambda self, size, align_corners, *scales: F.interpolate(self, size=tuple(size), mode=mode, align_corners=align_corners,
                                                                    antialias=True)


def _padded(mode):
    return lambda self, padding: F.pad(self, tuple(padding), mode)


KERNELS = {
    "_cdist_forward": lambda x1, x2, p, compute_mode: torch.cdist(x1, x2, p, _CDIST[2 if compute_mode is None else compute_mode]),
    "_euclidean_dist": lambda x1, x2: torch.cdist(x1, x2, compute_mode=_CDIST[1]),
    "_pdist_forward": lambda self, p=2.0: F.pdist(self, p), "_trilinear": _trilinear,
    "_conj": lambda self: self.conj(), "promote_types": lambda type1, type2: torch.promote_types(type1, type2),
    **{f"normal.{kind}": lambda mean, std=1.0, *, generator=None: torch.normal(mean, std, generator=generator)
       for kind in ("Tensor_float", "float_Tensor", "Tensor_Tensor")},
    **{name: lambda *args, pin_memory=None, layout=None, f=name, **named: getattr(torch, f)(*args, **named)
       for name in ("logspace", "kaiser_window", "bartlett_window", "blackman_window")},
    "linalg_matrix_exp": torch.linalg.matrix_exp,
    "_unique2": _unique(False), "unique_dim": _unique(True), "unique_consecutive": _unique_consecutive,
    "im2col": lambda self, kernel_size, dilation, padding, stride: F.unfold(self, kernel_size, dilation, padding, stride),
    "col2im": lambda self, output_size, kernel_size, dilation, padding, stride: F.fold(
        self, output_size, kernel_size, dilation, padding, stride),
    "affine_grid_generator": lambda theta, size, align_corners: F.affine_grid(theta, size, align_corners),
    "_ctc_loss": _ctc, "_ctc_loss.Tensor": _ctc, "nll_loss2d_forward": _nll2d, "multilabel_margin_loss_forward": _multilabel,
    "soft_margin_loss": lambda self, target, reduction=1: F.soft_margin_loss(self, target, reduction=_REDUCTIONS[reduction]),
    "multi_margin_loss": lambda self, target, p=1, margin=1, weight=None, reduction=1: F.multi_margin_loss(
        self, target, p, margin, weight, reduction=_REDUCTIONS[reduction]),
    "max_unpool2d": _unpool, "max_unpool3d": _unpool,
    **{f"fractional_max_pool{n}d": _fractional(n) for n in (2, 3)},
    **{f"adaptive_max_pool{n}d": lambda self, output_size, f=getattr(F, f"adaptive_max_pool{n}d"): tuple(f(self, output_size, True))
       for n in (2, 3)},
    "_adaptive_avg_pool3d": F.adaptive_avg_pool3d,
    "max_pool3d_with_indices": lambda self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False: tuple(F.max_pool3d(
        self, kernel_size, stride or None, padding, dilation, ceil_mode, return_indices=True)),
    "avg_pool3d": lambda self, kernel_size, stride=(), *rest: F.avg_pool3d(self, kernel_size, stride or None, *rest),
    **{f"{kind}_pad{n}d": _padded(mode) for kind, mode in (("reflection", "reflect"), ("replication", "replicate")) for n in (1, 2, 3)},
    **{f"upsample_{mode}{n}d": _resized(n, mode) for n, modes in ((1, ("nearest", "linear")), (2, ("bicubic",)), (
        3, ("nearest", "trilinear"))) for mode in modes},
    **{f"_upsample_nearest_exact{n}d": _resized(n, "nearest-exact") for n in (1, 2, 3)},
    **{f"_upsample_{mode}2d_aa": _antialiased(mode) for mode in ("bilinear", "bicubic")},
    "rrelu_with_noise": lambda self, noise, lower=0.125, upper=1 / 3, training=False, generator=None: F.rrelu(self, lower, upper, training),
}
