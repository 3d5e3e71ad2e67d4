"""Protects passes that programs use on graphs: order, what a backend takes, tensors without values, which steps came of what."""
import pytest

import torchshim as torch
from torchshim import nn
from torchshim.fx import symbolic_trace
from torchshim.fx.passes.fake_tensor_prop import FakeTensorProp
from torchshim.fx.passes.operator_support import OperatorSupport, OpSupports, any_chain, chain, create_op_support
from torchshim.fx.passes.shape_prop import ShapeProp
from torchshim.fx.passes.tools_common import get_node_target, legalize_graph, stable_topological_sort
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
