"""Protects what threads share while they record: the trie, leaves, and values that another thread recorded and goes on from."""
import threading

import torchshim as torch
from tests.engine.test_threads import in_threads


def test_one_leaf_in_four_threads():
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def work(k):
        for i in range(40):
            s = float(k + i % 3)
            (g,) = torch.autograd.grad((w * w * s).sum(), w)
            assert g.tolist() == [2 * s, 4 * s, 6 * s]
    in_threads(*[lambda k=k: work(k) for k in range(1, 5)])
    assert w.grad is None


def test_values_of_a_thread_that_goes_on_recording():
    """Whoever needs them computes what was recorded so far; the owner records, and computes, all the while."""
    published, stop = [], threading.Event()

    def owner():
        x = torch.arange(3.0)
        for i in range(300):
            x = x * 1.0 + 1.0
            published.append((i, x))
            if i % 50 == 49:
                assert x.tolist() == [i + 1.0, i + 2.0, i + 3.0]
        stop.set()

    def reader():
        at = 0
        while not (stop.is_set() and at >= len(published)):
            if at < len(published):
                i, y = published[at]
                assert (y + 1.0).tolist() == [i + 2.0, i + 3.0, i + 4.0]
                at += 7
    in_threads(owner, reader, reader)


def test_the_first_time_of_many_operators_at_once():
    def work():
        for n in range(2, 14):
            x = torch.ones(n, 3)
            assert ((x * 2.0).reshape(3, n).t() + 1.0).sum().item() == 9.0 * n
    in_threads(work, work, work)


def test_a_pending_check_is_told_to_whoever_looks_first():
    x, seen = torch.ones(4), []

    def look():
        try:
            seen.append(y.tolist())
        except IndexError as e:
            seen.append(type(e))
    y = torch.index_select(x, 0, torch.full((3000,), 9) + 0)       # too many to be looked at in the call
    t = threading.Thread(target=look)
    t.start()
    t.join()
    look()
    assert seen == [IndexError, IndexError]


def test_an_index_that_is_fine_is_read_by_another_thread():
    x, seen = torch.arange(4.0), []
    y = torch.index_select(x, 0, torch.tensor([1, 3]) + 0)
    in_threads(lambda: seen.append((y * 2.0).tolist()))
    assert seen == [[2, 6]] and y.tolist() == [1, 3]
