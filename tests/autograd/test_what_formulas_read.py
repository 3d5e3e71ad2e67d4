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
