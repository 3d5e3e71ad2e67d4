"""Protects what an uncaught error prints: the user's frames and the message, or everything on request."""
import os
import subprocess
import sys

import pytest

PROGRAM = """
import {0} as torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)
    def forward(self, x):
        return self.layer(x)
Net()(torch.zeros(2, 5))
"""


def run(tmp_path, name, *runner, **env):
    (tmp_path / "program.py").write_text(PROGRAM.format(name))
    r = subprocess.run([sys.executable, *runner, "program.py"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **env})
    assert r.returncode == 1
    return [line.strip() for line in r.stderr.splitlines()]


@pytest.mark.parametrize("name, runner", [("torchshim", ()), ("torch", ("-m", "torchshim"))], ids=["import", "runner"])
def test_the_users_frames_and_the_message(tmp_path, name, runner):
    lines = run(tmp_path, name, *runner)
    assert [line.rpartition(", in ")[2] for line in lines if line.startswith("File")] == ["<module>", "forward"]
    assert lines[-1] == "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x5 and 3x4)"


def test_everything_on_request(tmp_path):
    text = "\n".join(run(tmp_path, "torchshim", TORCHSHIM_TRACEBACK="full"))
    assert "linear.py" in text and "products.py" in text
