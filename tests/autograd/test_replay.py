"""Protects the replay of backward passes: over graphs that change between repetitions it does what the general walk does."""
import random
import sys

import pytest

import torchshim as torch
from torchshim.autograd.replay import Walk
from torchshim.engine.compile import policy

backward = sys.modules["torchshim.autograd.backward"]


@pytest.fixture(autouse=True)
def no_compiles():
    policy.pin("operators")
    yield
    policy.pin(None)


def graph(draw):
    """A random recipe: operators as (name, operands), where operand k < 3 is a leaf and others are earlier results."""
    recipe = []
    for k in range(draw.randint(2, 7)):
        operand = lambda: draw.randrange(3) if draw.random() < 0.5 or k == 0 else 3 + draw.randrange(k)
        recipe.append((draw.choice(("add", "mul", "sub", "relu", "view", "number", "unbind", "detach_mul")), operand(), operand()))
    return recipe


PLAIN = {"share": None, "frozen": (), "no_grad": None, "swap": False, "hook": None, "retain": None, "grads": "none", "twice": False,
         "root": None, "late": None, "ask": None}


def change(draw):
    """What one repetition does differently."""
    kind = draw.choice(list(PLAIN))
    value = {"share": lambda: draw.choice((("same", 0, 1), ("same", 1, 2), ("alias", 0, 1), ("alias", 1, 2), ("clone", 0, 1))),
             "frozen": lambda: (draw.randrange(3),), "no_grad": lambda: draw.randrange(4), "swap": lambda: True,
             "hook": lambda: draw.randrange(3), "retain": lambda: draw.randrange(4),
             "grads": lambda: draw.choice(("kept", "zeros", "shared", "aliased", "leaf", "some")),
             "twice": lambda: True, "root": lambda: torch.tensor(2.0),
             "ask": lambda: [draw.randrange(8) for _ in range(draw.randint(1, 3))],
             "late": lambda: (draw.choice(("off", "data", "write")), draw.randrange(3))}[kind]()
    return {**PLAIN, kind: value}


def repeat(recipe, changes, asked=None):
    """Run the recipe once for each of `changes`; all the gradients seen. `asked`: the numbers of the values whose gradients are asked for,
    with autograd.grad, where a change does not ask for others."""
    leaves = [torch.tensor([1.0 + k, -2.0, 3.0 - k], requires_grad=True) for k in range(3)]
    memory = torch.tensor([2.0, 1.0, -1.0], requires_grad=True)
    seen = []
    for now in changes:
        use = list(leaves)
        if now["share"]:
            how, a, b = now["share"]
            use[a] = memory
            use[b] = {"same": lambda: memory, "alias": lambda: memory.detach().requires_grad_(),
                      "clone": lambda: memory.detach().clone().requires_grad_()}[how]()
        give_gradients(use, now["grads"])
        for k in now["frozen"]:
            use[k].requires_grad_(False)
        handle = use[now["hook"]].register_hook(lambda g: g * 2) if now["hook"] is not None and use[now["hook"]].requires_grad else None
        results = []
        try:
            y, middle = build(recipe, use, now, results)
            if now["late"]:
                after_the_forward(use[now["late"][1]], now["late"][0])
            if y.requires_grad and (now["ask"] or asked):
                ends = [results[k % len(results)] for k in now["ask"] or asked]
                ends = [t for t in ends if t.requires_grad] or [t for t in results if t.requires_grad][:1]
                for keep in (True, False)[not now["twice"]:]:
                    got = torch.autograd.grad(y, ends, now["root"], allow_unused=True, retain_graph=keep)
                    seen.append([None if g is None else g.tolist() for g in got])
            elif y.requires_grad:
                y.backward(now["root"], retain_graph=now["twice"])
                if now["twice"]:
                    y.backward(now["root"])
        except RuntimeError as e:
            seen.append(str(e)[:60])
        seen.append([None if t.grad is None else t.grad.tolist() for t in use + ([middle] if middle is not None else [])])
        if handle is not None:
            handle.remove()
        for t in (*use, memory):
            t.requires_grad_()
    return seen


