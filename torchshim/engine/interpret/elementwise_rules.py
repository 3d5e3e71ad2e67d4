"""NumPy rules for the elementwise primitives; see rules.py for what a rule is."""
from __future__ import annotations

import functools
import math
from typing import Callable

import numpy as np

from .. import errorfunction
from . import quotients
from .rules import ELEMENTWISE, F32, F64, RULES, Make, Spec, category, elementwise, known_call, plain
from .shared import alone, shared, writes

# Below this many elements the loops that ml_dtypes and NumPy bring for narrow floats win over
# three conversions; above it float32 arithmetic does.
_NATIVE_LOW_LIMIT = 2048


@functools.lru_cache(maxsize=None)
def _native_low(ufunc: np.ufunc, dtype: np.dtype) -> bool:
    """Whether `ufunc` has a loop of its own for this narrow float dtype."""
    try:
        args = [np.ones((1,), dtype)] * ufunc.nin
        return ufunc(*args).dtype in (dtype, np.bool_)
    except TypeError:
        return False


def through_float32(fn: Callable, ins: list[Spec], outs: list[Spec]) -> Callable:
    """`fn` on float32 copies of the narrow operands, its result rounded once."""
    narrow = [category(s.dtype) == "low" for s in ins]
    out = outs[0].dtype
    rounds = category(out) == "low"
    if len(ins) == 1 and rounds:
        return lambda x: fn(x.astype(F32)).astype(out)
    if narrow == [True, True] and rounds:
        return lambda x, y: fn(x.astype(F32), y.astype(F32)).astype(out)

    def low(*xs):
        result = fn(*[x.astype(F32) if n else x for x, n in zip(xs, narrow)])
        return result.astype(out) if rounds else result

    return low


def _declare(name: str, fn: Callable, kinds: str) -> None:
    """An elementwise primitive that is one function of its operands, for dtypes of `kinds`."""
    allowed = kinds.split()

    def make(params, ins, outs):
        kind = category(ins[0].dtype)
        if kind not in allowed:
            return None
        if kind == "low":
            if isinstance(fn, np.ufunc) and outs[0].size <= _NATIVE_LOW_LIMIT and _native_low(fn, ins[0].dtype):
                return fn
            return through_float32(fn, ins, outs)
        return fn.of(ins[0]) if fn.__class__ is _Rounded else fn

    elementwise(name)(make)


def _sign(x):
    return np.copysign(np.sign(x), x)  # XLA keeps the sign of zero


_HUGE = {F32: np.float32(2.0 ** 127), F64: np.float64(2.0 ** 1023)}


def _sign_of_many(x):
    """The same: NumPy's loops for signs are not vectorised. The smallest number is at least 1 after it was multiplied twice."""
    huge = _HUGE[x.dtype]
    y = np.multiply(x, huge)
    np.multiply(y, huge, y)
    return y.clip(-huge / huge, huge / huge, y)


_MANY_SIGNS = 1 << 12


class _Rounded:
    """`f` of float32 by way of float64, up to `most` elements: NumPy's own float32 loops, faster, are off in the last place for every
    third number, and torch's and XLA's are not. `after`: what is made of it."""

    def __init__(self, f, most, after=None):
        self.f, self.most, self.after = f, most, after

    def _by_wide(self, x, *more):
        return self.f(x.astype(F64), *[y.astype(F64) for y in more]).astype(F32)

    def _alone_by_wide(self, x):
        wide = x.astype(F64)
        return self.f(wide, wide).astype(F32)

    def of(self, spec):
        """The function for arrays of this dtype and shape."""
        f, after, g = self.f, self.after, self.f
        if spec.dtype == F32 and spec.size <= self.most:
            g = self._alone_by_wide if f.nin == 1 and spec.shape else self._by_wide
        return g if after is None else after(g, spec)

    def __call__(self, x, *more):
        return self.of(x)(x, *more)


def _logistic_by(exp, spec):
    """1 / (1 + exp(-x)), in place where there is an array."""
    if spec.shape == ():
        return lambda x: 1 / (1 + exp(-x))
    one = np.ones((), spec.dtype)              # NumPy takes an array without dimensions faster than a number

    def logistic(x, out=None):
        y = np.negative(x, out)
        y = exp(y, y) if exp is np.exp else exp(y)
        return np.divide(one, np.add(y, one, y), y if out is None else out)
    return writes(logistic, 4)


