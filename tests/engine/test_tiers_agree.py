"""Operators in pairs, g(f(x)), on special values: what only one tier has of NaN, infinity or zero is an answer that torch does not give.

One program computes all of them compiled, another interprets them.
"""
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.compile import policy

# Sizes away from the subnormals, which XLA flushes to zero on CPU and NumPy keeps.
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 60.0, -60.0, 1e20, -1e20, 8e37, -8e37, float("inf"), float("-inf"), float("nan")]
UNARY = {
    "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "square": torch.square, "reciprocal": torch.reciprocal, "neg": torch.neg,
    "abs": torch.abs, "sign": torch.sign, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu, "exp2": torch.exp2,
    "log1p": torch.log1p, "expm1": torch.expm1, "floor": torch.floor, "cube": lambda x: x ** 3, "root": lambda x: x ** 0.5,
    "masked": lambda x: x * (x > 0), "over": lambda x: x / x, "minus": lambda x: x - x, "times zero": lambda x: x * 0.0,
    "plus zero": lambda x: x + 0.0, "mean": lambda x: x.mean(), "max": lambda x: x.max(), "clamp": lambda x: x.clamp(-2, 2),
    "where": lambda x: torch.where(x == x, x, 1.0), "halves": lambda x: x / 2 / 2, "softplus": torch.nn.functional.softplus,
    "lgamma": torch.lgamma,
}


def kinds(a):
    """For each element: NaN, an infinity, a zero (with its sign), or a number."""
    return np.where(np.isnan(a), 3, np.where(np.isinf(a), 2, np.where(a == 0, np.where(np.signbit(a), -1, 1), 0)))


@pytest.mark.parametrize("outer", ["exp", "log", "sqrt", "reciprocal", "masked", "over", "minus", "times zero", "where", "max"])
def test_pairs(outer, monkeypatch):
    def run(tier):
        monkeypatch.setattr(policy, "tier", tier)
        x = torch.tensor(SPECIAL)
        results = [UNARY[outer](inner(x)) for inner in UNARY.values()]
        return [r.numpy() for r in results]
    for inner, a, b in zip(UNARY, run("operators"), run("compiled")):
        # a number that only one tier flushes is no difference of answers
        small = (np.abs(a) < 1.2e-38) & (np.abs(b) < 1.2e-38) & ~((a == 0) & (b == 0))
        np.testing.assert_array_equal(np.where(small, 0, kinds(a)), np.where(small, 0, kinds(b)), err_msg=f"{outer}({inner}(x))")


@pytest.mark.parametrize("name, f", [("lgamma(i0(x))", lambda x: torch.lgamma(torch.i0(x))),
                                     ("logcumsumexp(logsigmoid(x))", lambda x: torch.nn.functional.logsigmoid(x).logcumsumexp(0))])
def test_what_is_next_to_zero_is_rounded_once(name, f, monkeypatch):
    """Computed in float32 throughout, these are zero in one tier and a rounding error in the other."""
    def run(tier):
        monkeypatch.setattr(policy, "tier", tier)
        return f(torch.tensor([0.0, -0.0, 1.0, -1.0])).numpy()
    np.testing.assert_array_equal(kinds(run("operators")), kinds(run("compiled")), err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2, 3, 9, 33])
def test_of_zeros_both_tiers_take_the_same_for_an_extreme(n, dtype, monkeypatch):
    """NumPy takes the zero that its loop meets last, a compiled program of few elements orders them."""
    rng = np.random.default_rng(n)
    a = np.where(rng.integers(0, 2, (4, n)), dtype(0.0), dtype(-0.0))
    a = np.concatenate([a, np.abs(a), -np.abs(a), np.minimum(a, -(rng.integers(0, 3, a.shape) // 2)), np.maximum(a, rng.integers(0, 2, a.shape))])

    def run(tier):
        monkeypatch.setattr(policy, "tier", tier)
        x = torch.from_numpy(a.copy())
        made = [x.amin(1), x.amax(1), x.t().contiguous().amin(0), x.t().amax(0), x.min(), x.max(), *x.aminmax(), *x.aminmax(dim=1),
                x.amin((0, 1)), x[0].max(), x.amax(1, keepdim=True)]
        return [m.numpy() for m in made]
    for one, other in zip(run("operators"), run("compiled")):
        np.testing.assert_array_equal(kinds(one), kinds(other))
