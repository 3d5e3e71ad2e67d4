"""What autograd says of forms with out=: most refuse operands and out tensors that require grad, in the name of what they call; some copy
what they computed, which is followed; of a few it knows nothing."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("f, name", [
    (lambda b, a: torch.max(b, b, out=a), "maximum"), (lambda b, a: torch.norm(b, 2, 0, out=a), "linalg_vector_norm"),
    (lambda b, a: torch.hstack([b, b], out=a), "cat"), (lambda b, a: torch.linalg.det(b, out=a), "_linalg_det"),
    (lambda b, a: torch.inverse(b, out=a), "linalg_inv_ex"), (lambda b, a: torch.outer(b[0], b[0], out=a), "mul"),
    (lambda b, a: torch.linalg.matrix_power(b, 2, out=a), "matmul"), (lambda b, a: torch.square(b, out=a), "pow"),
    (lambda b, a: torch.diff(b, out=a), "sub"), (lambda b, a: torch.linalg.solve(b, b, out=a), "_linalg_solve_ex"),
    (lambda b, a: torch.take_along_dim(b, torch.zeros(2, 2, dtype=torch.int64), 0, out=a), "gather")])
def test_refusals_name_what_is_called(f, name):
    b = torch.tensor([[1., 2.], [3., 5.]], requires_grad=True)
    with pytest.raises(RuntimeError, match=rf"^{name}\(\): functions with out=\.\.\. arguments don't support automatic differentiation"):
        f(b, torch.zeros(2, 2))


@pytest.mark.parametrize("f", [lambda b, a: torch.linalg.norm(b, out=a), lambda b, a: torch.quantile(b, 0.5, out=a)])
def test_what_is_copied_is_followed(f):
    b = torch.tensor([[1., 2.], [3., 5.]], requires_grad=True)
    for shape in ((), (3,)):
        a = torch.zeros(shape)
        assert f(b, a) is a and a.grad_fn.name() == "torch::autograd::CopyBackwards"
        expected = f(b, None)
        assert torch.equal(torch.autograd.grad(a, b)[0], torch.autograd.grad(expected, b)[0])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation."):
        f(b, torch.zeros((), requires_grad=True))
    with pytest.raises(RuntimeError, match="dtype"):
        f(b, torch.zeros((), dtype=torch.int64))


@pytest.mark.parametrize("f, name, values", [
    (lambda b, a: torch.softmax(b, 0, out=a), "softmax", [[0.5, 0.5]]), (lambda b, a: torch.floor_divide(b, 2, out=a), "floor_divide", [[0., 1.]]),
    (lambda b, a: torch.full((1, 2), 3., out=a), "full", [[3., 3.]]), (lambda b, a: torch.eye(1, 2, out=a), "eye", [[1., 0.]])])
def test_what_autograd_does_not_know_leads_nowhere(f, name, values):
    b = torch.tensor([[1., 2.]] if name != "softmax" else [[1., 2.], [1., 2.]])
    values = values * len(b)
    a = torch.ones(b.shape, requires_grad=True).clone()
    assert f(b, a) is a and a.tolist() == values and a.grad_fn.name() == "torch::autograd::NotImplemented"
    with pytest.raises(RuntimeError, match=f"^derivative for aten::{name} is not implemented$"):
        a.sum().backward()
    with pytest.raises(RuntimeError, match=rf"^aten::{name}\(\): functions with out="):
        f(b, torch.ones(b.shape, requires_grad=True))


def test_an_out_tensor_of_the_wrong_dtype_is_told_first():
    with pytest.raises(RuntimeError, match="any only supports bool tensor for result, got: Float"):
        torch.any(torch.ones(2), 0, out=torch.ones((), requires_grad=True))
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.randn(2, out=torch.ones(2, requires_grad=True))
