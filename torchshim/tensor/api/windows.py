"""torch.*_window: windows for spectral analysis, symmetric, or one period of a periodic one."""
from __future__ import annotations

import math

from ...ops import promotion as P
from .bind import function
from .creation import ones, zeros
from .looked_up import looked_up
from .ranges import arange
from ..core.dtype import np_dtype


def _window(name, shape, doc):
    """torch.<name>_window from `shape(window of 0 … n - 1, n, *parameters)`."""
    def f(window_length, periodic=True, *parameters, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, **named):
        d, dense = np_dtype(dtype, P.default_float), layout is None or layout.name == "strided"
        if not dense or P.kind_of(d) < 2:
            lies = "Strided (default)" if layout is None else "Strided" if dense else "Sparse"
            raise RuntimeError(f"{name}_window " + ("expects floating point dtypes" if dense else "is not implemented for sparse types")
                               + f", got: TensorOptions(dtype={P.cpp_name(d)}, device=cpu, layout={lies}, requires_grad=false (default), "
                               "pinned_memory=false, memory_format=(nullopt))")
        if window_length < 0:
            raise RuntimeError(f"{name}_window requires non-negative window_length, got window_length={window_length}")
        if window_length < 2:
            if parameters or named:            # which of them there are is the shape's to say
                shape(arange(1), 2, *parameters, **named)
            return (ones if window_length else zeros)(window_length, dtype=dtype, device=device, requires_grad=requires_grad)
        if P.kind_of(d) == 3:
            raise NotImplementedError(f"\"arange_cpu\" not implemented for '{P.c_name(d)}'")
        n = window_length + 1 if periodic else window_length
        made = shape(arange(n, dtype=dtype or _default(), device=device), n, *parameters, **named)
        made = made[:window_length] if periodic else made
        return made.requires_grad_() if requires_grad else made
    f.__name__, f.__doc__ = name + "_window", f"{name}_window(window_length, periodic=True, …): {doc}"
    return function(name + "_window", method=False)(looked_up(f))


def _default():
    from ..core.dtype import get_default_dtype
    return get_default_dtype()


def _bartlett(k, n):
    rising = k * (2 / (n - 1))
    return rising.where(k < ((n - 1) >> 1) + 1, 2 - rising)


def _blackman(k, n):
    at = k * (math.pi / (n - 1))
    return (at * 4).cos() * 0.08 - (at * 2).cos() * 0.5 + 0.42


def _hamming(k, n, alpha=0.54, beta=0.46):
    return (k * (math.pi * 2 / (n - 1))).cos() * -beta + alpha


def _kaiser(k, n, beta=12.0):
    ratio = k * (2 / (n - 1)) - 1
    return (beta * (1 - ratio * ratio).clamp(min=0).sqrt()).i0() / k.new_tensor(beta).i0()


bartlett_window = _window("bartlett", _bartlett, "a triangle that is 0 at both ends.")
blackman_window = _window("blackman", _blackman, "three cosines; almost 0 at both ends.")
hamming_window = _window("hamming", _hamming, "alpha - beta * cos.")
hann_window = _window("hann", lambda k, n: _hamming(k, n, 0.5, 0.5), "a raised cosine.")
kaiser_window = _window("kaiser", _kaiser, "Bessel functions of shape `beta` (12).")
