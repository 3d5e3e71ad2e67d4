"""What is computed with quantized tensors: on the levels where that gives the same, else on the numbers,
which are rounded to levels again."""
from __future__ import annotations

import numpy as np

from ...ops.promotion import c_name
from ..api.bind import FUNCTIONS as F
from ..core.dtype import ALL as DTYPES
from ..core.handle import TensorBase
from .base import (C_NAMES, LEVELS, PerTensor, dequantized, fused_dequantized, handles, is_quantized, levels, like, made, no_kernel,
                   per_tensor, quantized, wraps)
from .. import kinds

_LANES = {DTYPES["qint32"]: 16}               # elements of one turn of a vectorised loop; 64 of the smaller dtypes


def _whole(n, dtype):
    """How many of n elements come in whole turns of a vectorised loop."""
    return n - n % _LANES.get(dtype, 64)


def numbers(s):
    """What kernels of one or two tensors see: fused products in whole turns of a vectorised loop, plain ones in the rest."""
    n = s._ints._ts_meta.numel
    whole = _whole(n, s._dtype)
    if per_tensor(s).zero_point == 0 or not whole:
        return dequantized(s)
    if whole == n:
        return fused_dequantized(s)
    flat = like(s, s._ints.reshape(-1))
    head, tail = like(flat, flat._ints[:whole]), like(flat, flat._ints[whole:])
    return F["cat"]([fused_dequantized(head), dequantized(tail)]).reshape(s.shape)


def rounded(x, q, dtype):
    """Numbers that such kernels computed as levels: the zero point is added after rounding in whole turns, before it in the rest."""
    n = x._ts_meta.numel
    whole = _whole(n, dtype) if dtype is not DTYPES["qint32"] else 0
    if whole == n or not whole:
        return quantized(x, q, dtype, "apart" if whole else "")
    flat = x.reshape(-1)
    return made(F["cat"]([levels(flat[:whole], q, dtype, "apart"), levels(flat[whole:], q, dtype)]).reshape(x.shape), q, dtype)


def computed(s, f, q=None):
    """f(numbers) as levels of `q`, or of the tensor itself."""
    return rounded(f(numbers(s)), q or per_tensor(s), s._dtype)


def joined(tensors, dim, q, relu=False):
    """Tensors behind each other as levels of `q`."""
    if all([t._q == q for t in tensors]) and not relu:
        return made(F["cat"]([t._ints for t in tensors], dim), q, tensors[0]._dtype)
    x = F["cat"]([dequantized(t) for t in tensors], dim)
    return quantized(F["relu"](x) if relu else x, q, tensors[0]._dtype, "fused")


def level_of(s, x):
    """The level nearest to a Python number, as a Python int."""
    q, (_, least, most) = per_tensor(s), LEVELS[s._dtype]
    found = np.rint(np.float32(x) * (np.float32(1) / np.float32(q.scale))) + q.zero_point
    return int(min(max(found, least), most))


def relu(s):
    """Nothing below the zero point."""
    return like(s, s._ints.clamp_min(per_tensor(s).zero_point))


def clamp(s, low, high):
    """Levels between those of two numbers; None: no limit."""
    per_tensor(s)
    return like(s, s._ints.clamp(None if low is None else level_of(s, low), None if high is None else level_of(s, high)))


def _inplace(s, out, inplace):
    if not inplace:
        return out
    s._ints.copy_(out._ints)
    return s


@handles("relu", "nn.functional.relu")
def _relu(input, inplace=False):
    return _inplace(input, relu(input), inplace)


handles("relu_", "nn.functional.relu_")(lambda s: _inplace(s, relu(s), True))


@handles("nn.functional.relu6")
def _relu6(input, inplace=False):
    return _inplace(input, clamp(input, 0., 6.), inplace)


@handles("nn.functional.hardtanh")
def _hardtanh(input, min_val=-1., max_val=1., inplace=False):
    return _inplace(input, clamp(input, min_val, max_val), inplace)


@handles("nn.functional.hardtanh_")
def _hardtanh_(input, min_val=-1., max_val=1.):
    return _inplace(input, clamp(input, min_val, max_val), True)


@handles("clamp", "clip")
def _clamp(s, min=None, max=None):
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return clamp(s, min, max)


@handles("clamp_min")
def _clamp_min(s, min):
    raise no_kernel("clamp_min.out")


@handles("nn.functional.threshold", "threshold")
def _threshold(input, threshold, value, inplace=False):
    return computed(input, lambda x: F["where"](x > threshold, x, float(value)))


def leaky_relu(s, slope, q=None):
    """Negative numbers times `slope`."""
    return computed(s, lambda x: F["where"](x > 0, x, x * float(np.float32(slope))), q)


@handles("nn.functional.leaky_relu", "leaky_relu")
def _leaky_relu(input, negative_slope=0.01, inplace=False):
    return _inplace(input, leaky_relu(input, negative_slope), inplace)


@handles("nn.functional.gelu", "gelu")
@wraps
def _gelu(func, input, approximate="none"):
    q = per_tensor(input)
    return computed(input, lambda x: func(x, approximate=approximate), PerTensor(float(np.float32(q.scale)), q.zero_point))


_UNIT = {DTYPES["quint8"]: PerTensor(1 / 256, 0), DTYPES["qint8"]: PerTensor(1 / 256, -128), DTYPES["qint32"]: PerTensor(2. ** -32, 0)}
_SIGNED_UNIT = {DTYPES["quint8"]: PerTensor(2 / 256, 128), DTYPES["qint8"]: PerTensor(2 / 256, 0),
                DTYPES["qint32"]: PerTensor(2. ** -31, 0)}


def sigmoid(s, q=None):
    """1 / (1 + exp(-x)), by default in 256ths."""
    return computed(s, F["sigmoid"], q or _UNIT[s._dtype])


