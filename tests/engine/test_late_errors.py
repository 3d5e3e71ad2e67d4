"""Protects late errors: what was recorded after an operator that fails by its operand's values did not happen, as in PyTorch."""
import gc
import threading

import pytest

import torchshim as torch
from tests.engine.test_threads import in_threads
from torchshim.engine.compile import policy


def late(*indices):
    """Indices that are not computed yet, by more operators than a call computes to look at them."""
    made = torch.tensor(indices)
    for _ in range(20):
        made = made + 0
    return made



def fails(f, *args):
    with pytest.raises(IndexError, match="out of "):
        f(*args)


@pytest.mark.parametrize("optimizer", [lambda p: torch.optim.SGD(p, 0.1), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
                                       lambda p: torch.optim.Adam(p, 0.1)])
@pytest.mark.parametrize("failing", [0, 2])
def test_a_failed_step_leaves_everything_alone(optimizer, failing):
    def train(indices):
        w, b = torch.ones(3, requires_grad=True), torch.ones(1, requires_grad=True)
        o = optimizer([w, b])
        for n in indices:
            def step():
                loss = (w[late(n)] * 2 + b).sum()
                o.zero_grad()
                loss.backward()
                o.step()
            fails(step) if n > 2 else step()
        return w.tolist(), b.tolist(), [{k: v.tolist() if k != "step" else float(v) for k, v in o.state[p].items()}
                                        for p in (w, b) if p in o.state]
    good = [0, 1, 2, 1]
    assert train(good[:failing] + [7] + good[failing:]) == train(good)


def test_gradients_and_histories_are_as_before():
    gc.collect()                               # optimizers that other tests left: while one lives, its step() is the look
    w, y, z = torch.ones(3, requires_grad=True), torch.zeros(2), torch.zeros(2)
    w.grad = torch.full((3,), 5.0)
    view = z[:1]
    bad = w[late(0, 9)]
    y.add_(bad)
    view.add_(w.sum())
    w.grad += 1
    w.grad = None
    fails((w * 2).sum().backward)              # the end of a backward pass is a look
    assert not y.requires_grad and not z.requires_grad and y.tolist() == [0, 0] and z.tolist() == [0, 0] and view.tolist() == [0]
    assert w.grad.tolist() == [5, 5, 5]
    assert y._version == 0 and z._version == 0
    z.add_(w[:2].detach())
    assert view.tolist() == [1]


def test_a_step_before_the_failing_operator_stays():
    x = torch.zeros(3)
    x += 1
    torch.ones(3)[late(1)]
    x += 1
    torch.ones(3)[late(8)]
    x += 1
    torch.ones(3)[late(9)]
    x += 1
    with pytest.raises(IndexError, match="index 8 is out"):
        x.tolist()
    assert x.tolist() == [2, 2, 2]


def test_what_came_of_it_never_turns_into_a_number():
    bad = torch.ones(3)[late(5)]
    worse, other = bad * 2, torch.ones(2) * 3
    fails(other.tolist)
    fails(bad.tolist)
    fails(worse.tolist)
    fails(lambda: (worse + 1).tolist())
    assert other.tolist() == [3, 3]


@pytest.mark.parametrize("tier", ["compiled", "operators"])
def test_in_each_tier(tier, monkeypatch):
    monkeypatch.setattr("torchshim.engine.compile.policy.tier", tier)
    x = torch.ones(3)
    for n in (0, 7, 1, 8):
        y = x[late(n)]
        x.mul_(2)
        fails(y.tolist) if n > 2 else y.tolist()
    assert x.tolist() == [4, 4, 4]


def test_another_thread_that_looks_first_is_told():
    x = torch.ones(3)
    before = x * 2
    y = x[late(4)]
    x += 1
    in_threads(lambda: fails(y.tolist), lambda: fails(x.tolist), lambda: fails(lambda: (y * 2).tolist()))
    seen = []
    in_threads(lambda: seen.extend(before.tolist()))
    assert seen == [2, 2, 2]                   # it was there before
    fails(y.tolist)
    assert x.tolist() == [1, 1, 1]
    in_threads(lambda: fails(y.tolist))


