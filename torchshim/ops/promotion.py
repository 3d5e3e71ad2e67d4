"""torch's type promotion on NumPy dtypes (https://docs.pytorch.org/docs/stable/tensor_attributes.html)."""
from __future__ import annotations

import ml_dtypes
import numpy as np

from ..engine.half import COMPLEX_HALF as complex32

bool_, uint8, int8, int16, int32, int64 = (np.dtype(n) for n in ("bool", "uint8", "int8", "int16", "int32", "int64"))
uint16, uint32, uint64 = (np.dtype(n) for n in ("uint16", "uint32", "uint64"))
float16, float32, float64 = (np.dtype(n) for n in ("float16", "float32", "float64"))
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")
bfloat16 = np.dtype(ml_dtypes.bfloat16)
float8_e4m3fn, float8_e5m2, float8_e8m0fnu = FLOAT8 = tuple([np.dtype(getattr(ml_dtypes, "float8_" + n)) for n in ("e4m3fn", "e5m2", "e8m0fnu")])

_FLOAT_RANK = {float16: 1, bfloat16: 1, float32: 2, float64: 3}
_SIGNED_RANK = {int8: 1, int16: 2, int32: 3, int64: 4}
NAMES = {d: d.name for d in (bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, float32, float64,
                             complex64, complex128, bfloat16)}
NAMES[complex32] = "complex32"
_C_NAMES = {bool_: "Bool", uint8: "Byte", int8: "Char", int16: "Short", int32: "Int", int64: "Long", uint16: "UInt16",
            uint32: "UInt32", uint64: "UInt64", float16: "Half", bfloat16: "BFloat16", float32: "Float", float64: "Double",
            complex64: "ComplexFloat", complex128: "ComplexDouble",
            complex32: "ComplexHalf"}
_CPP_NAMES = {bool_: "bool", uint8: "unsigned char", int8: "signed char", int16: "short int", int32: "int", int64: "long int",
              uint16: "short unsigned int", uint32: "unsigned int", uint64: "long unsigned int", float16: "c10::Half",
              bfloat16: "c10::BFloat16", float32: "float", float64: "double", complex64: "c10::complex<float>",
              complex128: "c10::complex<double>", complex32: "c10::complex<c10::Half>"}
_OLD_TYPES = {uint8, int8, int16, int32, int64, float16, float32, float64}
_C_TYPES = {float32: "float", float64: "double", float16: "c10::Half", bfloat16: "c10::BFloat16", complex64: "c10::complex<float>",
            complex32: "c10::complex<c10::Half>",
            float8_e4m3fn: "c10::Float8_e4m3fn", float8_e5m2: "c10::Float8_e5m2",
            **{d: f"{d.name}_t" for d in (int8, uint8, int16, int64, uint16, uint32, uint64)}, int32: "int"}
_COMPLEX_OF = {float16: complex32, float64: complex128}        # of all others it is complex64
_RANGES = {d: (int(np.iinfo(d).min), int(np.iinfo(d).max)) for d in (int8, int16, int32, int64, uint8, uint16, uint32, uint64)}
_LARGEST = {float32: 3.4028235677973366e38, complex64: 3.4028235677973366e38, float16: 65504.0, complex32: 65504.0,
            bfloat16: 3.3895313892515355e38, float8_e4m3fn: 448.0, float8_e5m2: 57344.0}
default_float = float32     # torch.get_default_dtype(); set through set_default_float
matmul_precision = "highest"
conv_tf32 = True            # torch.backends.cudnn.allow_tf32


def refuse_beyond(n, d, bad=False):
    """torch's error for a real Python number that is finite and becomes infinite, or does not fit, in dtype `d`; negative integers fit
    unsigned ones. bad: it does not, for another reason."""
    limits = _RANGES.get(d)
    if limits is not None:
        low, high = limits
        bad = bad or not (low <= n <= high or n.__class__ is int and low == 0 and -high <= n < 0)
    elif d in _LARGEST:
        bad = bad or abs(n) > _LARGEST[d] and (n.__class__ is int or n - n == 0 or d == float8_e4m3fn)
    if bad:
        raise RuntimeError(f"value cannot be converted to type {_C_TYPES.get(d, d.name)} without overflow")


