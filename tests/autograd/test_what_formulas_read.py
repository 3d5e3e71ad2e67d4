"""Which tensors torch's formulas read again: operands that they do not may be written between forward and backward; results that they do
may not. Read off PyTorch 2.13 by running this file with `import torch`."""
import pytest

import torchshim as torch

L = torch.linalg
BY_RESULTS = [L.cholesky, lambda x: L.cholesky(x, upper=True), lambda x: L.lu(x)[2], lambda x: L.lu_factor(x)[0], L.svdvals, L.eigvalsh,
              lambda x: L.eigvals(x).abs(), lambda x: L.matrix_norm(x, "nuc"), lambda x: L.matrix_norm(x, 2), L.cond, torch.special.ndtr,
              lambda x: torch.norm(x, "nuc"), torch.corrcoef, torch.cov]
BY_BOTH = [torch.special.i0e, torch.special.i1, torch.special.i1e, torch.special.erfcx, torch.special.log_ndtr]


def definite():
    torch.manual_seed(0)
    a = torch.randn(3, 3, dtype=torch.float64)
    return (a @ a.mT + torch.eye(3, dtype=torch.float64)).requires_grad_()


@pytest.mark.parametrize("f", BY_RESULTS)
def test_an_operand_that_is_not_read_again_may_be_written(f):
    leaf = definite()
    expected, = torch.autograd.grad(f(leaf).sum(), leaf)
    x = leaf * 1
    y = f(x)
    with torch.no_grad():
        x.add_(1)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), leaf)[0], expected)


@pytest.mark.parametrize("f", BY_BOTH)
def test_a_result_that_is_read_again_may_not(f):
    leaf = definite()
    for k in (0, 1):
        x = leaf * 1
        y = f(x)
        with torch.no_grad():
            (x, y)[k].add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


F = torch.nn.functional
KEPT_RESULTS = [L.det, lambda x: L.slogdet(x)[0], L.pinv, L.svdvals, L.eigvalsh, lambda x: L.eigvals(x), lambda x: L.lu(x)[1],
                lambda x: L.lu(x)[2], lambda x: L.lu_factor(x)[0], lambda x: torch.std_mean(x)[0], lambda x: torch.std_mean(x, 0)[0],
                lambda x: L.solve(torch.eye(3, dtype=x.dtype), x), lambda x: L.lstsq(x.detach(), x)[0],
                lambda x: L.solve_triangular(x.detach(), x, upper=True), lambda x: L.householder_product(x, torch.ones_like(x[0])),
                lambda x: torch.ormqr(x.detach(), torch.ones_like(x[0]).detach(), x),
                lambda x: F.scaled_dot_product_attention(*(x[None, None],) * 3)]


@pytest.mark.parametrize("f", KEPT_RESULTS)
def test_a_result_that_torch_keeps_may_not_be_written(f):
    y = f(definite() * 1)
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.abs().sum().backward()


KEPT_OPERANDS = [lambda x, b: F.layer_norm(x.detach(), (3,), None, b), lambda x, b: torch.lerp(x.detach(), x.detach() * 2, b),
                 lambda x, b: F.prelu(x.detach(), b), lambda x, b: F.binary_cross_entropy(torch.full((3,), 0.5).double(), b),
                 lambda x, b: torch.fft.fft(b).abs()]


@pytest.mark.parametrize("f", KEPT_OPERANDS)
def test_an_operand_that_torch_keeps_may_not_be_written(f):
    b = torch.full((3,), 0.5, dtype=torch.float64).requires_grad_() * 1
    y = f(definite(), b)
    with torch.no_grad():
        b.add_(0.25)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("f", [lambda b: L.solve(definite().detach().requires_grad_(), b), lambda b: torch.trapezoid(b, b),
                               lambda b: torch.fft.fft(b, 5).abs()])
def test_what_torch_makes_something_of_before_may_be_written(f):
    b = torch.rand(3, dtype=torch.float64).requires_grad_() * 1
    y = f(b)
    with torch.no_grad():
        b.add_(1)
    y.sum().backward()
