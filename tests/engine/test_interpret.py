"""The NumPy interpreter runs whole programs as XLA does, and handles them well.

Protects `torchshim.engine.interpret`: whole functions with their gradients, nested calls, loops,
falling back to XLA, and the machinery (kinds of arguments, 0-d results, release of values,
threads, x64 staying off outside).
"""

import threading
import weakref

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from torchshim.engine.interpret import builder as interpret, fallback, structure

from tests.engine.differential import assert_same, check, jaxpr_of, name_of, values


@pytest.fixture
def rng():
    return np.random.default_rng(0)


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
        return cond, switch, loop, loop2, scan, back, counted, many, jax.grad(
            lambda x: lax.scan(lambda c, r: (jnp.sin(c * r), c), x[0], x)[0].sum())(x)

    for n in (1, 3):
        check(f, values(rng, np.float32), np.int64(n))


def test_long_loops_are_compiled(monkeypatch, rng):
    monkeypatch.setattr(structure, "_LOOP_LIMIT", 12)

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
    original = fallback.jitted

    def counting(primitive, params):
        call = original(primitive, params)
        return lambda *args: compiled.append((primitive.name, [a.shape for a in args])) or call(*args)

    fallback.jitted = counting
    try:
        for n in (3, 5, 7, 200):
            x = np.linspace(-0.9, 0.9, n, dtype=np.float32)
            (got,) = interpret.build(jaxpr_of(lambda x: lax.erf_inv(x), x))(x)
            assert_same(got, lax.erf_inv(x))
    finally:
        fallback.jitted = original
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
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        run()


def test_without_the_guard_warnings_are_left_to_the_caller():
    x = np.zeros(1, np.float32)
    run = interpret.build(jaxpr_of(lambda x: 1 / x, x), guard=False)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        run(x)
    with np.errstate(all="ignore"):
        assert run(x)[0] == np.inf


def test_no_warnings_escape(recwarn):
    def f(x, n):
        return (x / 0, jnp.log(x - 2), jnp.exp(x * 1000), lax.div(n, n - n), n * n
                * n, (x * 1e30).astype(np.int8), (x + 1j).astype(np.float32))

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
    alive, counts = [], []

    class Tracked(np.ndarray):
        """An array that can be referenced weakly."""

    def tracked(fn):
        def call(*xs):
            counts.append(sum(ref() is not None for ref in alive))
            result = np.asarray(fn(*xs)).view(Tracked)
            alive.append(weakref.ref(result))
            return result

        return call

    x = np.ones(3, np.float32)
    closed = jaxpr_of(lambda x: (jnp.sin(jnp.cos(jnp.exp(x))) * 2)[1:], x)
    builder = interpret._Builder(False)
    outs = builder.inline(closed, [builder.argument(v.aval) for v in closed.jaxpr.invars])
    builder.steps = [(tracked(fn), ins, out, effects) for fn, ins, out, effects in builder.steps]
    steps, slots = builder.link([builder.any_form(v) for v in outs])
    interpret._Text(builder, steps, slots).function([fn for fn, *_ in steps])(x)
    assert len(counts) == len(steps) == 6 and max(counts) <= 2


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


def _chain(x, y):
    a = x * y
    b = a - x                                  # takes a's memory
    return jnp.abs(b)                          # and that of b


def _wanted(x, y):
    a = x * y
    return a - x, a


def _read_twice(x, y):
    a = x * y
    b = a + a
    return b * a


def _seen_by_a_view(x, y):
    a = x * y
    b = a.T                                    # a view of a
    c = a + x
    return b - c


def _broadcast(x, y):
    row = x[0] * y[0]
    a = x @ y
    return a + row, row[None] - a


def _other_dtype(x, y):
    a = x * y
    return jnp.where(a > 0, a, y) + (a < 0)


@pytest.mark.parametrize("f, taken", [(_chain, 2), (_wanted, 0), (_read_twice, 1), (_seen_by_a_view, 1), (_broadcast, 1), (_other_dtype, None)])
def test_a_result_takes_memory_that_nobody_else_sees(rng, f, taken):
    x, y = rng.integers(-4, 5, (2, 40, 40)).astype(np.float32)            # every result is exact
    closed = jax.make_jaxpr(f)(x, y)
    run = interpret.build(closed)
    kept = x.copy(), y.copy()
    for _ in range(2):
        for got, want in zip(run(x, y), jax.tree_util.tree_leaves(f(*map(np.asarray, (x, y))))):
            np.testing.assert_array_equal(got, want)
    assert (x == kept[0]).all() and (y == kept[1]).all()
    builder = interpret._Builder(False)
    builder.program(closed)
    assert taken is None or len(builder.into) == taken
