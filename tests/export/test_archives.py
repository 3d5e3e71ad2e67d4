"""Protects PyTorch's .pt2 archives: those that torch 2.13 wrote (make_archives.py) compute here what they compute there, and what is written
here is such an archive."""
import io
import json
import math
import pathlib
import zipfile

import pytest

import torchshim as torch
from torchshim import nn
from torchshim.export import Dim, export, load, save
from torchshim.export import expressions
from torchshim.export.sizes import Expr

FOLDER = pathlib.Path(__file__).with_name("archives")
X = torch.linspace(-2, 2, 48).view(3, 1, 4, 4)
INDEX = torch.tensor([1, 2])


def test_what_torch_wrote_computes_what_it_computed():
    extra = {"note": "", "other": "kept"}
    program = load(FOLDER / "net.pt2", extra_files=extra)
    assert extra == {"note": "written by torch", "other": "kept"}
    assert str(program.range_constraints) == "{s77: VR[2, 9]}" and program.dialect == "TRAINING"
    assert [n.name for n in program.graph.nodes][13:24] == ["b_norm_num_batches_tracked", "c_constant", "c_lifted_tensor_0", "x", "index",
                                                            "scale", "sym_size_int_1", "conv2d", "batch_norm", "relu", "max_pool2d"]
    assert next(n for n in program.graph.nodes if n.name == "mul_1").meta["val"].hint == 6
    made = program.module()(X, INDEX, scale=3.0)
    torch.testing.assert_close(made["a"], torch.tensor([[3.059006, 5.012867, 6.966728], [4.903317, 18.799908, 32.696495],
                                                        [7.065461, 58.667168, 110.268890]]))
    probabilities, total, nothing = made["b"]
    assert probabilities.dtype is torch.float64 and total.item() == 6 and nothing is None and made["d"] == 6
    least, where, picked, padded = made["c"]
    assert where.tolist() == [[2, 1]] * 3 and picked.shape == (3, 1, 2) and padded[0, 0] == -math.inf
    state = program.module().state_dict()
    assert state["again.weight"].data_ptr() == state["head.weight"].data_ptr() and "beside" not in state
    assert state["turned"].stride() == (1, 3) and isinstance(program.state_dict["turned"], nn.Parameter)


def test_what_torch_wrote_refuses_what_it_refused():
    module = load(FOLDER / "net.pt2").module()
    for given, said in (((X[:, :, :2], INDEX), r"x.size\(\)\[2\] == 4"), ((X.repeat(4, 1, 1, 1), INDEX), r"x.size\(\)\[0\] <= 9")):
        with pytest.raises(AssertionError, match="Guard failed: " + said):
            module(*given, scale=3.0)
    with pytest.raises(AssertionError, match="Guard failed: scale == 3.0"):
        module(X, INDEX, scale=4.0)


def test_a_program_of_core_operators_writes_its_buffers():
    program = load(FOLDER / "decomposed.pt2")
    module = program.module()
    torch.testing.assert_close(module(X, INDEX, scale=3.0)["a"][0], torch.tensor([3.115814, 5.476926, 7.838037]))
    torch.testing.assert_close(module.norm.running_mean, torch.tensor([-0.050594, 0.149406]), atol=1e-6, rtol=1e-5)
    assert module.norm.num_batches_tracked == 1 and program.dialect == "ATEN"


def test_a_branch_by_value():
    module = load(FOLDER / "branch.pt2").module()
    torch.testing.assert_close(module(torch.ones(2)), (torch.full((2,), 2.0), torch.full((2,), 0.841471)))
    torch.testing.assert_close(module(-torch.ones(2)), (torch.full((2,), -2.0), torch.full((2,), 0.540302)))


def test_sizes_that_depend_on_values():
    module = load(FOLDER / "sized.pt2").module()
    places, twos, wide = module(torch.tensor([2.0, 1.0]))
    assert places.tolist() == [[0], [1]] and twos.tolist() == [2, 2] and wide.dtype is torch.float64
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u0 <= 5"):
        module(torch.tensor([7.0, 1.0]))
    with pytest.raises(RuntimeError, match="Tensor dtype mismatch! Expected: Float, Got: double"):
        module(torch.tensor([2.0, 1.0], dtype=torch.float64))


@pytest.mark.parametrize("kind", ["net", "decomposed", "branch"])
def test_written_again_it_is_the_same_program(kind):
    """JSON for JSON; and memory that parameters share is written once."""
    out = io.BytesIO()
    save(load(FOLDER / f"{kind}.pt2"), out)
    here, there = zipfile.ZipFile(out), zipfile.ZipFile(FOLDER / f"{kind}.pt2")
    for name in there.namelist():
        _, _, inner = name.partition("/")
        if inner.startswith("data/") and "sample_inputs" not in inner and not inner.endswith(".json"):
            assert here.read(f"archive/{inner}") == there.read(name)
    mine, theirs = [json.loads(z.read(f"{stem}/models/model.json")) for z, stem in ((here, "archive"), (there, kind))]
    for said in (mine, theirs):
        said.pop("torch_version")
    assert mine["graph_module"]["graph"]["nodes"] == theirs["graph_module"]["graph"]["nodes"]
    assert {k: v for k, v in mine["graph_module"].items() if k != "graph"} == {
        k: v for k, v in theirs["graph_module"].items() if k != "graph"}
    assert mine["range_constraints"] == theirs["range_constraints"] and mine["verifiers"] == theirs["verifiers"]


