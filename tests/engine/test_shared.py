"""Protects elementwise functions that several threads share: the bits and the layout are those of the function alone."""
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from torchshim.engine import interpret, pool
from torchshim.engine.interpret.shared import Shared, alone, shared
from torchshim.engine.interpret.rules import Spec

F32 = np.dtype(np.float32)
CALLS = {
    "add": jnp.add, "chain": lambda x, y: jnp.tanh((x + y) * x - y * 2), "logistic": lambda x, y: jax.lax.logistic(x),
    "rsqrt": lambda x, y: jax.lax.rsqrt(x),
    "divided": lambda x, y: 1 / y, "select": lambda x, y: jnp.where(x < y, x, 0), "sign": lambda x, y: jnp.sign(x),
    "bounded": lambda x, y: jnp.minimum(6, jnp.maximum(0, x)), "least": lambda x, y: jnp.minimum(x, y), "erf": lambda x, y: jax.lax.erf(x),
    "halves": lambda x, y: x.astype(jnp.bfloat16) * y.astype(jnp.bfloat16), "back": lambda x, y: x.astype(jnp.bfloat16).astype(jnp.float32),
    "integers": lambda x, y: x.astype(jnp.int32) // 3, "compare": operator.lt, "rem": jax.lax.rem, "columns": lambda x, y: x + y[:1],
    "cast in place": lambda x, y: jnp.all((x == x) != 0),
}


@pytest.fixture(autouse=True)
def three_threads(monkeypatch):
    monkeypatch.setattr(pool, "threads", 3)
    monkeypatch.setattr(pool, "_pool", None)
    monkeypatch.setattr(pool, "_limit", None)


def values(shape, seed):
    x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    x.reshape(-1)[::7] = np.resize(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, 3e38], np.float32), -(-x.size // 7))
    return x


@pytest.mark.parametrize("name", CALLS)
def test_shared_and_alone_give_the_same_bits(name, monkeypatch):
    x, y = values((130, 40), 0), values((130, 40), 1)
    traced = jax.make_jaxpr(CALLS[name])(x, y)
    plain = interpret.builder.build(traced)
    monkeypatch.setattr(pool, "WORTH", 1)
    monkeypatch.setattr(pool, "BLOCK", 600)
    cut = interpret.builder.build(traced)
    for a, b in ((x, y), (np.asfortranarray(x), y), (np.asfortranarray(x), np.asfortranarray(y))):
        expected, made = plain(a, b)[0], cut(a, b)[0]
        assert (made.dtype, made.shape, made.strides, made.tobytes()) == (expected.dtype, expected.shape, expected.strides, expected.tobytes())
    assert x.tobytes() == values((130, 40), 0).tobytes()


def test_large_arrays_are_cut_in_parts_of_about_equal_length(monkeypatch):
    monkeypatch.setattr(pool, "WORTH", 100)
    monkeypatch.setattr(pool, "BLOCK", 50)
    lengths = []

    def f(x):
        lengths.append(x.size)
        return x + 1
    specs = [Spec((1030,), F32)]
    made = shared(f, specs, specs[0])(np.zeros(1030, F32))
    assert made.tolist() == [1.0] * 1030 and sum(lengths) == 1030 and {*lengths} == {51, 52}


def test_a_loop_writes_where_it_is_told_to(monkeypatch):
    """As where the operand's memory is not needed any more."""
    monkeypatch.setattr(pool, "WORTH", 100)
    spec = Spec((1030,), F32)
    f, x = shared(np.add, [spec, Spec((), F32)], spec), np.arange(1030, dtype=F32)
    assert f.__class__ is Shared and f(x, np.ones((), F32), out=x) is x and x.tolist() == list(range(1, 1031))


def test_what_is_small_or_goes_by_short_blocks_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(pool, "WORTH", 100)
    few, many, row = Spec((150,), F32), Spec((4, 100), F32), Spec((100,), F32)
    assert shared(np.add, [few, few], few) is np.add and shared(np.add, [many, row], many) is np.add
    short = alone(lambda x: x)
    assert shared(short, [many], many) is short
