"""One tier on demand, torch's switches for it, and programs that compute what was written."""
import os
import subprocess
import sys

import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.compile import policy


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setattr(policy, "tier", "compiled")


def test_masked_nan_and_infinity_survive_compilation(compiled):
    x = torch.tensor([1.0, float("nan"), float("inf"), -2.0])
    keep = torch.tensor([True, False, False, True])
    np.testing.assert_array_equal((keep * x).numpy(), [1, np.nan, np.nan, -2])
    np.testing.assert_array_equal((keep.float() * x).numpy(), [1, np.nan, np.nan, -2])


def test_overflow_survives_compilation(compiled):
    x = torch.tensor([100.0, 1000.0, -200.0])
    np.testing.assert_array_equal(x.exp().log().numpy(), [np.inf, np.inf, -np.inf])
    np.testing.assert_array_equal((torch.tensor([3e38]) ** 2).sqrt().numpy(), [np.inf])


def test_deterministic_mode_pins_the_operators_tier():
    def compiles(n):
        before = torch.stats()["compiles"]
        x = torch.ones(7, 3)
        for _ in range(n):
            (x * 2 + 1).sum().item()
        return torch.stats()["compiles"] - before
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.are_deterministic_algorithms_enabled() and torch.get_deterministic_debug_mode() == 2
        assert compiles(50) == 0
    finally:
        torch.use_deterministic_algorithms(False)
    assert policy.tier == policy.chosen


def test_debug_modes_and_their_errors():
    try:
        torch.set_deterministic_debug_mode("warn")
        assert torch.is_deterministic_algorithms_warn_only_enabled() and torch.get_deterministic_debug_mode() == 1
        with pytest.raises(RuntimeError, match="expected 0, 1, or 2, but got 3"):
            torch.set_deterministic_debug_mode(3)
        with pytest.raises(TypeError, match=r"argument 'mode' \(position 1\) must be bool, not int"):
            torch.use_deterministic_algorithms(1)
    finally:
        torch.set_deterministic_debug_mode(0)


PROGRAM = """
import os, torch
print(os.environ.get("XLA_FLAGS"))
x = torch.rand(1000)
y = x.clone()
for _ in range(3):
    d = (x * x - y * y).abs().max()
print(d.item())
"""


def test_products_and_sums_are_rounded_each_and_no_flag_is_set_for_it():
    for start in (["-m", "torchshim", "-c", PROGRAM], ["-c", "import torchshim; torchshim.install()" + PROGRAM]):
        env = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"TORCHSHIM_TIER": "compiled"}
        done = subprocess.run([sys.executable, *start], env=env, capture_output=True, text=True, check=True)
        assert done.stdout.split("\n")[:2] == ["None", "0.0"]


def test_an_unknown_tier_is_refused():
    done = subprocess.run([sys.executable, "-c", "import torchshim"], env=os.environ | {"TORCHSHIM_TIER": "fast"},
                          capture_output=True, text=True)
    assert "TORCHSHIM_TIER must be one of auto, compiled, operators, not 'fast'" in done.stderr


def test_what_a_tensor_grows_by_is_filled():
    torch.use_deterministic_algorithms(True)
    try:
        for dtype, filled in ((torch.float32, "nan"), (torch.int64, "9223372036854775807"), (torch.bool, "True")):
            x = torch.zeros(2, dtype=dtype)
            part = x[:1]
            assert [str(n) for n in x.resize_(3).tolist()][2:] == [str(n) for n in part.clone().resize_(2).tolist()][1:] == [filled]
    finally:
        torch.use_deterministic_algorithms(False)
