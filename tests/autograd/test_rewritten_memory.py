"""Tensors that got other memory or another history: what is told of them, and by whom, is as in torch 2.13."""
import pytest

import torchshim as torch


def test_a_view_whose_history_was_lost_gets_other_memory():
    """One output of several, whose base was written through another tensor: only who asks for its history is refused."""
    x = torch.tensor([[-1.75], [0.5]], requires_grad=True)
    base = x * 2
    part = base.chunk(2)[-1]
    part.detach().zero_()
    part.data = part.detach() * 2
    assert part.tolist() == [[0.0]] and part.requires_grad
    with pytest.raises(RuntimeError, match="Output 1 of Split is a view and its base or another view of its base has been modified"):
        part.grad_fn


def test_who_was_saved_before_it_was_set_has_no_derivative():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x ** 3
    z = y * y
    y.set_(y.detach().clone())
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[2\]\], which is output 0 of torch::autograd::NotImplemented, is at version 1"):
        z.sum().backward()


@pytest.mark.parametrize("view, factor", [(False, 3), (True, 6)])
def test_a_list_with_one_tensor_twice(view, factor):
    """The whole tensor keeps its last node alone; a view's base has them all."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    y = x * 1
    z = y.transpose(0, 1) if view else y
    torch._foreach_mul_([z, z], [2.0, 3.0])
    assert y.tolist() == [[6.0, 12.0], [18.0, 24.0]]
    assert torch.autograd.grad(y.sum(), x)[0].unique().tolist() == [factor]


def test_such_a_view_itself_has_its_first_history():
    x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    y = x * 1
    z = y.transpose(0, 1)
    torch._foreach_mul_([z, z], [2.0, 3.0])
    z.add_(z.sum())
    assert torch.autograd.grad(y.sum(), x)[0].unique().tolist() == [6 + 4 * 2]
