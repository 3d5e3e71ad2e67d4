"""The NumPy interpreter gives what XLA gives: values, dtypes and shapes.

Protects `torchshim.engine.interpret`: every rule is compared with `jax.jit` of the same function,
over dtypes and shapes (0-d and empty ones too); integers, moves and comparisons exactly, floats to
a few units in the last place. Each case also checks the dtype and shape of every intermediate
value. Many operations share one compiled reference, as compiling is what would take the time.
"""

import itertools
import threading

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from torchshim.engine import interpret

FLOATS = [np.float32, np.float64]
LOWS = [np.float16, ml_dtypes.bfloat16]
EIGHTS = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
COMPLEX = [np.complex64, np.complex128]
SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
INTS = SIGNED + UNSIGNED
SHAPES = [(), (7,), (3, 4), (0, 3), (2, 1, 3)]


def name_of(dtype):
    return np.dtype(dtype).name


def every(dtypes):
    return pytest.mark.parametrize("dtype", dtypes, ids=name_of)


def values(rng, dtype, shape=(3, 4), *, low=-3.0, high=3.0):
    """Ordinary values of a dtype."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(shape) > 0.5
    if dtype.kind in "iu":
        return rng.integers(-9 if dtype.kind == "i" else 0, 10, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(dtype)
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype)


def jaxpr_of(f, *args):
    with jax.enable_x64(True):
        return jax.make_jaxpr(f)(*args)


def assert_same(got, want, ulps=8, atol=0.0):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
        return
    if got.dtype.kind == "c":
        half = np.dtype(f"f{got.dtype.itemsize // 2}")
        scale = np.abs(want[np.isfinite(want)]).max(initial=0)  # complex arithmetic is accurate as a whole
        atol = max(atol, ulps * np.finfo(half).eps * scale)
        assert_same(got.real, want.real, ulps, atol)
        assert_same(got.imag, want.imag, ulps, atol)
        return
    info = jnp.finfo(got.dtype)
    eps, tiny = float(info.eps), float(info.tiny)
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        # XLA flushes subnormal numbers.
        close = np.abs(a - b) <= ulps * eps * np.abs(b) + tiny + atol
    ok = close | (a == b) | (np.isnan(a) & np.isnan(b))
    assert ok.all(), f"{got[~ok]} != {want[~ok]}"


def check(f, *args, ulps=8, atol=0.0):
    """Interpret `f` and compare with XLA. Returns the results."""
    with jax.enable_x64(True):
        wants = jax.tree.leaves(jax.jit(f)(*args))
    closed = jaxpr_of(f, *args)
    before = [np.array(a) for a in args]
    gots = interpret.build(closed, check=True)(*args)
    assert len(gots) == len(wants)
    for aval, got, want in zip(closed.out_avals, gots, wants):
        assert isinstance(got, (np.ndarray, jax.Array))
        assert got.shape == aval.shape and got.dtype == aval.dtype
        assert_same(got, want, ulps, atol)
    for a, b in zip(args, before):
        assert_same(a, b, ulps=0)
    return gots


def check_flat(f, *lists, **tolerance):
    """`check` for a function of lists of arrays."""
    sizes = [len(x) for x in lists]

    def flat(*args):
        rest = iter(args)
        return f(*[list(itertools.islice(rest, n)) for n in sizes])

    return check(flat, *itertools.chain(*lists), **tolerance)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# ---------------------------------------------------------------- elementwise

EVERYWHERE = [
    lax.neg, lax.abs, lax.sign, lax.square, lax.exp, lax.expm1, lax.sin, lax.cos, lax.tan, lax.tanh,
    lax.sinh, lax.cosh, lax.asinh, lax.atan, lax.logistic,
]  # fmt: skip
POSITIVE = [lax.log, lax.log1p, lax.sqrt, lax.rsqrt]
REAL_ONLY = [
    lax.floor, lax.ceil, lax.is_finite, lax.cbrt, lax.erf, lax.erfc, lax.exp2,
    lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    lambda x: lax.convert_element_type(x, np.bool_),
]  # fmt: skip


@every(FLOATS + LOWS + COMPLEX)
def test_unary_functions(rng, dtype):
    low, is_complex = dtype in LOWS, dtype in COMPLEX
    args = [values(rng, dtype, shape) for shape in SHAPES]
    positive = [np.asarray(np.abs(x)) for x in args]
    unit = [values(rng, dtype, shape, low=-0.9, high=0.9) for shape in SHAPES]

    def f(args, positive, unit):
        out = []
        for x, p, u in zip(args, positive, unit):
            out += [g(x) for g in EVERYWHERE] + [lax.integer_pow(x, n) for n in (0, 1, 2, 3, 5, -1, -2)]
            if is_complex:
                out += [lax.real(x), lax.imag(x), lax.conj(x), lax.log(x), lax.sqrt(x)]
            else:
                out += [g(x) for g in REAL_ONLY] + [g(p) for g in POSITIVE + [lax.lgamma, lax.digamma]]
                out += [g(u) for g in (lax.asin, lax.acos, lax.atanh, lax.erf_inv)] + [lax.acosh(lax.exp(p))]
        return out

    # lgamma and digamma cross zero, where relative errors are large.
    atol = 0.0 if low else 32 * float(jnp.finfo(dtype).eps)
    check_flat(f, args, positive, unit, ulps=4 if low else 32, atol=atol)


@every(FLOATS + LOWS)
def test_special_values(dtype):
    x = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2.5, 3.5, np.inf, -np.inf, np.nan, 100, -100]).astype(dtype)

    def f(x):
        # XLA's exp2 is not exact for large arguments.
        out = [g(x) for g in EVERYWHERE + REAL_ONLY + POSITIVE if g not in (lax.tan, lax.exp2)]
        pairs = x[:, None], x[None, :]
        out += [g(*pairs) for g in (lax.max, lax.min, lax.rem, lax.div, lax.atan2, jnp.equal, jnp.less)]
        return out + [lax.clamp(x[4], x, x[2]), lax.integer_pow(x, -2), lax.nextafter(x, x[::-1])]

    for got, want in zip(check(f, x, ulps=16), jax.tree.leaves(jax.jit(f)(x)) if dtype != np.float64 else []):
        got, want = np.asarray(got), np.asarray(want)
        if got.dtype == dtype and got.shape == x.shape:
            zero = (got == 0) & (want == 0)
            np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@every(FLOATS + LOWS + COMPLEX)
def test_binary_functions(rng, dtype):
    def f(a, b, row, scalar):
        out = []
        for x, y in [(a, b), (a, row), (scalar, b), (scalar, scalar)]:
            out += [x + y, x - y, x * y, x / y, x == y, x != y, jnp.where(x == y, x, y)]
            if np.dtype(dtype).kind != "c":
                out += [x < y, x <= y, x > y, x >= y, jnp.maximum(x, y), jnp.minimum(x, y), lax.rem(*jnp.broadcast_arrays(x, y))]
                out += [jnp.arctan2(x, y), jnp.power(jnp.abs(x), y), jnp.clip(x, -1, 1), jnp.hypot(x, y)]
        return out

    args = values(rng, dtype), values(rng, dtype), values(rng, dtype, (4,)), values(rng, dtype, ())
    check(f, *args, ulps=4 if dtype in LOWS else 16)


@every(INTS)
def test_integer_functions(rng, dtype):
    info = np.iinfo(dtype)
    edges = [info.min, info.max, 0, 1, 2, 3, info.max // 2, info.max - 1, 7]
    if info.min < 0:
        edges += [-1, -2, -7]
    a, b = (np.array(list(x), dtype) for x in zip(*itertools.product(edges, edges)))
    shifts = values(rng, np.uint8, a.shape).astype(dtype) * dtype(3)

    def f(a, b, shifts):
        out = [a + b, a - b, a * b, lax.div(a, b), lax.rem(a, b), lax.max(a, b), lax.min(a, b), -a, jnp.abs(a), lax.sign(a)]
        out += [a & b, a | b, a ^ b, ~a, a == b, a != b, a < b, a <= b, a > b, a >= b, lax.population_count(a), lax.clz(a)]
        out += [g(a, shifts) for g in (lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic)]
        out += [lax.integer_pow(a, n) for n in (0, 1, 2, 3, 7)] + [lax.clamp(b[3], a, b[5])]
        return out + [a // b, a % b, jnp.where(a > b, a, b), lax.select_n(lax.rem(jnp.abs(shifts), dtype(3)).astype(np.int32), a, b, a)]

    check(f, a, b, shifts)


def test_shifts_beyond_the_width():
    x, by = np.full(8, -5, np.int32), np.array([-1, 0, 7, 8, 31, 32, 33, 64], np.int32)
    check(lambda x, y: [lax.shift_left(x, y), lax.shift_right_arithmetic(x, y), lax.shift_right_logical(x, y)], x, by)


def test_booleans(rng):
    def f(a, b):
        out = [a & b, a | b, a ^ b, ~a, a == b, a != b, lax.max(a, b), lax.min(a, b), a < b, a <= b, a + b, a * b]
        return out + [a.all(), a.any(axis=0), a.sum(), jnp.sort(a), a.argmax(), jnp.where(a, b, ~b), lax.reduce_xor(a, (0,))]

    check(f, values(rng, bool), values(rng, bool))


@every(EIGHTS)
def test_eight_bit_floats(rng, dtype):
    def f(a, b):
        wide = [a.astype(np.float32), b.astype(ml_dtypes.bfloat16), a.astype(np.int32), a.astype(np.float64)]
        return [a + b, a * b, -a, lax.exp(a), a < b, jnp.where(a < b, a, b), a.reshape(-1), a.T, a[1:], lax.max(a, b)] + wide

    check(f, values(rng, dtype), values(rng, dtype), ulps=1)


def test_powers(rng):
    base = np.array([0.0, 1.0, 2.5, -2.0, np.inf, np.nan], np.float32)

    def f(x, n):
        return [lax.pow(x, n), lax.pow(x.astype(ml_dtypes.bfloat16), n), lax.pow(x.astype(np.float64), n), jnp.power(n, 3)]

    check(f, base, np.array([0, 1, 2, 3, -1, 5], np.int32))


@pytest.mark.parametrize("exponent,mantissa", [(8, 7), (5, 10), (4, 3), (5, 2), (8, 23), (11, 52)])
def test_reduce_precision(rng, exponent, mantissa):
    x = np.concatenate([values(rng, np.float32, (50,), low=-1e5, high=1e5), np.array([np.inf, np.nan, 65519, 65520, 1e-6, 0], "f4")])

    def f(x):
        out = [lax.reduce_precision(x, min(exponent, 8), min(mantissa, 23))]
        return out + [lax.reduce_precision(x.astype(np.float64), exponent, mantissa)]

    check(f, x, ulps=0)


ALL = [np.bool_, *INTS, *LOWS, *FLOATS, *COMPLEX, *EIGHTS]


@every(ALL)
def test_conversions(rng, dtype):
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        x = np.array([info.min, info.max, info.max // 2 + 1, 0, 1, 100], dtype)
    else:
        edge = [0, -0.0, 0.4, 1, -1, 2.9, -2.9, 127.5, 128.5, -128.9, 300, 7e4, -7e4, 3e9, 1e20, -1e20, np.inf, -np.inf, np.nan]
        with np.errstate(all="ignore"):
            x = np.array(edge).astype(dtype)
    targets = [np.dtype(t) for t in ALL if not (np.dtype(dtype).kind == "c" and t in EIGHTS)]
    check(lambda x: [lax.convert_element_type(x, t) for t in targets], x, ulps=0)
    check(lambda x: [lax.convert_element_type(x[1], t) for t in targets], x, ulps=0)


def test_conversions_inside_the_range_of_the_integer(rng):
    x = np.array([-127.6, -0.9, 0.9, 126.9, 127.9], np.float32)
    check(lambda x: [x.astype(t) for t in INTS], x)


def test_bitcasts(rng):
    def f(x, y, z):
        return [
            lax.bitcast_convert_type(x, np.int32),
            lax.bitcast_convert_type(x, np.uint8),
            lax.bitcast_convert_type(y, np.float64),
            lax.bitcast_convert_type(y[:, :, 0], ml_dtypes.bfloat16),
            lax.bitcast_convert_type(x.T, np.int16),
            lax.bitcast_convert_type(z, np.int64),
        ]

    check(f, values(rng, np.float32), values(rng, np.int32, (2, 3, 2)), np.float64(2.5))


# ---------------------------------------------------------------- movement


@every([np.float32, np.int64, np.bool_, ml_dtypes.bfloat16, np.complex64])
def test_movement(rng, dtype):
    def f(x, s, e):
        fill = jnp.zeros((), dtype)
        return [
            x.reshape(4, 6), x.reshape(-1), x.T, lax.transpose(x, (1, 2, 0)), x[None], jnp.squeeze(x[:, :1], 1),
            x[1], x[:, ::2], x[0, 1:3, ::-1], x[..., 1], lax.rev(x, (0, 2)), x[1, 2, 3],
            jnp.concatenate([x, x[:, :1]], 1), jnp.stack([x, x], 1), jnp.split(x, [1, 2], 1), jnp.tile(x, (2, 1, 3)),
            jnp.broadcast_to(s, (3, 2)), jnp.broadcast_to(x[0, :, :1], (2, 3, 5)), jnp.full((2, 2), s),
            lax.broadcast_in_dim(x[0, :, 0], (2, 3, 4), (1,)), lax.broadcast_in_dim(s, (1, 1), ()),
            lax.pad(x, fill, [(1, 2, 0), (0, 1, 1), (-1, 0, 2)]), lax.pad(x, fill, [(-1, -1, 0), (0, 0, 0), (0, -6, 1)]),
            lax.pad(x, fill, [(0, 0, 1), (-2, 5, 3), (3, -2, 0)]), lax.pad(e, fill, [(1, 0, 0), (0, 1, 2)]),
            e.reshape(3, 0), e.T, jnp.concatenate([e, e]), s.reshape(1, 1), e[:, None], jnp.repeat(x, 2, 1), jnp.roll(x, 1, 2),
            jnp.flip(x), jnp.moveaxis(x, 0, -1), jnp.ravel(s), jnp.eye(3, dtype=dtype), jnp.tril(x[0]), jnp.diag(x[0, 0]),
            lax.copy_p.bind(x) if hasattr(lax, "copy_p") else x, lax.stop_gradient(x), lax.optimization_barrier(x), jnp.ravel(x, order="F"),
            x[0].astype(dtype) * s if dtype != np.bool_ else x, lax.split(x, (1, 2), 1), jnp.atleast_2d(s), x + 0 if dtype != np.bool_ else x,
        ]  # fmt: skip

    check(f, values(rng, dtype, (2, 3, 4)), values(rng, dtype, ()), values(rng, dtype, (0, 3)))


def test_iota_and_constants():
    def f(x):
        out = [lax.broadcasted_iota(t, (3, 4), d) for t in (np.int32, np.float32, ml_dtypes.bfloat16, np.complex64) for d in (0, 1)]
        return out + [jnp.arange(5) + x, jnp.zeros((0, 2)), jnp.arange(0), jnp.ones(()), jnp.linspace(0.0, 1.0, 7), 3.0, x]

    check(f, np.asarray(2))


def test_broadcasts_stay_small_until_needed(rng):
    def f(x, s):
        ones = jnp.broadcast_to(s, (3, 4)) * 2 + 1
        outer = jnp.broadcast_to(x[:, :1], (3, 4)) - jnp.broadcast_to(x[:1], (3, 4))
        both = lax.transpose(ones, (1, 0)).reshape(2, 6)
        return ones, outer, ones.sum(), outer.sum(0), x * ones, both, jnp.where(ones > 0, outer, x), ones.reshape(12)[2:]

    check(f, values(rng, np.float32), np.float32(0.5))


# ---------------------------------------------------------------- reductions and order


@every([np.int8, np.int32, np.uint64, *FLOATS, *LOWS, np.complex64])
def test_reductions(rng, dtype):
    def f(x, s, e):
        out = []
        for axes in [(0,), (1,), (0, 2), (0, 1, 2), ()]:
            out += [lax.reduce_sum(x, axes), lax.reduce_prod(x, axes)]
            if dtype != np.complex64:
                out += [lax.reduce_max(x, axes), lax.reduce_min(x, axes)]
        if dtype != np.complex64:
            out += [lax.argmax(x, 1, np.int32), lax.argmin(x, 2, np.int64), jnp.argmax(x), lax.cummax(x, 1), lax.cummin(x, 0, reverse=True)]
            out += [lax.reduce_max(e, (0,)), lax.reduce_min(e, (0,))]
        out += [lax.cumsum(x, 1), lax.cumsum(x, 2, reverse=True), lax.cumprod(x, 0), lax.reduce_sum(e, (0,)), lax.reduce_prod(e, (0,))]
        return out + [x.sum(), x.mean(), s.sum(), x.var() if dtype not in INTS else s]

    low = dtype in LOWS
    atol = 0.1 if low else 0.0 if dtype in INTS else 200 * float(jnp.finfo(dtype).eps)
    args = values(rng, dtype, (2, 3, 4), low=-1, high=1), values(rng, dtype, ()), values(rng, dtype, (0, 3))
    check(f, *args, ulps=8, atol=atol)


def test_reductions_of_nan_and_logsumexp(rng):
    x = np.array([[1, np.nan, 2], [-np.inf, 0, np.inf]], np.float32)

    def f(x, y):
        out = [x.max(1), x.min(0), lax.argmax(x, 1, np.int32), lax.argmin(x, 1, np.int32), lax.cummax(x, 1), lax.cumsum(x, 0)]
        return out + [lax.cumlogsumexp(y, 1), lax.cumlogsumexp(y, 0, reverse=True), jax.nn.logsumexp(x, 1), jax.nn.logsumexp(y)]

    check(f, x, values(rng, np.float32, (4, 5)), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=name_of)
def test_long_sums_keep_their_digits(dtype):
    x = np.full((1 << 18, 2), 0.1).astype(dtype)
    for axis in (0, None):
        got = interpret.build(jaxpr_of(lambda x: x.sum(axis), x))(x)[0]
        want = x.astype(np.float64).sum(axis)
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=1e-5 if dtype == np.float32 else 4e-3)


@every([np.int8, np.int64, np.uint8, np.bool_, *FLOATS, *LOWS, np.complex64])
def test_sorting(rng, dtype):
    x, y = values(rng, dtype, (3, 9)), values(rng, dtype, (3, 9))
    if dtype in FLOATS + LOWS:
        x[0, :6] = [np.nan, -0.0, 0.0, np.inf, -np.inf, -0.0]

    def f(x, y):
        index = lax.broadcasted_iota(np.int32, x.shape, 1)
        out = [lax.sort(x), lax.sort(x, dimension=0), lax.sort((x, index)), lax.sort((x, y, index), num_keys=2, dimension=0)]
        out += [jnp.argsort(x), jnp.argsort(x, descending=True), jnp.sort(x[:, 0])]
        if dtype != np.complex64:
            out += [jnp.searchsorted(jnp.sort(y[0]), x[0]), jnp.searchsorted(jnp.sort(y[0]), y, side="right")]
        if dtype not in (np.bool_, np.complex64):
            out += [lax.top_k(x, 4), lax.top_k(y[0], 9), jnp.median(y.astype(np.float32), axis=1)]
        return out

    check(f, x, y, ulps=0 if dtype not in FLOATS else 2)


# ---------------------------------------------------------------- contractions


def contract(*numbers, **options):
    return lambda a, b: lax.dot_general(a, b, numbers, **options)


CONTRACTIONS = [
    ((3, 4), (4, 5), contract(((1,), (0,)), ((), ()))),
    ((3, 4), (5, 4), contract(((1,), (1,)), ((), ()))),
    ((4, 3), (4, 5), contract(((0,), (0,)), ((), ()))),
    ((4,), (4,), contract(((0,), (0,)), ((), ()))),
    ((4,), (4, 5), contract(((0,), (0,)), ((), ()))),
    ((3, 4), (5,), contract(((), ()), ((), ()))),
    ((2, 3, 4), (2, 4, 5), contract(((2,), (1,)), ((0,), (0,)))),
    ((2, 3, 4, 5), (2, 6, 4, 5), contract(((3,), (3,)), ((0, 2), (0, 2)))),
    ((2, 3, 4), (5, 4, 3), contract(((1, 2), (2, 1)), ((), ()))),
    ((3, 2, 4), (4, 2, 3), contract(((0, 2), (2, 0)), ((1,), (1,)))),
    ((0, 4), (4, 5), contract(((1,), (0,)), ((), ()))),
    ((3, 0), (0, 5), contract(((1,), (0,)), ((), ()))),
    ((2, 3), (2, 3), contract(((), ()), ((0, 1), (0, 1)))),
    ((), (3,), contract(((), ()), ((), ()))),
]


@every([np.int8, np.int64, *FLOATS, *LOWS, np.complex64])
def test_dot_general(rng, dtype):
    pairs = [(values(rng, dtype, a), values(rng, dtype, b)) for a, b, _ in CONTRACTIONS]

    def f(*pairs):
        return [g(a, b) for (a, b), (_, _, g) in zip(pairs, CONTRACTIONS)]

    atol = 0 if dtype in INTS else 0.1 if dtype in LOWS else 100 * jnp.finfo(dtype).eps
    check_flat(f, *pairs, atol=atol)


def test_dot_general_result_dtypes(rng):
    def f(x8, u8, b16, f32):
        numbers = ((1,), (1,)), ((), ())
        return [
            lax.dot_general(x8, x8, numbers, preferred_element_type=np.int32),
            lax.dot_general(b16, b16, numbers, preferred_element_type=np.float32),
            lax.dot_general(f32, f32, numbers, preferred_element_type=np.float64),
            lax.dot_general(f32, f32, numbers, precision=lax.Precision.HIGHEST),
            jnp.einsum("ij,kj->ik", u8.astype(np.int32), x8.astype(np.int32)),
            lax.dot_general(x8, x8, numbers) + x8[:, :3],
        ]

    args = values(rng, np.int8, (3, 4)), values(rng, np.uint8, (3, 4)), values(rng, ml_dtypes.bfloat16), values(rng, np.float32)
    check(f, *args, atol=1e-5)


# ---------------------------------------------------------------- indexing

INDEXING = [
    lambda x, i, j, b: x[i],
    lambda x, i, j, b: x[:, i],
    lambda x, i, j, b: x[i, j],
    lambda x, i, j, b: x[i, :, j],
    lambda x, i, j, b: x[..., i[:, None], j],
    lambda x, i, j, b: x[i[0]],
    lambda x, i, j, b: x[i[0], 1:, j[0]],
    lambda x, i, j, b: jnp.take(x, i, axis=1),
    lambda x, i, j, b: jnp.take(x, i * 9, axis=0, mode="clip"),
    lambda x, i, j, b: jnp.take(x, i * 9, axis=0, mode="fill"),
    lambda x, i, j, b: jnp.take(x, i * 9, axis=2, mode="fill", fill_value=7),
    lambda x, i, j, b: jnp.take(x, i.astype(np.uint8) * 9, axis=2, mode="clip"),
    lambda x, i, j, b: x.at[i * 9].get(mode="fill", fill_value=-1),
    lambda x, i, j, b: jnp.take_along_axis(x, b, axis=1),
    lambda x, i, j, b: jnp.take_along_axis(x, b[:1], axis=1),
    lambda x, i, j, b: jax.vmap(lambda x, i: x[i])(x, i[:3]),
    lambda x, i, j, b: jax.vmap(lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3)))(x, i[:3]),
    lambda x, i, j, b: jax.vmap(lambda i: lax.dynamic_slice_in_dim(x, i, 2, 1))(i),
    lambda x, i, j, b: lax.dynamic_slice(x, (i[0], i[1], i[2]), (2, 1, 3)),
    lambda x, i, j, b: lax.dynamic_slice(x, (i[0] * 9, i[1] - 9, i[2]), (2, 1, 3)),
    lambda x, i, j, b: lax.dynamic_update_slice(x, x[:2, :1], (i[0] * 9, i[1], i[2])),
    lambda x, i, j, b: lax.dynamic_index_in_dim(x, i[0], 1, keepdims=False),
    lambda x, i, j, b: x[i[:0]],
    lambda x, i, j, b: x[:, :0][:, :, i],
    lambda x, i, j, b: x[jnp.zeros((), np.int32)],
]  # fmt: skip


@every([np.float32, np.int32, np.bool_, ml_dtypes.bfloat16])
def test_gathers(rng, dtype):
    x, i = values(rng, dtype, (3, 4, 5)), np.array([2, 0, -1, 1, 2])
    j, b = np.array([1, 1, 0, 2, 3]), rng.integers(0, 4, (3, 2, 5))
    check(lambda *a: [g(*a) for g in INDEXING], x, i, j, b, ulps=0)


def updates(method):
    """Ways to update an array at positions, by one of the `x.at[...]` methods."""

    def at(ref, value, **options):
        return getattr(ref, method)(value, **options)

    return [
        lambda x, i, j, v: at(x.at[1], v[1]),
        lambda x, i, j, v: at(x.at[i], v[i]),
        lambda x, i, j, v: at(x.at[:, i], v[:, i]),
        lambda x, i, j, v: at(x.at[i, j], v[i, j]),
        lambda x, i, j, v: at(x.at[i, :, j], v[i, :, j]),
        lambda x, i, j, v: at(x.at[..., j], v[0, 0, 0]),
        lambda x, i, j, v: at(x.at[i * 9], v[i], mode="drop"),
        lambda x, i, j, v: at(x.at[i * 9], v[i], mode="clip"),
        lambda x, i, j, v: at(x.at[:, i * 9], v[:, i], mode="drop"),
        lambda x, i, j, v: at(x.at[i * 9, 1:, j], v[i, 1:, j], mode="drop"),
        lambda x, i, j, v: at(x.at[1:, ::2, i[0]], v[1:, ::2, 0]),
        lambda x, i, j, v: at(x.at[jnp.array([0, 2])], v[:2], unique_indices=True),
        lambda x, i, j, v: jax.vmap(lambda x, i, v: at(x.at[i], v[1]))(x, i[:3], v),
        lambda x, i, j, v: jax.vmap(lambda x, i, v: at(x.at[i * 9], v[1], mode="drop"))(x, i[:3], v),
        lambda x, i, j, v: at(x.at[i[:0]], v[i[:0]]),
        lambda x, i, j, v: at(x.at[:0], v[:0]),
        lambda x, i, j, v: at(x.at[:, i[0]], v[:, 1]),
        lambda x, i, j, v: at(x.at[...], v),
    ]


@pytest.mark.parametrize("method", ["set", "add", "multiply", "min", "max", "subtract"])
@every([np.float32, np.int32, ml_dtypes.bfloat16])
def test_scatters(rng, dtype, method):
    if dtype == ml_dtypes.bfloat16 and method == "subtract":
        pytest.skip("add covers it")
    x, v = values(rng, dtype, (3, 4, 5)), values(rng, dtype, (3, 4, 5))
    # Positions are set once each: which of several writes wins is not defined.
    i = np.array([2, 0, 1]) if method == "set" else np.array([2, 0, -1, 1, 2])
    j = np.array([1, 3, 0]) if method == "set" else np.array([1, 1, 0, 2, 3])
    atol = 0.5 if dtype == ml_dtypes.bfloat16 and method != "set" else 0
    check(lambda *a: [g(*a) for g in updates(method)], x, i, j, v, ulps=4, atol=atol)


def test_windowed_scatter_and_gather_transposes(rng):
    x, i = values(rng, np.float32, (3, 4, 5)), np.array([2, 0, 1, 1])

    def f(x, i):
        out = []
        for g in INDEXING:
            if g(x, i, i, np.zeros((3, 2, 5), int)).dtype != x.dtype:
                continue
            y, back = jax.vjp(lambda x: g(x, i, i, jnp.ones((3, 2, 5), int)), x)
            out.append(back(jnp.cos(y)))
        return out

    check(f, x, i, atol=1e-5)


# ---------------------------------------------------------------- windows


def convolution(spec="NCHW", strides=(1, 1), padding="SAME", **options):
    kernel = {"NCHW": "OIHW", "NHWC": "HWIO"}[spec]
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=(spec, kernel, spec), **options)


CONVOLUTIONS = [
    ((2, 3, 7, 6), (4, 3, 3, 2), convolution()),
    ((2, 3, 7, 6), (4, 3, 3, 3), convolution(strides=(2, 3), padding="VALID")),
    ((2, 3, 7, 6), (4, 3, 2, 2), convolution(padding=[(2, 1), (-1, 3)], lhs_dilation=(2, 1), rhs_dilation=(1, 2))),
    ((2, 4, 5, 5), (6, 2, 3, 3), convolution(feature_group_count=2)),
    ((4, 3, 5, 5), (6, 3, 3, 3), convolution(batch_group_count=2)),
    ((2, 6, 5, 3), (3, 3, 3, 4), convolution("NHWC")),
    ((2, 4, 5, 5), (4, 1, 3, 3), convolution(feature_group_count=4)),
]


@pytest.mark.parametrize("case", range(len(CONVOLUTIONS)))
def test_convolutions_and_their_gradients(rng, case):
    shape, kernel, conv = CONVOLUTIONS[case]

    def f(x, w):
        y, back = jax.vjp(conv, x, w)
        return y, back(jnp.sin(y))

    check(f, values(rng, np.float32, shape), values(rng, np.float32, kernel), atol=2e-4)


def test_convolutions_in_other_dtypes_and_ranks(rng):
    def f(a, b, c, d):
        one = ("NCW", "OIW", "NCW")
        return [
            lax.conv_general_dilated(a, b, (2,), [(1, 1)], dimension_numbers=one),
            lax.conv_general_dilated(a, b, (1,), "VALID", dimension_numbers=one, preferred_element_type=np.float32),
            lax.conv_general_dilated(c, d, (1, 1, 2), "SAME"),
        ]

    args = [values(rng, t, s) for t, s in [("bfloat16", (2, 3, 8)), ("bfloat16", (4, 3, 3)), ("f8", (1, 2, 4, 4, 4)), ("f8", (3, 2, 2, 2, 2))]]
    check(f, *args, ulps=2, atol=1e-2)


def pool(op, init, window, strides, padding, **options):
    return lambda x: lax.reduce_window(x, np.asarray(init, x.dtype), op, window, strides, padding, **options)


POOLS = [
    pool(lax.max, -np.inf, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
    pool(lax.max, -np.inf, (1, 1, 3, 3), (1, 1, 2, 1), "SAME"),
    pool(lax.max, -np.inf, (1, 1, 3, 2), (1, 1, 1, 2), [(0, 0), (0, 0), (1, 2), (1, 1)]),
    pool(lax.min, np.inf, (1, 1, 2, 2), (1, 1, 1, 1), "VALID"),
    pool(lax.add, 0, (1, 1, 2, 3), (1, 1, 2, 1), "SAME"),
]


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=name_of)
def test_pooling_and_its_gradient(rng, dtype):
    def f(x):
        out = []
        for g in POOLS:
            y, back = jax.vjp(g, x)
            out += [y, back(y)]
        return out

    x = values(rng, dtype, (2, 3, 7, 6))
    x[0, 0] = np.round(x[0, 0].astype(np.float32))  # ties
    x[0, 1] = -np.inf
    check(f, x, atol=1e-5 if dtype == np.float32 else 0.2)


def test_pooling_with_dilation(rng):
    def f(x):
        ones = (1, 1, 1, 1)
        g = pool(lax.max, -np.inf, (1, 1, 2, 2), ones, "VALID", window_dilation=(1, 1, 2, 2))
        h = pool(lax.add, 0, (1, 1, 2, 2), ones, [(0, 0), (0, 0), (1, 1), (0, 0)], base_dilation=(1, 1, 2, 1))
        return g(x), h(x), pool(lax.add, 0, (1, 1, 20, 20), ones, "SAME")(jnp.concatenate([x, x, x], 2))

    check(f, values(rng, np.float32, (1, 2, 8, 8)), atol=1e-4)


# ---------------------------------------------------------------- whole functions

FUNCTIONS = [
    jax.nn.relu, jax.nn.relu6, jax.nn.gelu, lambda x: jax.nn.gelu(x, approximate=False), jax.nn.silu, jax.nn.sigmoid,
    jax.nn.softplus, jax.nn.elu, jax.nn.selu, jax.nn.leaky_relu, jax.nn.hard_tanh, jax.nn.mish, jax.nn.log_sigmoid,
    jax.nn.softmax, jax.nn.log_softmax, jax.nn.logsumexp, jax.nn.standardize, jax.nn.hard_sigmoid, jax.nn.glu,
    jnp.mean, jnp.var, lambda x: jnp.std(x, 0), lambda x: jnp.linalg.norm(x, axis=1), jnp.prod, jnp.max, lambda x: jnp.min(x, 1),
    lambda x: jnp.cumsum(x, 1), lambda x: jnp.cumprod(x, 0), jnp.sort, lambda x: jnp.take(x, jnp.array([1, 0, 1]), 0),
    lambda x: jnp.where(x > 0, x, x * 2), lambda x: jnp.clip(x, -1, 1), lambda x: x**3, lambda x: jnp.abs(x) ** 1.5,
    lambda x: x @ x.T, lambda x: jnp.einsum("ij,kj->ik", x, x), lambda x: jnp.outer(x[0], x[1]), jnp.tanh, jnp.exp, jnp.sinc,
    lambda x: jnp.log1p(jnp.abs(x)), lambda x: x.reshape(2, 2, -1).transpose(2, 0, 1), lambda x: jnp.pad(x, 1),
    lambda x: jnp.pad(x, 2, mode="reflect"), lambda x: jnp.concatenate([x, x], 1), lambda x: jnp.roll(x, 1, 1), jnp.flip,
    lambda x: x.at[1].set(2.0), lambda x: x.at[:, 1].multiply(3.0), lambda x: jnp.tril(x), lambda x: x[1:, ::2],
    lambda x: jnp.maximum(x, 0.5), lambda x: jnp.minimum(x, x[::-1]), lambda x: jnp.square(x) / (1 + jnp.abs(x)), jnp.median,
    lambda x: jnp.interp(x, jnp.linspace(-3, 3, 9).astype(x.dtype), jnp.linspace(0, 1, 9).astype(x.dtype)),
    lambda x: jnp.convolve(x[0], x[1]), lambda x: jnp.quantile(x, 0.3, axis=0), lambda x: jnp.logaddexp(x, x[::-1]),
    lambda x: jax.scipy.special.gammaln(jnp.abs(x) + 1), lambda x: jax.scipy.special.xlogy(x, jnp.abs(x)), jnp.expm1,
    lambda x: jnp.arctan2(x, x[::-1]), lambda x: jnp.hypot(x, x), lambda x: jnp.kron(x[:2], x[2:]), lambda x: jnp.trace(x),
    lambda x: jnp.fft.rfft(x), lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), lambda x: jnp.fft.fft2(x).imag, lambda x: lax.top_k(x, 2)[0],
    lambda x: jax.image.resize(x, (6, 9), "bilinear"), lambda x: jax.checkpoint(jnp.sin)(x), lambda x: lax.map(jnp.sum, x),
]  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_functions_and_their_gradients(rng, part):
    functions = FUNCTIONS[part::4]

    def f(x):
        out = []
        for g in functions:
            y, back = jax.vjp(g, x)
            out += [y, back(jnp.cos(jnp.abs(y)).astype(y.dtype))]
        return out

    check(f, values(rng, np.float32, (4, 6)), ulps=256, atol=3e-5)


def attention(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1]).astype(q.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16], ids=name_of)
def test_attention_step(rng, dtype):
    def f(q, k, v):
        y, back = jax.vjp(attention, q, k, v)
        return y, back(y)

    args = [values(rng, dtype, (2, 5, 3, 4)) for _ in range(3)]
    check(f, *args, ulps=64, atol=0.1 if dtype == ml_dtypes.bfloat16 else 1e-5)


def test_linear_algebra(rng):
    def f(a, b):
        spd = a @ a.T + 4 * jnp.eye(4, dtype=a.dtype)
        return [jnp.linalg.inv(spd), jnp.linalg.solve(spd, b), jnp.linalg.det(spd), jnp.linalg.cholesky(spd), jnp.linalg.slogdet(spd)]

    check(f, values(rng, np.float64, (4, 4)), values(rng, np.float64, (4, 2)), ulps=4096, atol=1e-10)


# ---------------------------------------------------------------- calls, loops and falling back


@jax.custom_vjp
def _doubled(x):
    return x * 2


_doubled.defvjp(lambda x: (x * 2, x), lambda x, g: (g * 2 + x,))


def test_nested_calls_are_inlined(rng):
    @jax.jit
    def inner(x, y):
        return jnp.where(x > y, x, y), x + y

    def f(x):
        a, b = inner(x, x[::-1])
        c, _ = inner(b, a)
        return c, _doubled(x), jax.grad(lambda x: _doubled(x).sum())(x), jax.checkpoint(lambda x: jnp.sin(x) * 2)(x)

    check(f, values(rng, np.float32))


def test_control_flow(rng):
    def f(x, n):
        cond = lax.cond(n > 2, lambda x: x * 2, lambda x: x - 1, x)
        switch = lax.switch(n, [jnp.sin, jnp.cos, jnp.tanh], x)
        loop = lax.fori_loop(0, n, lambda i, x: x * 0.5 + i, x)
        loop2 = lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + n, c[1] * 1.5), (0, x))
        scan = lax.scan(lambda c, row: (c * 0.5 + row, (c.sum(), row)), x[0], x)
        back = lax.scan(lambda c, row: (c + row, c), x[0], x, reverse=True)
        many = jax.vmap(lambda row: lax.while_loop(lambda r: r.sum() < 20, lambda r: r * 1.5 + 1, row))(x)
        counted = lax.scan(lambda c, _: (c + 1, c * n), 0, None, length=4)
        return cond, switch, loop, loop2, scan, back, counted, many, jax.grad(lambda x: lax.scan(lambda c, r: (jnp.sin(c * r), c), x[0], x)[0].sum())(x)

    for n in (1, 3):
        check(f, values(rng, np.float32), np.int64(n))


def test_long_loops_are_compiled(monkeypatch, rng):
    monkeypatch.setattr(interpret, "_LOOP_LIMIT", 12)

    def f(x):
        loop = lax.while_loop(lambda c: c[0] < 20, lambda c: (c[0] + 1, c[1] * 0.9 + c[0]), (0, x))
        return loop, lax.scan(lambda c, row: (c + row, c), x[0], x)

    check(f, values(rng, np.float32), atol=1e-4)


def test_random_bits_fall_back():
    def f(key):
        first, second = jax.random.split(key)
        return jax.random.normal(first, (3,)), jax.random.randint(second, (4,), 0, 10), jax.random.permutation(first, 5)

    key = jax.random.PRNGKey(0)
    check(f, key, ulps=32)
    check(lambda key: jax.random.uniform(jax.random.fold_in(jax.random.wrap_key_data(key), 3), (2, 2)), key)


def test_fallbacks_are_cached_and_do_not_depend_on_the_shape():
    compiled = []
    original = interpret._jitted

    def counting(primitive, params):
        call = original(primitive, params)
        return lambda *args: compiled.append((primitive.name, [a.shape for a in args])) or call(*args)

    interpret._jitted = counting
    try:
        for n in (3, 5, 7, 200):
            x = np.linspace(-0.9, 0.9, n, dtype=np.float32)
            (got,) = interpret.build(jaxpr_of(lambda x: lax.erf_inv(x), x))(x)
            assert_same(got, lax.erf_inv(x))
    finally:
        interpret._jitted = original
    assert {str(c) for c in compiled} == {str(("erf_inv", [(256,)]))}
    params = dict(jaxpr_of(lax.erf_inv, x).jaxpr.eqns[0].params)
    primitive = jaxpr_of(lax.erf_inv, x).jaxpr.eqns[0].primitive
    assert original(primitive, params) is original(primitive, dict(params))


def test_large_special_functions(rng):
    x = values(rng, np.float32, (100, 100))
    check(lambda x: [lax.erf(x), lax.erfc(x), lax.lgamma(x), jax.nn.gelu(x, approximate=False), lax.atan2(x, x.T)], x, ulps=64, atol=1e-6)


def test_large_narrow_arrays(rng):
    x = values(rng, ml_dtypes.bfloat16, (80, 80))
    check(lambda x: [x + x.T, x * x, lax.exp(x), x < x.T, lax.rem(x, x.T), x / 3, -x], x, ulps=1)


# ---------------------------------------------------------------- the machinery


def test_arguments_may_come_from_numpy_or_jax(rng):
    x = values(rng, np.float32)
    run = interpret.build(jaxpr_of(lambda x, s: (x * s, x), x, np.float32(2)))
    for given in (x, jnp.asarray(x), np.asfortranarray(x)):
        for scalar in (np.float32(2), np.asarray(2, np.float32), jnp.float32(2)):
            product, same = run(given, scalar)
            assert type(product) is np.ndarray and same is given
            np.testing.assert_array_equal(product, x * 2)


def test_results_are_arrays_even_without_dimensions():
    f = lambda x: [x + 1, -x, jnp.sum(x), jnp.max(x), lax.erf(x), x > 0, x.astype(np.int32), jnp.where(x > 0, x, 2), x.reshape(1)[0]]
    for result in interpret.build(jaxpr_of(f, np.float32(1)), check=True)(np.float32(1)):
        assert type(result) is np.ndarray and result.ndim == 0


def test_wrong_number_of_arguments():
    run = interpret.build(jaxpr_of(lambda x: x + 1, np.float32(1)))
    with pytest.raises(TypeError, match="expected 1"):
        run()


def test_no_warnings_escape(recwarn):
    def f(x, n):
        return x / 0, jnp.log(x - 2), jnp.exp(x * 1000), lax.div(n, n - n), n * n * n, (x * 1e30).astype(np.int8), (x + 1j).astype(np.float32)

    closed = jaxpr_of(f, np.float32(1), np.int64(1 << 40))
    recwarn.clear()
    interpret.build(closed)(np.float32(1), np.int64(1 << 40))
    assert not recwarn.list


def test_unread_results_are_not_computed():
    calls = []

    def f(x):
        unread = jax.pure_callback(lambda x: calls.append("unread") or x, x, x)  # noqa: F841
        return x + 1

    interpret.build(jaxpr_of(f, np.ones(2, np.float32)))(np.ones(2, np.float32))
    assert not calls


def test_effects_are_kept():
    calls = []

    def f(x):
        jax.debug.callback(lambda x: calls.append(float(x)), x.sum())
        return x + 1

    interpret.build(jaxpr_of(f, np.ones(2, np.float32)))(np.ones(2, np.float32))
    jax.effects_barrier()
    assert calls == [2.0]


def test_x64_stays_off_outside():
    run = interpret.build(jaxpr_of(lambda x: lax.erf_inv(x) * 2, np.float64(0.5)))
    assert run(np.float64(0.5))[0].dtype == np.float64
    assert jnp.asarray(np.float64(0.5)).dtype == np.float32


def test_values_are_released_after_their_last_use():
    import weakref

    alive = []

    class Tracked(np.ndarray):
        pass

    def watch(x):
        return sum(ref() is not None for ref in alive)

    closed = jaxpr_of(lambda x: (jnp.sin(jnp.cos(jnp.exp(x))) * 2)[1:], np.ones(3, np.float32))
    program, _ = interpret._program(closed, False)
    # Wrap every step's function so that its result can be watched.
    counts = []
    builder = interpret._Builder(False)
    args = [builder.argument(v.aval) for v in closed.jaxpr.invars]
    outs = builder.inline(closed, args)

    def tracked(fn):
        def call(*xs):
            counts.append(watch(None))
            result = np.asarray(fn(*xs)).view(Tracked)
            alive.append(weakref.ref(result))
            return result

        return call

    builder.steps = [(tracked(fn), ins, out, effects) for fn, ins, out, effects in builder.steps]
    run, _ = builder.link([builder.any_form(v) for v in outs])
    run(np.ones(3, np.float32))
    assert max(counts) <= 2


def test_programs_are_reentrant(rng):
    x = values(rng, np.float32, (50, 50))
    run = interpret.build(jaxpr_of(lambda x: jax.nn.softmax(x @ x.T) + jnp.sort(x), x))
    want, wrong = run(x)[0], []

    def work(k):
        for _ in range(20):
            got = run(x + 0)[0]
            if not np.array_equal(got, want):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
