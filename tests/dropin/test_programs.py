"""Protects what a program meets under the drop-in: classes that ask, sparse tensors, NumPy, pickles, workers, errors, names. One process
runs all programs, with `import torch` in each; that they run at all there was not seen by tests that import torchshim."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

PROGRAMS = pathlib.Path(__file__).with_name("programs.py")
NAMES = """subclasses torch_function sparse numpy_interop pickling multiprocessing tracebacks introspection scripting
    functional_transforms""".split()


def printed(folder, *program):
    """What a program prints under the drop-in."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PROGRAMS.parents[2]), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "torchshim", *program], capture_output=True, text=True,
                          timeout=300, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    return json.loads(printed(tmp_path_factory.mktemp("programs"), str(PROGRAMS)).splitlines()[-1])


@pytest.mark.parametrize("name", NAMES)
def test_program(ended, name):
    assert ended[name] == ""


def test_all_programs_are_looked_at(ended):
    assert list(ended) == NAMES


def test_a_programs_log_is_its_own(tmp_path):
    """JAX's messages do not join those of a program that logs everything; where it asks for them, they come."""
    code = ("import logging, sys; {}logging.basicConfig(stream=sys.stdout, level=1); import torch; "
            "print(torch.func.grad(torch.sin)(torch.ones(())))")
    assert printed(tmp_path, "-c", code.format("")) == "tensor(0.5403)\n"
    assert "jax" in printed(tmp_path, "-c", code.format("logging.getLogger('jax').setLevel(1); "))


def test_a_fork_is_not_warned_of(tmp_path):
    """JAX's warning is of what a child does not do: it computes without XLA's threads."""
    code = "import os, torch; torch.ones(3).sum().item(); pid = os.fork(); print(torch.ones(2).sum()) if not pid else os.waitpid(pid, 0)"
    env = {**os.environ, "PYTHONPATH": str(PROGRAMS.parents[2])}
    done = subprocess.run([sys.executable, "-m", "torchshim", "-c", code], capture_output=True, text=True, timeout=300,
                          cwd=tmp_path, env=env)
    assert done.stdout == "tensor(2.)\n" and "JAX" not in done.stderr
