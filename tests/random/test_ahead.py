"""Numbers that a thread draws ahead: nobody can tell, whatever is asked for next and whenever the thread comes to it."""
import os
import random
import time

import numpy as np
import pytest

import torchshim as torch
from torchshim.engine import pool
from torchshim.random import ahead
from torchshim.random.streams import Stream


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, size in (("LARGE", 100), ("_CHUNK", 700), ("_MOST", 5000), ("_AGAIN", 2)):
        monkeypatch.setattr(ahead, name, size)
    monkeypatch.setattr("torchshim.random.streams.LARGE", 100)
    monkeypatch.setattr(pool, "threads", 2)
    monkeypatch.setattr(pool, "_pool", None)
    monkeypatch.setattr(pool, "_limit", None)


def idle():
    """Wait for the thread that draws."""
    end = time.monotonic() + 60
    while ahead._busy and time.monotonic() < end:
        time.sleep(0.001)
    assert not ahead._busy


def asked(stream, draw, pauses=False):
    """What a stream answers to requests that `draw` chooses."""
    found = []
    for _ in range(60):
        what = draw.choice(["same"] * 12 + ["other", "normals", "permutation", "state", "seed", "words", "few", "clone"])
        n = draw.choice((3, 99, 100, 624, 1000, 2500))
        if what in ("same", "few", "other"):
            found.append(stream.bernoulli(7 if what == "few" else n, 0.25 if what == "other" else 0.9))
        elif what == "normals":
            found.append(stream.normal(n))
        elif what == "permutation":
            found.append(stream.randperm(n))
        elif what == "state":
            found.append(np.frombuffer(stream.get_state(), np.uint8))
        elif what == "seed":
            stream.manual_seed(n)
        elif what == "clone":
            found.append(stream.clone().bernoulli(n, 0.9))
        else:
            found.append(stream.random_full(n))
        if pauses:
            idle()
    return found


@pytest.mark.parametrize("seed", range(8))
def test_the_numbers_are_those_of_a_stream_without_it(seed, monkeypatch):
    with monkeypatch.context() as alone:
        alone.setattr(pool, "aside", lambda job: False)
        expected = asked(Stream(5), random.Random(seed))
    used, aside = [], pool.aside
    monkeypatch.setattr(pool, "aside", lambda job: used.append(1) or aside(job))
    for a, b in zip(asked(Stream(5), random.Random(seed), pauses=bool(seed % 2)), expected, strict=True):
        np.testing.assert_array_equal(a, b)
    idle()
    assert used


def test_it_begins_after_some_requests_and_learns_when_it_is_no_use():
    s, held = Stream(1), []
    for _ in range(2):
        for _ in range(4):
            s.bernoulli(1000, 0.5)
            idle()
            held.append(s._ahead.held)
        s.randperm(5)
    assert held[0] == 0 and held[1] >= 1000 and not s._ahead.chunks
    before = s._ahead.least
    for _ in range(before - 1):
        s.bernoulli(1000, 0.5)
        idle()
    assert not s._ahead.chunks and before > 2
    for _ in range(60):                        # of use: what is thrown away is little of it
        s.bernoulli(1000, 0.5)
        idle()
    s.randperm(5)
    assert s._ahead.least == 2


def test_one_thread_draws_nothing_ahead():
    s, n = Stream(1), torch.get_num_threads()
    torch.set_num_threads(1)
    for _ in range(5):
        s.bernoulli(1000, 0.5)
    torch.set_num_threads(n)
    assert not s._ahead.chunks and not ahead._busy


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_child_draws_the_same(monkeypatch):
    monkeypatch.setattr(ahead, "_CHUNK", 100_000)
    monkeypatch.setattr(ahead, "_MOST", 1_000_000)
    s = Stream(3)
    for _ in range(4):
        s.bernoulli(200_000, 0.5)              # the thread is drawing
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writer, s.bernoulli(1000, 0.5).tobytes() + s.randperm(10).tobytes())
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert os.read(reader, 5000) == s.bernoulli(1000, 0.5).tobytes() + s.randperm(10).tobytes()
    os.close(reader)
    os.close(writer)
    idle()


def test_dropout_draws_what_it_would():
    """The mask of a step is the same whether a thread drew it or not."""
    def masks():
        torch.manual_seed(0)
        return [torch.nn.functional.dropout(torch.ones(50, 60), 0.3).ne(0).tolist() for _ in range(6)] + [torch.rand(3).tolist()]
    first = masks()
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    again = masks()
    torch.set_num_threads(n)
    assert first == again
