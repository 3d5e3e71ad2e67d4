"""Threads that compute parts: all of them, each once, with NumPy's warnings off, and the caller hears of what fails."""
import os

import numpy as np
import pytest

from torchshim.engine import pool


@pytest.fixture(autouse=True)
def three_threads(monkeypatch):
    monkeypatch.setattr(pool, "threads", 3)
    monkeypatch.setattr(pool, "_pool", None)


def test_parts_are_as_many_as_threads_and_as_long_as_is_worth_it():
    assert pool.parts(10) == [slice(0, 3), slice(3, 6), slice(6, 10)]
    assert pool.parts(10, 4) == [slice(0, 5), slice(5, 10)]
    assert pool.parts(10, 11) == [slice(0, 10)] and pool.parts(2) == [slice(0, 1), slice(1, 2)] and pool.parts(0) == [slice(0, 0)]


def test_each_part_is_computed_once(recwarn):
    x, done = np.zeros(1000), []

    def job(part):
        x[part] += 1 / np.zeros(1)
        done.append(part)
    pool.together(job, pool.parts(1000))
    assert sorted(p.start for p in done) == [0, 333, 666] and np.isinf(x).all()
    assert len(recwarn) <= 1                   # that of this thread, which no trace has told to be quiet


@pytest.mark.parametrize("which", [0, 2])
def test_the_caller_hears_of_what_fails(which):
    cut, done = pool.parts(9), []

    def job(part):
        if part is cut[which]:
            raise MemoryError("no room")
        done.append(part)
    with pytest.raises(MemoryError, match="no room"):
        pool.together(job, cut)
    assert len(done) == 2                      # nobody writes any more


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_child_has_threads_of_its_own():
    pool.together(lambda part: None, pool.parts(3))
    child = os.fork()
    if not child:
        try:
            x = np.zeros(3)
            pool.together(lambda part: x.__setitem__(part, 1), pool.parts(3))
            os._exit(0 if x.all() else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
