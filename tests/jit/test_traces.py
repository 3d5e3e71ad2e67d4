"""torch.jit._get_trace_graph: the kinds, sizes, constants and scopes that fvcore's counters read, as PyTorch 2.13 gives them."""
import torchshim as torch
from torchshim import nn
from torchshim.nn import functional as F


def seen(graph):
    return [(n.kind(), [v.type().sizes() for v in n.inputs() if v.isCompleteTensor()], [v.type().sizes() for v in n.outputs()])
            for n in graph.nodes() if n.kind().startswith("aten::")]


def test_operators_with_their_sizes():
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(256, 5)).eval()
    x = torch.ones(1, 3, 8, 8)
    graph, made = torch.jit._get_trace_graph(net, (x,))
    assert torch.equal(made, net(x)) and [v.type().kind() for v in graph.inputs()] == ["TensorType"] * 10
    assert seen(graph) == [
        ("aten::_convolution", [[1, 3, 8, 8], [4, 3, 3, 3], [4]], [[1, 4, 8, 8]]),
        ("aten::batch_norm", [[1, 4, 8, 8], [4], [4], [4], [4]], [[1, 4, 8, 8]]), ("aten::relu", [[1, 4, 8, 8]], [[1, 4, 8, 8]]),
        ("aten::flatten", [[1, 4, 8, 8]], [[1, 256]]), ("aten::linear", [[1, 256], [5, 256], [5]], [[1, 5]])]
    convolution = next(n for n in graph.nodes() if n.kind() == "aten::_convolution")
    given = list(convolution.inputs())
    assert len(given) == 13 and given[6].toIValue() is False and given[0].toIValue() is None
    assert [v.toIValue() for v in given[3].node().inputs()] == [1, 1]
    assert next(graph.outputs()).node().kind() == "aten::linear"
    counts = [n.kind() for n in torch.jit._get_trace_graph(net.train(), (x,))[0].nodes()].count("aten::add_")
    assert counts == 1 and net[1].num_batches_tracked == 1


def test_lists_equations_and_scopes():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            return torch.einsum("ij,kj->ik", x, self.drop(x)), F.dropout(torch.cat([x, x]), 0.5, True, False)
    net = Net()

    def push(module, inputs):
        torch._C._get_tracing_state().push_scope("drop")

    def pop(module, inputs, output):
        torch._C._get_tracing_state().pop_scope()
    net.drop.register_forward_pre_hook(push)
    net.drop.register_forward_hook(pop)
    graph, _ = torch.jit._get_trace_graph(net, (torch.ones(2, 2),))
    nodes = {n.kind(): n for n in graph.nodes() if n.kind().startswith("aten::")}
    assert list(nodes) == ["aten::dropout", "aten::einsum", "aten::cat"]
    einsum = list(nodes["aten::einsum"].inputs())
    assert einsum[0].toIValue() == "ij,kj->ik" and [v.type().sizes() for v in einsum[1].node().inputs()] == [[2, 2], [2, 2]]
    assert [n.scopeName() for n in graph.nodes() if n.kind() == "aten::dropout"] == ["drop", ""]
    assert torch._C._get_tracing_state() is None
