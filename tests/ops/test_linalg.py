"""Factorizations, solvers and their gradients, errors that depend on the values, names and layouts. Expectations are PyTorch 2.13's."""
import math
import pytest

import torchshim as torch

A = [[4., 1., 2.], [1., 3., 0.], [2., 0., 5.]]
L = torch.linalg


def close(a, b, atol=1e-9):
    return torch.allclose(a, b, atol=atol, rtol=0)


def matrices(dtype=torch.float64, seed=0, shape=(2, 3, 3)):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=dtype, generator=g)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_factorizations_multiply_back(dtype):
    x = matrices(dtype)
    P, lower, upper = L.lu(x)
    assert close(P @ lower @ upper, x)
    for shape in ((4, 3), (3, 4)):
        y = matrices(dtype, 1, shape)
        for mode in ("reduced", "complete"):
            Q, R = L.qr(y, mode)
            assert close(Q @ R, y) and Q.shape == ((4, 4) if mode == "complete" and shape[0] == 4 else (4, 3) if shape[0] == 4 else (3, 3))
        for full in (False, True):
            U, S, Vh = L.svd(y, full)
            assert close((U[:, :3] * S) @ Vh[:3], y)
    w, V = L.eig(x)
    assert close(x.to(w.dtype) @ V, V * w[:, None]) and V.stride() == (9, 1, 3)
    h = x @ x.mH
    w, V = L.eigh(h)
    assert close((V * w[:, None].to(dtype)) @ V.mH, h) and not w.is_complex()
    C = L.cholesky(h)
    assert close(C @ C.mH, h) and close(L.cholesky(h, upper=True), C.mH)
    a, tau = torch.geqrf(x)
    assert close(torch.orgqr(a, tau), L.qr(x).Q) and close(torch.ormqr(a, tau, x, transpose=True), L.qr(x).R)


