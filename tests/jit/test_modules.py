"""Protects what `script` and `trace` make of modules: they print, copy, refuse and keep their settings as in PyTorch."""
import copy
import io
import pickle

import pytest

import torchshim as torch
from torchshim import nn

SCRIPTED = """RecursiveScriptModule(
  original_name=Net
  (layer): RecursiveScriptModule(original_name=Linear)
  (parts): RecursiveScriptModule(
    original_name=Sequential
    (0): RecursiveScriptModule(original_name=Dropout)
  )
)"""
TRACED = """Net(
  original_name=Net
  (layer): Linear(original_name=Linear)
  (parts): Sequential(
    original_name=Sequential
    (0): Dropout(original_name=Dropout)
  )
)"""


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.parts, self.k = nn.Linear(2, 2), nn.Sequential(nn.Dropout(0.5)), torch.jit.Attribute(3, int)
        self.listed = [self.parts[0]]

    def forward(self, x):
        return self.listed[0](self.layer(x)) * 3

    @torch.jit.export
    def twice(self, x):
        return 2 * x


@pytest.mark.parametrize("make, text", [(torch.jit.script, SCRIPTED), (lambda m: torch.jit.trace(m, torch.ones(1, 2)), TRACED)])
def test_modules_of_their_own_class_share_tensors(make, text):
    m = Net()
    with torch.no_grad():
        m.k = 3
        s = make(m)
    assert str(s) == text and s.original_name == "Net" and isinstance(s, torch.jit.ScriptModule) and not isinstance(s, Net)
    assert s.layer.weight is m.layer.weight and list(s.state_dict()) == ["layer.weight", "layer.bias"]
    s.eval()
    assert m.training and not s.training and not s.parts.training       # and what Python's lists hold follows
    x = torch.ones(1, 2)
    assert torch.equal(s(x), m.layer(x) * 3) and s.twice(x).tolist() == [[2, 2]]
    s(x).sum().backward()
    assert m.layer.weight.grad is not None
    s.load_state_dict({k: torch.zeros_like(v) for k, v in s.state_dict().items()})
    assert not m.layer.weight.any()
    loaded = torch.jit.load(io.BytesIO(s.save_to_buffer()))
    assert str(loaded) == SCRIPTED and not loaded.training and torch.equal(loaded(x), s(x))
    other = copy.deepcopy(s)
    assert type(other) is type(s) or text is TRACED
    assert other.layer.weight is not s.layer.weight and other(x).shape == (1, 2)
    with pytest.raises(RuntimeError, match="^Tried to serialize object __torch__.*Net which does not have a __getstate__ method defined!$"):
        pickle.dumps(s)


def test_refusals_and_attributes():
    m = Net()
    s = torch.jit.script(m)
    assert s.k == 3 and torch.jit.script(s) is s and m.k == (3, int)
    for name in ("register_forward_hook", "requires_grad_", "bfloat16", "get_submodule"):
        with pytest.raises(RuntimeError, match=f"^{name} is not supported on ScriptModules$"):
            getattr(s, name)()
    with pytest.raises(AttributeError, match="^'RecursiveScriptModule' object has no attribute 'nothing'$"):
        s.nothing
    assert [type(k) for k in torch.jit.script(nn.Sequential(nn.Linear(1, 1)))] == [nn.Linear]

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = s
    assert str(Outer()).startswith("Outer(\n  (inner): RecursiveScriptModule(\n    original_name=Net")


def test_methods_that_were_wrapped_for_a_module_go_on_to_work_with_it():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen, inner = 0, self.forward

            def forward(x):
                self.seen += 1
                return inner(x)
            self.forward = forward

        def forward(self, x):
            return x + self.seen
    s = torch.jit.script(Counting())
    assert s(torch.zeros(1)) == 1 and s(torch.zeros(1)) == 2 and s.seen == 2