def settings():
    """What of the process's state decides what an operator computes."""
    return default_float, matmul_precision, conv_tf32


def set_default_float(dtype):
    global default_float
    default_float = np.dtype(dtype)


def default_complex():
    return _COMPLEX_OF.get(default_float, complex64)


def c_name(d):
    """The name that torch's C++ errors use: Long for int64."""
    d = np.dtype(d)
    if d in _C_NAMES:
        return _C_NAMES[d]
    return "Float8_" + d.name.removeprefix("float8_")


def of_c_name(name):
    """The dtype that torch's C++ errors call so."""
    return next(d for d in _C_NAMES if _C_NAMES[d] == name)


def type_name(d):
    """torch's name of a tensor's type on the CPU: torch.FloatTensor, and CPUBoolType for those without a class of old."""
    d, name = np.dtype(d), c_name(d)
    return f"torch.{name}Tensor" if d in _OLD_TYPES else f"CPU{name}Type"


def cpp_name(d):
    """The C++ type that torch's errors name where they name no ScalarType: long int for int64."""
    d = np.dtype(d)
    return _CPP_NAMES.get(d) or f"c10::{c_name(d)}"


def kind_of(d):
    """0 bool, 1 integer, 2 floating, 3 complex."""
    k = d.kind
    return 0 if k == "b" else 1 if k in "iu" else 3 if k == "c" or d is complex32 else 2


def is_floating(d):
    return kind_of(d) == 2


def promote(a, b):
    """torch.promote_types."""
    if a == b:
        return a
    ka, kb = kind_of(a), kind_of(b)
    if ka < kb:
        a, b, ka, kb = b, a, kb, ka
    if ka == 3:
        if kb == 3 or kb == 2:
            b = b if kb == 3 else _COMPLEX_OF.get(b, complex64)
            return complex128 if complex128 in (a, b) else complex64 if complex64 in (a, b) else complex32
        return a
    if ka == 2:
        if kb < 2:
            return a
        ra, rb = _FLOAT_RANK.get(a), _FLOAT_RANK.get(b)
        if ra is None or rb is None:
            raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {c_name(a)} and {c_name(b)}")
        if ra == rb:
            return float32
        return a if ra > rb else b
    if kb == 0:
        return a
    sa, sb = _SIGNED_RANK.get(a), _SIGNED_RANK.get(b)
    if sa and sb:
        return a if sa > sb else b
    small, signed = (a, b) if sb else (b, a)
    if small == uint8 and (sa or sb):
        return int16 if signed == int8 else signed
    raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                       f"{c_name(a)} and {c_name(b)}")


def result_type(dimmed, zero_dim, numbers):
    """The common dtype of tensors with dimensions, 0-d tensors and Python numbers (kinds 'b', 'i', 'f', 'c')."""
    out = None
    for group in (dimmed, zero_dim):
        here = None
        for d in group:
            here = d if here is None else promote(here, d)
        out = _combine(out, here)
    here = None
    for k in numbers:
        d = bool_ if k == "b" else int64 if k == "i" else default_float if k == "f" else default_complex()
        here = d if here is None else promote(here, d)
    return _combine(out, here)


def _combine(higher, lower):
    """A category of lower priority matters only when it is of a higher kind."""
    if higher is None or lower is None:
        return higher if lower is None else lower
    if kind_of(lower) > kind_of(higher):
        if kind_of(lower) == 3 and kind_of(higher) == 2:
            return _COMPLEX_OF.get(higher, complex64)
        return promote(higher, lower) if kind_of(higher) == 2 else lower
    return higher


def compute_dtype(d):
    """What torch's kernels compute in: float32 for half and bfloat16."""
    return complex64 if d is complex32 else float32 if d in (float16, bfloat16) or d.name.startswith("float8") else d


def can_cast(src, dst):
    """torch.can_cast: no narrowing of kind."""
    return kind_of(src) <= kind_of(dst)
