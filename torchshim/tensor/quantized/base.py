"""The class of quantized tensors, and who answers when a function is called with one (see tensor/kinds.py)."""
from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ...engine import array_of
from ...ops.registry import OPS, SF, SI, T
from ..api.bind import FUNCTIONS as F
from ..core import settings
from ..core.dispatch import apply_any
from ..core.dtype import ALL as DTYPES, dtype as dtype_class
from ..core.handle import TensorBase, read
from ..core.layout import strided
from ..core.qscheme import per_channel_affine, per_channel_affine_float_qparams, per_tensor_affine
from ..kinds import Answers, Kind

_answers = Answers()
handles, wraps = _answers.handles, _answers.wraps


class Levels(NamedTuple):
    """What a quantized dtype's levels are: kept as `held`, from `least` to `most`."""
    held: dtype_class
    least: int
    most: int


LEVELS = {DTYPES["qint8"]: Levels(DTYPES["int8"], -128, 127), DTYPES["quint8"]: Levels(DTYPES["uint8"], 0, 255),
          DTYPES["qint32"]: Levels(DTYPES["int32"], -2 ** 31, 2 ** 31 - 1), DTYPES["quint4x2"]: Levels(DTYPES["uint8"], 0, 15),
          DTYPES["quint2x4"]: Levels(DTYPES["uint8"], 0, 3)}
#: Elements that share a byte.
PACKED = {DTYPES["quint4x2"]: 2, DTYPES["quint2x4"]: 4}
C_NAMES = {DTYPES["qint8"]: "QInt8", DTYPES["quint8"]: "QUInt8", DTYPES["qint32"]: "QInt32", DTYPES["quint4x2"]: "QUInt4x2",
           DTYPES["quint2x4"]: "QUInt2x4"}


class PerTensor(NamedTuple):
    """One scale, a Python float, and one zero point, an int."""
    scale: float
    zero_point: int
    scheme = per_tensor_affine

    def same(self, other):
        return self == other


class PerChannel:
    """Tensors of scales and zero points for the indices along an axis: float64 and int64, or float32 both."""
    __slots__ = ("scales", "zero_points", "axis")

    def __init__(self, scales, zero_points, axis):
        self.scales, self.zero_points, self.axis = scales, zero_points, axis

    @property
    def scheme(self):
        return per_channel_affine_float_qparams if self.zero_points.is_floating_point() else per_channel_affine

    def same(self, other):
        return isinstance(other, PerChannel) and self.axis == other.axis and self.scheme is other.scheme and all(
            [F["equal"](a, b) for a, b in ((self.scales, other.scales), (self.zero_points, other.zero_points))])


class _Memory:
    """Stands where a dense tensor has its memory: operators that know no quantized tensors find out here."""
    __slots__ = ("tensor", "__weakref__")

    def __init__(self, tensor):
        self.tensor = tensor

    version = property(lambda self: self.tensor._ts_st.version, lambda self, n: setattr(self.tensor._ts_st, "version", n))
    gen = property(lambda self: self.tensor._ts_st.gen)

    @property
    def value(self):
        raise NotImplementedError("torchshim: an operator that knows dense tensors only was given a quantized one; dequantize() makes one "
                                  "of it")


class Quantized(Kind):
    """A quantized tensor: `_ints`, its levels as a tensor of integers, `_q`, a PerTensor or PerChannel, and its dtype."""
    __slots__ = ()
    _answers = _answers
    _ts_meta = property(lambda self: self._ints._ts_meta)
    _base = property(lambda self: None if self._ints._base is None else like(self, self._ints._base))
    _version = property(lambda self: self._ints._version)
    dtype = property(lambda self: self._dtype)
    is_quantized = property(lambda self: True)
    layout = property(lambda self: strided)

    @staticmethod
    def _refusal(name, args):
        return no_kernel(name.rpartition(".")[2].strip("_") if name.startswith("__") else name.removeprefix("nn.functional."))

    def __deepcopy__(self, memo):
        import copy
        if id(self) not in memo:
            copied = memo[id(self)] = like(self, copy.deepcopy(self._ints, memo))
            copied.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items() if k not in copied.__dict__})
        return memo[id(self)]

    def __copy__(self):
        return like(self, self._ints)


