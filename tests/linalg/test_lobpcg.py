"""Protects torch.lobpcg: extreme eigenpairs, their order and gradients against those of the whole matrix, and what is refused."""
import pytest

import torchshim as torch


def _matrix(m=12):
    torch.manual_seed(0)
    A = torch.randn(m, m, dtype=torch.float64)
    return A @ A.T


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [1, 3])
def test_extreme_pairs(k, largest):
    A = _matrix()
    E, X = torch.lobpcg(A, k, largest=largest)
    want = torch.linalg.eigvalsh(A)
    want = want.flip(0)[:k] if largest else want[:k]
    assert torch.allclose(E, want, rtol=1e-6) and (A @ X - X * E).norm() < 1e-4 and torch.allclose(X.T @ X, torch.eye(k, dtype=A.dtype))


def test_forms():
    """Batches, sparse matrices, a second matrix, a first guess and a preconditioner."""
    A = _matrix()
    top = torch.lobpcg(A, 2)[0]
    assert torch.allclose(torch.lobpcg(torch.stack([A, 2 * A]), 2)[0], torch.stack([top, 2 * top]), rtol=1e-6)
    assert torch.allclose(torch.lobpcg(A.to_sparse(), 2)[0], top, rtol=1e-6)
    assert torch.allclose(torch.lobpcg(A, 2, B=2 * torch.eye(12, dtype=A.dtype))[0], top / 2, rtol=1e-6)
    assert torch.allclose(torch.lobpcg(A, X=torch.rand(12, 2, dtype=A.dtype), iK=torch.eye(12, dtype=A.dtype))[0], top, rtol=1e-6)
    assert torch.lobpcg(A.float(), 2)[0].dtype is torch.float32


def test_gradient():
    A = _matrix().requires_grad_()
    E, X = torch.lobpcg(A, 2, tol=1e-12)
    got, = torch.autograd.grad(E.sum() + (X ** 2)[0].sum(), A)
    E, X = torch.linalg.eigh(A)
    want, = torch.autograd.grad(E[-2:].sum() + (X[:, -2:] ** 2)[0].sum(), A)
    assert torch.allclose(got, (want + want.T) / 2, atol=1e-8)


def test_refusals():
    A = _matrix()
    with pytest.raises(ValueError, match=r"number of A rows \(=12\) is smaller than 3 x the number of requested eigenpairs \(=5\)"):
        torch.lobpcg(A, 5)
    with pytest.raises(AssertionError):
        torch.lobpcg(A[:3], 1)


def test_gradients_of_lobpcg_are_those_of_the_symmetric_part():
    """A matrix that requires grad is made symmetric first, so that changes of one element tell what its gradient does."""
    A = torch.tensor([[4.0, 1, 0], [3, 5, 0], [0, 0, 1]], dtype=torch.float64, requires_grad=True)
    D, _ = torch.lobpcg(A, k=1, X=torch.ones(3, 1, dtype=torch.float64))
    assert abs(D.item() - (4.5 + 17 ** 0.5 / 2)) < 1e-9
    g, = torch.autograd.grad(D, A)
    assert torch.equal(g, g.mT) and abs(g[0, 0].item() - (1 - 17 ** -0.5) / 2) < 1e-9
