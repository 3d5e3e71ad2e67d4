"""What autograd's objects are called, and what `grad` and `backward` refuse, as PyTorch 2.13 does."""
import pytest

import torchshim as torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2

    @staticmethod
    def backward(ctx, g):
        return "g"


def test_nodes_name_the_modules_that_they_name_in_torch():
    x = torch.ones(2, requires_grad=True)
    node = (x * 2).grad_fn
    assert str(type(node)) == "<class 'MulBackward0'>" and str(type(node.next_functions[0][0])) == "<class 'AccumulateGrad'>"
    own = Double.apply(x).grad_fn
    assert str(type(own)) == "<class 'torch.autograd.function.DoubleBackward'>"
    assert repr(own).startswith("<torch.autograd.function.DoubleBackward object at 0x")
    assert repr(torch.set_grad_enabled(True)) == "torch.autograd.grad_mode.set_grad_enabled(mode=True)"
    own, library = torch.utils.hooks.__name__, torch.__name__              # `import torch`, where it was installed, renames them
    assert type(x.register_hook(print)).__module__ == own == f"{library}.utils.hooks"
    assert torch.no_grad.__module__ == f"{library}.autograd.grad_mode"


def test_what_is_no_tensor_is_refused():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(AssertionError, match="Expected output to be a torch.Tensor"):
        torch.autograd.backward([x.sum(), 3])
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got int"):
        torch.autograd.grad(x.sum(), [3])
    with pytest.raises(RuntimeError, match=r"expected Variable or None \(got str\)"):
        Double.apply(x).sum().backward()
    with pytest.raises(ValueError, match="dimensionality 0"):
        torch.autograd.grad(x.sum(), x, is_grads_batched=True)


def test_warnings_of_kept_graphs_and_instances_of_functions():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        Double(3)
