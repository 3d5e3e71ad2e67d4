"""A graph that is walked has the nodes that PyTorch's decompositions leave, with hooks on each; gradients stay what they were."""
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