def after_the_forward(leaf, what):
    if what == "off":
        leaf.requires_grad_(False)
    elif what == "data":
        leaf.data.mul_(-1.0)                   # torch does not notice: the gradient is that of the new value
    else:
        with torch.no_grad():
            leaf.mul_(-1.0)                    # noticed, where the value was saved


def give_gradients(use, how):
    if how == "kept":
        return
    for k, t in enumerate(use):
        t.grad = None if how == "none" or (how == "some" and k) else torch.full((3,), 1.0 + k)
    if how == "shared":
        use[1].grad = use[0].grad
    elif how == "aliased":
        use[1].grad = use[0].grad.detach()
    elif how == "leaf":
        use[0].grad = use[0].detach()


def build(recipe, use, now, results):
    values, middle = list(use), None
    for k, (name, a, b) in enumerate(recipe):
        x, y = values[a], values[b]
        if now["swap"] and name in ("add", "mul"):
            x, y = y, x
        with torch.set_grad_enabled(now["no_grad"] != k):
            r = {"add": lambda: x + y, "mul": lambda: x * y, "sub": lambda: x - y, "relu": lambda: torch.relu(x),
                 "view": lambda: x.reshape(3, 1)[:, 0], "number": lambda: x * (k + 2.0),
                 "unbind": lambda: torch.stack(x.unbind()[::-1]) + y, "detach_mul": lambda: x.detach() * y}[name]()
        if now["retain"] == k and r.requires_grad:
            r.retain_grad()
            middle = r
        values.append(r)
    results.extend(values)
    return sum(values[4:], values[3]).sum(), middle


@pytest.mark.parametrize("part", range(4))
def test_replays_do_what_the_general_walk_does(part, monkeypatch):
    replays = []
    original = Walk.replay

    def counted(self, *args):
        done = original(self, *args)
        replays.append(done is not None)
        return done
    monkeypatch.setattr(Walk, "replay", counted)
    for seed in range(part * 20, part * 20 + 20):
        draw = random.Random(seed)
        recipe = graph(draw)
        changes = [PLAIN if draw.random() < 0.5 else change(draw) for _ in range(6)]
        changes += [draw.choice(changes) for _ in range(6)]
        asked = [draw.randrange(8) for _ in range(draw.randint(1, 3))] if seed % 2 else None
        got = repeat(recipe, changes, asked)
        with monkeypatch.context() as m:
            m.setattr(backward, "replayed", lambda *_: None)
            want = repeat(recipe, changes, asked)
        assert got == want, (seed, recipe, changes)
    assert replays.count(True) > 60            # else this says nothing


def test_another_leaf_on_the_same_memory():
    w = torch.ones(3, requires_grad=True)
    for i in range(10):
        u = w.detach().requires_grad_() if i < 5 else w
        w.grad = None
        (w * u * 3).sum().backward()
        assert w.grad.tolist() == ([3.0] * 3 if i < 5 else [6.0] * 3)
    for i in range(10):
        u = w if i < 5 else w.detach().requires_grad_()
        w.grad = None
        (w * u * 3).sum().backward()
        assert w.grad.tolist() == ([6.0] * 3 if i < 5 else [3.0] * 3)


def test_gradients_that_share_memory():
    """Sums that lie in the same memory, or in a leaf's own, are added one after the other."""
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    for i in range(8):
        g = torch.zeros(2)
        a.grad, b.grad = g, (g.clone() if i < 4 else g.detach())
        (a * 2 + b * 3).sum().backward()
        assert a.grad.tolist() == ([2, 2] if i < 4 else [5, 5])


