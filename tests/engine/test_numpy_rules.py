"""Every NumPy rule gives what XLA gives: values, dtypes and shapes.

Protects the rules in `torchshim.engine.interpret.*_rules`: each is compared with `jax.jit` of the same
function, over dtypes and shapes (0-d and empty ones too); integers, moves and comparisons exactly,
floats to a few units in the last place. Each case also checks the dtype and shape of every
intermediate value. Many operations share one compiled reference, as compiling takes the time.
"""

import itertools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from torchshim.engine import interpret
from torchshim.engine.interpret import array_rules, index_rules
from torchshim.engine.interpret.builder import Spec

from tests.engine.differential import (
    COMPLEX, EIGHTS, FLOATS, INTS, LOWS, SHAPES, check, check_flat, every, jaxpr_of, name_of, values,
)  # fmt: skip


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
    check_flat(f, args, positive, unit, ulps=2 if low else 32, atol=atol)


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
    check(f, *args, ulps=2 if dtype in LOWS else 16)


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
            x[0].astype(dtype) * s if dtype != np.bool_ else x, lax.split(x, (1, 2), 1), jnp.atleast_2d(s),
            x + 0 if dtype != np.bool_ else x,
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


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_elements_along_a_dimension(rng, dim):
    """By flat places, and by whole rows where the index is broadcast; beyond the ends the nearest is read and nothing written."""
    x = values(rng, np.float32, (4, 5, 6))
    others = tuple(d for d in range(3) if d != dim)
    numbers = [(dim,), (dim,), others, others]

    def f(x, i, v):
        read = lax.gather(x, i[..., None], lax.GatherDimensionNumbers((), *numbers), (1, 1, 1), mode="clip")
        into = lax.ScatterDimensionNumbers((), *numbers)
        return [read] + [g(x, i[..., None], v, into, mode="drop") for g in (lax.scatter_add, lax.scatter_max)]

    shape = tuple(7 if d == dim else n for d, n in enumerate(x.shape))
    inside, beyond = rng.integers(0, x.shape[dim], shape), rng.integers(-2, 9, shape)
    rows = np.broadcast_to(rng.integers(0, x.shape[dim], [7 if d == dim else 1 for d in range(3)]), shape)
    for index in (inside, beyond, rows, np.broadcast_to(beyond[:1, :1, :1], shape)):
        check(f, x, index, values(rng, np.float32, shape), ulps=64, atol=1e-5)


@pytest.mark.parametrize("shape", ((40, 30), (7, 5, 9), (3, 400)))
def test_elements_that_are_looked_up_by_blocks(shape, rng, monkeypatch):
    """Each block has its own place in the dimensions that are counted along."""
    x = rng.standard_normal(shape).astype(np.float32)
    for dim, n in enumerate(shape):
        index = rng.integers(0, n, shape)
        index.reshape(-1)[:2] = -n - 1, n      # those are clipped
        traced = jax.make_jaxpr(lambda x, i: jnp.take_along_axis(x, i, dim, mode="clip"))(x, index)
        monkeypatch.setattr(index_rules, "_BLOCK", 1 << 16)
        whole = interpret.builder.build(traced)(x, index)[0]
        monkeypatch.setattr(index_rules, "_BLOCK", 20)
        made = interpret.builder.build(traced)(x, index)[0]
        assert made.tobytes() == whole.tobytes() == np.take_along_axis(x, index.clip(0, n - 1), dim).tobytes()


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_slices_of_a_dimension(rng, dim):
    """Read along it, wherever it is, and added one after the other."""
    x, index = values(rng, np.float32, (4, 5, 6)), rng.integers(-2, 9, 7)
    v = values(rng, np.float32, [7 if d == dim else n for d, n in enumerate(x.shape)])
    others = tuple(d for d in range(3) if d != dim)

    def f(x, i, v):
        return [jnp.take(x, i, dim, mode="clip"), jnp.take(x, i.reshape(7, 1), dim, mode="clip"),
                lax.scatter_add(x, i[:, None], v, lax.ScatterDimensionNumbers(others, (dim,), (dim,)), mode="drop")]

    check(f, x, index, v, ulps=64, atol=1e-5)


def test_remainders_of_many_floats(rng):
    """They go by way of float64, but for quotients that it does not hold and infinite divisors."""
    x, y = values(rng, np.float32, 3 << 13, low=-1e3), values(rng, np.float32, 3 << 13)
    x[:9], y[:9] = [5, -5, -4, -0.0, np.inf, np.nan, 1e30, 3, 1e-30], [3, 3, 2, 1, 2, 1, 3e-5, np.inf, 3e-31]
    y[1 << 13] = 0
    check(lax.rem, x, y, ulps=0)


