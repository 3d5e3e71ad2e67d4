"""Protects what a program meets under the drop-in: classes that ask, sparse tensors, NumPy, pickles, workers, errors, names. One process runs
all programs, with `import torch` in each; that they run at all there was not seen by tests that import torchshim."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

PROGRAMS = pathlib.Path(__file__).with_name("programs.py")
NAMES = """subclasses torch_function sparse numpy_interop pickling multiprocessing tracebacks introspection scripting
    functional_transforms""".split()


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PROGRAMS.parents[2]), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "torchshim", str(PROGRAMS)], capture_output=True, text=True, timeout=300,
                          cwd=tmp_path_factory.mktemp("programs"), env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", NAMES)
def test_program(ended, name):
    assert ended[name] == ""


def test_all_programs_are_looked_at(ended):
    assert list(ended) == NAMES
