"""Protects what a result's count of writes begins with, where torch's kernel writes to it or does not, and that the refusals which torch
tells after a write come when it is done. Expected values are torch 2.13's."""
import pytest

import torchshim as torch

F = torch.nn.functional
A, V, N = torch.ones(3, 2), torch.ones(3), torch.tensor([0, 1])


@pytest.mark.parametrize("f, count", [
    (lambda: V @ A, 1), (lambda: torch.matmul(V, A), 1), (lambda: V.matmul(other=A), 1), (lambda: F.linear(V, A.t()), 1), (lambda: F.linear(V, V), 0),
    (lambda: torch.nn.Linear(3, 2, bias=False)(V), 1), (lambda: F.linear(V, A.t(), A[0]), 0), (lambda: A.t() @ V, 0), (lambda: V @ V, 0),
    (lambda: A.t() @ A, 0), (lambda: V @ A.expand(2, 3, 2), 0), (lambda: A[None] @ A.t(), 0),
    (lambda: torch.quantile(V, .5), 2), (lambda: torch.nanquantile(A, torch.tensor(.5), 0), 2), (lambda: A.quantile(V[:2]), 4),
    (lambda: V.quantile(.5, interpolation="nearest"), 1), (lambda: V.quantile(V[:2], interpolation="lower"), 3),
    (lambda: V.quantile(.5, interpolation="midpoint"), 2), (lambda: F.one_hot(N), 2), (lambda: F.one_hot(N, 3), 2),
    (lambda: F.one_hot(N[:0], 3), 0), (lambda: F.max_pool1d(V[None], 2), 1), (lambda: F.max_pool1d(V[None, None], 2), 0),
    (lambda: F.max_pool1d(V[None], 2, return_indices=True)[0], 0), (lambda: F.max_pool1d(V[None].clone().requires_grad_(), 2), 0),
    (lambda: torch.select_scatter(A, V[:2], 0, 1), 0), (lambda: torch.slice_scatter(A, A[:, :1], 1, 0, 1), 0),
    (lambda: A.clone().requires_grad_().diagonal_scatter(V[:2]), 0)])
def test_with_how_many_writes_a_result_is_born(f, count):
    assert f()._version == count


def test_an_error_of_a_write_tells_the_counts_that_the_result_began_with():
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    o = x @ y
    z = o * o
    o.detach().add_(1)
    with pytest.raises(RuntimeError, match="is at version 2; expected version 1 instead"):
        z.sum().backward()


@pytest.mark.parametrize("write, shape, values", [
    (lambda a: a.set_(torch.ones(2)), (2,), [1., 1.]), (lambda a: a.set_(), (0,), []), (lambda a: a.resize_(2), (2,), [0., 1.]),
    (lambda a: a.resize_as_(torch.ones(2, 1)), (2, 1), [[0.], [1.]])])
def test_what_gives_an_inference_tensor_other_memory_is_refused_when_it_is_done(write, shape, values):
    with torch.inference_mode():
        a = torch.arange(3.).reshape(1, 3)
    assert a.resize_(1, 3) is a                # nothing to do
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        write(a)
    assert a.shape == shape and a.tolist() == values


@pytest.mark.parametrize("f", [torch.cummax, torch.cummin])
def test_the_gradient_of_extremes_of_nothing_is_the_operand_itself(f):
    x = torch.zeros(0, 3, requires_grad=True)
    y = x * 2
    assert torch.autograd.grad(f(y, 0)[0].sum(), y, create_graph=True)[0].grad_fn is y.grad_fn
    assert torch.autograd.grad(f(x, 0)[0].sum(), x, create_graph=True)[0] is x
    f(x * 2, 1)[0].sum().backward()
    assert x.grad is not x and not x.grad.requires_grad


WRITTEN = "torch::autograd::CopySlices"


@pytest.mark.parametrize("view, names, grads", [
    (torch.view_as_real, ["ViewAsRealBackward0", WRITTEN], [[0, 3, 3], [1, 1, 1]]),
    (lambda c: c.conj(), ["ConjBackward0", WRITTEN], [[0, 3, 3], [1, 1, 1]]),
    (lambda c: torch.view_as_real(c.t()), ["ViewAsRealBackward0", "AsStridedBackward0", WRITTEN], [[0, 1, 1], [3, 1, 1]]),
    (lambda c: torch.view_as_real(c)[..., 0], ["AsStridedBackward0", "ViewAsRealBackward0", WRITTEN], [[0, 3, 3], [1, 1, 1]]),
    (lambda c: c.imag.t(), ["AsStridedBackward0", "AsStridedBackward0", "ViewAsRealBackward0", WRITTEN], [[0, 0, 0], [0, 0, 0]]),
    (lambda c: c.t()[1:], ["AsStridedBackward0", WRITTEN], [[0, 3, 1], [0, 3, 1]])])
def test_the_history_of_a_view_made_again_after_a_write(view, names, grads):
    x = torch.arange(6., dtype=torch.float64).reshape(2, 3).requires_grad_()
    v = view(x.to(torch.complex128))
    v[0].mul_(3)
    node, seen = v.grad_fn, []
    for _ in names:
        seen.append(node.name())
        node = node.next_functions[0][0]
    assert seen == names
    v.abs().sum().backward()
    assert x.grad.tolist() == grads


@pytest.mark.parametrize("f, name", [
    (lambda x: x.mean(), "sum"), (lambda x: x.mean(0), "sum"), (lambda x: x.var(), "sum"), (lambda x: x.std(), "sum"),
    (lambda x: x.cummax(0), "cummax"), (lambda x: x.cummin(0), "cummin"),
    (lambda x: x.median(0), "median"), (lambda x: x.nanmedian(0), "nanmedian"), (lambda x: x.nan_to_num(), "nan_to_num"),
    (lambda x: x.logsumexp(0), "logsumexp"), (lambda x: x.kthvalue(1), "kthvalue"), (lambda x: x.abs(), "abs"),
    (lambda x: x.frexp(), "frexp"), (lambda x: x.deg2rad(), "deg2rad"), (lambda x: F.relu6(x), "hardtanh"),
    (lambda x: x.renorm(2, 0, 1.0), "mul"), (lambda x: x.renorm(1, -1, 9.0), "mul")])
def test_what_a_kernel_asks_of_a_form_with_out_is_refused_for_inference_tensors_that_require_grad(f, name):
    with torch.inference_mode():
        x = torch.ones(2, 2).requires_grad_()
    with pytest.raises(RuntimeError, match=rf"^{name}\(\): functions with out=... arguments don't support automatic differentiation, but"):
        f(x)
    with torch.no_grad():
        f(x)
    assert not x.var(0).requires_grad and not x.sum().requires_grad and not x.median().requires_grad


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.jacrev, lambda f: lambda x: torch.func.vjp(f, x)[1](torch.ones(()))[0]])
def test_a_view_that_lost_its_history_tells_so_where_the_function_uses_it(transform):
    base = torch.ones(3, requires_grad=True).clone()
    x, w, seen = base.unbind()[2], torch.ones((), requires_grad=True), []
    base += 1
    with pytest.raises(RuntimeError, match="Output 2 of Unbind is a view and its base"):
        transform(lambda x: (seen.append(1), x * 2)[1])(x)
    assert seen == [1]
    assert transform(lambda x: w * 2)(x) == 0
    with pytest.raises(ZeroDivisionError):
        transform(lambda x: 1 / 0)(x)
