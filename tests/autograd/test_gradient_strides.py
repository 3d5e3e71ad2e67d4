"""How gradients lie in memory where somebody can see them: in hooks, of autograd.grad, in `.grad`."""
import pytest

import torchshim as torch
from torchshim.nn import functional as F


def _x(turned=False):
    x = torch.arange(12, dtype=torch.float64) * 0.1
    return (x.reshape(4, 3).t() if turned else x.reshape(3, 4)).clone().requires_grad_()


def _ct(y, how):
    one = torch.ones(y.shape, dtype=y.dtype)
    return {"rows": one, "columns": one.t().contiguous().t(), "expanded": torch.ones((), dtype=y.dtype).expand(y.shape)}[how]


@pytest.mark.parametrize("f, turned, how, strides", [
    (torch.exp, False, "columns", (1, 3)), (torch.exp, True, "rows", (4, 1)), (torch.exp, True, "expanded", (1, 3)),
    (lambda x: x + 1, True, "expanded", (0, 0)), (lambda x: x * 2, True, "expanded", (4, 1)), (lambda x: 2 - x, False, "columns", (1, 3)),
    (torch.relu, False, "columns", (4, 1)), (torch.relu, True, "rows", (1, 3)), (lambda x: x.clamp(0, 1), True, "rows", (1, 3)),
    (lambda x: 1 / x, True, "expanded", (4, 1)), (lambda x: x / 2, True, "rows", (4, 1)), (torch.clone, False, "expanded", (0, 0)),
    (lambda x: x.to(torch.float32), False, "expanded", (4, 1)), (lambda x: x.cumsum(0), True, "columns", (4, 1)),
    (lambda x: x.flip(0), True, "rows", (4, 1)), (lambda x: x.masked_fill(x > 1, 0.), True, "columns", (4, 1)),
    (lambda x: torch.where(x > 1, x, 0.), False, "columns", (4, 1)), (lambda x: x[1:], True, "columns", (4, 1)),
    (lambda x: x.gather(0, torch.zeros(3, 4, dtype=torch.int64)), True, "rows", (4, 1))])
def test_what_is_computed_from_the_cotangent_lies_as_in_torch(f, turned, how, strides):
    x = _x(turned)
    y = f(x)
    assert torch.autograd.grad(y, x, _ct(y, how))[0].stride() == strides


@pytest.mark.parametrize("f, strides", [
    (lambda x: x.t(), (1, 3)), (lambda x: x.unsqueeze(0), (4, 1)), (lambda x: x[None], (4, 1)), (lambda x: x.reshape(2, 6), (4, 1)),
    (lambda x: torch.cat([x, x.detach()], 1), (8, 1)), (lambda x: torch.stack([x.detach(), x], -1), (8, 2)),
    (lambda x: x.expand(2, 3, 4), (4, 1)), (lambda x: x.split(2)[0], (4, 1))])
def test_gradients_of_views_are_views_of_the_cotangent(f, strides):
    x = _x()
    y = f(x)
    assert torch.autograd.grad(y, x, torch.ones(y.shape, dtype=y.dtype))[0].stride() == strides


@pytest.mark.parametrize("f, strides", [
    (lambda x: x.sum(), (0, 0)), (lambda x: x.sum(0).sum(), (0, 0)), (lambda x: (x.sum(1) * x.detach()[:, 0]).sum(), (1, 0)),
    (lambda x: (x.sum(0, keepdim=True) * 2).sum(), (0, 1)), (lambda x: x.mean(), (4, 1)), (lambda x: x.sum() + x.sum(), (4, 1))])
def test_the_gradient_of_a_sum_is_expanded(f, strides):
    x = _x()
    assert torch.autograd.grad(f(x), x)[0].stride() == strides


def test_nobody_writes_to_an_expanded_gradient():
    x = _x()
    g, = torch.autograd.grad(x.sum(), x)
    for write in (lambda: g.mul_(2), lambda: g.view(3, 4)[0].add_(1)):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            write()
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 8"):
        g.as_strided((2,), (1,))
    assert g.tolist() == [[1.0] * 4] * 3 and g.reshape(-1).stride() == (0,)


def test_what_hooks_and_functions_see_of_it():
    seen = []

    class Seeing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append((g.stride(), g.is_contiguous()))
            return g

    x = _x()
    x.register_hook(lambda g: seen.append(g.stride()))
    Seeing.apply(x).sum().backward()
    assert seen == [((0, 0), False), (0, 0)] and x.grad.stride() == (4, 1)      # a leaf's own gradient is laid as the leaf
    x.grad.mul_(2)
    x.sum().backward()
    assert x.grad.tolist() == [[3.0] * 4] * 3


def test_a_retained_gradient_is_a_contiguous_copy():
    for create in (False, True):
        y = _x().t() * 1
        y.retain_grad()
        given = torch.ones(3, 4, dtype=torch.float64).t()
        torch.autograd.backward(y, given, create_graph=create)
        assert y.grad.stride() == (3, 1) and y.grad is not given


@pytest.mark.parametrize("f, strides", [
    (lambda x: x.movedim(0, -1), (12, 1, 6, 2)), (lambda x: x.transpose(0, 1) * 2, (12, 3, 6, 1)),
    (lambda x: x.permute(2, 0, 1).sum(0), (4, 2, 1, 0)),
    (lambda x: x.flatten().sum(0), (1, 0, 0, 0)), (lambda x: x.mT.sin(), (12, 6, 1, 2)), (lambda x: x.sin(), (12, 6, 3, 1))])