def test_a_thread_that_ended_without_a_look():
    """Nobody else can raise its error: whoever looks first is told, and what it did is undone."""
    x, kept = torch.ones(3), []

    def work():
        kept.append(x[late(4)])
        x.add_(1)
    t = threading.Thread(target=work)
    t.start()
    t.join()
    fails(x.tolist)
    assert x.tolist() == [1, 1, 1]
    fails(kept[0].tolist)


def test_programs_without_checks_log_nothing():
    x = torch.ones(3)
    x[torch.tensor([1])] += 1
    assert torch.tensor(0).add_(1) is not None
    from torchshim.engine import context
    assert context.trace.undo is None and context.trace.checks is None


@pytest.fixture
def compiled():
    policy.pin("compiled")
    yield
    policy.pin(None)


def program_of(f):
    """What is computed by the program that a look at f() compiles."""
    made = f()
    made.tolist()
    return next(reversed(policy._lru)).live


def test_a_cheap_check_is_not_waited_for(compiled):
    # the host finds it out before the program runs, so that the next step is recorded while this one is computed
    def early(*indices):                       # made by fewer operators, of more elements than a call looks at
        return (torch.tensor([indices] * 1100) + 0)[0]
    w, table = torch.arange(6.0).reshape(3, 2), torch.arange(200_000.0)
    w.tolist(), table.sum().item()
    assert len(program_of(lambda: w[early(0, 2)])) == 1
    assert len(program_of(lambda: torch.nn.functional.cross_entropy(w, early(0, 1, 0)))) == 1
    assert len(program_of(lambda: w[(table * 0 + 1).long()])) == 2          # too much to compute twice
    small = torch.full((64, 64), 0.5)
    small.tolist()

    def most_of_it():
        out = small
        for _ in range(8):
            out = torch.sigmoid(out)
        return torch.nn.functional.binary_cross_entropy(out, small)
    assert len(program_of(most_of_it)) == 2    # a small program is waited for rather than computed twice


def test_what_few_operators_make_is_looked_at_in_the_call():
    """torch raises at the call, and code around it that expects so finds it: `try: x[index]`."""
    x, index = torch.zeros(5), torch.ones(20, dtype=torch.long)
    index[-1] = 10
    fails(lambda: x[index])
    fails(lambda: x.__setitem__(index, 1.0))
    fails(lambda: torch.nn.functional.cross_entropy(torch.zeros(20, 3), index))
    p, matrix = torch.full((2, 2), 0.5), torch.eye(3) * 1
    for bad in (p - 1, p + 1):
        with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
            torch.nn.functional.binary_cross_entropy(bad, p)
        with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
            torch.nn.functional.binary_cross_entropy(p, bad)
    matrix[0, 0] = float("nan")
    with pytest.raises(torch.linalg.LinAlgError, match="non-finite"):
        torch.linalg.svd(matrix)
    places = torch.nn.functional.max_pool2d(torch.arange(36.0).reshape(1, 1, 6, 6), 3, 2, return_indices=True)
    with pytest.raises(RuntimeError, match="Found an invalid max index: 28"):      # the default size has 25 elements
        torch.nn.functional.max_unpool2d(*places, 3, 2)
    assert x.tolist() == [0] * 5


@pytest.mark.parametrize("times", [1, 3])
def test_a_cheap_check_that_fails_in_the_compiled_tier(compiled, times):
    w, total = torch.arange(3.0), torch.zeros(2)
    for _ in range(times):
        before = total.tolist()
        index = late(1, 3)
        fails(lambda: total.add_(w[index]).tolist())
        assert total.tolist() == before and index.tolist() == [1, 3]
        total += w[late(1, 2)]
    assert total.tolist() == [times, 2 * times]
