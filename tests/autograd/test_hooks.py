"""Which gradients hooks see, when they run, and how long they live. Expected values are torch 2.13's."""
import contextlib

import pytest

import torchshim as torch


def test_a_hook_that_gives_another_kind_of_numbers_back():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        filled, chosen = x.masked_fill(x > 0, 1.0), torch.where(x > 0, x, x * 2)
    with pytest.raises(RuntimeError, match="^masked_fill_ only supports boolean masks, but got mask with dtype long int"):
        filled.sum().backward()
    with pytest.raises(RuntimeError, match="^where expected condition to be a boolean tensor, but got a tensor with dtype Long"):
        chosen.sum().backward()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.long(), lambda t: t):
        y = x.abs()
    with pytest.raises(RuntimeError, match="^Only Tensors of floating point and complex dtype can require gradients"):
        y.sum().backward()


def test_hooks_on_the_accumulation_of_a_leaf_live_as_long_as_what_leads_there():
    x, said = torch.ones(3, requires_grad=True), []
    edge = torch.autograd.graph.get_gradient_edge
    edge(x).node.register_prehook(lambda g: said.append("nobody leads there"))
    y = x * 2
    edge(x).node.register_prehook(lambda g: said.append("pre"))
    z = x * 3
    y.sum().backward()
    del y
    z.sum().backward()
    assert said == ["pre", "pre"]
    del z
    x.sum().backward()
    assert said == ["pre", "pre"]


def test_a_single_root_does_not_count_for_hooks_on_several_tensors():
    x, said = torch.ones(2, requires_grad=True), []
    y = x * 2
    torch.autograd.graph.register_multi_grad_hook((y, x), said.append)
    torch.autograd.grad(y, [y], torch.ones(2), retain_graph=True)
    leaf = torch.ones(2, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook((leaf,), said.append)
    torch.autograd.grad(leaf, [leaf], torch.ones(2))
    assert said == []
    y.sum().backward()
    assert [g.tolist() for g in said[0]] == [[1.0, 1.0], [2.0, 2.0]]


def test_a_hook_on_several_tensors_keeps_the_ends_that_it_waits_for():
    """So what somebody else puts there stays, though nobody holds it."""
    x, seen = torch.tensor([2.0], requires_grad=True), []
    handle = torch.autograd.graph.register_multi_grad_hook((x,), lambda grads: None)
    torch.autograd.graph.get_gradient_edge(x).node.register_prehook(lambda grads: seen.append(grads[0].item()))
    x.sum().backward()
    assert seen == [1.0]
    handle.remove()


def test_what_hooks_packed_is_shown_with_the_history_of_what_was_packed():
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t.view_as(t)):
        y, z = x.sin(), (x * 1).exp()
    leaf, result = y.grad_fn._saved_self, z.grad_fn._saved_result
    assert leaf.requires_grad and leaf.is_leaf and leaf is not x and result.grad_fn is z.grad_fn


@pytest.mark.parametrize("asked", [False, True])
def test_hooks_see_the_gradients_of_all_tensors_of_a_list(asked):
    a, b, seen = torch.ones(2), torch.ones(1, requires_grad=True), []
    y = torch.cat([a, b])
    y.grad_fn.register_hook(lambda made, given: seen.extend([g.tolist() for g in made]))
    torch.autograd.grad(y.sum(), b) if asked else y.sum().backward()
    assert seen == [[1, 1], [1]]


def test_a_node_whose_gradients_hooks_took_has_unpacked_what_it_saved():
    for saved in (True, False):
        x = torch.ones(2, 2, requires_grad=True)
        y = x.log_softmax(1) if saved else x + 1
        y.grad_fn.register_prehook(lambda grads: (None,))
        y.sum().backward()
        again = pytest.raises(RuntimeError, match="^Trying to backward through the graph a second time")
        with again if saved else contextlib.nullcontext():
            y.sum().backward()
    x = torch.ones(2, requires_grad=True) * 1
    y = x.sin()
    y.grad_fn.register_prehook(lambda grads: (None,))
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
