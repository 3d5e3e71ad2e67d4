"""Factorizations of low rank by random projections (Halko, Martinsson and Tropp, 2009, "Finding structure with randomness")."""
from ..random.fills import randn
from ..tensor.api.linalg import _linalg_qr as _qr, _linalg_svd as _svd


def _basis(A, q, niter, M):
    """An orthonormal basis of q columns that nearly spans those of A - M; each iteration sharpens it."""
    product = lambda X: A @ X if M is None else A @ X - M @ X
    adjoint = lambda X: A.mH @ X if M is None else A.mH @ X - M.mH @ X
    Q = _qr(product(randn(A.shape[-1], q, dtype=A.dtype, device=A.device))).Q
    for _ in range(niter):
        Q = _qr(adjoint(Q)).Q
        Q = _qr(product(Q)).Q
    return Q


def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V) with A - M nearly U diag(S) V^H, of rank q.

    A: (..., m, n). q: the rank, somewhat more than the rank wanted. niter: power iterations. M: subtracted from A, broadcast to it.
    The projections are drawn by torch.randn.
    """
    q = 6 if q is None else q
    m, n = A.shape[-2:]
    M = None if M is None else M.broadcast_to(A.shape)
    if m < n:                                  # the projections are cheaper on the longer side
        A, M = A.mH, None if M is None else M.mH
    Q = _basis(A, q, niter, M)
    B = Q.mH @ A if M is None else Q.mH @ (A - M)
    U, S, Vh = _svd(B, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if m < n else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """(U, S, V) of the q principal components of the rows of A, (..., m, n); their mean is subtracted if `center`."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter=niter)