@pytest.mark.parametrize("create_graph", [False, True])
def test_rows_of_gradients_lie_as_one_does_each_after_the_one_before(f, strides, create_graph):
    x = torch.arange(12.0).reshape(2, 2, 3).requires_grad_()
    y = f(x)
    assert torch.autograd.grad(y, x, torch.ones(2, *y.shape), is_grads_batched=True, create_graph=create_graph)[0].stride() == strides


def test_jacobians_that_are_put_together_row_by_row_are_contiguous():
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.autograd.functional.jacobian(lambda x: x.T * 2, x).stride() == (12, 6, 3, 1)
    assert torch.autograd.functional.jacobian(lambda x: x.T * 2, x, vectorize=True).stride() == (12, 6, 1, 2)


@pytest.mark.parametrize("f", [lambda x: x ** 3, lambda x: x * x, torch.sin, torch.exp, torch.sigmoid, torch.log, torch.sqrt,
                               lambda x: x / (x + 1)])
def test_second_gradients_lie_as_both_cotangents_do(f):
    x = (torch.arange(6.0).reshape(2, 3) / 7 + 0.5).t().requires_grad_()
    g, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    made = [torch.autograd.grad(root.sum(), x, retain_graph=True)[0] for root in (g, g * torch.ones(3, 2), g * g)]
    assert g.stride() == (1, 3) and [m.stride() for m in made] == [(2, 1), (2, 1), (1, 3)]


@pytest.mark.parametrize("shape", [(2,), (2, 3)])
@pytest.mark.parametrize("write", [lambda y: y.view(-1)[:1].exp_(), lambda y: y[:1].zero_(), lambda y: y.t()[:1].mul_(2)])
def test_the_gradient_of_what_was_written_through_a_view_lies_as_that_does(shape, write):
    seen = []

    class Seen(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            seen.append(g.stride())
            return g

    y = Seen.apply(torch.ones(shape, requires_grad=True))
    write(y)
    y.sum().backward()                         # an expanded one comes
    assert seen == [torch.ones(shape).stride()]


LAST, ROWS = torch.channels_last, torch.contiguous_format


@pytest.mark.parametrize("f, of, weights, cotangent, strides", [
    (F.conv2d, LAST, ROWS, ROWS, [(96, 1, 24, 4), (8, 1, 8, 4)]), (F.conv2d, ROWS, LAST, ROWS, [(96, 1, 24, 4), (8, 1, 8, 4)]),
    (F.conv2d, ROWS, ROWS, LAST, [(96, 24, 6, 1), (8, 2, 2, 1)]),
    (lambda x, w: F.interpolate(x, 3), LAST, ROWS, ROWS, [(96, 24, 6, 1)]), (lambda x, w: F.interpolate(x, 3), ROWS, ROWS, LAST, [(96, 1, 24, 4)]),
    (lambda x, w: F.interpolate(x, 3, mode="bicubic"), LAST, ROWS, LAST, [(96, 24, 6, 1)]),
    (lambda x, w: F.grid_sample(x, torch.zeros(2, 3, 3, 2), align_corners=False), LAST, ROWS, ROWS, [(96, 24, 6, 1)]),
    (lambda x, w: F.adaptive_max_pool2d(x, 2), LAST, ROWS, ROWS, [(96, 1, 24, 4)]),
    (lambda x, w: F.avg_pool3d(x, 2), LAST, ROWS, ROWS, [(96, 24, 6, 1)]),
    (lambda x, w: F.rms_norm(x, (6,)), LAST, ROWS, ROWS, [(96, 24, 6, 1)]), (lambda x, w: F.rms_norm(x, (6,)), ROWS, ROWS, LAST, [(96, 1, 24, 4)])])
def test_formats_of_gradients(f, of, weights, cotangent, strides):
    """Convolutions' gradients lie as their result does; others as the cotangent, as the operand, or are contiguous."""
    x = torch.ones(2, 4, 4, 6).contiguous(memory_format=of).requires_grad_()
    w = torch.ones(3, 4, 1, 2).contiguous(memory_format=weights).requires_grad_()
    y = f(x, w)
    made = torch.autograd.grad(y, [x, w], torch.ones(y.shape).contiguous(memory_format=cotangent), allow_unused=True)
    assert [g.stride() for g in made if g is not None] == strides


def test_gradients_of_recurrent_layers_are_made_time_by_time():
    x = torch.ones(2, 5, 3).requires_grad_()
    y = torch.nn.GRU(3, 4, batch_first=True)(x)[0]
    assert torch.autograd.grad(y.sum(), x)[0].stride() == (3, 6, 1)


@pytest.mark.parametrize("shape, turned, sliced, strides, name", [
    ((1,), False, False, (1,), "CopyBackwards"), ((3, 2), True, False, (1, 2), "CopyBackwards"), ((3, 2), False, True, (1, 1), "CloneBackward0")])
def test_a_gradient_that_has_a_history_is_copied_into_one_that_lies_as_its_leaf(shape, turned, sliced, strides, name):
    x = torch.ones(shape, dtype=torch.float64)
    x = (x.t() if turned else x[:, :1] if sliced else x).requires_grad_()
    w = torch.ones((), dtype=torch.float64, requires_grad=True)
    (x * w).sum().backward(create_graph=True)
    assert x.grad.stride() == strides and x.grad.grad_fn.name().endswith(name)
