"""Protects forked processes: they compute with NumPy's tier, and refuse what needs XLA instead of waiting for ever."""
import os
import select
import signal

import pytest

import torchshim as torch

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
              pytest.mark.filterwarnings("ignore:os.fork")]


def in_child(f):
    """What `f()` returns in a forked process, as text."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            text = repr(f())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(w, text.encode())
        os._exit(0)
    os.close(w)
    try:
        assert select.select([r], [], [], 60)[0], "the child waits for ever"
        return os.read(r, 10_000).decode()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(r)


def used_up():
    """Make sure that XLA ran here: some arrays are XLA's, and this trace is compiled."""
    w = torch.ones(3, requires_grad=True)
    for _ in range(4):
        w.grad = None
        loss = (w * 2 + 1).sum()
        loss.backward()
        loss.item()
    return w


def test_a_child_computes():
    w = used_up()

    def train():
        out = []
        for _ in range(3):
            w.grad = None
            (w * 2 + 1).sum().backward()
            out.append(w.grad.tolist())
        return out, (torch.arange(4.) * w.grad.sum()).tolist()
    assert in_child(train) == repr(train())


def test_a_child_reads_what_the_parent_had_pending():
    w = used_up()
    y = w.detach() * 3 + 4
    assert in_child(y.tolist) == "[7.0, 7.0, 7.0]"
    assert y.tolist() == [7, 7, 7]


def test_what_needs_xla_says_so():
    x = used_up().detach()
    assert "needs XLA" in in_child(lambda: torch.to_jax(x + 1))


def test_a_child_of_a_child():
    used_up()
    assert in_child(lambda: in_child(lambda: (torch.ones(2) * 2).tolist())) == repr("[2.0, 2.0]")