Quantized.__name__ = Quantized.__qualname__ = "Tensor"     # what it is called in torch
Quantized.__module__ = "torch"


def no_kernel(name):
    """torch's error where an operator has no kernel for quantized tensors."""
    return NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'QuantizedCPU' backend. This could be because the "
                               "operator doesn't exist for this backend; torchshim has none for quantized tensors either.")


_OLD = ("torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation functions that produce tensors with "
        "dtype torch.quint8, torch.qint8, and torch.qint32 are deprecated and will be removed in a future PyTorch release. Please see "
        "https://github.com/pytorch/pytorch/issues/184982 for more information.")


def made(ints, q, dtype):
    """A quantized tensor of levels that are there."""
    if dtype not in PACKED:
        settings.warn_once(_OLD)
    t = object.__new__(Quantized)
    t._ts_st = _Memory(ints)
    t._ts_view = t._ts_edge = t._ts_extra = None
    t.__dict__.update(_ints=ints, _q=q, _dtype=dtype)
    return t


def like(t, ints, q=None):
    """A quantized tensor of other levels with the same dtype, scale and zero point, or with another `q`."""
    return made(ints, t._q if q is None else q, t._dtype)


def become(t, ints, q=None):
    """Let `t` be another quantized tensor, in place."""
    t._ts_st = _Memory(ints)
    t.__dict__.update(_ints=ints, _q=t._q if q is None else q)
    return t


def is_quantized(x):
    """Whether something is a quantized tensor."""
    return x.__class__ is Quantized


def per_tensor(t, error=None):
    """The PerTensor of a tensor; RuntimeError where it has one for each channel."""
    if not isinstance(t._q, PerTensor):
        raise RuntimeError(error or "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.  (Could this error "
                                    "message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    return t._q


def host(t):
    """A dense tensor's numbers, computed if need be."""
    return np.asarray(array_of(read(t)))


# -- numbers to levels and back ---------------------------------------------------------------------------------------------
@functools.cache
def _op(name):
    return OPS[None, name]


def quantized(x, q, dtype, how=""):
    """A float32 tensor as levels; `how` kernels round, see ops/quantization.py."""
    return made(levels(x, q, dtype, how), q, dtype)


def levels(x, q, dtype, how=""):
    """The levels of a float32 tensor as a tensor of integers."""
    held, least, most = LEVELS[dtype]
    x = x.detach()
    if isinstance(q, PerTensor):
        return apply_any(_op("_levels"), (x,), (T, SF, SF, held.np, least, most, "apart" if most < 127 else how),
                         (q.scale, float(q.zero_point)), "ff")
    return apply_any(_op("_levels.channel"), (x, q.scales, q.zero_points), (T, T, T, q.axis, held.np, least, most))


def dequantized(t):
    """A quantized tensor's numbers as a float32 tensor."""
    q = t._q
    if isinstance(q, PerTensor):
        return apply_any(_op("_unlevelled"), (t._ints,), (T, SF, SI), (q.scale, q.zero_point), "fi")
    return apply_any(_op("_unlevelled.channel"), (t._ints, q.scales, q.zero_points), (T, T, T, q.axis))


def fused_dequantized(t):
    """The same as vectorised kernels compute it between: with a fused product and sum."""
    q = per_tensor(t)
    return apply_any(_op("_fused_unlevelled"), (t._ints,), (T, SF, SF), (q.scale, float(q.zero_point)), "ff")


def requantized(sums, multiplier, q, dtype, least=None, apart=True):
    """float32 sums times `multiplier`, a tensor, as a quantized tensor of `q`, with levels from `least` on."""
    held, low, high = LEVELS[dtype]
    layout = (T, T, SF, held.np, low if least is None else max(least, low), high, apart)
    return made(apply_any(_op("_requantized"), (sums, multiplier), layout, (float(q.zero_point),), "f"), q, dtype)


def fused_scaled(x, scale, bias):
    """x * scale + bias, tensors, with one rounding; bias may be None."""
    tensors = (x, scale) if bias is None else (x, scale, bias)
    return apply_any(_op("_fused_scaled"), tensors, (T, T, None if bias is None else T))


def number(x):
    """A Python number of a number or a tensor with one element."""
    return x.item() if isinstance(x, TensorBase) else x