_exp, _tanh = _Rounded(np.exp, 1 << 14), _Rounded(np.tanh, 1 << 14)
# Up to where float64 takes about what torch takes: every third to tenth number of NumPy's float32 loops is not torch's. The logarithm
# stays: there torch's own differs, and exp(x).log() shows it.
_log1p, _expm1, _exp2 = [_Rounded(f, 1 << 12) for f in (np.log1p, np.expm1, np.exp2)]
_sin, _cos = _Rounded(np.sin, 1 << 8), _Rounded(np.cos, 1 << 8)
_tan, _atan, _sinh, _cosh, _asin, _acos = [_Rounded(f, 1 << 14) for f in (np.tan, np.arctan, np.sinh, np.cosh, np.arcsin, np.arccos)]
_atan2 = _Rounded(np.arctan2, 1 << 12)
_logistic = _Rounded(np.exp, 1 << 14, _logistic_by)


@functools.partial(writes, passes=2)
def _rsqrt(x, out=None):
    out = np.sqrt(x, out)
    return np.divide(1, out, out) if x.shape else 1 / out


# Of two equal operands the second, in both tiers: it shows in the sign of zeros. Most of NumPy's loops do that, not those of all
# processors.
_SECOND = bool(np.signbit(np.maximum(np.zeros(67, F32), -np.zeros(67, F32))).all()
               and np.signbit(np.minimum(np.zeros(1, F32), np.array([-0.0], F32))).all())
_greater = np.maximum if _SECOND else lambda x, y: np.where((x > y) | (x != x), x, y)
_smaller = np.minimum if _SECOND else lambda x, y: np.where((x < y) | (x != x), x, y)

# What is first the larger of `low` and x, then the smaller of `high` and that, for numbers: NumPy's clip goes through memory once. Of two
# equal ones it takes x's, where it does on this processor.
CLIPS = _SECOND and all([(np.signbit(np.full(n, -a, F32).clip(low, high)) != np.signbit(a)).all()
                         for n in (3, 67) for a in (F32.type(0), -F32.type(0)) for low, high in ((a, F32.type(1)), (F32.type(-1), a))])


_ANY = "bool int uint float complex low"
_NUMBERS = "int uint float complex low"
_INEXACT = "float complex low"
_REAL = "float low"

for _name, _fn, _kinds in [
    ("neg", np.negative, _NUMBERS),
    ("abs", np.absolute, "int uint float complex low"),
    ("add", np.add, _NUMBERS),
    ("add_any", np.add, _NUMBERS),
    ("sub", np.subtract, _NUMBERS),
    ("max", _greater, _ANY),
    ("min", _smaller, _ANY),
    ("square", np.square, _NUMBERS),
    ("one_minus_square", lambda x: (1 + x) * (1 - x), _NUMBERS),
    ("eq", np.equal, _ANY),
    ("ne", np.not_equal, _ANY),
    ("lt", np.less, "bool int uint float low"),
    ("le", np.less_equal, "bool int uint float low"),
    ("gt", np.greater, "bool int uint float low"),
    ("ge", np.greater_equal, "bool int uint float low"),
    ("and", np.bitwise_and, "bool int uint"),
    ("or", np.bitwise_or, "bool int uint"),
    ("xor", np.bitwise_xor, "bool int uint"),
    ("not", np.invert, "bool int uint"),
    ("shift_left", np.left_shift, "int uint"),
    ("exp", _exp, _INEXACT),
    ("exp2", _exp2, _INEXACT),
    ("expm1", _expm1, _INEXACT),
    ("log", np.log, _INEXACT),
    ("log2", np.log2, _INEXACT),
    ("log1p", _log1p, _INEXACT),
    ("sqrt", np.sqrt, _INEXACT),
    ("rsqrt", _rsqrt, _INEXACT),
    ("cbrt", np.cbrt, _REAL),
    ("sin", _sin, _INEXACT),
    ("cos", _cos, _INEXACT),
    ("tan", _tan, _INEXACT),
    ("asin", _asin, _INEXACT),
    ("acos", _acos, _INEXACT),
    ("atan", _atan, _INEXACT),
    ("sinh", _sinh, _INEXACT),
    ("cosh", _cosh, _INEXACT),
    ("tanh", _tanh, _INEXACT),
    ("asinh", np.arcsinh, _INEXACT),
    ("acosh", np.arccosh, _INEXACT),
    ("atanh", np.arctanh, _INEXACT),
    ("atan2", _atan2, _REAL),
    ("logistic", _logistic, _INEXACT),
    ("floor", np.floor, _REAL),
    ("ceil", np.ceil, _REAL),
    ("is_finite", np.isfinite, _REAL),
]:
    _declare(_name, _fn, _kinds)


