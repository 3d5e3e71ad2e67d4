"""torch's dtypes on NumPy's."""
from __future__ import annotations

import builtins
import functools

import ml_dtypes
import numpy as np

from ...engine import context, half
from ...engine.record import trie as _trie
from ...ops import promotion as P
from . import settings


class dtype:
    """A torch dtype. `np` is the NumPy dtype that holds it."""
    __module__ = "torchshim"                   # where pickles find it and its instances
    __slots__ = ("name", "np", "is_floating_point", "is_complex", "is_signed", "itemsize")

    def __init__(self, name, np_dtype):
        self.name, self.np = name, np.dtype(np_dtype)
        kind = P.kind_of(self.np)
        self.is_floating_point, self.is_complex = kind == 2, kind == 3
        self.is_signed = kind >= 2 or self.np.kind == "i"
        self.itemsize = self.np.itemsize

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self

    @property
    def held(self):
        """The dtype of what lies in memory: integers under the levels of quantized tensors, else itself."""
        return self

    @property
    def abbr(self):
        """A short name: f32, i64, bf16, b8."""
        short = self.name.replace("bfloat16", "bf16").replace("complex", "c").replace("uint", "u").replace("bool", "b8")
        return (self.name if self.name[0] == "q" else short.replace("float", "f").replace("int", "i").replace("_", ""))

    def to_real(self):
        return {"complex32": float16, "complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self):
        try:
            return {"float16": complex32, "float32": complex64, "float64": complex128, "bfloat16": complex64, "complex32": complex32,
                    "complex64": complex64, "complex128": complex128}[self.name]
        except KeyError:
            raise RuntimeError(f"Unknown Complex ScalarType for {P.c_name(self.np)}") from None


class _Absent(dtype):
    """A dtype that JAX does not have: there is its name, but no dense tensor of it."""
    __module__ = "torchshim"
    __slots__ = ()

    def __init__(self, name, itemsize, why):
        kind = name[:3]
        self.name, self.itemsize, self.is_floating_point, self.is_complex = name, itemsize, kind == "flo", kind == "com"
        if kind not in ("qin", "qui"):
            self.is_signed = kind in ("com", "flo", "int")
        _ABSENT[name] = why

    def __getattr__(self, name):
        if name == "is_signed":
            raise RuntimeError("isSignedType not supported for quantized types")
        raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")

    @property
    def np(self):
        raise NotImplementedError(f"torchshim: torch.{self.name}: {_ABSENT[self.name]}")

    @property
    def held(self):
        return ALL.get(_HELD.get(self.name), self)


_ABSENT: dict = {}
_HELD = {"qint8": "int8", "quint8": "uint8", "qint32": "int32", "quint4x2": "uint8", "quint2x4": "uint8"}
ALL: dict = {}
FROM_NP: dict = {}
for _name, _np in (("float64", np.float64), ("float32", np.float32), ("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16),
                   ("float8_e4m3fn", ml_dtypes.float8_e4m3fn), ("float8_e5m2", ml_dtypes.float8_e5m2),
                   ("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz), ("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz),
                   ("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu),
                   ("complex32", P.complex32), ("complex64", np.complex64), ("complex128", np.complex128), ("int8", np.int8),
                   ("int16", np.int16), ("int32", np.int32), ("int64", np.int64), ("uint8", np.uint8), ("uint16", np.uint16),
                   ("uint32", np.uint32), ("uint64", np.uint64), ("bool", np.bool_)):
    ALL[_name] = FROM_NP[np.dtype(_np)] = dtype(_name, _np)
float64, float32, float16, bfloat16 = (ALL[n] for n in ("float64", "float32", "float16", "bfloat16"))
complex32, complex64, complex128 = (ALL[n] for n in ("complex32", "complex64", "complex128"))
int8, int16, int32, int64 = (ALL[n] for n in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64, bool = (ALL[n] for n in ("uint8", "uint16", "uint32", "uint64", "bool"))
for _name in [f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)] + ["bits1x8", "bits2x4", "bits4x2", "bits8",
                                                                                   "float4_e2m1fn_x2"]:
    ALL[_name] = _Absent(_name, 1, "torch computes nothing in it on the CPU either")
for _name, _size in (("qint8", 1), ("quint8", 1), ("qint32", 4), ("quint4x2", 1), ("quint2x4", 1)):
    ALL[_name] = _Absent(_name, _size, "quantize_per_tensor and its like make tensors of it, this does not")
ALL["bits16"] = _Absent("bits16", 2, "torch computes nothing in it on the CPU either")
ALIASES = {"float": float32, "double": float64, "half": float16, "long": int64, "int": int32, "short": int16,
           "chalf": complex32, "bit": ALL["uint1"], "cfloat": complex64, "cdouble": complex128}


def get_default_dtype():
    """The dtype of new floating tensors."""
    return FROM_NP[P.default_float]


#: What is told of a new default dtype.
default_changed: list = []


def set_default_dtype(d, /):
    """Set the dtype of new floating tensors and of what integers become where a float is needed."""
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    context.trace.flush()
    P.set_default_float(d.np)
    _trie.epoch = P.settings()                      # operators mean something else now: other traces
    context.trace.flush()
    for told in default_changed:
        told(d)


half.announce = functools.partial(settings.warn_once, "ComplexHalf support is experimental and many operators don't support it yet.")
_OF_PYTHON = {builtins.bool: bool, builtins.int: int64, builtins.float: float64, builtins.complex: complex128}


def of_python(x):
    """The dtype that a Python type stands for; anything else as it is."""
    return _OF_PYTHON.get(x, x) if isinstance(x, type) else x


def promote_types(type1, type2):
    """The smallest dtype that both can be cast to."""
    type1, type2 = of_python(type1), of_python(type2)
    for k, d in ((1, type1), (2, type2)):
        if not isinstance(d, dtype):
            raise TypeError(f"promote_types(): argument 'type{k}' (position {k}) must be torch.dtype, not {type(d).__name__}")
    return FROM_NP[P.promote(type1.np, type2.np)]


def can_cast(from_, to):
    """Whether torch's in-place rules allow the cast: no narrowing of kind."""
    from_, to = of_python(from_), of_python(to)
    for k, (what, d) in enumerate((("from_", from_), ("to", to)), 1):
        if not isinstance(d, dtype):
            raise TypeError(f"can_cast(): argument '{what}' (position {k}) must be torch.dtype, not {type(d).__name__}")
    return P.can_cast(from_.np, to.np)


@functools.cache
def _limits(d):
    """What `finfo` tells of a dtype."""
    real = d.to_real()
    i = ml_dtypes.finfo(real.np)
    resolution = float(10 ** -int(i.precision)) if d.name not in ("bfloat16",) else 0.01
    return real.name, real.itemsize * 8, float(i.eps), float(i.max), float(i.min), float(i.tiny), resolution


class finfo:
    """Limits of a floating dtype, as torch.finfo."""
    __module__ = "torchshim"
    __slots__ = ("dtype", "bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution")

    def __init__(self, type=None):
        d = of_python(type) or get_default_dtype()
        if not isinstance(d, dtype):
            raise TypeError(f"finfo(): argument 'type' (position 1) must be torch.dtype, not {d.__class__.__name__}")
        if not (d.is_floating_point or d.is_complex):
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        self.dtype, self.bits, self.eps, self.max, self.min, self.tiny, self.resolution = _limits(d)
        self.smallest_normal = self.tiny

    def __repr__(self):
        g = lambda v: f"{v:g}"
        return (f"finfo(resolution={g(self.resolution)}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo:
    """Limits of an integer dtype, as torch.iinfo."""
    __module__ = "torchshim"
    __slots__ = ("dtype", "bits", "max", "min")

    def __init__(self, type):
        type = of_python(type)
        if not isinstance(type, dtype):
            raise TypeError(f"iinfo(): argument 'type' (position 1) must be torch.dtype, not {type.__class__.__name__}")
        if type.held.np == P.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.is_floating_point or type.is_complex:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        i = np.iinfo(type.held.np)
        self.dtype, self.bits, self.max, self.min = type.name, i.bits, int(i.max), int(i.min)

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def np_dtype(x, default=None):
    """The NumPy dtype of a torch dtype, None or a Python type."""
    if x is None:
        return default
    d = of_python(x)
    if isinstance(d, dtype):
        return d.np
    raise TypeError(f"dtype must be torch.dtype, not {type(x).__name__}")
