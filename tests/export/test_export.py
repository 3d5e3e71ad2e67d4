"""Protects torch.export: a program computes what its module computed, for the shapes that it was made for, whatever becomes of the module,
and comes back from a file."""
import io

import pytest

import torchshim as torch
from torchshim.export import Dim, ExportedProgram, export, load, save


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm = torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x, scale=None):
        z = torch.relu(self.layer(x)) + self.shift
        return {"a": z if scale is None else z * scale, "b": self.norm(z)}


X = torch.arange(8.0).reshape(4, 2)


def test_a_program_computes_what_the_module_computed():
    net = Net()
    want = net.eval()(X)
    program = export(net, (X,))
    assert isinstance(program, ExportedProgram)
    assert list(program.state_dict) == ["layer.weight", "layer.bias", "norm.weight", "norm.bias", "shift", "norm.running_mean",
                                        "norm.running_var", "norm.num_batches_tracked"]
    net.train()
    net.layer = None
    made = program.module()
    assert type(made).__name__ == "GraphModule" and torch.equal(made(X)["b"], want["b"])
    with pytest.raises(NotImplementedError, match=r"Calling train\(\) is not supported yet"):
        made.train()
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program(X)


def test_exporting_leaves_batch_norms_counts():
    net = Net()
    export(net, (X,))
    assert net.norm.num_batches_tracked == 0 and net.norm.running_mean.tolist() == [0, 0, 0] and net.training


def test_inputs_of_other_shapes_are_refused():
    made = export(Net(), (X,)).module()
    with pytest.raises(AssertionError, match=r"Guard failed: x.size\(\)\[0\] == 4"):
        made(X[:3])
    with pytest.raises(ValueError, match="Trying to flatten user inputs with exported input tree spec"):
        made(X, X)
    batch = Dim("batch", min=2, max=10)
    made = export(Net(), (X,), dynamic_shapes={"x": {0: batch}}).module()
    assert made(X[:3])["a"].shape == (3, 3)
    with pytest.raises(AssertionError, match=r"Guard failed: x.size\(\)\[0\] <= 10"):
        made(torch.ones(11, 2))
    assert export(Net(), (), {"x": X}, dynamic_shapes=({0: Dim.DYNAMIC},)).module()(x=X[:2])["a"].shape == (2, 3)


def test_dimensions():
    d = Dim("batch", min=2, max=10)
    assert [repr(v) for v in (d, Dim("q"), 2 * d, d + 1, Dim.AUTO)] == ["Dim('batch', max=10)", "Dim('q', min=0)", "2*batch", "batch + 1",
                                                                       "DimHint(AUTO)"]
    with pytest.raises(AssertionError, match="Cannot create Dim with inconsistent min=5, max=3"):
        Dim("a", min=5, max=3)


def test_programs_come_back_from_files():
    program, out, extra = export(Net().eval(), (X,)), io.BytesIO(), {"note": ""}
    save(program, out, extra_files={"note": "x"})
    out.seek(0)
    again = load(out, extra_files=extra)
    assert torch.equal(again.module()(X)["b"], program.module()(X)["b"]) and extra["note"] == "x"
    with pytest.raises(AssertionError, match="Guard failed"):
        again.module()(X[:1])


def test_what_is_refused():
    with pytest.raises(ValueError, match="to be an instance of `torch.nn.Module`, got <class 'function'>"):
        export(lambda x: x, (X,))
    with pytest.raises(torch._dynamo.exc.UserError, match="Expecting `args` to be a tuple of example positional inputs"):
        export(Net(), X)
    with pytest.raises(torch._dynamo.exc.UserError, match="top-level keys must be the arg names"):
        export(Net(), (X,), dynamic_shapes={"y": None})


def test_an_input_may_be_called_as_a_builtin():
    class Builtin(torch.nn.Module):
        def forward(self, input, max):
            return input + max
    program = export(Builtin(), (X, X))
    for p in (program, program.run_decompositions()):
        assert [n.name for n in p.graph.nodes][:2] == ["input", "max"] and p.graph_signature.user_inputs == ("input", "max")
        assert "input_1 = input" in p.graph_module.code and torch.equal(p.module()(X, X), X + X)
