"""`grad_fn._raw_saved_*`: hooks on single pieces of what a node saved."""
import pytest

import torchshim as torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        x, _ = ctx.saved_tensors
        return g * x


def test_a_pair_of_hooks_on_one_of_two_saved_tensors():
    x = torch.full((2,), 3.0, requires_grad=True)
    y = x * x
    assert isinstance(y.grad_fn._raw_saved_self, torch._C._autograd.SavedTensor)
    y.grad_fn._raw_saved_self.register_hooks(lambda t: 4 * t, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [15.0, 15.0]
    with pytest.raises(RuntimeError, match="after it has been freed"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_what_hooks_see_and_what_is_refused():
    x, seen = torch.ones(2, requires_grad=True), []
    y = x.exp()
    saved = y.grad_fn._raw_saved_result
    with pytest.raises(AttributeError, match="has no attribute '_raw_saved_self'"):
        y.grad_fn._raw_saved_self
    for hooks in ((1, 1), (lambda t: t,)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            saved.register_hooks(*hooks)
    saved.register_hooks(lambda t: seen.append(t.requires_grad) or t, lambda t: t * 10)
    with pytest.raises(RuntimeError, match="already been set"):
        saved.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    assert seen == [False] and x.grad.tolist() == pytest.approx([27.182818] * 2)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.exp()
    with pytest.raises(RuntimeError, match="already been set"):
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        x.exp().grad_fn._raw_saved_result.register_hooks(lambda t: t.mul_(2), lambda t: t)


def test_lists_and_functions():
    x = torch.ones(2, 2, requires_grad=True)
    rows = x[torch.tensor([0, 1])]
    kept, = rows.grad_fn._raw_saved_indices
    kept.register_hooks(lambda t: t, lambda t: t)
    rows.sum().backward()
    x.grad = None
    y = Double.apply(x)
    first, none = y.grad_fn._raw_saved_tensors
    with pytest.raises(RuntimeError, match="None is forbidden"):
        none.register_hooks(lambda t: t, lambda t: t)
    first.register_hooks(lambda t: 2 * t, lambda t: t + 1)
    y.sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0]] * 2
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        y.grad_fn._raw_saved_tensors


def test_saved_tensors_are_not_made_by_hand():
    """The class is there to be asked for."""
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python is forbidden"):
        torch.autograd.SavedTensor()
