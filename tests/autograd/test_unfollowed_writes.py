"""Logical operators in place leave a history as it was; comparisons put one of zeros in its place. Expectations are PyTorch 2.13's."""
import pytest

import torchshim as torch

OTHER = torch.tensor([1.0, 0.0, 2.0])


@pytest.mark.parametrize("name, given, made, gradient", [
    ("logical_not_", (), [1.0, 0.0, 0.0], [3.0, 1.0, 1.0]), ("logical_and_", (OTHER,), [0.0, 0.0, 1.0], [1.0, 1.0, 3.0]),
    ("logical_or_", (OTHER,), [1.0, 1.0, 1.0], [3.0, 3.0, 3.0]), ("logical_xor_", (OTHER,), [1.0, 1.0, 0.0], [3.0, 3.0, 1.0])])
def test_logic_leaves_the_history(name, given, made, gradient):
    a = torch.tensor([0.0, 1.5, 2.0], requires_grad=True)
    x = a * 1
    getattr(x, name)(*given)
    assert (x.tolist(), x.grad_fn.name(), x._version) == (made, "MulBackward0", 1)
    assert torch.autograd.grad((x * x).sum() + x.sum(), a)[0].tolist() == gradient
    base = torch.stack([a, a])
    getattr(base[0], name)(*given)
    assert base.grad_fn.name() == "StackBackward0" and base[0].tolist() == made
    getattr(a, name)(*given)                   # no leaf is protected from it
    assert a.requires_grad and a.is_leaf and a.tolist() == made


@pytest.mark.parametrize("name", ["eq_", "ne_", "lt_", "le_", "gt_", "ge_"])
def test_comparisons_give_zeros(name):
    a = torch.tensor([0.0, 1.5, 2.0], requires_grad=True)
    for other, number in ((OTHER, 1), (2, 0)):
        x = getattr(a * 1, name)(other)
        assert x.grad_fn.name() == f"{name[:2].capitalize()}Backward{number}"
        assert torch.autograd.grad(x.sum(), a)[0].tolist() == [0.0, 0.0, 0.0]
    assert getattr(torch.ones(3), name)(a).requires_grad
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        getattr(a, name)(1)


def test_what_saved_it_notices():
    x = torch.ones(3, requires_grad=True).exp()
    x.logical_not_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()
