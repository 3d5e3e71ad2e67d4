"""The functions of torch.masked: what the mask leaves out is filled with what does not matter to the reduction.

mask: a boolean tensor that broadcasts with the input; None means all. dtype: of the result, and of what is computed.
"""
from __future__ import annotations

import math

import numpy as np

from ..ops import promotion as P
from ..tensor.api.bind import FUNCTIONS
from ..tensor.core.dtype import ALL as DTYPES, get_default_dtype
from ..tensor.core.handle import TensorBase

_fill = FUNCTIONS["where"]


def _least(dtype):
    d = dtype.np
    return -math.inf if P.kind_of(d) > 1 else False if P.kind_of(d) == 0 else int(np.iinfo(d).min)


def _greatest(dtype):
    d = dtype.np
    return math.inf if P.kind_of(d) > 1 else True if P.kind_of(d) == 0 else int(np.iinfo(d).max)


def _checked(name, input, mask):
    """The mask in the input's shape."""
    if not isinstance(input, TensorBase):
        raise TypeError(f"masked.{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    if mask is None:
        return None
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.to(DTYPES["bool"]).broadcast_to(input.shape)


def _filled(name, input, mask, value, dtype=None):
    """input with `value` (or value(dtype)) where the mask is false."""
    mask = _checked(name, input, mask)
    x = input if dtype is None else input.to(dtype)
    if mask is None:
        return x
    return _fill(mask, x, x.new_full((), value(x.dtype) if callable(value) else value))


def _dims(dim, ndim):
    if dim is None:
        return tuple(range(ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum along dimensions; 0 of nothing."""
    x = _filled("sum", input, mask, 0)
    return x.sum(_dims(dim, x.ndim), keepdim, dtype=dtype) if x.ndim else x.sum(dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product along dimensions; 1 of nothing."""
    x = _filled("prod", input, mask, 1)
    if not x.ndim:
        return x.prod(dtype=dtype)
    for d in sorted((d % x.ndim for d in _dims(dim, x.ndim)), reverse=True):
        x = x.prod(d, keepdim, dtype=dtype)
    return x


def cumsum(input, dim, *, dtype=None, mask=None):
    """Sums so far."""
    x = _filled("cumsum", input, mask, 0, dtype)
    return x.cumsum(dim, dtype=x.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Products so far."""
    x = _filled("cumprod", input, mask, 1, dtype)
    return x.cumprod(dim, dtype=x.dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest elements; the smallest number there is of nothing."""
    x = _filled("amax", input, mask, _least, dtype)
    return x.amax(_dims(dim, x.ndim), keepdim)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest elements; the largest number there is of nothing."""
    x = _filled("amin", input, mask, _greatest, dtype)
    return x.amin(_dims(dim, x.ndim), keepdim)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the largest element is, in the input's dtype."""
    x = _filled("argmax", input, mask, _least, dtype)
    return x.argmax(dim, keepdim).to(x.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the smallest element is, in the input's dtype."""
    x = _filled("argmin", input, mask, _greatest, dtype)
    return x.argmin(dim, keepdim).to(x.dtype)


def _count(input, dim, keepdim, mask, dtype):
    """How many elements take part."""
    ones = input.new_ones(input.shape, dtype=DTYPES["int64"])
    return sum(ones, dim, keepdim=keepdim, mask=mask).to(dtype)


def _floating(dtype, x):
    """The dtype of a mean."""
    return dtype if dtype is not None else x.dtype if P.kind_of(x.dtype.np) > 1 else get_default_dtype()


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean along dimensions; nan of nothing."""
    if dtype is None and P.kind_of(input.dtype.np) < 2:
        raise ValueError("mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
                         f"{input.dtype}")
    dtype = dtype or input.dtype
    _checked("mean", input, mask)
    if mask is None:
        return input.to(dtype).mean(_dims(dim, input.ndim), keepdim)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, keepdim, mask, dtype)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The (lower) median along a dimension; torch has it for floating dtypes where there is a mask."""
    dtype = input.dtype if dtype is None else dtype
    if mask is None:
        return input.to(dtype).median(dim, keepdim).values
    if P.kind_of(dtype.np) != 2:
        raise ValueError(f"input must be floating-point but got {dtype}")
    return _filled("median", input, mask, math.nan, dtype).nanmedian(dim, keepdim).values


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of order `ord` along dimensions."""
    from ..tensor.api.bind import NAMESPACES
    x = _filled("norm", input, mask, math.inf if ord < 0 else 0, dtype)
    return NAMESPACES["linalg"]["vector_norm"](x, ord, _dims(dim, x.ndim), keepdim, dtype=dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """input divided by its norm along `dim`, or by eps where that is larger."""
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask).clamp_min(eps)
    return _filled("normalize", input, mask, 0, dtype) / size


def _spread(name, input, dim, unbiased, correction, keepdim, dtype, mask):
    correction = (1 if unbiased is None or unbiased else 0) if correction is None else correction
    dtype = _floating(dtype, input)
    _checked(name, input, mask)
    x = input.to(dtype)
    centre = sum(x, dim, keepdim=True, mask=mask) / _count(input, dim, True, mask, dtype)
    gap = x - centre
    count = (_count(input, dim, keepdim, mask, DTYPES["int64"]) - correction).clamp_min(0)
    return sum(gap * gap.conj() if gap.is_complex() else gap * gap, dim, keepdim=keepdim, mask=mask) / count.to(dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance along dimensions; `unbiased` is correction=1."""
    return _spread("var", input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation along dimensions."""
    return _spread("std", input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def softmax(input, dim, *, dtype=None, mask=None):
    """Exponentials that sum to 1 along `dim`."""
    return _filled("softmax", input, mask, -math.inf, dtype).softmax(dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of softmax."""
    return _filled("log_softmax", input, mask, -math.inf, dtype).log_softmax(dim)


def softmin(input, dim, *, dtype=None, mask=None):
    """The softmax of -input."""
    return (-_filled("softmin", input, mask, math.inf, dtype)).softmax(dim)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log of the sum of the exponentials along dimensions."""
    x = _filled("logsumexp", input, mask, _least, dtype)
    return x.logsumexp(_dims(dim, x.ndim), keepdim).to(x.dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)), where each is -inf where its mask is false."""
    return _filled("logaddexp", input, input_mask, -math.inf, dtype).logaddexp(
        _filled("logaddexp", other, other_mask, -math.inf, dtype))
