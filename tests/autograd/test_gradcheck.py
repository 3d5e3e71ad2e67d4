"""Protects gradcheck and gradgradcheck: right gradients pass, wrong ones fail with torch's messages.

Every expectation holds for real torch 2.13: replacing the import below by `import torch` must leave the file green.
"""
import pytest

import torchshim as torch
from torchshim.autograd import gradcheck, gradgradcheck


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a ** 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


class NotLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2

    @staticmethod
    def backward(ctx, g):
        return 2 * g + 1e-7


def doubles(*values):
    return torch.tensor(values, dtype=torch.double, requires_grad=True)


def test_right_gradients_pass():
    a, b = doubles(1.0, 2.0, 3.0).detach().reshape(1, 3).requires_grad_(), doubles(0.5, -1.0, 2.0).detach().reshape(3, 1).requires_grad_()
    assert gradcheck(lambda x, y: (x @ y).sin(), (a, b)) and gradgradcheck(lambda x, y: (x @ y).sin(), (a, b))
    assert gradcheck(lambda x: (x * 2, x.exp().sum()), doubles(1.0, 2.0))
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)
    assert gradcheck(lambda x: x * x, z) and gradcheck(torch.abs, z) and gradcheck(lambda x: (x * x.conj()).real, z)


def test_wrong_gradients_fail():
    x = doubles(1.0, 2.0)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0,\nnumerical:tensor"):
        gradcheck(Wrong.apply, x)
    assert gradcheck(Wrong.apply, x, raise_exception=False) is False
    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        gradcheck(NotLinear.apply, x)
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda a: a.detach() * 1, x)


def test_inputs_are_looked_at():
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(torch.sin, torch.ones(2, dtype=torch.double))
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(torch.sin, doubles(1.0).expand(3))
    with pytest.warns(UserWarning, match="is not a double precision"):
        gradcheck(torch.sin, torch.ones(1, requires_grad=True), raise_exception=False)


def test_what_the_function_knows_of_an_input_in_other_ways_changes_with_it():
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    held = {"x": x}
    assert gradcheck(lambda y: held["x"] * y, (x,))


def test_forward_over_reverse():
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(lambda x: x.exp() * x, (x,), check_fwd_over_rev=True)
    assert gradgradcheck(lambda x: x.sin().prod(), (x,), check_fwd_over_rev=True, check_rev_over_rev=False)


def test_forward_mode_of_channels_last():
    """The directions are those of the elements, wherever these lie in memory."""
    x = torch.rand(1, 2, 2, 3, dtype=torch.float64).to(memory_format=torch.channels_last).requires_grad_()
    assert gradcheck(lambda x: x * x, (x,), check_forward_ad=True)
    assert gradcheck(lambda x: x.sin(), (x,), check_forward_ad=True, check_backward_ad=False)


@pytest.mark.parametrize("layout, block", [(torch.sparse_coo, None), (torch.sparse_csr, None), (torch.sparse_bsc, (2, 2))])
def test_a_sparse_input_is_checked_where_it_has_elements(layout, block):
    x = torch.tensor([[1.0, 0.0], [2.0, 3.0]], dtype=torch.float64).to_sparse(layout=layout, blocksize=block).requires_grad_()
    assert gradcheck(torch.sum, x, masked=True, check_batched_grad=False)


def test_what_gradients_of_sparse_inputs_must_be():
    """As sparse as their inputs; torch has no batches of them."""
    def reshaping(x):
        y = x.clone()
        y.register_hook(lambda g: g if g is None else g.to_dense().to_sparse(1))
        return y.to_dense()
    x = torch.ones(2, 2, dtype=torch.float64).to_sparse().requires_grad_()
    with pytest.raises(RuntimeError, match="grad is sparse tensor, but has incorrect sparse_dim 1, expected 2"):
        gradcheck(reshaping, (x,), masked=True)
    assert not gradcheck(reshaping, (x,), masked=True, raise_exception=False)
    with pytest.raises(RuntimeError, match="gradcheck or gradgradcheck failed while testing batched gradient"):
        gradcheck(lambda x: x.to_dense(), (x,), masked=True, check_batched_grad=True)


def test_a_sparse_gradient_of_what_is_not():
    class Sparse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g.to_sparse()
    with pytest.raises(RuntimeError, match=r"grad is incorrect layout \(torch.sparse_coo is not torch.strided\)"):
        gradcheck(Sparse.apply, (torch.ones(1, dtype=torch.float64, requires_grad=True),))


def test_forward_mode_is_asked_with_inputs_that_require_no_gradient():
    seen = []

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            if torch.autograd.forward_ad._current_level >= 0:
                seen.append((x.requires_grad, y.requires_grad))
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx, x, y):
            return x, y
    x, y = [torch.rand(2, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    assert gradcheck(Same.apply, (x, y), check_forward_ad=True, check_backward_ad=False)
    assert set(seen) == {(False, False)}


def test_functions_are_checked_in_the_callers_mode():
    x = torch.tensor([.3, .7], dtype=torch.float64, requires_grad=True)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert not torch.autograd.gradcheck(lambda x: x.sin(), (x,), raise_exception=False)
            with pytest.raises(RuntimeError, match="^Numerical gradient for function expected to be zero"):
                torch.autograd.gradcheck(lambda x: x.sin(), (x,))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        torch.autograd.gradgradcheck(lambda x: x.detach(), (x,))
