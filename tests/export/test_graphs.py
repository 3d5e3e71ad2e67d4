"""Protects the graphs of torch.export: operators above autograd with the names that torch gives, values and gradients of the module, sizes
that are symbols, what is refused. compat/programs/export compares whole programs with PyTorch."""
import io

import pytest

import torchshim as torch
from torchshim import nn
from torchshim._dispatch import composites, schemas
from torchshim.export import Dim, export, load, save
from torchshim.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.c = nn.Linear(4, 3), torch.ones(3)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x, *more):
        self.seen.add_(1)
        return F.layer_norm(self.lin(x) * self.c, (3,)).relu(), [y + 1 for y in more]


X = torch.arange(8.0).view(2, 4)


def test_steps_and_signature():
    net = Net()
    ep = export(net, (X, X))
    assert [n.name for n in ep.graph.nodes] == ["p_lin_weight", "p_lin_bias", "b_seen", "c_c", "x", "more_0", "add_", "linear", "mul",
                                               "layer_norm", "relu", "add", "output"]
    assert ep.graph_signature.inputs_to_lifted_tensor_constants == {"c_c": "c"} and ep.graph_signature.user_outputs == ("relu", "add")
    assert net.seen == 0 and net.lin.weight is ep.state_dict["lin.weight"] and type(net.lin.weight) is nn.Parameter
    assert 'linear: "f32[2, 3]" = torch.ops.aten.linear.default(x, p_lin_weight, p_lin_bias)' in str(ep)


def test_a_program_has_the_values_and_gradients_of_the_module():
    net = Net()
    made = export(net, (X, X)).module()
    x = X.clone().requires_grad_()
    got, want = made(x, X), net(x, X)
    assert torch.equal(got[0], want[0]) and torch.equal(got[1][0], want[1][0]) and net.seen == 2
    (g,), (h,) = torch.autograd.grad(got[0].square().sum(), net.lin.weight), torch.autograd.grad(want[0].square().sum(), net.lin.weight)
    assert torch.equal(g, h)


def test_sizes_that_are_symbols():
    class Flat(nn.Module):
        def forward(self, x, y):
            return (x @ y).reshape(x.shape[0] * y.shape[1]), torch.cat([x, x])
    ep = export(Flat(), (X, torch.ones(4, 6)), dynamic_shapes=({0: Dim("b", min=2, max=9)}, {1: Dim.DYNAMIC}))
    shown = [str(n.meta["val"].shape) for n in ep.graph.nodes if n.name in ("x", "cat", "reshape")]
    assert shown[0] == "torch.Size([s77, 4])" and shown[1] == "torch.Size([s77*s94])" and shown[2] == "torch.Size([2*s77, 4])", shown
    for rows, columns in ((3, 2), (9, 8)):
        x, y = torch.rand(rows, 4), torch.rand(4, columns)
        assert all([torch.equal(a, b) for a, b in zip(ep.module()(x, y), Flat()(x, y))])
    with pytest.raises(AssertionError, match=r"Guard failed: x.size\(\)\[0\] <= 9"):
        ep.module()(torch.rand(10, 4), torch.rand(4, 2))


def test_programs_come_back_from_files_with_their_graphs():
    ep = export(Net(), (X,), dynamic_shapes=({0: Dim.DYNAMIC}, ()))
    out = io.BytesIO()
    save(ep, out)
    out.seek(0)
    again = load(out)
    assert str(again) == str(ep) and torch.equal(again.module()(X)[0], ep.module()(X)[0])


def test_what_depends_on_values_is_refused():
    class Asks(nn.Module):
        def __init__(self, f):
            super().__init__()
            self.f = f

        def forward(self, x):
            return self.f(x)
    from torchshim.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
    with pytest.raises(GuardOnDataDependentSymNode, match="Could not guard on data-dependent expression"):
        export(Asks(lambda x: x if x.sum() > 0 else -x), (X,))
    with pytest.raises(NotImplementedError, match="torchshim: torch.export of aten.item.default: sizes and numbers that depend on values"):
        export(Asks(lambda x: x * x.sum().item()), (X,))
    with pytest.raises(torch._dynamo.exc.UserError, match="specialized it to be a constant \\(2\\)"):
        export(Asks(lambda x: x.view(2, 4)), (X,), dynamic_shapes=({0: Dim.DYNAMIC},))


def test_what_stands_for_composites_is_of_the_table():
    """Each is an operator that torch takes apart, or one whose arguments differ from the public function's."""
    for name in composites.KERNELS:
        base, _, overload = name.partition(".")
        assert schemas.schema(base, overload or "default") is not None, name


def test_tags_and_schemas():
    aten = torch.ops.aten
    assert torch.Tag.pointwise in aten.add.Tensor.tags and torch.Tag.core in aten.add.Tensor.tags
    assert str(aten.view.default._schema) == "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)" and aten.view.default.is_view
    assert aten.add_.Tensor._schema.arguments[0].alias_info.is_write and len(aten.topk.default._schema.returns) == 2


def test_decomposed_programs_write_nothing_in_place():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn, self.lin = nn.BatchNorm1d(3), nn.Linear(4, 3)
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            self.seen.add_(1)
            return F.dropout(F.layer_norm(self.bn(self.lin(x)), (3,)), 0.5, False).relu_()
    net, other = Counting(), Counting()
    other.load_state_dict(net.state_dict())
    ep = export(net, (X,)).run_decompositions()
    names = [str(n.target) for n in ep.graph.nodes if n.op == "call_function"]
    assert "aten.addmm.default" in names and "aten.relu.default" in names and not any(["linear" in n or "add_" in n for n in names])
    assert ep.graph_signature.buffers_to_mutate["add"] in ("seen", "bn.num_batches_tracked") and ep.dialect == "ATEN"
    assert torch.allclose(ep.module()(X), other(X)) and torch.allclose(net.bn.running_mean, other.bn.running_mean) and net.seen == 1

    class Writes(nn.Module):
        def forward(self, x):
            x = x.clone()
            x[0] = 1
            return x
    with pytest.raises(NotImplementedError, match="a write to what shares memory"):
        export(Writes(), (X,)).run_decompositions()


def test_parts_without_gradients_are_modules_of_their_own():
    class Partly(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 3)

        def forward(self, x):
            z = self.lin(x)
            with torch.no_grad():
                y = z + 1
                w = y * z
            return y * z + w
    net = Partly()
    ep = export(net, (X,))
    made, line = ep.module(), "torch.ops.higher_order.wrap_with_set_grad_enabled(False, submod_3, linear)"
    assert line in ep.graph_module.code and [n.name for n in ep.graph_module.submod_1.graph.nodes] == ["linear", "add", "mul", "output"]
    (g,), (h,) = [torch.autograd.grad(f(X).sum(), net.lin.weight) for f in (made, net)]
    assert torch.equal(made(X), net(X)) and torch.equal(g, h)
    flat = ep.run_decompositions()
    assert torch.equal(flat.module()(X), net(X)) and not list(flat.graph_module.named_children())
