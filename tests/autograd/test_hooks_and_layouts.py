"""Hooks of gradients may change neither their layout, nor the dtype, nor the size."""
from collections import OrderedDict

import pytest

import torchshim as torch


def to_sparse(g):
    return g.to_sparse()


@pytest.mark.parametrize("leaf", [True, False])
def test_a_dense_gradient_stays_dense(leaf):
    x = torch.ones(3, requires_grad=True)
    y = x if leaf else x * 2
    y.register_hook(to_sparse)
    with pytest.raises(RuntimeError, match=r"hook 'to_sparse' has changed the type of value \(was torch.FloatTensor got "
                                           r"torch.sparse.FloatTensor\)"):
        (y * 3).sum().backward()


def test_hooks_of_nodes():
    x = torch.ones(3, requires_grad=True)
    y, z = x * 2, x * 2
    y.grad_fn.register_prehook(lambda g: (g[0].to_sparse(),))
    z.grad_fn.register_hook(lambda made, given: (made[0].to_sparse(), None))
    for t in (y, z):
        with pytest.raises(RuntimeError, match="has changed the type of value"):
            t.sum().backward()


@pytest.mark.parametrize("hook, text", [
    (lambda g: g.to_dense(), r"was torch.sparse.FloatTensor got torch.FloatTensor"), (lambda g: g.double(), "changed the type"),
    (lambda g: torch.sparse_coo_tensor([[0], [0]], [1.0], (1, 1)), "changed the size"), (lambda g: g * 2, None)])
def test_a_sparse_gradient_stays_sparse(hook, text):
    table = torch.nn.Embedding(4, 2, sparse=True)
    table.weight.register_hook(hook)
    out = table(torch.tensor([1])).sum()
    if text is None:
        out.backward()
        assert table.weight.grad.is_sparse and table.weight.grad.to_dense().tolist() == [[0, 0], [2, 2], [0, 0], [0, 0]]
    else:
        with pytest.raises(RuntimeError, match=text):
            out.backward()


def test_a_hook_of_several_gradients_does_not_count_a_single_root():
    for root, want in (("x", []), ("y", [[None, [1.0]], [[2.0], None]]), ("z", [[[6.0], [3.0]]])):
        x = torch.ones(1, requires_grad=True)
        y = x * 2
        tensors, seen = {"x": x, "y": y, "z": y * 3}, []
        torch.autograd.graph.register_multi_grad_hook((x, y), lambda gs: seen.append([None if g is None else g.tolist() for g in gs]))
        if root == "x":
            torch.autograd.graph.register_multi_grad_hook((x, x), lambda gs: seen.append("called"))
        tensors[root].backward(torch.ones(1))
        assert seen == want
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        torch.autograd.graph.register_multi_grad_hook((torch.ones(1), torch.ones(1, requires_grad=True)), print)


def test_the_table_of_a_tensors_hooks():
    """`_backward_hooks` is that of a leaf, which may be replaced or cleared, or what hooks a result has at its node."""
    x = torch.ones(2, requires_grad=True)
    assert x._backward_hooks is None
    handle = x.register_hook(lambda g: g * 2)
    assert list(x._backward_hooks) == [handle.id]
    x._backward_hooks = None
    x._backward_hooks = table = OrderedDict({7: lambda g: g * 5})
    y = x * 2
    y.register_hook(lambda g: g * 3)
    assert x._backward_hooks is table and len(y._backward_hooks) == 1
    y._backward_hooks = None                   # the node keeps its own
    y.sum().backward()
    assert x.grad.tolist() == [30, 30]


@pytest.mark.parametrize("f, wanted, seen", [
    (torch.mul, "a", [[3.0], None]), (torch.mul, "b", [None, [2.0]]), (torch.mul, "y", [None, None]), (torch.mul, "ya", [[3.0], None]),
    (lambda a, b: torch.cat([a, b]), "a", [[1.0], [1.0]]), (lambda a, b: torch.cat([a, b]), "y", [None, None]),
    (lambda a, b: torch.cat([a, b]), "ya", [[1.0], [1.0]])])
def test_hooks_of_nodes_see_those_gradients_alone_that_lead_to_what_is_asked_for(f, wanted, seen):
    """Of a list all, if one does. `inputs=` runs the node of a result, too, `autograd.grad` stops before it."""
    for accumulate in (False, True):
        for create_graph in (False, True):
            a, b = torch.tensor([2.], requires_grad=True), torch.tensor([3.], requires_grad=True)
            y, told = f(a, b), []
            y.grad_fn.register_hook(lambda made, given: told.append([None if g is None else g.tolist() for g in made]))
            ends = [{"a": a, "b": b, "y": y}[n] for n in wanted]
            if accumulate:
                y.sum().backward(inputs=ends, create_graph=create_graph)
            else:
                torch.autograd.grad(y.sum(), ends, create_graph=create_graph)
            assert told == ([] if wanted == "y" and not accumulate else [seen])


def _hooked(turn, removed, then=None):
    seen = []
    y = torch.ones(2, 2, requires_grad=True) * 1
    handle = y.register_hook(lambda g: seen.append(("first", list(g.shape))))
    if removed:
        handle.remove()
    turn(y)
    if then is not None:
        then(y)
    y.register_hook(lambda g: seen.append(("later", list(g.shape))))
    y.sum().backward()
    return seen


def test_a_tensor_turned_in_place_adds_later_hooks_to_those_of_before():
    turns = (lambda y: y.t_(), lambda y: y.unsqueeze_(0), lambda y: y.squeeze_(), lambda y: y.as_strided_((2,), (1,)))
    for turn in turns:
        assert _hooked(turn, False) == [("first", [2, 2]), ("later", [2, 2])]
        assert _hooked(turn, True) == [("later", [2, 2])]
    assert _hooked(turns[0], False, turns[1]) == [("first", [2, 2]), ("later", [2, 2])]
    # what is written begins anew
    assert _hooked(turns[1], False, lambda y: y.mul_(2)) == [("later", [1, 2, 2]), ("first", [2, 2])]
    assert _hooked(lambda y: y.mul_(2), False, turns[1]) == [("later", [1, 2, 2]), ("first", [2, 2])]
    assert _hooked(lambda y: y.detach_().requires_grad_(), False) == [("first", [2, 2]), ("later", [2, 2])]


def test_a_root_that_leads_nowhere_tells_its_hooks_each_time():
    seen, x = [], torch.ones(3, requires_grad=True)
    for _ in range(4):
        y, v = (x * x).sin(), torch.ones(3, requires_grad=True)
        y.register_hook(lambda g: seen.append(g.tolist()))
        assert torch.autograd.grad(y, v, torch.ones(3), allow_unused=True) == (None,)
    assert len(seen) == 4
    y.squeeze_()                               # its hooks are not the root's any more
    assert torch.autograd.grad(y, v, torch.ones(3), allow_unused=True) == (None,) and len(seen) == 4


def test_who_retains_its_gradient_is_not_asked_for_its_history_again():
    base = torch.ones(4, requires_grad=True) * 1
    part = base.chunk(2)[0]
    part.retain_grad()
    base.mul_(2)                               # the history of one of several views is lost
    part.retain_grad()
    with pytest.raises(RuntimeError, match="is a view and its base or another view of its base has been modified inplace"):
        base.chunk(2), part.grad_fn
