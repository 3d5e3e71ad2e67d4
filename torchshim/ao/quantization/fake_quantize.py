"""torch.ao.quantization.fake_quantize: modules that round tensors as quantized ones would be, while they watch them."""
from __future__ import annotations

from abc import ABC, abstractmethod

import torchshim as torch

from ...dropin import missing_attribute as _missing_attribute
from ...nn import Module
from .observer import (FixedQParamsObserver, HistogramObserver, MovingAverageMinMaxObserver,
                       MovingAveragePerChannelMinMaxObserver, _with_args, default_fixed_qparams_range_0to1_observer,
                       default_fixed_qparams_range_neg1to1_observer)
from .utils import is_per_channel, is_per_tensor


class FakeQuantizeBase(ABC, Module):
    """Base class of these modules. The buffers `fake_quant_enabled` and `observer_enabled` switch rounding and watching."""

    def __init__(self):
        super().__init__()
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.uint8))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.uint8))

    @abstractmethod
    def forward(self, x):
        """x, rounded."""

    @abstractmethod
    def calculate_qparams(self, **kwargs):
        """(scale, zero point) as tensors."""

    def enable_fake_quant(self, enabled=True):
        """Let it round."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self):
        """Let it not round."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled=True):
        """Let it watch."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self):
        """Let it not watch."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs):
        """A factory of instances with these arguments."""
        made = _with_args(cls, **kwargs)
        made.__module__ = "torch.ao.quantization.fake_quantize"
        return made


