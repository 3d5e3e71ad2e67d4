"""Under create_graph a gradient's grad_fn is called what ends torch's formula for it. The names are torch's, of the gradient of the sum of
squares of each result, read off PyTorch 2.13 by running this file with `import torch`."""
import warnings

import pytest

import torchshim as torch

L, F = torch.linalg, torch.nn.functional
ONES = torch.ones(3, 3, dtype=torch.float64)
PIVOTS = torch.tensor([1, 2, 3], dtype=torch.int32)
NAMES = {                      # of a matrix, and of a stack of them where that differs
    "LinalgSolveTriangular": [L.cholesky, lambda x: L.cholesky(x, upper=True), lambda x: L.qr(x)[1],
                              lambda x: L.solve_triangular(x.detach(), x, upper=True)],
    "Mm UnsafeView": [lambda x: L.lu(x)[2], lambda x: L.lu_factor(x)[0], L.svdvals, lambda x: L.svd(x)[0], L.eigvalsh,
                      lambda x: L.eigh(x)[1].abs(), lambda x: L.lstsq(x.detach(), x)[0]],
    "Mm View": [lambda x: x @ x.detach(), lambda x: x.detach() @ x],
    "Select": [lambda x: L.eigvals(x).abs()],
    "LinalgSolveEx": [torch.det, lambda x: torch.slogdet(x)[1], torch.logdet, lambda x: L.solve(x.detach(), x)],
    "Neg": [torch.inverse, lambda x: L.solve(x, ONES[:, :2]), torch.cholesky_inverse, lambda x: torch.cholesky_solve(ONES, x)],
    "CholeskySolve": [lambda x: torch.cholesky_solve(x, x.detach())],
    "Add": [L.pinv, lambda x: L.lstsq(x, ONES.expand(x.shape))[0], lambda x: F.rms_norm(x, (3,))],
    "LinalgLuSolve": [lambda x: L.lu_solve(x.detach(), PIVOTS.expand(x.shape[:-1]).contiguous(), x)],
    "Slice": [torch.matrix_exp],
    "Triu": [lambda x: L.solve_triangular(x, ONES, upper=True)],
    "Tril": [lambda x: L.solve_triangular(x, ONES, upper=False), lambda x: L.householder_product(x, torch.ones_like(x[..., 0]))],
    "Div": [torch.log, torch.log2, torch.log10, torch.log1p, torch.atan, lambda x: x / 2,
            lambda x: x / (x.detach() + 1), lambda x: x.cumprod(0), lambda x: torch.hypot(x, x.detach()),
            lambda x: torch.logaddexp(x, x.detach())],
    "Where": [torch.sinc],
    "Mul": [lambda x: 2 / x, torch.exp, lambda x: x ** 3],
}
CASES = [(name, k, stacked) for name, fs in NAMES.items() for k in range(len(fs)) for stacked in (False, True)]


@pytest.mark.parametrize("name, k, stacked", CASES)
def test_as_torch_calls_it(name, k, stacked):
    torch.manual_seed(0)
    a = torch.randn(*(2,) * stacked, 3, 3, dtype=torch.float64)
    x = (a @ a.mT + 3 * torch.eye(3, dtype=torch.float64)).abs().requires_grad_() * 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = NAMES[name][k](x)
    g, = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    assert g.grad_fn.name() == name.split()[-1 if stacked else 0] + "Backward0"


def test_numbered_ones():
    x = torch.rand(4, requires_grad=True) * 1
    for f, name in ((torch.exp2, "MulBackward1"), (torch.special.ndtr, "MulBackward1"), (torch.mean, "DivBackward1")):
        g, = torch.autograd.grad(f(x).square().sum(), x, create_graph=True)
        assert g.grad_fn.name() == name


def test_a_layer_names_them_by_operand():
    x, w = torch.randn(2, 3, requires_grad=True) * 1, torch.randn(4, 3, requires_grad=True) * 1
    for b in (None, torch.ones(4)):
        for t, name in ((x, "MmBackward0"), (w, "TBackward0")):
            g, = torch.autograd.grad(F.linear(x, w, b).square().sum(), t, create_graph=True)
            assert g.grad_fn.name() == name
