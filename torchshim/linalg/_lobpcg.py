"""A few extreme eigenpairs of a symmetric matrix, of which only products are asked (A. V. Knyazev, 2001, "Toward the optimal preconditioned
eigensolver: locally optimal block preconditioned conjugate gradient method"; the basis is orthonormalised in each step, as J. A. Duersch
and others advise, 2018, "A robust and efficient implementation of LOBPCG")."""
from __future__ import annotations

import types

import numpy as np

from ..autograd.function import Function
from ..autograd.grad_mode import is_grad_enabled, no_grad
from ..random.fills import randn
from ..tensor.api.bind import NAMESPACES
from ..tensor.core.dtype import ALL
from ..tensor.core.tensor import tensor_from


def _host(t):
    return t.detach()._ts_host()


def _product(M):
    """X -> M X on the host; a sparse M is asked as it is, None is one."""
    if M is None:
        return lambda X: X
    if M.is_sparse or M.is_sparse_csr:
        from ..tensor.sparse import answers
        return lambda X: _host(answers("mm")(M, tensor_from(np.ascontiguousarray(X))))
    held = _host(M)
    return lambda X: held @ X


def _orthonormal(V, B, drop, against=None):
    """The columns of V as a basis that is orthonormal for the product x^T B y, and orthogonal to `against`. What is left of a column that
    depends on others is below `drop` of its length: it goes."""
    for _ in range(2):                         # once is not enough where columns nearly depend on each other
        if against is not None:
            V = V - against @ (against.T @ B(V))
        V = V / np.maximum(np.sqrt(np.abs((V * B(V)).sum(0))), np.finfo(V.dtype).tiny)
        gram = V.T @ B(V)
        d, Z = np.linalg.eigh((gram + gram.T) / 2)
        kept = d > drop * max(d.max(initial=0), 1)
        V = V @ (Z[:, kept] / np.sqrt(d[kept]))
    return V


def _solve(A, B, iK, X, tol, niter, largest, tracker, state):
    """(eigenvalues, eigenvectors, relative residuals) from a first guess X."""
    sign, n = -1.0 if largest else 1.0, X.shape[1]
    eps = np.finfo(X.dtype).eps
    norm = lambda Y: np.linalg.norm(Y)
    a_norm, b_norm = norm(A(X)) / norm(X), norm(B(X)) / norm(X)
    state.fvars.update(X_norm=norm(X), A_norm=a_norm, B_norm=b_norm)
    X = _orthonormal(X, B, eps)
    P, step = None, 0
    S = X
    while True:
        small = S.T @ A(S)
        e, Z = np.linalg.eigh((small + small.T) / 2)
        order = np.argsort(sign * e, kind="stable")[:n]
        E, Z = e[order], Z[:, order]
        before, X = X, S @ Z
        R = A(X) - B(X) * E
        rerr = np.linalg.norm(R, axis=0) / (np.linalg.norm(X, axis=0) * (a_norm + np.abs(E) * b_norm))
        done = rerr <= tol
        state.ivars.update(istep=step, iterations_left=niter - step if niter >= 0 else -1, converged_count=int(np.argmin([*done, False])))
        state.tvars.update(rerr=tensor_from(rerr))
        state.E, state.X = tensor_from(E), tensor_from(X)
        if tracker is not None:
            tracker(state)
        if done.all() or 0 <= niter <= step or state.bvars.get("force_stop"):
            return E, X, rerr
        P = None if step == 0 else S[:, before.shape[1]:] @ Z[before.shape[1]:]      # how far this step led away from the last X
        W = R[:, ~done] if iK is None else iK(R[:, ~done])
        more = W if P is None else np.concatenate([W, P[:, ~done]], 1)
        extra = _orthonormal(more, B, eps, X)
        if not extra.shape[1]:
            return E, X, rerr
        S, step = np.concatenate([X, extra], 1), step + 1


