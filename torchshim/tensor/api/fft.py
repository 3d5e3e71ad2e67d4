"""torch.fft: every transform from the three kernels, with torch's sizes, dimensions and normalizations."""
from __future__ import annotations

import math

from ...ops import fft as F
from ...ops import promotion as P
from ...ops.common import wrap_dim
from .bind import call, function
from .looked_up import looked_up
from .out import into
from .ranges import arange
from .reduction import need_tensor
from ..core.dtype import get_default_dtype, np_dtype

fft = dict(method=False, namespace="fft", out=True)
_SCALES = {"forward": {None: "none", "backward": "none", "forward": "n", "ortho": "root"},
           "inverse": {None: "n", "backward": "n", "forward": "none", "ortho": "root"}}


def scale_of(norm, forward):
    """What a norm mode divides by in this direction: "none", "n" or "root"."""
    scales = _SCALES["forward" if forward else "inverse"]
    if norm not in scales:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return scales[norm]


_TRUTH = "a transform takes ints, not bool"    # the parser's words are others


def one_dim(x, n, dim, halved=False):
    """(dimension, size) of a transform along one dimension."""
    if not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, x.ndim)
    if n.__class__ is bool or dim.__class__ is bool:
        raise TypeError(_TRUTH)
    size = x.shape[d] if n is None else n
    if n is None and halved:
        size = 2 * (x.shape[d] - 1)
    if size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified")
    return d, size


def many_dims(x, s, dim):
    """(dimensions, sizes) of a transform along several; -1 stands for the size that is there."""
    if isinstance(s, int):
        s = (s,)
    if isinstance(dim, int):
        dim = (dim,)
    if bool in map(type, (*(s or ()), *(dim or ()))):          # to a cache True is 1
        raise TypeError(_TRUTH)
    if dim is not None:
        if not x.ndim and dim:
            raise IndexError(f"Dimension specified as {dim[0]} but tensor has no dimensions")
        dims = tuple(wrap_dim(d, x.ndim) for d in dim)
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dim):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > x.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions.")
        dims = tuple(range(x.ndim - len(s), x.ndim))
    else:
        dims = tuple(range(x.ndim))
    sizes = tuple(x.shape[d] if n == -1 else n for d, n in zip(dims, s if s is not None else (-1,) * len(dims)))
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return dims, sizes


def real_input(x, text):
    if x.is_complex():
        raise RuntimeError(f"{text}, but got {P.c_name(x.dtype.np)}")


def at_least_one(name, dims):
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


# -- along one dimension ----------------------------------------------------------------------------------------------------------
def _c2c(name, forward, doc):
    def f(input, n=None, dim=-1, norm=None, *, axis=None):
        dim = dim if axis is None else axis
        need_tensor("fft_" + name, input)
        d, size = one_dim(input, n, dim)
        scale = scale_of(norm, forward)
        if input.is_complex():
            return call(F.fft_c2c, (input, (d,), (size,), scale, forward))
        made = call(F.fft_r2c, (input, (d,), (size,), scale, False))
        return made if forward else made.conj()
    f.__name__, f.__doc__ = name, doc
    return function(name, **fft)(looked_up(f))


_c2c("fft", True, "The discrete Fourier transform along one dimension.")
_c2c("ifft", False, "The inverse of fft.")


@function(**fft)
@looked_up
def rfft(input, n=None, dim=-1, norm=None, *, axis=None):
    """The first n // 2 + 1 numbers of the transform of a real signal; the others are their conjugates."""
    dim = dim if axis is None else axis
    need_tensor("fft_rfft", input)
    real_input(input, "rfft expects a real input tensor")
    d, size = one_dim(input, n, dim)
    return call(F.fft_r2c, (input, (d,), (size,), scale_of(norm, True), True))


@function(**fft)
@looked_up
def ihfft(input, n=None, dim=-1, norm=None, *, axis=None):
    """The inverse of hfft."""
    dim = dim if axis is None else axis
    need_tensor("fft_ihfft", input)
    real_input(input, "ihfft expects a real input tensor")
    d, size = one_dim(input, n, dim)
    return call(F.fft_r2c, (input, (d,), (size,), scale_of(norm, False), True)).conj()


