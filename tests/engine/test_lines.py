"""Memory that begins with a line of the processor's: large arrays of the interpreted tier, and none of the user's."""
import subprocess
import sys

import numpy as np
import pytest

import torchshim as torch
from torchshim.engine import lines
from torchshim.engine.quiet import LARGE, quiet_context

available = pytest.mark.skipif(lines._begin is None, reason="an allocator that cannot be told")


def begins(a):
    return a.ctypes.data % lines.LINE


@available
def test_arrays_of_an_aligned_context_begin_with_a_line():
    """Of every size, and those of other contexts are NumPy's as before; they outlive the context."""
    names = np._core.multiarray.get_handler_name
    context = quiet_context(aligned=True)
    kept = context.run(lambda: [np.ones(n, np.uint8) + np.uint8(1) for n in (1, 7, 63, 64, 65, 1000, 4099, 1 << 17)])
    assert [begins(a) for a in kept] == [0] * len(kept)
    assert [int(a.sum(dtype=np.int64)) for a in kept] == [2 * a.size for a in kept]
    assert {names(a) for a in kept} == {"torchshim"} and names(np.ones(3)) != "torchshim" and names() != "torchshim"


@available
def test_arrays_of_an_aligned_context_grow_and_are_zeroed():
    """The other functions that NumPy asks of an allocator."""
    def use():
        a = np.arange(100)
        a.resize(10000, refcheck=False)
        return a, np.zeros(5000), np.empty(0), np.fromiter(range(1000), np.int64)
    grown, zeros, nothing, counted = quiet_context(aligned=True).run(use)
    assert grown[99] == 99 and not grown[100:].any() and not zeros.any() and nothing.size == 0 and counted[-1] == 999


@available
@pytest.mark.parametrize("again", [1, 30])
def test_large_results_begin_with_a_line(again):
    """Recorded, and computed when they are called."""
    x = torch.ones(LARGE + 3)
    for _ in range(again):
        y = (x * 2 + 1).clone()
        assert float(y[-1]) == 3
    assert begins(y.numpy()) == 0


def test_memory_that_looks_for_errors_is_left_alone():
    """Python's own debugging allocators tell memory that is not theirs: everything else runs as before."""
    code = "import torchshim as torch; from torchshim.engine import lines; print(lines._begin, float((torch.ones(9999) * 2).sum()))"
    made = subprocess.run([sys.executable, "-X", "dev", "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.split() == ["None", "19998.0"]