class LOBPCGAutogradFunction(Function):
    """Eigenpairs whose gradients follow from those of the whole matrix, of which backward finds all."""

    @staticmethod
    def forward(ctx, A, solve):
        with no_grad():
            E, X = solve()
        ctx.save_for_backward(A, E, X)
        return E, X

    @staticmethod
    def backward(ctx, gE, gX):
        A, E, X = ctx.saved_tensors
        d, Q = NAMESPACES["linalg"]["eigh"](A)
        overlap = Q.mH @ X                     # each eigenvector found is one of Q's, up to its sign
        own = overlap.abs() > 0.5
        gap = E.unsqueeze(-2) - d.unsqueeze(-1)
        turned = (Q.mH @ gX / gap.masked_fill(own, 1)).masked_fill(own, 0)
        return (X * gE.unsqueeze(-2) + Q @ turned) @ X.mH, None


def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None, ortho_iparams=None,
           ortho_fparams=None, ortho_bparams=None):
    """(E, X): the k largest eigenvalues of a symmetric A, or the smallest where `largest` is False, and their eigenvectors in columns,
    with A X = B X diag(E).

    A: (..., m, m), or a sparse matrix. B: a positive definite one, the identity if None. X: (..., m, n), a first guess of n >= k columns,
    by default drawn by torch.randn. iK: a preconditioner, near to the inverse of A. niter: at most so many steps, 1,000 by default, -1
    for no bound. tol: how small residuals must be, by default the root of the dtype's precision. tracker: called after each step. method
    and the ortho parameters choose between ways to the same result in torch; here there is one.
    ValueError when m < 3 n. Gradients of a dense A are computed where B is None.
    """
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if X is None else X.shape[-1]) if n is None else n
    if A.shape[-2] != m:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if m < 3 * n:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested "
                         f"eigenpairs (={n})")
    if A.dtype not in (ALL["float32"], ALL["float64"]):
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {A.dtype} != float")
    if not 0 < k <= n:
        raise ValueError(f"torchshim: lobpcg finds from 1 to n(={n}) eigenpairs, not k(={k})")
    if A.requires_grad and B is not None:
        raise ValueError("lobpcg.backward does not support backward with respect to B yet, nor A beside a B")
    if A.requires_grad and A.is_sparse:
        raise ValueError("lobpcg.backward does not support sparse input yet.")
    if A.requires_grad:
        A = (A + A.mT) / 2                     # gradients are those of a matrix that stays symmetric
    tol = float(np.finfo(A.dtype.np).eps) ** 0.5 if tol is None else tol
    niter, largest, batch = 1000 if niter is None else niter, True if largest is None else largest, tuple(A.shape[:-2])

    def solve():
        start = randn(*batch, m, n, dtype=A.dtype, device=A.device) if X is None else X
        guesses = _host(start).reshape(-1, m, start.shape[-1])[:, :, :n]
        part = lambda M, i: M if M is None or not batch else M.reshape(-1, m, m)[i]
        found = []
        for i, guess in enumerate(guesses):
            state = types.SimpleNamespace(A=A, B=B, iK=iK, iparams={"m": m, "n": n, "k": k, "niter": niter}, fparams={"tol": tol},
                                          bparams={"largest": largest}, ivars={}, fvars={}, bvars={}, tvars={})
            products = [_product(part(M, i)) for M in (A, B)] + [None if iK is None else _product(part(iK, i))]
            E, V, _ = _solve(*products, guess, tol, niter, largest, tracker, state)
            found.append((E[:k], V[:, :k]))
        E, V = [np.stack(x).reshape(*batch, *x[0].shape).astype(A.dtype.np) for x in zip(*found)]
        return tensor_from(E).to(A.device), tensor_from(V).to(A.device)
    if A.requires_grad and is_grad_enabled():
        return LOBPCGAutogradFunction.apply(A, solve)
    with no_grad():
        return solve()
