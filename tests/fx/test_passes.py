"""Protects passes that programs use on graphs: order, what a backend takes, tensors without values, which steps came of what."""
import operator

import pytest

import torchshim as torch
from torchshim import nn
from torchshim.fx import symbolic_trace
from torchshim.fx.experimental.proxy_tensor import make_fx
from torchshim.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops
from torchshim.fx.passes.fake_tensor_prop import FakeTensorProp
from torchshim.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torchshim.fx.passes.operator_support import OperatorSupport, OpSupports, any_chain, chain, create_op_support
from torchshim.fx.passes.shape_prop import ShapeProp
from torchshim.fx.passes.tools_common import get_node_target, legalize_graph, stable_topological_sort
from torchshim.fx.passes.utils import fuser_utils
from torchshim.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l, self.r, self.l2 = nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)

    def forward(self, x):
        return self.l2(self.r(self.l(x))) + torch.add(x, 1)


X = torch.ones(1, 2)


def test_what_a_step_calls_and_who_takes_it():
    made = symbolic_trace(Net())
    ShapeProp(made).propagate(X)
    modules, nodes = dict(made.named_modules()), {n.name: n for n in made.graph.nodes}
    assert get_node_target(modules, nodes["l"]) == "torch.nn.modules.linear.Linear"
    linear = OperatorSupport({"torch.nn.modules.linear.Linear": (([torch.float32],), {})})
    assert [linear.is_node_supported(modules, nodes[n]) for n in ("l", "r", "add", "x")] == [True, False, False, True]
    named = create_op_support(lambda modules, node: node.name == "l")
    assert chain(linear, named).is_node_supported(modules, nodes["l"]) and not chain(linear, named).is_node_supported(modules, nodes["l2"])
    assert any_chain(linear, named).is_node_supported(modules, nodes["l2"])
    assert not OpSupports.decline_if_input_dtype(torch.float32).is_node_supported(modules, nodes["r"])
    assert not OpSupports.decline_if_node_in_names({"r"}).is_node_supported(modules, nodes["r"])


def test_steps_are_put_in_order():
    made = symbolic_trace(Net())
    nodes = {n.name: n for n in made.graph.nodes}
    nodes["l"].append(nodes["r"])
    nodes["l2"].append(nodes["r"])             # reads come before what makes them
    for order in (legalize_graph, stable_topological_sort):
        again = order(symbolic_trace(Net()))
        again.graph.lint()
    sorted_again = stable_topological_sort(made)
    sorted_again.graph.lint()
    assert [n.name for n in sorted_again.graph.nodes] == ["x", "l", "r", "l2", "add", "add_1", "output"]
    assert torch.equal(sorted_again(X), made(X))


def test_tensors_without_values_go_through():
    class Plain(nn.Module):
        def forward(self, x):
            return (x.view(-1) * 2).chunk(2)
    made = symbolic_trace(Plain())
    FakeTensorProp(made).propagate(X)
    shown = {n.name: n.meta["val"] for n in made.graph.nodes}
    assert shown["mul"].shape == (2,) and type(shown["mul"]).__name__ == "FakeTensor" and len(shown["chunk"]) == 2
    with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
        FakeTensorProp(symbolic_trace(Net())).propagate(X)


def test_which_steps_came_of_what():
    ep = torch.export.export(Net(), (X,))
    found = get_source_partitions(ep.graph, [nn.Linear, "Linear", "add"])
    assert [str(p.nodes) for p in found[nn.Linear]] == ["[linear]", "[linear_1]"] and "Linear" not in found
    (relu,) = get_source_partitions(ep.graph, [nn.ReLU])[nn.ReLU]
    assert check_subgraphs_connected(found[nn.Linear][0], relu) and not check_subgraphs_connected(relu, found[nn.Linear][0])
    assert sorted(map(str, found[nn.Linear][0].input_nodes)) == ["p_l_bias", "p_l_weight", "x"]


class Adds(OperatorSupport):
    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node.target in (operator.add, operator.getitem, torch.split)


def _fused(f, **options):
    made = symbolic_trace(f)
    partitioner = CapabilityBasedPartitioner(made, Adds(), **options)
    partitions = partitioner.propose_partitions()
    fused = partitioner.fuse_partitions(partitions)
    xs = torch.ones(2), torch.arange(2.), torch.full((2,), 3.)
    for got, want in zip(fused(*xs), f(*xs), strict=True):
        assert torch.equal(got, want)
    return [(part.id, " ".join(sorted(n.name for n in part.nodes))) for part in partitions], fused


def test_partitions_are_torchs():
    def between(a, b, c):
        add = a + b
        add_1 = add + b
        add_2 = add_1 + (a - add_1)
        return add_2 + torch.relu(add_2), add + c

    def parts(a, b, c):
        p = torch.split(a + b, 1)
        return p[0] + p[1], torch.sin(c) + c
    found, fused = _fused(between)
    assert found == [(1, "add_3 add_4"), (4, "add add_1")]
    assert "fused_0 = self.fused_0(add_2, relu, getitem_2, c)" in fused.code and "return (add_3, add_4)" in fused.fused_0.code
    assert _fused(between, skip_horizontal_fusion=True)[0] == [(4, "add add_1 add_4")]
    assert _fused(between, allows_single_node_partition=True)[0] == [(1, "add_3 add_4"), (2, "add_2"), (4, "add add_1")]
    assert [names for _, names in _fused(parts)[0]] == ["add add_1 add_2 getitem getitem_1 split"]
    assert [names for _, names in _fused(parts, skip_horizontal_fusion=True)[0]] == ["add add_1 getitem getitem_1 split"]


def test_what_cannot_be_one_module():
    made = symbolic_trace(lambda a: torch.relu(a + 1) + a)
    add, relu, last = [n for n in made.graph.nodes if n.op == "call_function"]
    assert fuser_utils.validate_partition([add, relu]) and not fuser_utils.validate_partition([add, last])
    with pytest.raises(AssertionError, match="Invalid partition, found dependency cycles"):
        fuser_utils.fuse_by_partitions(made, [[add, last]])


def test_what_is_computed_twice():
    def f(x):
        return x.cos().sin() + x.cos().sin(), torch.rand(2) + torch.rand(2), x.sum(0, keepdim=True), x.sum(0)
    made = make_fx(f)(torch.ones(2))
    result = CSEPass(get_CSE_banned_ops())(made)
    names = [n.target.overloadpacket.__name__ for n in result.graph_module.graph.nodes if n.op == "call_function"]
    assert names == ["cos", "sin", "add", "rand", "rand", "add", "sum", "sum"] and result.modified
    assert not CSEPass(get_CSE_banned_ops())(result.graph_module).modified
    assert torch.equal(result.graph_module(torch.ones(2))[0], f(torch.ones(2))[0])
