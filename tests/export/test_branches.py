"""Protects torch.cond in exported programs, with and without sizes that are symbols, and run_decompositions of such sizes; the graphs are
those of torch 2.13."""
import operator

import pytest

import torchshim as torch
from torchshim import nn
from torchshim.export import Dim, export


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x, y):
        r = torch.cond(y.any(), lambda x, y: (self.one(x) + y.sum(), x * 2), lambda x, y: (self.other(x), x - 1), (x, y))
        return r[0] * 2, r[1]


@pytest.mark.parametrize("lowered", [False, True])
def test_both_branches_are_captured(lowered):
    net = Two()
    ep = export(net, (torch.ones(4, 3), torch.ones(2)))
    ep = ep.run_decompositions() if lowered else ep
    step = next(n for n in ep.graph.nodes if n.target is torch.ops.higher_order.cond)
    assert [n.name for n in step.args[3]] == ["x", "p_one_bias", "p_one_weight", "y", "p_other_bias", "p_other_weight"]
    assert step.name == "cond" and [n.name for n in step.args[:3]] == ["any_1", "true_graph_0", "false_graph_0"]
    parts = dict(ep.graph_module.named_children())
    taken = [n.name for n in parts["true_graph_0"].graph.nodes if n.op == "placeholder"]
    assert taken == [n.name for n in step.args[3]] and "class true_graph_0" in str(ep)
    for y in (torch.ones(2), torch.zeros(2)):
        for a, b in zip(ep.module()(torch.ones(4, 3), y), net(torch.ones(4, 3), y), strict=True):
            torch.testing.assert_close(a, b)


class Nested(nn.Module):
    def forward(self, x):
        def inner(x):
            return torch.cond(x.max() > 1, lambda x: x.view(-1) * x.shape[0], lambda x: x.view(-1) * 2, (x,))
        return torch.cond(x.sum() > 0, inner, lambda x: x.view(-1) - 1, (x,))


@pytest.mark.parametrize("lowered", [False, True])
def test_branches_within_branches_and_sizes_that_are_symbols(lowered):
    ep = export(Nested(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim("b")},))
    ep = ep.run_decompositions() if lowered else ep
    for x in (torch.ones(5, 3), -torch.ones(2, 3), 2 * torch.ones(3, 3)):
        assert torch.equal(ep.module()(x), Nested()(x))


class Held(nn.Module):
    def __init__(self, branch):
        super().__init__()
        self.branch = branch

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.branch, lambda x: x * 2, (x,))


@pytest.mark.parametrize("branch, text", [
    (lambda x: x, "returns what it was given"), (lambda x: x[:1], "different shapes"), (lambda x: x.add_(1) * 1, "writes to what it was given"),
    (lambda x: 3, "anything but tensors")])
def test_what_branches_can_not_do(branch, text):
    with pytest.raises(NotImplementedError, match=text):
        export(Held(branch), (torch.ones(3),))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(6, 4)

    def forward(self, x):
        return torch.softmax(self.l(x), -1), x.view(x.shape[0] * 2, -1).mean(0), x.shape[0] * 3


def test_sizes_that_are_symbols_are_taken_apart():
    ep = export(Net(), (torch.ones(4, 6),), dynamic_shapes=({0: Dim("b")},)).run_decompositions()
    calls = [(n.name.partition("mul")[1] or n.name, str(n.meta["val"]) if n.target is operator.mul else None)
             for n in ep.graph.nodes if n.op == "call_function"]
    assert calls == [("sym_size_int_1", None), ("permute", None), ("addmm", None), ("_softmax", None), ("mul", "2*s77"), ("view", None),
                     ("mean", None), ("mul", "3*s77")]
    assert str(ep.range_constraints) == "{s77: VR[0, int_oo]}"
    assert [type(s.arg).__name__ for s in ep.graph_signature.output_specs] == ["TensorArgument", "TensorArgument", "SymIntArgument"]
    x, net = torch.randn(7, 6), Net()
    net.load_state_dict(ep.state_dict)
    for a, b in zip(ep.module()(x), net(x), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("net, shape, places", [
    (lambda: nn.TransformerEncoderLayer(6, 2, 8, dropout=0.1, batch_first=True).eval(), (4, 5, 6), {0: Dim("b")}),
    (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.MaxPool2d(2), nn.Flatten()).eval(), (4, 3, 8, 8), {0: Dim("b")}),
    (lambda: nn.Sequential(nn.LayerNorm(6), nn.Linear(6, 4), nn.GELU()), (4, 5, 6), {0: Dim("b"), 1: Dim("s")})])
def test_networks_with_a_batch_of_any_size(net, shape, places):
    net = net()
    ep = export(net, (torch.randn(shape),), dynamic_shapes=(places,)).run_decompositions()
    x = torch.randn(3, *shape[1:])
    torch.testing.assert_close(ep.module()(x), net(x))


def test_branches_are_exported_after_a_mode_has_seen_operators():
    """Whatever began to ask before: a branch calls its functions as ever."""
    from torchshim.utils._python_dispatch import TorchDispatchMode

    class Passing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    with Passing():
        torch.ones(2) + 1
    exported = torch.export.export(Model(), (torch.ones(3),))
    assert [exported.module()(x).tolist() for x in (torch.ones(3), -torch.ones(3))] == [[2.0] * 3, [-2.0] * 3]
