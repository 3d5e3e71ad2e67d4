"""torch.autocast: matrix products in a shorter dtype, what needs precision in float32."""
from __future__ import annotations

import collections.abc
import functools
import warnings

import numpy as np

from .. import Tensor, bfloat16, device as _device, float16
from . import casting
from .casting import state

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def is_autocast_available(device_type):
    """Whether `autocast` works for a type of device. RuntimeError for what is none."""
    return _device(device_type).type in state.enabled


def _known(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    kind = _device(device_type).type
    if kind not in state.enabled:
        raise NotImplementedError(f"torchshim: autocast on {kind}")
    return kind


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is on in this thread, for a type of device."""
    return state.enabled.get(_device(device_type).type, False)


def set_autocast_enabled(device_type, enabled=None):
    """Switch autocast on or off (for "cuda", if no type is given)."""
    kind, enabled = ("cuda", device_type) if enabled is None else (_known(device_type), enabled)
    if bool(enabled) != state.enabled[kind]:
        casting.use(1 if enabled else -1)
        state.enabled[kind] = bool(enabled)


def get_autocast_dtype(device_type):
    """The dtype that autocast gives on a type of device."""
    kind = _device(device_type).type
    if kind not in state.dtypes:
        raise RuntimeError("unsupported scalarType")
    return state.dtypes[kind]


def set_autocast_dtype(device_type, dtype):
    """Choose the dtype that autocast gives on a type of device."""
    state.dtypes[_known(device_type)] = dtype


def is_autocast_cache_enabled():
    """Whether casts of parameters are kept."""
    return state.cache_enabled


def set_autocast_cache_enabled(enabled):
    """Choose whether casts of parameters are kept."""
    state.cache_enabled = enabled


def clear_autocast_cache():
    """Forget the casts of parameters."""
    state.cache.clear()


def autocast_increment_nesting():
    """One block more; returns how many there are."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting():
    """One block less; returns how many are left."""
    state.nesting -= 1
    return state.nesting


def _old(name, new, f):
    @functools.wraps(f)
    def deprecated(*args):
        warnings.warn(f"torch.{name}() is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=2)
        return f(*args)
    deprecated.__name__ = deprecated.__qualname__ = name
    return deprecated


is_autocast_cpu_enabled = _old("is_autocast_cpu_enabled", "is_autocast_enabled('cpu')", lambda: is_autocast_enabled("cpu"))
set_autocast_cpu_enabled = _old("set_autocast_cpu_enabled", "set_autocast_enabled('cpu', enabled)",
                                lambda on: set_autocast_enabled("cpu", on))
get_autocast_cpu_dtype = _old("get_autocast_cpu_dtype", "get_autocast_dtype('cpu')", lambda: get_autocast_dtype("cpu"))
set_autocast_cpu_dtype = _old("set_autocast_cpu_dtype", "set_autocast_dtype('cpu', dtype)", lambda d: set_autocast_dtype("cpu", d))
get_autocast_gpu_dtype = _old("get_autocast_gpu_dtype", "get_autocast_dtype('cuda')", lambda: get_autocast_dtype("cuda"))
set_autocast_gpu_dtype = _old("set_autocast_gpu_dtype", "set_autocast_dtype('cuda', dtype)", lambda d: set_autocast_dtype("cuda", d))
_ELSEWHERE = {"ipu": float16, "xla": bfloat16}       # what torch would cast to on devices that are not used here
for _kind in _ELSEWHERE:
    globals().update({name: _old(name, new, f) for name, new, f in (
        (f"is_autocast_{_kind}_enabled", f"is_autocast_enabled('{_kind}')", lambda kind=_kind: is_autocast_enabled(kind)),
        (f"set_autocast_{_kind}_enabled", f"set_autocast_enabled('{_kind}', enabled)",
         lambda on, kind=_kind: set_autocast_enabled(kind, on)),
        (f"get_autocast_{_kind}_dtype", f"get_autocast_dtype('{_kind}')", lambda kind=_kind: _ELSEWHERE[kind]),
        (f"set_autocast_{_kind}_dtype", f"set_autocast_dtype('{_kind}', dtype)", lambda d, kind=_kind: set_autocast_dtype(kind, d)))})


class autocast:
    """A block, or a decorated function, in which operators run in the dtypes of torch's lists.

    device_type: "cpu" or "cuda"; dtype: bfloat16 or float16 (default: `torch.get_autocast_dtype`); enabled: False to switch it off
    within; cache_enabled: whether a parameter is cast once for all its uses. Without a GPU "cuda" warns and does nothing.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        kind = self.device = _device(device_type).type
        self.fast_dtype = dtype if dtype is not None else state.dtypes.get(kind, bfloat16)
        self._cache_enabled = state.cache_enabled if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled)
        if not self._enabled:
            return
        if kind == "cpu" and self.fast_dtype not in (bfloat16, float16):
            warnings.warn("In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports dtypes "
                          "of torch.bfloat16, torch.float16 currently.", stacklevel=2)
            self._enabled = False
        elif kind == "cuda":
            from .. import cuda
            if not cuda.is_available():
                warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
                self._enabled = False
        elif kind not in state.enabled:
            warnings.warn(f"torchshim has no autocast on {kind}. Disabling autocast.", stacklevel=2)
            self._enabled = False

    def __enter__(self):
        if self.device in state.enabled:
            self._before = state.enabled[self.device], state.dtypes[self.device], state.cache_enabled
            set_autocast_enabled(self.device, self._enabled)
            state.dtypes[self.device] = self.fast_dtype
            state.cache_enabled = self._cache_enabled
            state.nesting += 1
        return self

    def __exit__(self, *exc):
        if self.device in state.enabled:
            state.nesting -= 1
            if not state.nesting:
                state.cache.clear()
            on, state.dtypes[self.device], state.cache_enabled = self._before
            set_autocast_enabled(self.device, on)
        return False

    def __call__(self, func):
        return autocast_decorator(self, func)


def _enter_autocast(*vals):
    """An autocast that is entered, as a step of a graph."""
    mode = autocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode):
    """Leave what `_enter_autocast` gave."""
    mode.__exit__(None, None, None)


def autocast_decorator(autocast_instance, func):
    """`func` called within an `autocast`."""
    @functools.wraps(func)
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)
    return decorate_autocast


def _cast(value, device_type, dtype):
    """Floating tensors of a type of device, but float64, in another dtype: alone or in containers."""
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype.itemsize < 8
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, collections.abc.Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(v, device_type, dtype) for v in value])
    if isinstance(value, collections.abc.Iterable):
        return (_cast(v, device_type, dtype) for v in value)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """A decorator for `forward` of an autograd.Function: its tensors are cast to `cast_inputs` and autocast is off within; without it,
    autocast goes on as it is, and `backward` will do as `forward` did."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args, **kwargs):
        args[0]._dtype = get_autocast_dtype(device_type)
        on = args[0]._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        args[0]._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))
    return decorate_fwd


def custom_bwd(bwd=None, *, device_type):
    """A decorator for `backward` of an autograd.Function: autocast is as it was in `forward`."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)
    return decorate_bwd