@function(**fft)
@looked_up
def irfft(input, n=None, dim=-1, norm=None, *, axis=None):
    """The inverse of rfft: n real numbers."""
    dim = dim if axis is None else axis
    need_tensor("fft_irfft", input)
    d, size = one_dim(input, n, dim, halved=True)
    return call(F.fft_c2r, (input, (d,), (size // 2 + 1,), scale_of(norm, False), size))


@function(**fft)
@looked_up
def hfft(input, n=None, dim=-1, norm=None, *, axis=None):
    """The transform of a signal that is Hermitian, given by its first half: n real numbers."""
    dim = dim if axis is None else axis
    need_tensor("fft_hfft", input)
    d, size = one_dim(input, n, dim, halved=True)
    x = input.conj() if input.is_complex() else input
    return call(F.fft_c2r, (x, (d,), (size // 2 + 1,), scale_of(norm, True), size))


# -- along several ------------------------------------------------------------------------------------------------------------------
def _complex_n(forward):
    def f(input, s=None, dim=None, norm=None):
        dims, sizes = many_dims(input, s, dim)
        return call(F.fft_c2c, (input, dims, sizes, scale_of(norm, forward), forward))
    return f


def _rfftn(input, s=None, dim=None, norm=None):
    real_input(input, "rfftn expects a real-valued input tensor")
    dims, sizes = many_dims(input, s, dim)
    at_least_one("rfftn", dims)
    return call(F.fft_r2c, (input, dims, sizes, scale_of(norm, True), True))


def _half_sizes(name, input, s, dim):
    """What the kernel of irfftn and hfftn takes: the sizes of its input, and of the last dimension of its output."""
    if s is not None and not isinstance(s, int) and dim is None and len(s) > input.ndim:
        many_dims(input, s, dim)
    last_given = s is not None and (s if isinstance(s, int) else (s[-1] if len(s) else -1)) != -1
    dims, sizes = many_dims(input, s, dim)
    at_least_one(name, dims)
    last = sizes[-1] if last_given else 2 * (input.shape[dims[-1]] - 1)
    if last < 1:
        raise RuntimeError(f"Invalid number of data points ({last}) specified")
    return dims, sizes[:-1] + (last // 2 + 1,), last


def _irfftn(input, s=None, dim=None, norm=None):
    dims, sizes, last = _half_sizes("irfftn", input, s, dim)
    return call(F.fft_c2r, (input, dims, sizes, scale_of(norm, False), last))


def _hfftn(input, s=None, dim=None, norm=None):
    dims, sizes, last = _half_sizes("hfftn", input, s, dim)
    scale = scale_of(norm, True)
    x = input
    if len(dims) > 1:
        x = call(F.fft_c2c, (x, dims[:-1], sizes[:-1], scale, True))
    return call(F.fft_c2r, (x.conj() if x.is_complex() else x, dims[-1:], sizes[-1:], scale, last))


def _ihfftn(input, s=None, dim=None, norm=None):
    if input.is_complex():
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {P.c_name(input.dtype.np)}")
    dims, sizes = many_dims(input, s, dim)
    at_least_one("ihfftn", dims)
    scale = scale_of(norm, False)
    x = call(F.fft_r2c, (input, dims[-1:], sizes[-1:], scale, True)).conj()
    return call(F.fft_c2c, (x, dims[:-1], sizes[:-1], scale, False)) if len(dims) > 1 else x


def _several(name, f, doc):
    def g(input, s=None, dim=None, norm=None, *, axis=None):
        need_tensor(f"fft_{name}n", input)
        return f(input, s, dim if axis is None else axis, norm)
    g.__name__, g.__doc__ = name + "n", doc + " along all dimensions, or those in `dim`, with the sizes `s`."
    function(name + "n", **fft)(looked_up(g))

    def two(input, s=None, dim=(-2, -1), norm=None, *, axis=None):
        need_tensor(f"fft_{name}2", input)
        return f(input, s, dim if axis is None else axis, norm)
    two.__name__, two.__doc__ = name + "2", doc + " along two dimensions."
    function(name + "2", **fft)(looked_up(two))


_several("fft", _complex_n(True), "The discrete Fourier transform")
_several("ifft", _complex_n(False), "The inverse transform")
_several("rfft", _rfftn, "The transform of real numbers")
_several("irfft", _irfftn, "The inverse of rfft")
_several("hfft", _hfftn, "The transform of Hermitian signals")
_several("ihfft", _ihfftn, "The inverse of hfft")


# -- frequencies and shifts ---------------------------------------------------------------------------------------------------------
def _frequency_dtype(name, dtype):
    d = np_dtype(dtype, P.default_float)
    if P.kind_of(d) < 2:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if P.kind_of(d) == 3:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{P.c_name(d)}'")


def _inverse(x):
    return 1.0 / x if x else math.copysign(math.inf, x)


def _frequencies(name, n, d, count, dtype, device, requires_grad, out):
    """Steps of 1 / (n d), as many as `count` says; fftfreq's are below zero from the middle on."""
    _frequency_dtype(name, dtype if out is None else out.dtype)
    if out is not None and dtype is not None and np_dtype(dtype) != out._ts_meta.dtype:
        raise RuntimeError(f"dtype {P.c_name(np_dtype(dtype))} does not match dtype of out parameter ({P.c_name(out._ts_meta.dtype)})")
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    made = arange(count, dtype=dtype or (get_default_dtype() if out is None else out.dtype), device=device)
    if name == "fftfreq" and n:
        made = made.where(made < n - n // 2, made - n)
    if n or count:
        made = made * (_inverse(n * d) if n else math.inf)
    return made.requires_grad_(requires_grad) if out is None else into(out, made, f"fft_{name}")


@function("fftfreq", method=False, namespace="fft")
def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The frequencies that fft's numbers belong to, for samples `d` apart."""
    return _frequencies("fftfreq", n, d, n, dtype, device, requires_grad, out)


@function("rfftfreq", method=False, namespace="fft")
def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The frequencies that rfft's numbers belong to, for samples `d` apart."""
    return _frequencies("rfftfreq", n, d, int(n / 2) + 1, dtype, device, requires_grad, out)


def _shift(name, amount, doc):
    def f(input, dim=None, *, axis=None):
        dim = dim if axis is None else axis
        need_tensor("fft_" + name, input)
        dims = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
        return input.roll([amount(input.shape[wrap_dim(d, input.ndim)]) for d in dims], dims)
    f.__name__, f.__doc__ = name, doc
    function(name, method=False, namespace="fft")(f)


_shift("fftshift", lambda n: n // 2, "Moves the zero frequency to the middle.")
_shift("ifftshift", lambda n: (n + 1) // 2, "The inverse of fftshift.")