@elementwise("sign")
def _make_sign(params, ins, outs):
    kind = category(ins[0].dtype)
    if kind in ("int", "uint", "complex"):
        return np.sign
    if kind == "float":
        return _sign if ins[0].size < _MANY_SIGNS else _sign_of_many
    return through_float32(_sign, ins, outs) if kind == "low" else None


def _of_runs(fn, scalar_first):
    """`fn` of a 0-d and a large contiguous array, as that of runs of the number and of the array."""
    def runs(x, y):
        number, array = (x, y) if scalar_first else (y, x)
        if not array.flags.c_contiguous:
            return fn(x, y)
        out, whole = np.empty(array.shape, array.dtype), array.size - array.size % _RUN
        many, to, flat = array.reshape(-1), out.reshape(-1), np.full(_RUN, number, array.dtype)
        for a, b in ((many[:whole].reshape(-1, _RUN), to[:whole].reshape(-1, _RUN)), (many[whole:], to[whole:])):
            given = flat[:a.shape[-1]]
            fn(*((given, a) if scalar_first else (a, given)), out=b)
        return out
    return alone(runs)


_RUN = 1 << 13             # half as many, and the loops take half as long again
_CLIP_FROM = 2048          # elements; below, clip's start takes longer than the slower loop


def _for_runs(name):
    """NumPy's loops for maximum and minimum are slower where one operand is a number: by clip with no bound on the other side, which is
    not, or as loops over two arrays."""
    make = RULES[name]

    def made(params, ins, outs):
        fn, empty = make(params, ins, outs), [s.shape == () for s in ins]
        if not isinstance(fn, np.ufunc) or outs[0].dtype not in (F32, F64) or sum(empty) != 1:
            return fn
        if CLIPS and empty[0] and outs[0].size >= _CLIP_FROM:
            bound = np.array(np.inf if name == "max" else -np.inf, outs[0].dtype)
            return writes((lambda low, x, out=None: x.clip(low, bound, out)) if name == "max"
                          else lambda high, x, out=None: x.clip(bound, high, out))
        return _of_runs(fn, empty[0]) if outs[0].size >= 4 * _RUN else fn
    RULES[name] = made


_for_runs("max")
_for_runs("min")


@elementwise("mul")
def _make_mul(params, ins, outs):
    kind, out = category(outs[0].dtype), outs[0].dtype
    if not plain(*ins, *outs) or kind == "bool":
        return None
    if any(s.dtype != out for s in ins):  # out_dtype: the product in the wider type
        return lambda x, y: np.multiply(x.astype(out), y.astype(out))
    if kind == "low" and not (outs[0].size <= _NATIVE_LOW_LIMIT and _native_low(np.multiply, out)):
        return through_float32(np.multiply, ins, outs)
    return np.multiply


def total_order(x):
    """Integers in the total order of floats: -NaN, -inf, ..., -0, 0, ..., inf, NaN."""
    bits = np.dtype(f"i{x.dtype.itemsize}")
    key = x.view(bits)
    return np.where(key < 0, key ^ bits.type(np.iinfo(bits).max), key)


def _compare_total_order(compare: np.ufunc) -> Make:
    def make(params, ins, outs):
        kind = category(ins[0].dtype)
        if kind in ("float", "low"):
            return lambda x, y: compare(total_order(x), total_order(y))
        return compare if kind in ("bool", "int", "uint") else None

    return make


elementwise("eq_to")(_compare_total_order(np.equal))
elementwise("lt_to")(_compare_total_order(np.less))
elementwise("le_to")(_compare_total_order(np.less_equal))


def _by_kind(name: str, table: dict[str, Callable]) -> None:
    """An elementwise primitive with a different function for each category of dtype."""

    def make(params, ins, outs):
        kind = category(ins[0].dtype)
        if kind == "low" and "float" in table:
            fn = table["float"]
            if isinstance(fn, np.ufunc) and outs[0].size <= _NATIVE_LOW_LIMIT and _native_low(fn, ins[0].dtype):
                return fn
            return through_float32(fn, ins, outs)
        return table.get(kind)

    elementwise(name)(make)


_by_kind("div", {"float": np.true_divide, "complex": np.true_divide, "int": quotients.divide_int, "uint": quotients.divide_uint})
_by_kind("rem", {"float": quotients.remainder_float, "int": quotients.remainder_int, "uint": quotients.remainder_int})


