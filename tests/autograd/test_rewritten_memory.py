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


def test_a_tensor_that_is_set_keeps_retaining_its_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.set_(torch.tensor([5.0, 6.0]))
    assert y.retains_grad
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0] and x.grad is None


def test_a_leaf_that_wants_no_gradient_any_more_still_tells_its_hooks():
    x, told = torch.tensor([1.0, 2.0], requires_grad=True), []
    x.register_post_accumulate_grad_hook(lambda p: told.append(p.grad))
    y = x * 2
    x.requires_grad_(False)
    y.sum().backward()
    assert told == [None] and x.grad is None


def test_what_was_never_saved_is_none_after_the_graph_was_freed_too():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.sum().backward()
    assert y.grad_fn._saved_self is None
    z = x * torch.tensor([1.0, 2.0])
    z.sum().backward()
    assert z.grad_fn._saved_self is None
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        z.grad_fn._saved_other


def test_masked_scatter_asks_for_dtypes_before_a_mask_that_does_not_fit():
    for call in (lambda: torch.zeros(4).masked_scatter_(torch.ones(2, dtype=torch.bool), torch.ones(9).double()),
                 lambda: torch.zeros(4).masked_scatter(torch.ones(4), torch.ones(9).double())):
        with pytest.raises(RuntimeError, match="masked_scatter: expected self and source to have same dtypes but gotFloat and Double"):
            call()


def test_a_view_twice_in_a_list_without_gradients_learns_of_its_history_later():
    x = torch.tensor([-0.5])
    y = x.unflatten(0, (1, -1))
    torch._foreach_add_([y, y], 1)
    x.requires_grad_()
    assert y.grad_fn.name() == "AsStridedBackward0" and y.tolist() == [[1.5]]
    (y * 2).sum().backward()
    assert x.grad.tolist() == [2.0]


@pytest.mark.parametrize("view, name", [(lambda b: b, "MulBackward0"), (lambda b: b[:2], "AsStridedBackward0")])
def test_a_list_that_cannot_be_written_to_its_end_gets_no_histories(view, name):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 2
    y = view(base)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Bool"):
        torch._foreach_add_([y, torch.tensor([True])], 1)
    assert y._version == 1 and y.grad_fn.name() == name and base.grad_fn.name() == "MulBackward0" and base.tolist()[0] == 3.0
    base.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


class _Kept(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


def test_a_function_that_saved_a_view_tells_that_its_history_was_lost():
    base = torch.ones(4, requires_grad=True) * 2
    y = _Kept.apply(base.chunk(2)[0])
    base.neg_()
    with pytest.raises(RuntimeError, match="Output 0 of Split is a view and its base or another view of its base has been modified"):
        y.sum().backward()


def test_what_was_saved_and_not_written_is_shown():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = y.xlogy(y.abs() + 1)
    y.add_(1)
    assert z.grad_fn._saved_other.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.grad_fn._saved_self


def test_nothing_that_is_expanded_may_be_written():
    x = torch.tensor([], requires_grad=True)
    y = (x * 2).expand(2, 0)
    y.neg_()
    y.sum().backward()
    assert x.grad.shape == (0,)
