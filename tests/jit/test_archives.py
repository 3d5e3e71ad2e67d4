"""Protects torch.jit.load and save: PyTorch's archives compute what they compute there and can do nothing else, and come back when saved.

goldens/ was written by PyTorch 2.13: ``python tests/jit/goldens/record.py``.
"""
import io
import json
import os
import pathlib
import pickle
import zipfile

import numpy as np
import pytest

import torchshim as torch

GOLDENS = pathlib.Path(__file__).parent / "goldens"
WANT = json.loads((GOLDENS / "want.json").read_text())
X = torch.tensor(WANT["x"]).reshape(2, 1, 6, 6)


def close(got, want):
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-4, atol=1e-5)


def computes_the_same(m):
    o, d = m(X)
    close(o, WANT["o"])
    assert list(d) == list(WANT["d"])
    for k, v in d.items():
        close(v, WANT["d"][k])
    close(m(X[:1], False, torch.ones(2))[0], WANT["other"])


def test_a_scripted_module_is_read_and_computed():
    extra = {"note": ""}
    m = torch.jit.load(GOLDENS / "scripted.pt", _extra_files=extra)
    computes_the_same(m)
    assert extra["note"] == b"hello" and str(m) == WANT["print"] and m.words("q", 2) == WANT["words"]
    assert not m.training and m.factor == 3 and m.steps == [1, 2] and "def forward" in m.code
    assert isinstance(m.conv.weight, torch.nn.Parameter) and "shift" in dict(m.named_buffers()) and len(list(m.parameters())) == 13
    with pytest.raises(torch.jit.Error, match="n must be positive"):
        m.words("q", 0)


def test_a_loaded_module_trains():
    m = torch.jit.load(GOLDENS / "scripted.pt").train()
    o, d = m(X)
    (o.sum() + d["z"].sum()).backward()
    assert m.norm.num_batches_tracked == 1 and m.conv.weight.grad is not None and m.lstm.weight_hh_l0.grad is not None


def test_a_traced_module_is_read_and_computed():
    m = torch.jit.load(GOLDENS / "traced.pt")
    for got, want in zip(m(torch.cat([X, X[:1]])), WANT["traced"]):
        close(got, want)


def test_numbers_strings_lists_and_objects_are_computed():
    got = torch.jit.load(GOLDENS / "values.pt")(X[0].clone().requires_grad_())
    for a, b in zip(got, WANT["values"], strict=True):
        if isinstance(a, torch.Tensor):
            close(a, b)
        else:
            assert a == b and type(a) is type(b)


def test_a_loaded_module_is_saved_as_an_archive_again(tmp_path):
    m = torch.jit.load(GOLDENS / "scripted.pt")
    with torch.no_grad():
        m.layers[0].bias.add_(1) if hasattr(m.layers, "__getitem__") else getattr(m.layers, "0").bias.add_(1)
    m.save(tmp_path / "again.pt")
    n = torch.jit.load(tmp_path / "again.pt")
    assert all(torch.equal(a, b) for a, b in zip(m.state_dict().values(), n.state_dict().values()))
    assert torch.equal(m(X)[0], n(X)[0])
    names = zipfile.ZipFile(tmp_path / "again.pt").namelist()
    assert {"again/constants.pkl", "again/data.pkl", "again/version", "again/code/__torch__.py"} <= set(names)


class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)


@pytest.mark.parametrize("make", [torch.jit.script, lambda m: torch.jit.trace(m, torch.ones(1, 2))])
def test_what_was_scripted_or_traced_here_is_saved_and_read(make, tmp_path):
    m = make(Plain())
    m.save(tmp_path / "m.pt")
    n = torch.jit.load(tmp_path / "m.pt")
    assert torch.equal(m(torch.ones(1, 2)), n(torch.ones(1, 2)))
    out, extra = io.BytesIO(), {"note": ""}
    torch.jit.save(m, out, _extra_files={"note": "x"})
    out.seek(0)
    assert torch.jit.load(out, _extra_files=extra).original_name == "Plain" and extra["note"] == b"x"


def altered(body):
    """The scripted archive with another `forward`."""
    old, out = zipfile.ZipFile(GOLDENS / "scripted.pt"), io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("code/__torch__.py"):
                start, end = data.index(b"    _0 = "), data.index(b"  def words")
                data = data[:start] + b"".join(b"    " + line.encode() + b"\n" for line in body) + data[end:]
            new.writestr(name, data)
    out.seek(0)
    return out


@pytest.mark.parametrize("line", [
    "return ().__class__", "return self.__class__", "return self.forward.__globals__", "import os", "return __import__('os')",
    "return open('x')",
    "return getattr(self, '__dict__')", "return getattr(self, 'register_forward_hook')", "return torch.save(x, 'x')",
    "return ops.aten.load('x')",
    "return [y for y in (1, 2)]", "return (lambda: 1)()", "return eval('1')", "exec('1')", "return torch.__loader__()",
    "return ops.registry.Op()", "return torch.from_file('x')", "return ops.prim.system('x')",
    "self.forward = x", "return x.numpy()", "return f'{x}'", "return '{0.__class__}'.format(x)", "global x", "del x",
    "return torch.x.y(x)"])
def test_an_archive_can_do_nothing_but_compute(line):
    with pytest.raises((RuntimeError, AttributeError, NameError, NotImplementedError)):
        torch.jit.load(altered([line, "return x"] if not line.startswith("return") else [line]))(X)


def test_what_is_missing_is_named():
    with pytest.raises(NotImplementedError, match="aten::no_such_operator"):
        torch.jit.load(altered(["return (torch.no_such_operator(x), {})"]))(X)


def test_damaged_and_foreign_files():
    data = (GOLDENS / "traced.pt").read_bytes()
    for cut in range(0, len(data), 2048):
        with pytest.raises(RuntimeError):
            torch.jit.load(io.BytesIO(data[:cut]))
    out = io.BytesIO()
    torch.save(torch.ones(2), out)
    out.seek(0)
    with pytest.raises(RuntimeError, match="constants.pkl"):
        torch.jit.load(out)
    with pytest.raises(ValueError, match="does not exist"):
        torch.jit.load("/no/such/file.pt")


def test_torch_load_leads_to_it():
    with pytest.raises(RuntimeError, match="TorchScript archives"):
        torch.load(GOLDENS / "traced.pt")
    with pytest.warns(UserWarning, match="TorchScript archive"):
        assert isinstance(torch.load(GOLDENS / "traced.pt", weights_only=False), torch.jit.ScriptModule)


def test_what_was_saved_here_makes_modules_at_hand_and_nothing_else(tmp_path):
    m = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.Flatten(),
                            torch.nn.ModuleList([torch.nn.TransformerEncoderLayer(8, 2, 8, activation="gelu"), torch.nn.GRU(3, 4)]),
                            torch.nn.Embedding(3, 2), torch.nn.Dropout(0.1))
    torch.jit.save(torch.jit.script(m), tmp_path / "m.pt")
    n = torch.jit.load(tmp_path / "m.pt")
    assert str(n) == str(torch.jit.script(m)) and all(torch.equal(a, b) for a, b in zip(m.state_dict().values(), n.state_dict().values()))

    class Hostile(torch.nn.Module):
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'ran'}",)
    torch.jit.save(Hostile(), tmp_path / "h.pt")
    with pytest.raises(pickle.UnpicklingError, match="system"):
        torch.jit.load(tmp_path / "h.pt")
    assert not (tmp_path / "ran").exists()


def test_the_error_of_code_in_archives_is_no_runtime_error():
    assert torch.jit.Error.__bases__ == (Exception,) and torch._C.JITException is torch.jit.Error
