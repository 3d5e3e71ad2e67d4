"""Reading known memory at places that change makes no program, and grows no trie, for each place."""
import pytest

import torchshim as torch
from torchshim.ops.views import LazyInstance


def test_numbers_read_one_by_one_are_not_recorded():
    d = torch.randn(1000)
    want = d.tolist()
    got = [d[i].item() for i in range(10)]
    before = torch.stats()
    got += [d[i].item() for i in range(10, 1000)]
    after = torch.stats()
    assert got == want
    assert (after["ops"], after["states"]) == (before["ops"], before["states"])


def test_slices_at_new_places_repeat_one_trace():
    """The batches of a language model: cut at random places, stacked and looked at."""
    d = torch.arange(5000)

    def batch(k):
        x = torch.stack([d[i:i + 8] for i in (k, 3 * k + 1, 2 * k + 7)])
        assert x.tolist() == [list(range(i, i + 8)) for i in (k, 3 * k + 1, 2 * k + 7)]

    for k in range(10):
        batch(k)
    before = torch.stats()["states"]
    for k in range(10, 200):
        batch(k)
    assert torch.stats()["states"] == before


def test_views_at_new_places_see_later_writes_and_can_be_written():
    d = torch.zeros(100)
    views = [d[i:i + 3] for i in range(20)]
    d[10] = 5.0
    for v in views:
        v.add_(1)
    assert d[:24].tolist() == [1, 2] + [3] * 8 + [8] + [3] * 9 + [2, 1, 0, 0]
    assert [v._version for v in views] == [21] * 20 and views[12].storage_offset() == 12


def test_histories_go_through_views_at_new_places():
    w = torch.randn(50, requires_grad=True)
    d = torch.randn(50)
    for i in range(20):
        v = d[i:i + 4]
        assert v.grad_fn is None and v._base is d
        p = w[i:i + 4]
        assert p.grad_fn.name() == "SliceBackward0"
        (g,) = torch.autograd.grad((p * v).sum(), w)
        assert torch.equal(g[i:i + 4], v) and g.count_nonzero() == 4
    with torch.no_grad():
        v = w[30:34]
    assert v.grad_fn is None and v._base is w
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode enabled"):
        v.add_(1)


def test_a_long_loop_of_writes_is_not_unrolled(monkeypatch):
    """Nobody looks, so that no depth of a trace comes back: the line itself tells that its places change."""
    made = []
    build = LazyInstance.__init__
    monkeypatch.setattr(LazyInstance, "__init__", lambda self, op, layout, *rest: (made.append(op.name), build(self, op, layout, *rest))[1])
    a, c = torch.randn(1, 307), torch.zeros(307)
    for i in range(307):
        c[i] = a[0, i] + 1
    assert torch.equal(c, a[0] + 1)
    assert len(made) < 150