@every([np.float32, np.float64])
def test_integers_of_floats_out_of_range(rng, dtype):
    """Known by name, so that NumPy's cast, which makes the smallest integer of them, is enough."""
    from torchshim.ops.casts import truncated_to_int32, truncated_to_int64

    x = np.array([1.7, -1.7, 3e9, -3e9, 1e30, -1e30, np.nan, np.inf, -np.inf, 2.0 ** 31, -2.0 ** 31, 2.0 ** 63, -2.0 ** 63] * 9, dtype)
    check(lambda x: [truncated_to_int64(x), truncated_to_int32(x), jax.vmap(truncated_to_int64)(x.reshape(9, 13))], x, ulps=0)


def test_extremes_of_short_rows(rng):
    """They are found by their places, with nan and negative zeros among them."""
    x = values(rng, np.float32, 40 * 33).reshape(2, 20, 33)
    x[0, 3, 5], x[1, 2, 0], x[1, 3, 32] = np.nan, np.inf, -np.inf
    check(lambda x: [lax.reduce_max(x, (2,)), lax.reduce_min(x, (2,)), lax.reduce_max(jnp.swapaxes(x, 1, 2), (2,))], x, ulps=0)


def test_equal_extremes_are_the_second(rng):
    zero, minus = np.zeros(40, np.float32), -np.zeros(40, np.float32)
    run = interpret.build(jaxpr_of(lambda x, y: [lax.max(x, y), lax.min(x, y)], zero, minus))
    for x, y in itertools.permutations((zero, minus)):
        assert all((np.signbit(r) == np.signbit(y)).all() for r in run(x, y))


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

    args = [values(rng, t, s) for t, s in [("bfloat16", (2, 3, 8)), ("bfloat16", (4, 3, 3)), ("f8", (1, 2, 4, 4, 4)),
                                           ("f8", (3, 2, 2, 2, 2))]]
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


def test_a_sum_of_negative_zeros_is_zero():
    program = interpret.build(jax.make_jaxpr(lambda x: [lax.cumsum(x, 0), lax.cumsum(x, 0, reverse=True)])(np.zeros(3, np.float32)))
    for out in program(np.array([-0.0, -0.0, 1], np.float32)):
        assert not np.signbit(out).any()


# ---------------------------------------------------------------- linear algebra


@every(FLOATS + COMPLEX)
def test_factorizations(rng, dtype):
    """The same routines as XLA's: the same signs, phases and pivots, but for eig."""
    linalg = lax.linalg
    square, batch, tall, wide = (values(rng, dtype, shape) for shape in ((4, 4), (2, 3, 3, 3), (5, 3), (2, 2, 4)))
    positive = [a @ a.conj().swapaxes(-1, -2) + np.eye(a.shape[-1], dtype=dtype) for a in (square, batch)]
    negative = np.stack([np.eye(2, dtype=dtype), -np.eye(2, dtype=dtype)])

    def f(square, batch, tall, wide, negative, *positive):
        out = []
        for a in (square, batch, tall, wide):
            out += [*linalg.lu(a), *linalg.qr(a, full_matrices=False), *linalg.qr(a), *linalg.svd(a), *linalg.svd(a, full_matrices=False),
                    linalg.svd(a, compute_uv=False)]
        for a in (square, batch):
            w, v = linalg.eig(a, compute_left_eigenvectors=False)
            first = v[..., :1, :]              # which sign the iteration ends with is a matter of rounding
            out += [w, v * jnp.conj(first) / jnp.abs(first)]
        for a in positive:
            out += [linalg.cholesky(a, symmetrize_input=False), *linalg.eigh(a, symmetrize_input=False)]
        return [*out, linalg.cholesky(negative, symmetrize_input=False), linalg.householder_product(tall, tall[0])]

    check(f, square, batch, tall, wide, negative, *positive, ulps=256, atol=1e-4 if dtype in (np.float32, np.complex64) else 1e-10)


@every([np.float32, np.complex128])
def test_triangular_systems(rng, dtype):
    a, b = values(rng, dtype, (2, 3, 3)) + 4 * np.eye(3, dtype=dtype), values(rng, dtype, (2, 3, 4))

    def f(a, b):
        return [
            lax.linalg.triangular_solve(a, b if left else b.swapaxes(-1, -2), left_side=left, lower=lower, transpose_a=turned,
                                        conjugate_a=conjugate, unit_diagonal=unit)
            for left, lower, turned, conjugate, unit in itertools.product((False, True), repeat=5)
        ]

    check(f, a, b, ulps=64, atol=1e-5)


