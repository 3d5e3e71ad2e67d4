"""Protects conformance: every program of `compat/` prints what PyTorch 2.13 printed, recorded, compiled, operator by operator
and (for the programs that are pure functions) inside jax.jit."""
import jax
import numpy as np
import pytest

import compat
import torchshim
from torchshim import engine
from torchshim.engine.compile import policy

PROGRAMS = compat.programs_list()
#: Areas whose programs are also run a second time, when their traces are compiled.
COMPILED = ("accumulation", "inplace", "views", "functions", "hooks", "double_backward", "training")
#: Prints a gradient that is zero up to rounding: fused, it is another rounding error.
ROUNDING = ("functions/reductions",)


def _agrees(name, rtol=0.0):
    difference = compat.compare(compat.run_program(name), compat.expected(name), rtol)
    if difference is not None:
        line, want, got = difference
        pytest.fail(f"{name}, line {line}\n  torch: {want}\n  here:  {got}", pytrace=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded(name):
    _agrees(name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_operator_by_operator(name):
    engine.flush()
    engine.context.eager = True
    engine.context.trace.limit = 1
    try:
        _agrees(name)
    finally:
        engine.context.eager = False
        engine.flush()


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n.split("/")[0] in COMPILED and n not in ROUNDING])
def test_compiled(name, monkeypatch):
    """XLA fuses operators, which may move the last digit of a number."""
    monkeypatch.setattr(policy, "tier", "compiled")
    _agrees(name, rtol=1e-5)


def _arrays(result):
    return [torchshim.to_jax(t.detach()) for t in jax.tree_util.tree_leaves(result, is_leaf=lambda x: isinstance(x, torchshim.Tensor))
            if isinstance(t, torchshim.Tensor)]


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n.startswith("functions/")])
def test_inside_jit(name):
    program = compat.load_program(name)
    torchshim.manual_seed(0)
    inputs = program.inputs()
    want = [np.asarray(a) for a in _arrays(program.compute(*inputs))]

    def pure(*arrays):
        ts = [torchshim.from_jax(a) for a in arrays]
        for t, original in zip(ts, inputs):
            t.requires_grad_(original.requires_grad)
        return _arrays(program.compute(*ts))
    with jax.enable_x64(True):
        got = jax.jit(pure)(*[torchshim.to_jax(t.detach()) for t in inputs])
    assert len(got) == len(want) > 0
    for g, w in zip(got, want):
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(np.asarray(g), w, rtol=2e-5, atol=2e-6)
