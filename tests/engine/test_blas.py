"""NumPy's BLAS has one thread while a trace is interpreted, whatever happens in it, and what it had before afterwards."""
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine import blas, execute
from torchshim.engine.compile import policy

pytestmark = pytest.mark.skipif(blas._get is None, reason="NumPy's BLAS is not OpenBLAS")


@pytest.fixture
def three_threads(monkeypatch):
    before = blas._get()
    monkeypatch.setattr(policy, "tier", "operators")
    blas._put(3)
    yield blas._get()                          # fewer where the library was built so
    blas._put(before)


def test_one_thread_within_and_all_of_them_after(three_threads, monkeypatch):
    within, real = [], execute._run_steps
    monkeypatch.setattr(execute, "_run_steps", lambda *args: within.append(blas._get()) or real(*args))
    x = torch.ones(200, 200)
    (x @ x).tolist()
    assert set(within) == {1} and blas._get() == three_threads


def test_of_what_blas_would_not_share_nothing_is_asked(three_threads, monkeypatch):
    within, real = [], execute._run_steps
    monkeypatch.setattr(execute, "_run_steps", lambda *args: within.append(blas._get()) or real(*args))
    x = torch.ones(3, 3)
    (x @ x).tolist()
    assert set(within) == {three_threads}


def test_who_finds_one_thread_restores_nothing(three_threads):
    """Another Python thread may be at it."""
    first = blas.one_thread()
    second = blas.one_thread()
    blas.restore(second)
    assert blas._get() == 1
    blas.restore(first)
    assert blas._get() == three_threads


def test_threads_come_back_after_an_error(three_threads):
    with pytest.raises(RuntimeError):
        torch.linalg.cholesky(torch.zeros(2, 2)).tolist()
    assert blas._get() == three_threads


def test_addresses_of_arrays_that_may_be_written_and_of_others():
    for array in (np.arange(4.0), np.arange(4.0)[1:], np.arange(6.0).reshape(2, 3).T, np.broadcast_to(np.ones(1), (3,)), np.ones(())):
        assert blas.address(array) == array.ctypes.data
