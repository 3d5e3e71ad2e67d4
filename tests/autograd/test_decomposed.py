"""A graph that is walked has the nodes that PyTorch's decompositions leave, with hooks on each; gradients stay what they were."""
import pytest

import torchshim as torch
from torchshim.nn import functional as F


def names(fn):
    return fn and [fn.name(), *[names(g) for g, _ in fn.next_functions]]


LEAF = ["torch::autograd::AccumulateGrad"]
T = ["TBackward0", LEAF]


def test_linear():
    x, w, b = (torch.randn(*s, requires_grad=True) for s in ((4, 3), (5, 3), (5,)))
    assert names(F.linear(x, w, b).grad_fn) == ["AddmmBackward0", LEAF, LEAF, T]
    assert names(F.linear(x, w).grad_fn) == ["MmBackward0", LEAF, T]
    assert names(F.linear(x.detach(), w, b).grad_fn) == ["AddmmBackward0", LEAF, None, T]
    assert names(F.linear(x[None], w, b).grad_fn) == ["ViewBackward0",
                                                      ["AddmmBackward0", LEAF, ["ViewBackward0", ["UnsqueezeBackward0", LEAF]], T]]
    assert F.linear(x, w, b).grad_fn.next_functions[2][0].next_functions[0][0].variable is w


def test_cross_entropy():
    x = torch.randn(4, 3, requires_grad=True)
    y = F.cross_entropy(x, torch.tensor([0, 1, 2, 0]), weight=torch.rand(3), reduction="sum", ignore_index=1)
    assert names(y.grad_fn) == ["NllLossBackward0", ["LogSoftmaxBackward0", LEAF]]


def gradients(walked):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    y = F.cross_entropy(net(torch.randn(5, 3)), torch.tensor([0, 1, 1, 0, 1]))
    if walked:
        names(y.grad_fn)
    y.backward()
    return [p.grad for p in net.parameters()]


def test_gradients_are_the_same():
    for a, b in zip(gradients(True), gradients(False)):
        assert torch.allclose(a, b, rtol=1e-6, atol=1e-7)


def test_hooks_on_the_inner_nodes():
    x, w, b = (torch.randn(*s, requires_grad=True) for s in ((4, 3), (5, 3), (5,)))
    y, seen = F.linear(x, w, b), []
    node = y.grad_fn
    turned = node.next_functions[2][0]
    node.register_hook(lambda ins, outs: seen.append(("linear", [tuple(g.shape) for g in ins])))
    turned.register_hook(lambda ins, outs: seen.append(("t", [tuple(g.shape) for g in (*ins, *outs)])))
    y.sum().backward()
    assert seen == [("linear", [(5,), (4, 3), (3, 5)]), ("t", [(5, 3), (3, 5)])]


def product(a, b, wants=(True, True)):
    a, b = (torch.rand(*s, requires_grad=w) for s, w in zip((a, b), wants))
    return names((a @ b).grad_fn)


def test_products():
    """A row, one large matrix or a stack: what torch's product is made of depends on shapes, layouts and who wants a gradient."""
    V, ROW = ["ViewBackward0", LEAF], ["UnsqueezeBackward0", LEAF]
    E = ["ViewBackward0", ["ExpandBackward0", LEAF]]
    assert product((3,), (3, 2)) == ["SqueezeBackward4", ["MmBackward0", ROW, LEAF]]
    assert product((1,), (1, 3), (False, True)) == ["SqueezeBackward4", ["MmBackward0", None, LEAF]]
    assert product((2, 2, 3), (3, 2)) == ["UnsafeViewBackward0", ["MmBackward0", V, LEAF]]
    assert product((2, 2, 3), (3,)) == ["UnsafeViewBackward0", ["MvBackward0", V, LEAF]]
    assert product((2, 2, 3), (2, 3, 2)) == ["UnsafeViewBackward0", ["BmmBackward0", E, E]]
    assert product((3,), (2, 3, 2), (False, True)) == ["UnsafeViewBackward0", ["BmmBackward0", None, E]]
    assert product((2, 2, 3), (1, 3, 2)) == ["UnsafeViewBackward0", ["MmBackward0", V, ["SqueezeBackward1", LEAF]]]
    assert product((1, 2, 3), (2, 3, 2), (True, False)) == ["CloneBackward0", ["TransposeBackward0", ["UnsafeViewBackward0", [
        "MmBackward0", None, ["TBackward0", ["SqueezeBackward1", LEAF]]]]]]
    x = torch.rand(3, 2, 2).permute(2, 1, 0).requires_grad_()
    assert names((x @ torch.rand(3)).grad_fn) == ["UnsafeViewBackward0", ["SqueezeBackward1", ["BmmBackward0", [
        "ReshapeAliasBackward0", ["ExpandBackward0", LEAF]], None]]]


def test_layers_of_odd_dimensions():
    x, w = torch.rand(2, 2, 3, requires_grad=True), torch.rand(3, requires_grad=True)
    assert names(F.linear(x, w).grad_fn) == ["UnsafeViewBackward0", ["MvBackward0", ["ViewBackward0", LEAF], T]]
    assert names(F.linear(x, torch.rand(4, 3), torch.rand(())).grad_fn) == [
        "AddBackward0", ["UnsafeViewBackward0", ["MmBackward0", ["ViewBackward0", LEAF], None]], None]
    with pytest.raises(RuntimeError, match="mat2 must be a matrix, got 1-D tensor"):
        F.linear(x, w, torch.rand(1))


def test_a_hook_on_a_product_sees_its_row():
    a, b, seen = torch.rand(3, requires_grad=True), torch.rand(3, 2), []
    y = a @ b
    y.grad_fn.register_hook(lambda ins, outs: seen.append([tuple(g.shape) for g in ins]))
    y.sum().backward()
    assert seen == [[(1, 2)]] and torch.allclose(a.grad, b.sum(1))


def test_writes_are_noticed_after_a_look():
    """A node that became several by a look still refuses what was written since: the new ones watch the operands' own memory."""
    w = torch.tensor(1.5, requires_grad=True)
    rows = torch.ones(1, 3) * w
    row = rows.squeeze(0)
    made = torch.nn.functional.linear(torch.ones(1, 3) * w, row)
    row.exp().sum().backward(inputs=[made], retain_graph=True)         # looks at the node of `made`
    rows *= 2
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[3\]\], which is output 0 of AsStrided, is at version 1"):
        made.backward()