def test_sparse_gradients_elsewhere_do_not_end_replays(monkeypatch):
    """Passes without sparse gradients are replayed after one had some, and those with some are walked."""
    done, original = [], Walk.replay
    monkeypatch.setattr(Walk, "replay", lambda self, *args: done.append(original(self, *args)) or done[-1])
    table = torch.nn.Embedding(4, 2, sparse=True)
    w = torch.ones(2, requires_grad=True)
    for i in range(6):
        w.grad = table.weight.grad = None
        (table(torch.tensor([1, 1, 3])) * w * 0 + w).sum().backward()
        assert table.weight.grad.is_sparse and w.grad.tolist() == [3, 3]
    assert done.count(None) == len(done)
    for i in range(6):
        w.grad = None
        (w * 2).sum().backward()
        assert w.grad.tolist() == [2, 2]
    assert len(done) - done.count(None) >= 4
    for i in range(4):                         # onto a dense one
        (w * 2).sum().backward()
    for i in range(6):                         # a dense gradient onto a sparse one
        w.grad = torch.tensor([1.0, 0.0]).to_sparse() if i % 2 else None
        (w * 2).sum().backward()
        assert w.grad.tolist() == [2 + i % 2, 2]


def test_gradients_that_are_asked_for_are_replayed(monkeypatch):
    applied = []
    general = backward._apply
    monkeypatch.setattr(backward, "_apply", lambda *args: applied.append(1) or general(*args))
    x, w = torch.ones(4, requires_grad=True), torch.full((4,), 1.5)
    for k in range(6):
        y = (x * w).sin() * x
        made = torch.autograd.grad(y.sum(), x, retain_graph=True)[0]
        made.sum().item()
        if k > 2:
            assert not applied
        applied.clear()


def test_what_is_asked_for_below_nodes_that_did_not_run_is_found():
    x, w = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
    for k in range(8):
        inner = w if k % 3 != 2 else x         # the branch that leads to w alone leads to x now
        y = ((inner * 3).exp() + x * 2).sum()
        got = torch.autograd.grad(y, x)[0].tolist()
        want = [2.0] * 3 if inner is w else [2 + 3 * torch.tensor(3.0).exp().item()] * 3
        assert got == pytest.approx(want)


def test_several_roots_with_cotangents_from_outside_are_replayed(monkeypatch):
    """Roots that are the same, that lead to each other, or that lead to nothing that is asked for, in changing order:
    as the general walk."""
    done, original = [], Walk.replay
    monkeypatch.setattr(Walk, "replay", lambda self, *args: done.append(original(self, *args)) or done[-1])

    def passes(draw):
        leaves = [torch.tensor([1.0 + k, -2.0, 3.0 - k], requires_grad=True) for k in range(3)]
        given = [torch.tensor([0.5 + k, 1.0, -k]) for k in range(6)]
        choices = [([0, 1], [0]), ([1, 0], [0, 2]), ([2, 3, 0], [0, 1]), ([4, 4], [1]), ([5, 2], [0, 1, 2]), ([3], [2])]
        for _ in range(40):
            x, y, z = leaves
            a = x * y
            b = a.exp() + z
            values, at = (x * z).sort()
            made = [a, b, values, (b * a).sum(), x.max(0).values * y, z.unbind()[1]]
            roots, ask = draw.choice(choices)
            cts = [given[k] if made[k].dim() else given[k][0] for k in roots]
            if draw.random() < 0.2:
                cts = [c.clone() for c in cts]
            got = torch.autograd.grad([made[k] for k in roots], [leaves[k] for k in ask], cts, allow_unused=True)
            yield [None if g is None else g.tolist() for g in got]

    got = list(passes(random.Random(0)))
    with monkeypatch.context() as m:
        m.setattr(backward, "replayed", lambda *_: None)
        assert got == list(passes(random.Random(0)))
    assert len(done) - done.count(None) > 20


def test_a_long_backward_pass_after_a_look_is_replayed(monkeypatch):
    """Its trace begins at the look, and no graph was built in it: it is not cut in the middle of the walk all the same."""
    w, x, walks, general = torch.eye(4, requires_grad=True), torch.ones(2, 4), [], backward._Walk

    class Counted(general):
        def __init__(self, *args):
            walks.append(args)
            super().__init__(*args)
    monkeypatch.setattr(backward, "_Walk", Counted)
    for _ in range(6):
        h = x
        for _ in range(60):
            h = torch.tanh(h @ w + x)
        loss = h.sum()
        loss.item()
        loss.backward()
        w.grad = None
    assert len(walks) <= 2