def _shift_right(signed: bool) -> Make:
    def make(params, ins, outs):
        dtype = ins[0].dtype
        if category(dtype) not in ("int", "uint"):
            return None
        if (category(dtype) == "int") == signed:
            return np.right_shift
        other = np.dtype(f"{'i' if signed else 'u'}{dtype.itemsize}")
        return lambda x, y: np.right_shift(x.view(other), y.view(other)).view(dtype)

    return make


elementwise("shift_right_arithmetic")(_shift_right(True))
elementwise("shift_right_logical")(_shift_right(False))


_FEW = 512                 # powers that cost about as much in float64 as their call


def _power_float(x, y):
    """float32 powers of few numbers are rounded once, as those of torch nearly always are; NumPy's own are the next number for one in five.
    Frequencies of positions are made so, and what is last in them comes back a thousandfold in the angle of the thousandth position."""
    if x.dtype != F32 or max(x.size, y.size) > _FEW:
        return _power(x, y)
    return _power(x.astype(np.float64), y.astype(np.float64)).astype(F32)


def _power(x, y):
    """np.power, which takes the root where all exponents are one 0.5: that is no power of -inf, and none of -0.0."""
    made = np.power(x, y)
    return made if not y.size or any(y.strides) or y.flat[0] != 0.5 else np.where(x == -np.inf, np.inf, made + 0.0).astype(made.dtype)


def _power_complex(x, y):
    """exp(y log(x)), as the C library does it, and torch; NumPy multiplies for integers."""
    log, y = np.log(x), np.asarray(y)
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    np.subtract(y.real * log.real, y.imag * log.imag, out=out.real)
    np.add(y.real * log.imag, y.imag * log.real, out=out.imag)
    return np.exp(out, out=out)


@elementwise("pow")
def _make_pow(params, ins, outs):
    base, exponent = ins[0].dtype, ins[1].dtype
    kind = category(base)
    if kind not in ("float", "complex", "low") or not plain(*ins):
        return None
    fn = _power_float if kind == "float" else _power_complex if kind == "complex" else through_float32(_power, [ins[0], ins[0]], outs)
    if exponent == base:
        return fn
    return lambda x, y: fn(x, y.astype(base))


@elementwise("integer_pow")
def _make_integer_pow(params, ins, outs):
    exponent = params["y"]
    kind = category(ins[0].dtype)
    if kind in ("bool", "other") or (exponent < 0 and kind in ("int", "uint")):
        return None
    if exponent == 2:
        return RULES["square"](params, ins, outs)

    def power(x):
        # The same chain of products as XLA's, so that the roundings agree.
        result, n = None, abs(exponent)
        while n:
            if n & 1:
                result = x if result is None else result * x
            n >>= 1
            if n:
                x = x * x
        if result is None:
            return np.ones_like(x)
        return 1 / result if exponent < 0 else result

    return through_float32(power, ins, outs) if kind == "low" else power


def _round_away(x):
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(x.dtype.type(1), x), whole)


@elementwise("round")
def _make_round(params, ins, outs):
    fn = np.rint if params["rounding_method"].name == "TO_NEAREST_EVEN" else _round_away
    kind = category(ins[0].dtype)
    if kind == "float":
        return fn
    return through_float32(fn, ins, outs) if kind == "low" else None


@elementwise("nextafter")
def _make_nextafter(params, ins, outs):
    dtype = ins[0].dtype
    if category(dtype) == "float" or (category(dtype) == "low" and _native_low(np.nextafter, dtype)):
        return np.nextafter
    return None


@elementwise("clamp")
def _make_clamp(params, ins, outs):
    if not plain(*ins) or category(ins[1].dtype) == "complex":
        return None
    if category(ins[1].dtype) == "low":
        return through_float32(lambda lo, x, hi: np.minimum(np.maximum(x, lo), hi), ins, outs)
    return lambda lo, x, hi: np.minimum(np.maximum(x, lo), hi)


_MASK_FROM = 1024        # elements; below, NumPy's loop with a branch for each takes less time than the bits of one operand or none do
_BLEND_FROM = 2048       # likewise for the bits of one operand or the other
_WORDS = {k: np.dtype(f"i{k}") for k in (1, 2, 4, 8)}


def _blend(which, no, yes):
    """`yes` where `which`, else `no`: integers, by their bits, without branches."""
    change = no ^ yes
    change = np.multiply(change, which.view(np.int8), out=change if change.shape == which.shape else None)
    return np.bitwise_xor(change, no, out=change)


