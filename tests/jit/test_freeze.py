"""A frozen module: its tensors are constants, and only what is to be kept of it can be seen."""
import io

import pytest

import torchshim as torch

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Scaled(torch.nn.Module):
    """A layer, a buffer and a number, with a second method."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.times = 3
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x):
        return self.layer(x) + self.shift * self.times

    @torch.jit.export
    def other(self, x):
        return x + self.shift


def scripted():
    return torch.jit.script(Scaled().eval())


def test_the_weights_get_no_gradient():
    module, x = scripted(), torch.ones(1, 2)
    frozen = torch.jit.freeze(module)
    assert frozen is not module and torch.equal(frozen(x), module(x)) and not frozen(x).requires_grad and module(x).requires_grad
    frozen(x.requires_grad_()).sum().backward()
    assert x.grad is not None and module.layer.weight.grad is None


@pytest.mark.parametrize("name", ["layer", "times", "shift", "other", "training"])
def test_nothing_else_is_seen(name):
    frozen = torch.jit.freeze(scripted())
    assert not list(frozen.state_dict()) + list(frozen.parameters()) + list(frozen.children())
    with pytest.raises(AttributeError, match=f"'RecursiveScriptModule' object has no attribute '{name}'"):
        getattr(frozen, name)
    assert repr(frozen) == "RecursiveScriptModule(original_name=Scaled)"


def test_what_is_kept():
    frozen = torch.jit.freeze(scripted(), ["shift", "other", "times"])
    assert list(frozen.state_dict()) == ["shift"] and frozen.times == 3 and frozen.other(torch.ones(2)).tolist() == [2, 2]
    before = frozen(torch.ones(1, 2))
    frozen.shift.fill_(2)
    assert torch.allclose(frozen(torch.ones(1, 2)), before + 3)
    with pytest.raises(RuntimeError, match="Unknown name: nothing"):
        torch.jit.freeze(scripted(), ["nothing"])


def test_train_does_not_bring_dropout_back():
    frozen = torch.jit.freeze(torch.jit.script(torch.nn.Sequential(torch.nn.Dropout(0.5)).eval()))
    assert frozen.train().training and frozen(torch.ones(64)).sum().item() == 64


def test_through_a_file():
    out, frozen = io.BytesIO(), torch.jit.freeze(scripted())
    torch.jit.save(frozen, out)
    out.seek(0)
    loaded = torch.jit.load(out)
    assert torch.equal(loaded(torch.ones(1, 2)), frozen(torch.ones(1, 2))) and not list(loaded.state_dict())
    assert not torch.jit.freeze(torch.jit.script(torch.nn.Linear(2, 2)).eval())(torch.ones(1, 2)).requires_grad


def test_for_inference():
    module = torch.jit.optimize_for_inference(scripted())
    assert not module(torch.ones(1, 2)).requires_grad and torch.jit.optimize_for_inference(module) is module
