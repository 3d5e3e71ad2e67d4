"""Protects that a training program's trace is compiled once: the values that are alive when it ends, and who reads them, do not change what is
compiled, and neither do numbers that change."""
import collections
import contextlib
import io
import pathlib
import runpy
import sys

import pytest

import torchshim
from torchshim.engine.compile import cost, pieces, policy

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "compat" / "scripts"


@pytest.fixture
def compiles(monkeypatch):
    """How often each state was compiled, and how many programs XLA made of them."""
    states, made = collections.Counter(), []
    one, other = policy._compile, pieces.PieceProgram.__init__

    def compile_(state, *rest):
        states[state] += 1
        return one(state, *rest)

    def init(self, *args):
        made.append(self)
        other(self, *args)
    monkeypatch.setattr(policy, "_compile", compile_)
    monkeypatch.setattr(pieces.PieceProgram, "__init__", init)
    monkeypatch.setattr(cost, "PATIENCE", 0)
    for saved_by_none in ("MARGIN", "CALL", "RESULT", "INPUT", "RECORD"):
        monkeypatch.setattr(cost, saved_by_none, 0)
    monkeypatch.setattr(cost, "AWAITED", (0, 0, 0))
    return states, made


@pytest.mark.parametrize("name, steps, most", [("graph_conv", 12, 3), ("lstm_lm", 12, 2), ("reinforce", 30, 9)])
def test_nothing_is_compiled_twice(compiles, monkeypatch, name, steps, most):
    states, made = compiles
    monkeypatch.setattr(sys, "argv", [name, "--steps", str(steps)])
    torchshim.install()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(SCRIPTS / f"{name}.py"), run_name="__main__")
    finally:
        torchshim.uninstall()
    assert 1 <= len(states) <= most and set(states.values()) == {1}
    assert len(made) <= len(states)            # each is one program, or one that was there