def test_singular_matrices_raise_at_the_call():
    s = torch.ones(2, 2)
    text = "The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular."
    with pytest.raises(L.LinAlgError, match=f"linalg.inv: {text}"):
        L.inv(s)
    with pytest.raises(L.LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal"):
        L.inv(torch.stack([torch.eye(2), s]))
    with pytest.raises(L.LinAlgError, match="torch.linalg.solve: The solver failed because the input matrix is singular."):
        L.solve(s, s)
    with pytest.raises(L.LinAlgError, match="the leading minor of order 2 is not positive-definite"):
        L.cholesky(s)
    assert L.cholesky_ex(torch.stack([torch.eye(2), -torch.eye(2), s])).info.tolist() == [0, 1, 2]
    with pytest.raises(L.LinAlgError, match="contained non-finite values"):
        L.svdvals(torch.full((2, 2), torch.nan)).tolist()
    with pytest.raises(RuntimeError, match="must be batches of square matrices, but they are 2 by 3 matrices"):
        L.det(torch.ones(2, 3))
    with pytest.raises(NotImplementedError, match="\"linalg_svd_cpu\" not implemented for 'Half'"):
        L.svd(s.half())


BOTH = [lambda x: L.qr(x)[1], lambda x: L.svd(x)[0].abs(), lambda x: L.eig(x)[1].abs(), lambda x: L.cholesky(x @ x.mH), lambda x: L.pinv(x)]
REAL = [lambda x: L.slogdet(x)[1] + L.det(x), lambda x: L.svdvals(x), lambda x: L.eigvalsh(x + x.mH), lambda x: L.lu(x)[2],
        lambda x: L.matrix_exp(x), lambda x: L.solve(x, x.mH), lambda x: L.solve_triangular(x, x, upper=True),
        lambda x: L.householder_product(x, x[..., 0])]


@pytest.mark.parametrize("f, dtype", [(f, torch.complex128) for f in BOTH] + [(f, torch.float64) for f in REAL])
def test_gradients(f, dtype):
    x = matrices(dtype, 3, (3, 3)).requires_grad_()
    assert torch.autograd.gradcheck(f, x, nondet_tol=1e-10)      # the two runs may be of different tiers


def test_gradients_that_do_not_exist():
    x = matrices(shape=(3, 2)).requires_grad_()
    R = L.qr(x, "r").R                                      # the factor itself is fine
    with pytest.raises(RuntimeError, match="which is not computed when mode='r'"):
        R.sum().backward()
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete' and nrows > ncols"):
        L.qr(x, "complete").Q.sum().backward()
    y = torch.eye(2).requires_grad_()                       # equal singular values: S has a gradient all the same
    L.svd(y).S.sum().backward()
    assert y.grad.tolist() == [[1, 0], [0, 1]]


def test_least_squares():
    x, y = torch.tensor([[1., 2], [3, 4], [5, 6]]), torch.tensor([[1.], [2], [4]])
    for driver in (None, "gels", "gelsy", "gelsd", "gelss"):
        r = L.lstsq(x, y, driver=driver)
        assert close(r.solution, torch.tensor([[.6666667], [.0833333]]), 1e-4)
        assert r.residuals.shape == ((0,) if driver in (None, "gelsy") else (1,)) and r.rank.numel() == (driver != "gels")
        assert r.singular_values.numel() == (2 if driver in ("gelsd", "gelss") else 0)
    assert L.lstsq(torch.ones(2, 2), torch.ones(2, 2)).rank.item() == 1


def test_names_layouts_and_out():
    x = torch.tensor(A, dtype=torch.float64).requires_grad_()
    assert repr(type(L.svd(x))).endswith("torch.return_types.linalg_svd'>") and L.inv(x).grad_fn.name() == "LinalgInvExBackward0"
    assert L.inv(x).stride() == (1, 3) and L.solve(x, x[0]).grad_fn.name() == "LinalgSolveExBackward0"
    assert torch.svd(x).V.stride() == (3, 1) and not L.lu(x).P.requires_grad
    out = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
    made = L.eigh(x.detach(), out=out)
    assert made.eigenvalues is out[0] and type(made).__name__ == "linalg_eigh_out" and out[1].shape == (3, 3)
    assert L.matrix_norm(x.detach(), 1).item() == 7 and L.norm(x.detach(), "nuc").item() == pytest.approx(12)
    assert L.vander(torch.tensor([2, 3])).tolist() == [[1, 2], [1, 3]] and L.matrix_rank(torch.ones(3, 3)).item() == 1


def test_low_rank_and_removed_names():
    torch.manual_seed(0)
    x = torch.randn(6, 2) @ torch.randn(2, 4)
    U, S, V = torch.svd_lowrank(x, 2)
    assert close(U @ torch.diag(S) @ V.T, x, 1e-5)
    U, S, V = torch.pca_lowrank(x.T, 2)
    assert close(U @ torch.diag(S) @ V.T, x.T - x.T.mean(0), 1e-5)
    with pytest.raises(RuntimeError, match="L_complex = torch.linalg.eigvals"):
        torch.eig(x)
    assert torch.nuclear_norm(torch.eye(3)).item() == 3 and torch.frobenius_norm(torch.ones(4), 0).item() == 2


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_symmetric_indefinite(dtype):
    x = matrices(dtype, 5, (2, 5, 5))
    for hermitian in (False, True):
        a = x + (x.mH if hermitian else x.mT)
        a[:, range(4), range(4)] = 0                        # needs blocks of two
        LD, pivots = L.ldl_factor(a, hermitian=hermitian)
        assert (pivots < 0).any().item() and LD.stride() == (25, 1, 5)
        b = matrices(dtype, 6, (2, 5, 3))
        assert close(a @ L.ldl_solve(LD, pivots, b, hermitian=hermitian), b, 1e-8)
    assert L.ldl_factor_ex(torch.zeros(2, 2)).info.item() == 1
    assert L.ldl_factor(torch.ones(3, 3).tril() - torch.eye(3)).pivots.tolist() == [-2, -2, 3]


def test_without_data():
    x = torch.empty(3, 3, device="meta")
    assert L.inv(x).shape == (3, 3) and L.cholesky(x).is_meta and L.svd(x).S.shape == (3,)


def test_least_squares_tell_one_rank_of_each_matrix_as_given():
    A, B = torch.eye(3)[None, :, :2], torch.ones(2, 3, 2)
    found = torch.linalg.lstsq(A, B, driver="gelsd")
    assert found.rank.tolist() == [2] and found.singular_values.shape == (1, 2) and found.solution.shape == (2, 2, 2)
    assert torch.linalg.lstsq(A[:, :0], B[:, :0], driver="gels").rank.shape == (0,)
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension "
                                           r"0"):
        torch.linalg.lstsq(torch.ones(2, 3, 2), torch.ones(3, 2))


def test_the_gradient_of_a_determinant_that_overflows():
    """There is none: not zeros, which JAX's derivative gives."""
    x = (torch.eye(50) * 10).requires_grad_()
    d = torch.det(x)
    d.backward()
    assert d.item() == float("inf") and x.grad.isnan().all()
    y = (torch.eye(3) * 2).requires_grad_()
    torch.det(y).backward()
    assert torch.equal(y.grad, torch.eye(3) * 4)


@pytest.mark.parametrize("dtype, bound", [(torch.float32, 2e-6), (torch.float64, 2e-14)])
def test_the_exponential_of_rotations_stays_exact(dtype, bound):
    """Norms between powers of two times what the series is good for: angles of 3 and 5 radians and more came out 1e-3 off in float32."""
    turn = torch.tensor([[0., 1, 0], [-1, 0, 0], [0, 0, 0]], dtype=dtype)
    for angle in (0., 1e-3, 0.7, 2.9, 3.1, 5., 6.2, 7.7, 25., 100.):
        c, s = math.cos(angle), math.sin(angle)
        exact = torch.tensor([[c, s, 0], [-s, c, 0], [0, 0, 1]], dtype=dtype)
        assert (torch.matrix_exp(turn * angle) - exact).abs().max() <= bound * max(1, angle)
    together = torch.stack([turn * 0, turn * 5, turn * float("nan")])           # each by itself
    made = torch.matrix_exp(together)
    assert torch.equal(made[0], torch.eye(3, dtype=dtype)) and torch.equal(made[1], torch.matrix_exp(turn * 5))
    assert made[2].isnan().any()
