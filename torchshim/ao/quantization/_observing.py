"""The base classes of observers, and factories of them."""
from __future__ import annotations

import functools
import warnings
from abc import ABC, abstractmethod

import torchshim as torch

from ...nn import Module
from .utils import calculate_qmin_qmax, check_min_max_valid, validate_qmin_qmax

_EPS = 1.1920928955078125e-07


class _PartialWrapper:
    """A class with some of its arguments: called, it makes an instance. `callable_args` are asked for their values at that time."""

    def __init__(self, p):
        self.p, self.callable_args = p, {}

    def __call__(self, *args, **keywords):
        found = {name: made() for name, made in self.callable_args.items() if name not in keywords}
        return self.p(*args, **{**keywords, **found})

    def __repr__(self):
        return self.p.__repr__() + self.callable_args.__repr__()

    def with_args(self, **kwargs):
        """The same with more arguments."""
        return _with_args(self, **kwargs)

    def with_callable_args(self, **kwargs):
        """The same with more arguments that are made when an instance is."""
        made = _PartialWrapper(self.p)
        made.callable_args = {**self.callable_args, **kwargs}
        return made


def _with_args(cls_or_self, **kwargs):
    """A factory of instances with these arguments; it can be narrowed further by its own with_args."""
    made = _PartialWrapper(functools.partial(cls_or_self, **kwargs))
    return made


def _with_callable_args(cls_or_self, **kwargs):
    """A factory of instances whose arguments are made, by calling these, when an instance is."""
    return _PartialWrapper(functools.partial(cls_or_self)).with_callable_args(**kwargs)


class ObserverBase(ABC, Module):
    """Base class of observers: `forward` looks at a tensor and gives it back, `calculate_qparams` tells what was chosen.

    dtype: of the quantized tensors; is_dynamic: whether the choice is made anew for each tensor.
    """

    def __init__(self, dtype, is_dynamic=False):
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @abstractmethod
    def forward(self, x):
        """Look at x and return it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs):
        """(scale, zero point) as tensors."""

    with_args = classmethod(_with_args)
    with_callable_args = classmethod(_with_callable_args)


_SCHEMES = (torch.per_tensor_affine, torch.per_tensor_symmetric, torch.per_channel_affine, torch.per_channel_symmetric,
            torch.per_channel_affine_float_qparams)
_DTYPES = (torch.qint8, torch.quint8, torch.quint4x2, torch.qint32, torch.int8, torch.uint8, torch.int16, torch.int32, torch.float8_e5m2,
           torch.float8_e4m3fn, torch.uint16)


class UniformQuantizationObserverBase(ObserverBase):
    """Base class of observers that choose from a smallest and a largest number.

    quant_min, quant_max: the levels to use, both or none (then all of the dtype's, or half of them with reduce_range); eps: the least
    scale. AssertionError for schemes and dtypes that are not known and for levels that do not hold 0.
    """
    _version = 3

    def __init__(self, dtype=torch.quint8, qscheme=torch.per_tensor_affine, reduce_range=False, quant_min=None, quant_max=None,
                 factory_kwargs=None, eps=_EPS, is_dynamic=False, **kwargs):
        factory_kwargs = torch.nn.factory_kwargs(factory_kwargs)
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme, self.reduce_range = qscheme, reduce_range
        if reduce_range:
            warnings.warn("Please use quant_min and quant_max to specify the range for observers.                     reduce_range will be "
                          "deprecated in a future release of PyTorch.", stacklevel=2)
        self.register_buffer("eps", torch.tensor([eps], **factory_kwargs))
        if qscheme not in _SCHEMES:
            raise AssertionError("Default Observer only works for per_tensor_affine, per_tensor_symmetric, per_channel_affine, "
                                 "per_channel_symmetric and per_channel_float_qparams quantization scheme")
        if dtype not in _DTYPES:
            raise AssertionError(f"Default Observer only works for {_DTYPES} data type")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            validate_qmin_qmax(quant_min, quant_max)
        self.quant_min, self.quant_max = calculate_qmin_qmax(quant_min, quant_max, self.has_customized_qrange, dtype, reduce_range)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        if local_metadata.get("version") in (None, 1):
            state_dict[prefix + "eps"] = torch.tensor([_EPS])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def _validate_qmin_qmax(self, quant_min, quant_max):
        validate_qmin_qmax(quant_min, quant_max)

    def _calculate_qparams(self, min_val, max_val):
        """(scales, zero points) for ranges, each a tensor of one dimension."""
        if not check_min_max_valid(min_val, max_val):
            where = {"device": min_val.device.type}
            return torch.tensor([1.0], **where), torch.tensor([0], **where)
        least, most, scheme = self.quant_min, self.quant_max, self.qscheme
        low, high = torch.min(min_val, torch.zeros_like(min_val)), torch.max(max_val, torch.zeros_like(max_val))
        point = torch.zeros(low.size(), dtype=torch.int64, device=low.device)
        if scheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric):
            scale = torch.max(torch.max(-low, high) / (float(most - least) / 2), self.eps)
            middle = {torch.quint8: 128, torch.uint8: 128, torch.uint16: 2 ** 15}.get(self.dtype, 0)
            if self.has_customized_qrange and self.dtype in (torch.quint8, torch.uint8):
                middle = (least + most) // 2
            if middle:
                point = point.new_full(point.size(), middle)
        elif scheme is torch.per_channel_affine_float_qparams:
            scale = (max_val - min_val) / float(most - least)
            scale = torch.where(scale > self.eps, scale, torch.ones_like(scale))
            point = -1 * min_val / scale
        else:
            scale = torch.max((high - low) / float(most - least), self.eps)
            point = torch.clamp(least - torch.round(low / scale).to(torch.int), least, most)
        return scale.reshape(-1) if scale.dim() == 0 else scale, point.reshape(-1) if point.dim() == 0 else point

    def reset_min_max_vals(self):
        """Forget what was seen."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")


for _made in (ObserverBase, UniformQuantizationObserverBase, _PartialWrapper):
    _made.__module__ = "torch.ao.quantization.observer"