class FakeQuantize(FakeQuantizeBase):
    """Rounds to levels whose scale and zero point an observer chooses.

    observer: its class or factory, which gets the other arguments; quant_min, quant_max: the levels. AssertionError where these are more
    than the dtype has, or the observer's scheme is not known.
    """

    def __init__(self, observer=MovingAverageMinMaxObserver, quant_min=None, quant_max=None, is_dynamic=False, **observer_kwargs):
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            dtype = observer_kwargs.get("dtype", torch.quint8)
            if hasattr(observer, "p"):
                dtype = getattr(observer.p, "keywords", {}).get("dtype", dtype)
            if torch.iinfo(dtype).min > quant_min:
                raise AssertionError("quant_min out of bound")
            if quant_max > torch.iinfo(dtype).max:
                raise AssertionError("quant_max out of bound")
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = watcher = observer(**observer_kwargs)
        self.quant_min, self.quant_max, self.is_dynamic = watcher.quant_min, watcher.quant_max, watcher.is_dynamic
        whole = watcher.qscheme is not torch.per_channel_affine_float_qparams
        self.register_buffer("scale", torch.tensor([1.0], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([0], dtype=torch.int if whole else torch.float))
        self.dtype, self.qscheme, self.ch_axis = watcher.dtype, watcher.qscheme, getattr(watcher, "ch_axis", -1)
        if not (is_per_channel(self.qscheme) or is_per_tensor(self.qscheme)):
            raise AssertionError(f"Only per channel and per tensor quantization are supported in fake quantize got qscheme: {self.qscheme}")
        self.is_per_channel = is_per_channel(self.qscheme)

    def calculate_qparams(self):
        return self.activation_post_process.calculate_qparams()

    def forward(self, X):
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            for kept, now in zip((self.scale, self.zero_point), self.calculate_qparams()):
                if kept.shape != now.shape:
                    kept.resize_(now.shape)
                kept.copy_(now)
        if self.fake_quant_enabled[0] == 1:
            watcher = self.activation_post_process
            if self.is_per_channel:
                return torch.fake_quantize_per_channel_affine(X, self.scale, self.zero_point, self.ch_axis, watcher.quant_min,
                                                              watcher.quant_max)
            return torch.fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, watcher.quant_min, watcher.quant_max)
        return X

    def extra_repr(self):
        watcher = self.activation_post_process
        return (f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, quant_min={watcher.quant_min}, "
                f"quant_max={watcher.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, ch_axis={self.ch_axis}, scale={self.scale}, "
                f"zero_point={self.zero_point}")

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"], destination[prefix + "zero_point"] = self.scale, self.zero_point

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        for name in ("scale", "zero_point"):
            key = prefix + name
            if key in state_dict:
                getattr(self, name).resize_(state_dict[key].shape)
            elif strict:
                missing_keys.append(key)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounds with the scale and zero point of a FixedQParamsObserver. AssertionError for other observers."""

    def __init__(self, observer):
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(f"{self.__class__.__name__}'s observer must be a {FixedQParamsObserver.__name__}")
        self._observer_ctr = observer
        self.scale, self.zero_point = self.activation_post_process.scale, self.activation_post_process.zero_point
        if not is_per_tensor(self.qscheme):
            raise AssertionError(f"Only per tensor quantization is supported FixedQParamsFakeQuantize module, got qscheme:{self.qscheme}")

    def calculate_qparams(self):
        return self.scale, self.zero_point

    def extra_repr(self):
        watcher = self.activation_post_process
        return (f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale={self.scale}, "
                f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={watcher.quant_min}, quant_max={watcher.quant_max}, "
                f"qscheme={self.qscheme}")


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """Watches, chooses and rounds in one operator. AssertionError for observers without running means."""

    def __init__(self, observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **observer_kwargs):
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        if not isinstance(self.activation_post_process, (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)):
            raise AssertionError("Fused observer+fake_quant module only works with MovingAverageMinMaxObserver")
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.long))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.long))
        self.is_symmetric_quant = self.activation_post_process.qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric)

    def extra_repr(self):
        watcher = self.activation_post_process
        return (f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale={self.scale}, "
                f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={watcher.quant_min}, quant_max={watcher.quant_max}, "
                f"qscheme={self.qscheme}, reduce_range={watcher.reduce_range}")

    def forward(self, X):
        watcher = self.activation_post_process
        return torch.fused_moving_avg_obs_fake_quant(
            X, self.observer_enabled, self.fake_quant_enabled, watcher.min_val, watcher.max_val, self.scale, self.zero_point,
            watcher.averaging_constant, watcher.quant_min, watcher.quant_max, self.ch_axis, self.is_per_channel, self.is_symmetric_quant)


_MEAN, _MEANS = MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver
_ACTIVATION = dict(quant_min=0, quant_max=255, dtype=torch.quint8)
_WEIGHT = dict(quant_min=-128, quant_max=127, dtype=torch.qint8)
_NARROW = dict(quant_min=-127, quant_max=127, dtype=torch.qint8)
_ONE, _MANY = dict(qscheme=torch.per_tensor_symmetric), dict(qscheme=torch.per_channel_symmetric)
_FLOATING = dict(qscheme=torch.per_channel_affine_float_qparams)
default_fake_quant = FakeQuantize.with_args(observer=_MEAN, **_ACTIVATION, qscheme=torch.per_tensor_affine, reduce_range=True)
default_weight_fake_quant = FakeQuantize.with_args(observer=_MEAN, **_WEIGHT, **_ONE, reduce_range=False)
default_dynamic_fake_quant = FakeQuantize.with_args(observer=_MEAN, quant_min=0, quant_max=255, is_dynamic=True, dtype=torch.quint8,
                                                    averaging_constant=1)
default_fixed_qparams_range_neg1to1_fake_quant = default_symmetric_fixed_qparams_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer)
default_fixed_qparams_range_0to1_fake_quant = default_affine_fixed_qparams_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(observer=_MEANS, **_WEIGHT, **_MANY, reduce_range=False, ch_axis=0)
default_embedding_fake_quant = FakeQuantize.with_args(observer=_MEANS, **_FLOATING, dtype=torch.quint8, quant_min=0,
                                                      quant_max=255, ch_axis=0, averaging_constant=1)
default_embedding_fake_quant_4bit = FakeQuantize.with_args(observer=_MEANS, **_FLOATING, ch_axis=0, dtype=torch.quint4x2,
                                                           averaging_constant=1)
default_histogram_fake_quant = FakeQuantize.with_args(observer=HistogramObserver, **_ACTIVATION, qscheme=torch.per_tensor_affine,
                                                      reduce_range=True)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(observer=_MEAN, **_ACTIVATION)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(observer=_MEAN, **_WEIGHT, **_ONE)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(observer=_MEANS, **_WEIGHT, **_MANY)
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(observer=_MEAN, **_NARROW, **_ONE, eps=2 ** -12)
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(observer=_MEANS, **_NARROW, **_MANY,
                                                                                               eps=2 ** -12)


def _switch(name):
    def switch(mod):
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, name)()
    switch.__doc__ = f"`model.apply({name})`: {name}() of the modules that have it."
    switch.__name__ = switch.__qualname__ = name
    return switch


disable_fake_quant, enable_fake_quant, disable_observer, enable_observer = map(
    _switch, ("disable_fake_quant", "enable_fake_quant", "disable_observer", "enable_observer"))
__all__ = [n for n in list(globals()) if not n.startswith("_") and ("fake_quant" in n or n in (
    "FakeQuantizeBase", "FakeQuantize", "FixedQParamsFakeQuantize", "FusedMovingAvgObsFakeQuantize", "disable_observer",
    "enable_observer"))]
__getattr__ = _missing_attribute(__name__)