handles("sigmoid", "nn.functional.sigmoid")(lambda input: sigmoid(input))
handles("tanh", "nn.functional.tanh")(lambda input: computed(input, F["tanh"], _SIGNED_UNIT[input._dtype]))


def hardsigmoid(s):
    """min(max(x + 3, 0), 6) / 6 in 256ths."""
    return computed(s, lambda x: (x + 3).clamp(0, 6) / 6, _UNIT[s._dtype])


@handles("nn.functional.hardsigmoid", "hardsigmoid")
def _hardsigmoid(input, inplace=False):
    return hardsigmoid(input)


@handles("nn.functional.dropout", "dropout", "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.dropout1d")
def _dropout(input, p=0.5, training=True, inplace=False):
    if training:
        raise no_kernel("bernoulli_.float")
    return input


# -- comparisons ------------------------------------------------------------------------------------------------------------
def _compared(names):
    for name in names.split():
        @handles(name, f"__{name}__")
        @wraps
        def f(func, s, other, *, out=None, _name=name):
            a, b = [dequantized(x) if is_quantized(x) else x for x in (s, other)]
            return F[_name](a, b) if isinstance(a, TensorBase) else getattr(b, f"__{_name}__")(a)


_compared("eq ne lt le gt ge")


@handles("equal")
def equal(s, other):
    if not (is_quantized(s) and is_quantized(other)) or s._dtype is not other._dtype or type(s._q) is not type(other._q):
        return False
    return s._q.same(other._q) and bool(F["equal"](s._ints, other._ints))


@handles("allclose", "isclose")
def allclose(*args, **kwargs):
    raise RuntimeError("isclose is not supported for quantized inputs.")


handles("__contains__")(lambda s, x: bool((s == x).any()))


# -- extremes, order, means ---------------------------------------------------------------------------------------------------
_MAX = ("{} operator for quantized tensors only works for per tensor quantized tensors. Please open an issue on "
        "https://github.com/pytorch/pytorch/issues if you need per channel quantized tensor support.")


def _of_levels(name, error=None):
    @handles(name)
    @wraps
    def f(func, s, *args, **kwargs):
        per_tensor(s, error)
        out = kinds.unasked(func)(s._ints, *args, **kwargs)
        if isinstance(out, tuple):
            return type(out)((like(s, out[0]), out[1]))
        return out if name == "argsort" else like(s, out)


for _name in ("max", "min"):
    _of_levels(_name, _MAX.format(_name.capitalize()))
_of_levels("sort")
_of_levels("argsort")
_of_levels("topk", "Top-K is only supported on per-tensor quantization")
_of_levels("msort")


def _inner(s, dim):
    """The number of elements of the last dimensions, where `dim` names these and they lie close together; else None."""
    n = s.dim()
    dims = (sorted({d % n for d in ([dim] if isinstance(dim, int) else dim)}) if n and dim is not None and dim != [] and dim != ()
            else list(range(n)))
    if not s._ints.is_contiguous() or not dims or dims != list(range(n - len(dims), n)):
        return None
    count = 1
    for d in dims:
        count *= s.shape[d]
    return count


@handles("mean")
def mean(s, dim=None, keepdim=False, *, dtype=None, out=None):
    """Means of the levels over the last dimensions, rounded; of the numbers over others."""
    q, (held, least, most) = per_tensor(s), LEVELS[s._dtype]
    count = _inner(s, dim)
    if count is None:
        return quantized(dequantized(s).mean(dim, keepdim), q, s._dtype)
    total = s._ints.sum(dim, keepdim, dtype=DTYPES["int64"]) if dim is not None else s._ints.sum(dtype=DTYPES["int64"])
    return made((total.to(DTYPES["float32"]) * float(np.float32(1) / np.float32(count))).round().clamp(least, most).to(held), q, s._dtype)


@handles("std")
@wraps
def std(func, s, *args, **kwargs):
    q = per_tensor(s)
    return quantized(kinds.unasked(func)(dequantized(s), *args, **kwargs), q, s._dtype)


# -- what torch cannot do ----------------------------------------------------------------------------------------------------
def _arithmetic(names):
    for name in names.split():
        @handles(name, f"__{name}__", f"__r{name}__", f"__i{name}__", f"{name}_")
        def f(s, other=None, *args, _name=name, **kwargs):
            dense = next((x for x in (s, other) if isinstance(x, TensorBase) and not is_quantized(x) and x.dim()), None)
            if dense is not None:
                mine = C_NAMES[(other if is_quantized(other) else s)._dtype]
                theirs = c_name(dense._ts_meta.dtype)
                raise RuntimeError("promoteTypes with quantized numbers is not handled yet; figure out what the correct rules should be, "
                                   "offending types: " + (f"{mine} {theirs}" if is_quantized(s) else f"{theirs} {mine}"))
            if not is_quantized(other) or not is_quantized(s):
                raise RuntimeError("empty_strided not supported on quantized tensors yet see "
                                   "https://github.com/pytorch/pytorch/issues/74540")
            raise no_kernel({"truediv": "div", "floordiv": "floor_divide"}.get(_name, _name) + ".out")


_arithmetic("add sub mul truediv div floordiv")


def scaled(s, x):
    """A quantized tensor times a Python number: the same levels, or those mirrored, with another scale."""
    q, (_, least, most) = per_tensor(s), LEVELS[s._dtype]
    if x > 0:
        return like(s, s._ints, PerTensor(q.scale * x, q.zero_point))
    if x < 0:
        return like(s, (most + least) - s._ints, PerTensor(-x * q.scale, most + least - q.zero_point))
    return like(s, F["zeros_like"](s._ints), PerTensor(1., 0))