def test_matrices_that_are_nan_or_nothing():
    """No routine fails, or does not end."""
    linalg, a, none = lax.linalg, np.full((3, 3), np.nan, np.float32), np.zeros((0, 3, 3), np.float32)

    def f(a, none):
        return [x for m in (a, none) for x in (*linalg.lu(m), *linalg.eigh(m, symmetrize_input=False), *linalg.svd(m), linalg.cholesky(m),
                                               *linalg.eig(m, compute_left_eigenvectors=False), linalg.triangular_solve(m, m))]

    check(f, a, none)


def test_permutations_of_pivots():
    check(lambda pivots: lax.linalg.lu_pivots_to_permutation(pivots, 5), np.array([[2, 1, 4], [0, 3, 3]], np.int32))


@pytest.mark.parametrize("shape, axis", [((70_000,), 0), ((3, 20_000), 1), ((40, 500), 0), ((2, 30, 900), 1), ((40, 500), 1), ((50, 2), 0)])
@pytest.mark.parametrize("function, ufunc", [(lax.cumsum, np.add), (lax.cumprod, np.multiply), (lax.cumlogsumexp, np.logaddexp)])
def test_float32_accumulates_in_float64(rng, shape, axis, function, ufunc):
    """However the array is cut into pieces."""
    x = (rng.standard_normal(shape) * 0.01 + 1).astype(np.float32)
    for reverse in (False, True):
        got, = interpret.build(jaxpr_of(lambda x: function(x, axis=axis, reverse=reverse), x), check=True)(x)
        wide = np.flip(x, axis) if reverse else x
        want = ufunc.accumulate(wide.astype(np.float64), axis).astype(np.float32)
        np.testing.assert_array_equal(got, np.flip(want, axis) if reverse else want)


# ---------------------------------------------------------------- functions known by name