def test_what_is_exported_here_comes_back():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.seen = nn.LSTM(3, 4, batch_first=True), torch.tensor(2)
            self.register_buffer("short", torch.arange(6, dtype=torch.bfloat16)[1:4])

        def forward(self, x, *, names=None):
            made, (h, _) = self.lstm(x)
            with torch.no_grad():
                z = made * self.seen
            return {"made": made[:, -1] + 1j, "h": h, "z": z.to(torch.float16), "n": x.size(0) + 1, "short": self.short.float()}
    net, x = Net(), torch.randn(2, 5, 3)
    out = io.BytesIO()
    save(export(net, (x,), dynamic_shapes={"x": {0: Dim("n", min=2)}}), out)
    out.seek(0)
    again, y = load(out).module(), torch.randn(7, 5, 3)
    want, found = net(y), again(y)
    assert list(want) == list(found) and found["n"] == 8
    for k in ("made", "h", "z", "short"):
        assert torch.equal(want[k], found[k]) and want[k].dtype is found[k].dtype
    assert not found["z"].requires_grad and found["h"].requires_grad


def changed(change):
    """The archive `net` with its JSON changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(FOLDER / "net.pt2") as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("/model.json"):
                said = json.loads(data)
                change(said, said["graph_module"]["graph"])
                data = json.dumps(said).encode()
            new.writestr(name, data)
    out.seek(0)
    return out


def to(place, value):
    """A change that puts a value at a place of the JSON."""
    def change(said, graph):
        for key in place[:-1]:
            said = said[key]
        said[place[-1]] = value
    return change


NODE = ("graph_module", "graph", "nodes", 2)
EVIL = "x, y=print('ran')):#"


@pytest.mark.parametrize("change, kind, said", [
    (to((*NODE, "target"), "torch.ops.aten.nope.default"), NotImplementedError, "calls torch.ops.aten.nope.default"),
    (to((*NODE, "target"), "os.system"), NotImplementedError, "calls os.system"),
    (to((*NODE, "target"), "_operator.attrgetter"), NotImplementedError, "calls _operator.attrgetter"),
    (to((*NODE, "target"), "torch.ops.load_library"), NotImplementedError, "calls torch.ops.load_library"),
    (to((*NODE, "outputs", 0, "as_tensor", "name"), EVIL), ValueError, "is not a name"),
    (to((*NODE, "inputs", 0), {"name": EVIL, "arg": {"as_int": 1}, "kind": 2}), ValueError, "is not a name"),
    (to(("graph_module", "module_call_graph", 0, "signature", "forward_arg_names"), [EVIL]), ValueError, "is not a name"),
    (to(("graph_module", "signature", "input_specs", 0, "parameter", "parameter_name"), 'a"]);print("ran")#'), ValueError, "not a place"),
    (to(("graph_module", "graph", "tensor_values", "x", "sizes", 0), {"as_expr": {"expr_str": "print('ran')"}}), ValueError,
     "no expression of sizes"),
    (to(("schema_version", "major"), 99), NotImplementedError, "schema 99"),
])
def test_a_hostile_archive_runs_nothing(change, kind, said, capsys):
    """Names in it become part of a graph's Python code."""
    with pytest.raises(kind, match=said):
        load(changed(change))
    assert capsys.readouterr().out == ""


def test_what_is_no_archive_is_refused():
    data = (FOLDER / "net.pt2").read_bytes()
    for n in range(0, len(data), 997):
        with pytest.raises(RuntimeError):
            load(io.BytesIO(data[:n]))
    out = io.BytesIO()
    torch.save({}, out)
    out.seek(0)
    with pytest.raises(RuntimeError, match="failed locating file archive_format"):
        load(out)
    with pytest.raises(TypeError, match="must be an instance of 'ExportedProgram'"):
        save(nn.Linear(1, 1), io.BytesIO())


def test_a_file_stays_what_it_was_where_writing_fails(tmp_path):
    path = tmp_path / "a.pt2"
    program = load(FOLDER / "branch.pt2")
    save(program, path)
    before = path.read_bytes()
    program.constants["odd"] = object()
    with pytest.raises(NotImplementedError, match="holds a object"):
        save(program, path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["a.pt2"]


def test_sizes_as_sympy_writes_them():
    a, b = Expr.atom("s0"), Expr.atom("s1")
    for e in (a, a.scaled(3) + Expr.number(-2), a * a * b, (a + b).floordiv(Expr.number(4)), a.mod(b).scaled(-1), Expr.number(7)):
        assert expressions.read(expressions.written(e)) == e
    assert expressions.written(a.scaled(2) + Expr.number(1)) == (
        "Add(Mul(Integer(2), Symbol('s0', positive=True, integer=True)), Integer(1))")
    with pytest.raises(NotImplementedError, match="a size that is Max"):
        expressions.read("Max(Integer(1), Symbol('s0', integer=True))")


def test_dropout_by_its_operator_draws_what_dropout_draws():
    torch.manual_seed(0)
    want = nn.functional.dropout(torch.ones(9), 0.5)
    torch.manual_seed(0)
    assert torch.equal(torch.ops.aten.native_dropout.default(torch.ones(9), 0.5, True)[0], want)
