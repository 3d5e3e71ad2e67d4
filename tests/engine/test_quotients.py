"""Protects quotients and remainders by one number: they are Python's, wrapped."""
import jax
import numpy as np
import pytest
from jax import lax

from torchshim.engine import interpret
from torchshim.engine.interpret import quotients

DTYPES = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32)


def cases(dtype):
    info = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(info.min, info.max, 300, dtype, endpoint=True)
    x[:6] = info.min, info.min + 1, 0, 1, info.max - 1, info.max
    return x, [n for n in (1, 2, 3, 7, 64, 127, info.max, -1, -3, info.min) if n and info.min <= n]


@pytest.mark.parametrize("dtype", DTYPES)
def test_remainders_are_pythons(dtype, monkeypatch):
    monkeypatch.setattr(quotients, "_NEAR", 40)
    x, numbers = cases(dtype)
    for n in numbers:
        expected = [v % n for v in x.tolist()]
        y = np.array(n, dtype)
        assert quotients.modulo(x, y).tolist() == expected and quotients.modulo(x[::-1], y)[::-1].tolist() == expected
        out = x.copy()
        assert quotients.modulo(out, y, out=np.empty_like(x)).tolist() == expected and out.tolist() == x.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_are_truncated(dtype):
    x, numbers = cases(dtype)
    wrapped = lambda values: np.array([v & (2 ** (8 * x.itemsize) - 1) for v in values], f"u{x.itemsize}").view(dtype).tolist()
    with jax.enable_x64(True):
        for n in numbers:
            div, rem = [interpret.builder.build(jax.make_jaxpr(lambda x, y: f(x, lax.broadcast(y, x.shape)))(x, dtype(n)))
                        for f in (lax.div, lax.rem)]
            whole = [abs(v) // abs(n) * (1 if (v < 0) == (n < 0) else -1) for v in x.tolist()]
            assert div(x, np.array(n, dtype))[0].tolist() == wrapped(whole)
            assert rem(x, np.array(n, dtype))[0].tolist() == wrapped([v - q * n for v, q in zip(x.tolist(), whole)])