@every([np.float32, np.float64, ml_dtypes.bfloat16, np.int32, np.uint8])
def test_known_functions(rng, dtype):
    """What `ops.loops.kernel` makes: the rules give what the functions do themselves, with nan, alone and in a batch. (Which of equal
    elements is named may differ.)"""
    from torchshim.ops import loops, sorting

    plain = rng.permutation(120).reshape(3, 40).astype(dtype)
    odd = plain.copy()
    if np.dtype(dtype).kind not in "iu":
        odd[0, 3] = odd[1, 30] = np.nan
    in_order = np.sort(plain.astype(np.float64), -1).astype(dtype)

    def f(plain, odd, in_order):
        out = []
        for x in (plain, odd):
            for y in (x, x[0], x.T):
                out += [sorting.median_place(y), sorting.nanmedian_place(y), sorting.mode_place(y),
                        sorting.kth_place(y, np.int64(y.shape[-1] // 3))]
                out += [sorting._places(k, largest)(y) for k in (1, 2, y.shape[-1]) for largest in (False, True)]
            out += [sorting.median_value(x[1]), sorting.nanmedian_value(x[1]), sorting.median_value(x[2]), sorting.nanmedian_value(x[2])]
            out += [jax.vmap(sorting.median_value, 1)(x), jax.vmap(sorting.median_place, 1)(x), jax.vmap(sorting._places(2, True), 1)(x)]
            for side in ("left", "right"):
                out += [loops.searchsorted(in_order[0], x, side), loops.searchsorted(in_order, x, side)]
                out += [jax.vmap(lambda a: loops.searchsorted(in_order[1], a, side), 1)(x), loops.searchsorted(jnp.sort(x[1]), x, side)]
        return out

    check(f, plain, odd, in_order)


@every([np.float32, np.int32])
@pytest.mark.parametrize("rows, length, updates", [(40, 16, 100), (3, 16, 500), (40, 3, 100), (5, 9, 1)])
def test_updates_of_rows_are_applied_in_order(rng, monkeypatch, dtype, rows, length, updates):
    """Sums are rounded as if each came after the one before, however many rows are combined at a time."""
    monkeypatch.setattr(interpret.builder.index_rules, "_MANY", 1)
    from torchshim.ops.index import Elements, Slices

    x, index, new = values(rng, dtype, (rows, length)), rng.integers(0, rows, updates), values(rng, dtype, (updates, length))
    index[: updates // 2] = index[0]
    want = x.copy()
    for i, row in zip(index, new):
        want[i] += row
    spread = np.broadcast_to(index[:, None], new.shape)
    turned = np.broadcast_to(index[None], new.T.shape)
    for f, args, expected in [(lambda x, i, v: Slices(0, i).put(x, v, "add"), (x, index, new), want),
                              (lambda x, i, v: Elements(0, i).put(x, v, "add"), (x, spread, new), want),
                              (lambda x, i, v: Elements(1, i).put(x, v, "add"), (np.ascontiguousarray(x.T), turned, new.T), want.T)]:
        got, = interpret.build(jaxpr_of(f, *args), check=True)(*args)
        np.testing.assert_array_equal(got, expected)


@every([np.float32, np.complex128])
def test_known_functions_of_matrices(rng, dtype):
    """Systems, determinants and failed minors, singular and indefinite matrices among them."""
    from torchshim.ops.linalg import factor, functions, solve

    a, b = values(rng, dtype, (3, 4, 4)), values(rng, dtype, (3, 4, 2))
    a[1] = a[1] @ a[1].conj().T + np.eye(4, dtype=dtype)
    singular = np.stack([np.eye(4, dtype=dtype), np.diag([1, 0, 2, 3]).astype(dtype)])

    def f(a, b, singular):
        lower = lax.linalg.cholesky(a, symmetrize_input=False)
        return [functions.determinant(a), functions.determinant(singular), *solve.solved(a, b), *solve.solved(a[0], b[0]),
                solve.solved(singular, b[:2])[1], factor.failed_minor(a, lower), factor.failed_minor(a[1], lower[1]),
                *jax.vmap(solve.solved, (None, 2), 0)(a[0], b.transpose(1, 2, 0))]

    check(f, a, b, singular, ulps=512, atol=1e-4 if dtype == np.float32 else 1e-10)


def test_powers_of_few_numbers_are_rounded_once():
    """Frequencies of positional encodings: a number off by one place turns the thousandth position by 1e-4."""
    base, exponent = np.full(256, 1e4, np.float32), np.arange(256, dtype=np.float32) / 256
    run = interpret.build(jaxpr_of(lax.pow, base, exponent), check=True)
    expected = np.power(base.astype(np.float64), exponent.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(run(base, exponent)[0], expected)
    base[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 1e30, 1e-30, -2]
    for e in (2.3, -2.3, 3.0, np.inf):
        few, = run(base, np.full(256, e, np.float32))
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(few, np.power(base, np.float32(e)), rtol=3e-7)


@every([np.float32, np.float64])
def test_signs_of_many_numbers_are_those_of_few(dtype):
    limits = np.finfo(dtype)
    few = np.array([0, -0.0, 1, -2, np.inf, -np.inf, np.nan, limits.tiny, limits.smallest_subnormal, -limits.smallest_subnormal, limits.max,
                    -limits.max], dtype)
    many = np.tile(few, 1000)
    expected = interpret.build(jaxpr_of(lax.sign, few), check=True)(few)[0]
    np.testing.assert_array_equal(interpret.build(jaxpr_of(lax.sign, many), check=True)(many)[0].reshape(-1, few.size)[7], expected)
    np.testing.assert_array_equal(np.signbit(interpret.build(jaxpr_of(lax.sign, many), check=True)(many)[0][:2]), [False, True])


@pytest.mark.parametrize("shape", [(700, 2), (700, 17), (2, 400, 32), (700, 33), (3, 5)])
def test_extremes_of_rows_that_are_short_or_lie_across_memory(shape):
    """Turned in blocks, or taken along memory."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(np.float32)
    lying = np.ascontiguousarray(np.moveaxis(x, -1, 0))
    for a, turn in ((x, lambda x: x), (lying, lambda x: jnp.moveaxis(x, 0, -1)), (x[..., ::-1], lambda x: x)):
        check(lambda x: [lax.reduce_max(turn(x), (len(shape) - 1,)), lax.reduce_min(turn(x), (len(shape) - 1,))], a, ulps=0)
    x.reshape(-1)[rng.integers(0, x.size, x.size // 50 + 1)] = np.nan          # which XLA alone may miss
    spec, out = Spec(shape, x.dtype), Spec(shape[:-1], x.dtype)
    for largest, ufunc in ((True, np.maximum), (False, np.minimum)):
        extreme = array_rules._extreme(ufunc, largest)({"axes": (len(shape) - 1,)}, [spec], [out])
        np.testing.assert_array_equal(extreme(x), ufunc.reduce(x, -1))