@elementwise("select_n")
def _make_select_n(params, ins, outs):
    if category(outs[0].dtype) == "other":
        return None
    if ins[0].dtype == np.bool_ and len(ins) == 3:
        dtype, size = outs[0].dtype, outs[0].size
        word = _WORDS.get(dtype.itemsize)
        if word is None or size < _MASK_FROM:
            return lambda which, no, yes: np.where(which, yes, no)

        def blend(which, no, yes):
            if size < _BLEND_FROM:
                return np.where(which, yes, no)
            return _blend(which, no.view(word), yes.view(word)).view(dtype)

        def masked(which, x):
            which = which.astype(word)         # by itself: the product would do it in small pieces
            return np.multiply(x.view(word), which, out=which if which.shape == x.shape else None).view(dtype)
        if ins[1].shape == () != ins[2].shape:
            return lambda which, no, yes: blend(which, no, yes) if no.view(word) else masked(which, yes)
        if ins[2].shape == () != ins[1].shape:
            return lambda which, no, yes: blend(which, no, yes) if yes.view(word) else masked(~which, no)
        return blend
    if len(ins) == 2:
        shape = outs[0].shape
        return lambda which, case: np.broadcast_to(case, shape)

    def select(which, *cases):
        result = cases[0]
        for i, case in enumerate(cases[1:], 1):
            result = np.where(which == i, case, result)
        return result

    return select


@elementwise("population_count")
def _make_population_count(params, ins, outs):
    dtype = ins[0].dtype
    if category(dtype) not in ("int", "uint"):
        return None
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return lambda x: np.bitwise_count(x.view(unsigned)).astype(dtype)


@elementwise("clz")
def _make_clz(params, ins, outs):
    dtype = ins[0].dtype
    if category(dtype) not in ("int", "uint"):
        return None
    unsigned, bits = np.dtype(f"u{dtype.itemsize}"), dtype.itemsize * 8

    def bit_length(x):  # exact: x has at most 32 bits
        return np.frexp(x.astype(np.float64))[1]

    def clz(x):
        x = x.view(unsigned)
        if bits == 64:
            high = (x >> np.uint64(32)).astype(np.uint32)
            low = x.astype(np.uint32)
            length = np.where(high != 0, 32 + bit_length(high), bit_length(low))
        else:
            length = bit_length(x)
        return (bits - length).astype(dtype)

    return clz


@elementwise("complex")
def _make_complex(params, ins, outs):
    def join(real, imag):
        out = np.empty(np.broadcast_shapes(real.shape, imag.shape), outs[0].dtype)
        out.real, out.imag = real, imag
        return out

    return join if plain(*ins) else None


_declare("real", lambda x: x.real, "complex")
_declare("imag", lambda x: x.imag, "complex")


@elementwise("conj")
def _make_conj(params, ins, outs):
    out = outs[0].dtype
    if category(ins[0].dtype) == "complex":
        return np.conjugate
    return (lambda x: x.astype(out)) if category(ins[0].dtype) == "float" else None


# ---------------------------------------------------------------- special functions

# math's functions cost about 0.1 us an element; above this XLA's compiled loop is used.
_SCALAR_LIMIT = 4096
_FEW_SCALARS = 256         # up to here they take less time than the passes of a polynomial


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # a pole, or too large
        return math.inf


def _scalar_function(name: str, fn: Callable[[float], float]) -> Make:
    vectorised = np.frompyfunc(fn, 1, 1)

    def make(params, ins, outs):
        out = outs[0].dtype
        if category(out) not in ("float", "low") or outs[0].size > _SCALAR_LIMIT:
            return None
        return lambda x: np.asarray(vectorised(x.astype(np.float64)), np.float64).astype(out)

    return elementwise(name)(make)


_scalar_function("erfc", math.erfc)
_erf_of_scalars = _scalar_function("erf", math.erf)


@elementwise("erf")
def _make_erf(params, ins, outs):
    if outs[0].dtype == F32 and outs[0].size > _FEW_SCALARS:
        return errorfunction.on_host
    return _erf_of_scalars(params, ins, outs)


_scalar_function("lgamma", _lgamma)

ELEMENTWISE.update(
    ["erf_inv", "digamma", "polygamma", "igamma", "igammac", "igamma_grad_a", "random_gamma_grad"]
    + ["zeta", "bessel_i0e", "bessel_i1e", "regularized_incomplete_beta", "mulhi"]
)


