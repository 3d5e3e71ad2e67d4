"""torch.ao.quantization.observer: modules that watch tensors go by and choose the scale and zero point that would hold them."""
from __future__ import annotations

import warnings
from collections import OrderedDict

import torchshim as torch

from ...dropin import missing_attribute as _missing_attribute
from ._granularity import (AffineQuantizedObserverBase, Granularity, MappingType, PerAxis, PerBlock, PerGroup, PerRow, PerTensor,  # noqa: F401
                           PerToken, TorchAODType, ZeroPointDomain, get_block_size)
from ._histogram import HistogramObserver
from ._observing import (_EPS, ObserverBase, UniformQuantizationObserverBase, _PartialWrapper, _with_args, _with_callable_args)  # noqa: F401
from .utils import is_per_channel, is_per_tensor


class MinMaxObserver(UniformQuantizationObserverBase):
    """Chooses from the smallest and the largest number ever seen. NotImplementedError for schemes with channels."""

    def __init__(self, dtype=torch.quint8, qscheme=torch.per_tensor_affine, reduce_range=False, quant_min=None, quant_max=None,
                 factory_kwargs=None, eps=_EPS, is_dynamic=False, **kwargs):
        if not is_per_tensor(qscheme):
            raise NotImplementedError("MinMaxObserver's qscheme only support torch.per_tensor_symmetric                     and "
                                      "torch.per_tensor_affine.")
        super().__init__(dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max,
                         factory_kwargs=factory_kwargs, eps=eps, is_dynamic=is_dynamic, **kwargs)
        factory_kwargs = torch.nn.factory_kwargs(factory_kwargs)
        self.register_buffer("min_val", torch.tensor(float("inf"), **factory_kwargs))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **factory_kwargs))
        if qscheme is torch.per_tensor_symmetric and reduce_range and dtype is torch.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric                                        quantization for quint8")

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        low, high = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
        self.min_val.copy_(torch.min(low, self.min_val))
        self.max_val.copy_(torch.max(high, self.max_val))
        return x_orig

    def calculate_qparams(self):
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self):
        self.min_val.copy_(torch.tensor(float("inf")))
        self.max_val.copy_(torch.tensor(float("-inf")))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Chooses from running means of the extremes; averaging_constant: the part of a new one."""

    def __init__(self, averaging_constant=0.01, dtype=torch.quint8, qscheme=torch.per_tensor_affine, reduce_range=False, quant_min=None,
                 quant_max=None, eps=_EPS, is_dynamic=False, **kwargs):
        if not is_per_tensor(qscheme):
            raise NotImplementedError("MovingAverageMinMaxObserver's qscheme only support                     torch.per_tensor_symmetric "
                                      f"and torch.per_tensor_affine.                     but got: {qscheme}")
        self.averaging_constant = averaging_constant
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError("MovingAverageMinMaxObserver doesn't support dynamic quantization for "
                                      f"averaging constant of {averaging_constant}")
        super().__init__(dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max, eps=eps,
                         is_dynamic=is_dynamic, **kwargs)

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        low, high = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
        min_val, max_val, c = self.min_val, self.max_val, self.averaging_constant
        first = (min_val == float("inf")) & (max_val == float("-inf"))
        min_val.copy_(torch.where(first, low, min_val + c * (low - min_val)))
        max_val.copy_(torch.where(first, high, max_val + c * (high - max_val)))
        return x_orig


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """A MinMaxObserver for each index along `ch_axis`."""

    def __init__(self, ch_axis=0, dtype=torch.quint8, qscheme=torch.per_channel_affine, reduce_range=False, quant_min=None, quant_max=None,
                 factory_kwargs=None, eps=_EPS, is_dynamic=False, **kwargs):
        if not is_per_channel(qscheme):
            raise NotImplementedError("PerChannelMinMaxObserver's qscheme only support                     torch.per_channel_symmetric, "
                                      "torch.per_channel_affine and torch.per_channel_affine_float_qparams.")
        if is_dynamic:
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max,
                         factory_kwargs=factory_kwargs, eps=eps, is_dynamic=is_dynamic, **kwargs)
        factory_kwargs = torch.nn.factory_kwargs(factory_kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", torch.tensor([], **factory_kwargs))
        self.register_buffer("max_val", torch.tensor([], **factory_kwargs))
        if qscheme is torch.per_channel_symmetric and reduce_range and dtype is torch.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def forward(self, x_orig):
        return self._forward(x_orig)

    def _extremes(self, x):
        order = list(range(x.dim()))
        order[self.ch_axis], order[0] = 0, self.ch_axis
        return torch.aminmax(torch.flatten(x.detach().permute(order).to(self.min_val.dtype), start_dim=1), dim=1)

    def _keep(self, low, high):
        for kept, now in ((self.min_val, low), (self.max_val, high)):
            kept.resize_(now.shape)
            kept.copy_(now)

    def _forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        low, high = self._extremes(x_orig)
        if self.min_val.numel() and self.max_val.numel():
            low, high = torch.min(low, self.min_val), torch.max(high, self.max_val)
        self._keep(low, high)
        return x_orig

    def calculate_qparams(self):
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        version = local_metadata.get("version")
        old = version is not None and version < 3
        for name, mine in (("min_val", self.min_val), ("max_val", self.max_val)):
            key = prefix + name + ("s" if old else "")
            if key in state_dict:              # as long as it is there
                mine.resize_(state_dict[key].shape)
            elif strict:
                missing_keys.append(key)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)

    def reset_min_max_vals(self):
        self.min_val, self.max_val = torch.rand(0), torch.rand(0)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """A MovingAverageMinMaxObserver for each index along `ch_axis`."""

    def __init__(self, averaging_constant=0.01, ch_axis=0, dtype=torch.quint8, qscheme=torch.per_channel_affine, reduce_range=False,
                 quant_min=None, quant_max=None, eps=_EPS, is_dynamic=False, **kwargs):
        if not is_per_channel(qscheme):
            raise NotImplementedError("MovingAveragePerChannelMinMaxObserver's qscheme only support                     "
                                      "torch.per_channel_symmetric, torch.per_channel_affine and torch.per_channel_affine_float_qparams.")
        if is_dynamic:
            raise NotImplementedError("MovingAveragePerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(ch_axis=ch_axis, dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max,
                         eps=eps, is_dynamic=is_dynamic, **kwargs)
        self.averaging_constant = averaging_constant

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        low, high = self._extremes(x_orig.detach().to(self.min_val.dtype))
        if self.min_val.numel() and self.max_val.numel():
            c = self.averaging_constant
            low, high = self.min_val + c * (low - self.min_val), self.max_val + c * (high - self.max_val)
        self._keep(low, high)
        return x_orig


class FixedQParamsObserver(ObserverBase):
    """Always chooses the scale and zero point that it was given."""

    def __init__(self, scale, zero_point, dtype=torch.quint8, qscheme=torch.per_tensor_affine, quant_min=0, quant_max=255, is_dynamic=False,
                 **kwargs):
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max, self.dtype, self.qscheme = quant_min, quant_max, dtype, qscheme
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int))

    def forward(self, X):
        return X

    def calculate_qparams(self):
        return self.scale, self.zero_point


class _Unwatching(ObserverBase):
    def forward(self, x):
        return x

    def calculate_qparams(self):
        raise Exception(f"calculate_qparams should not be called for {type(self).__name__}")


class PlaceholderObserver(_Unwatching):
    """Looks at nothing: it carries the dtype, for conversions that need no range."""

    def __init__(self, dtype=torch.float32, custom_op_name="", compute_dtype=None, quant_min=None, quant_max=None, qscheme=None, eps=None,
                 is_dynamic=False):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps, self.custom_op = quant_min, quant_max, _EPS if eps is None else eps, custom_op_name
        if compute_dtype:
            warnings.warn("Please use `is_dynamic` instead of `compute_dtype`.                     `compute_dtype` will be deprecated in a "
                          "future release                     of PyTorch.", stacklevel=2)

    def extra_repr(self):
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class RecordingObserver(_Unwatching):
    """Keeps copies of all tensors it sees, for debugging."""

    def __init__(self, dtype=torch.quint8):
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val = []

    def forward(self, x):
        self.tensor_val.append(x.clone())
        return x

    def get_tensor_value(self):
        """The copies."""
        return self.tensor_val


class NoopObserver(_Unwatching):
    """Looks at nothing: it carries the dtype."""

    def __init__(self, dtype=torch.float16, custom_op_name=""):
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name


class ReuseInputObserver(_Unwatching):
    """Stands where the scale and zero point of an input are to be taken over."""

    def __init__(self):
        super().__init__(torch.quint8, is_dynamic=False)


def _is_observer_script_module(mod, obs_type_name):
    """False: there are no scripted observers."""
    return False


def _is_activation_post_process(module):
    """Whether a module is an observer or a fake quantization."""
    from .fake_quantize import FakeQuantizeBase
    return isinstance(module, (ObserverBase, FakeQuantizeBase))


def _is_per_channel_script_obs_instance(module):
    """False: there are no scripted observers."""
    return False


def get_observer_state_dict(mod):
    """What the observers of a model have seen: those entries of its state_dict."""
    whole = mod.state_dict()
    found = OrderedDict((k, v) for k, v in whole.items() if "activation_post_process" in k)
    found._metadata = whole._metadata
    return found


def load_observer_state_dict(mod, obs_dict):
    """Let the observers of a model have seen what others did. Exception where entries are missing or too many."""
    missing, unexpected = [], []
    for name, module in mod.named_modules():
        if _is_activation_post_process(module):
            module._load_from_state_dict(obs_dict, name + ".", {}, False, missing, unexpected, [])
    for what, keys in (("Missing keys for observer {} in state_dict", missing),
                       ("Unexpected keys for observer {} in state_dict", unexpected)):
        for k in keys:
            if "observer" in k or "activation_post_process" in k:
                raise Exception(what.format(k))


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer, default_debug_observer = PlaceholderObserver, RecordingObserver
default_reuse_input_observer = ReuseInputObserver
default_weight_observer = MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2 ** -12)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-127, quant_max=127, eps=2 ** -12)
default_dynamic_quant_observer = PlaceholderObserver.with_args(dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint8, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint4x2, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0)
default_fixed_qparams_range_neg1to1_observer = default_symmetric_fixed_qparams_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=torch.quint8, quant_min=0, quant_max=255)
default_fixed_qparams_range_0to1_observer = default_affine_fixed_qparams_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=torch.quint8, quant_min=0, quant_max=255)

default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
__all__ = """default_affine_fixed_qparams_observer default_debug_observer default_dynamic_quant_observer
    default_fixed_qparams_range_0to1_observer default_fixed_qparams_range_neg1to1_observer default_float_qparams_observer
    default_float_qparams_observer_4bit default_histogram_observer default_observer default_per_channel_weight_observer
    default_placeholder_observer default_reuse_input_observer default_symmetric_fixed_qparams_observer default_weight_observer
    get_observer_state_dict load_observer_state_dict per_channel_weight_observer_range_neg_127_to_127 weight_observer_range_neg_127_to_127
    FixedQParamsObserver HistogramObserver MinMaxObserver MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver NoopObserver
    ObserverBase PerChannelMinMaxObserver PlaceholderObserver RecordingObserver ReuseInputObserver UniformQuantizationObserverBase
    AffineQuantizedObserverBase Granularity MappingType PerAxis PerBlock PerGroup PerRow PerTensor PerToken TorchAODType ZeroPointDomain
    get_block_size""".split()
__getattr__ = _missing_attribute(__name__)