# ---------------------------------------------------------------- conversions


def saturating_cast(dtype: np.dtype) -> Callable:
    """float (32 or 64) to integer: truncates, saturates, NaN becomes 0."""
    info = np.iinfo(dtype)
    low, high = float(info.min), float(info.max + 1)  # exact: both are powers of two, or zero

    def cast(x):
        # One comparison decides the common case; NaN makes it false.
        if x.size == 0 or (x.min() > low - 1 and x.max() < high):
            return x.astype(dtype)
        wide = x.astype(np.float64)
        inside = (wide > low - 1) & (wide < high)
        result = np.where(inside, wide, 0).astype(dtype)
        result = np.where(wide >= high, dtype.type(info.max), result)
        return np.where(wide <= low, dtype.type(info.min), result)

    return cast


def _truncation(dtype: np.dtype) -> Make:
    """A rule for calls that truncate floats, where the processor makes the smallest integer of what is out of range; see `ops.registry`."""
    odd = np.array([np.nan, np.inf, -np.inf, 2.0 ** 63, -1e30, 1e30] * 11)

    def make(params, ins, outs):
        old = ins[0].dtype
        with np.errstate(all="ignore"):
            if old not in (F32, F64) or not (odd.astype(old).astype(dtype) == np.iinfo(dtype).min).all():
                return None
        cast = shared(_cast_to(dtype), ins, outs[0])
        return lambda x: [cast(x)]
    return make


known_call(_truncation(np.dtype(np.int64)), "truncated_to_int64")
known_call(_truncation(np.dtype(np.int32)), "truncated_to_int32")


def caster(old: np.dtype, new: np.dtype) -> Callable | None:
    """A function that converts arrays as XLA's convert does; None when there is no rule."""
    kinds = category(old), category(new)
    if "other" in kinds:
        return None
    if kinds[1] in ("int", "uint") and kinds[0] in ("float", "low"):
        cast = saturating_cast(new)
        return cast if kinds[0] == "float" else lambda x: cast(x.astype(F32))
    if kinds[0] == "complex" and kinds[1] != "complex":
        inner = caster(np.dtype(f"f{old.itemsize // 2}"), new)
        return lambda x: inner(x.real)
    if kinds == ("low", "complex"):
        return lambda x: x.astype(F32).astype(new)
    if kinds[1] == "low" and kinds[0] in ("int", "uint", "low"):
        return lambda x: x.astype(F32).astype(new)
    if kinds == ("low", "bool"):
        return lambda x: x.astype(F32).astype(new)
    return _cast_to(new)


def _cast_to(dtype):
    @writes
    def cast(x, out=None):
        if out is None:
            return x.astype(dtype)
        np.copyto(out, x, casting="unsafe")
        return out
    return cast


@elementwise("convert_element_type")
def _make_convert(params, ins, outs):
    return caster(ins[0].dtype, outs[0].dtype)


@elementwise("reduce_precision")
def _make_reduce_precision(params, ins, outs):
    dtype = ins[0].dtype
    exponent_bits, mantissa_bits = params["exponent_bits"], params["mantissa_bits"]
    if category(dtype) == "low":
        inner = _make_reduce_precision(params, [Spec(ins[0].shape, F32)], outs)
        return inner and through_float32(inner, ins, outs)
    if category(dtype) != "float":
        return None
    info = np.finfo(dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}").type
    drop = info.nmant - mantissa_bits
    if drop < 0 or exponent_bits > info.iexp or exponent_bits < 2:
        return None
    bias = 2 ** (exponent_bits - 1) - 1
    largest = dtype.type(2.0) ** bias * dtype.type(2 - 2.0**-mantissa_bits)
    smallest = dtype.type(2.0) ** (1 - bias)
    clips = exponent_bits < info.iexp
    half = unsigned((1 << max(drop - 1, 0)) - 1)
    keep = unsigned(np.iinfo(unsigned).max - ((1 << drop) - 1))

    def reduce_precision(x):
        result = x
        if drop:
            bits = x.view(unsigned)
            odd = (bits >> unsigned(drop)) & unsigned(1)
            result = ((bits + (half + odd)) & keep).view(dtype)
        if clips:
            size = np.abs(result)
            result = np.where(size > largest, np.copysign(dtype.type(np.inf), x), result)
            result = np.where(size < smallest, np.copysign(dtype.type(0), x), result)
        return np.where(np.isnan(x), x, result)

    return reduce_precision
