"""torch.linalg: what Python does around the operators: errors that depend on the values, composites.

cholesky, inv, solve and lu_factor look at what LAPACK reports and raise at once, as programs rely on it; the `_ex` forms look only
when asked to. svd and eig of matrices that are not finite raise at the next look.
"""
from __future__ import annotations

import math

import numpy as np

from ...engine import TRACED, context
from ...ops.common import wrap_dim
from ...ops.linalg import common as C, factor, functions, householder, ldl, solve as S, spectrum
from ...ops.promotion import c_name, kind_of
from . import return_types
from .bind import call, function
from .picking import flag, in_range
from .reduction import as_int, need_tensor
from .signatures import ask_parser
from .undefined import undefined
from .views import warn_once
from ..core.memory_format import contiguous_format
from ..core.handle import TensorBase, edge, look, read
from ..core.write import needs_grad

linalg = dict(method=False, namespace="linalg", out=True)


class _LinAlgError(RuntimeError):
    """What linear algebra raises when a matrix is not what an algorithm needs: singular, indefinite, not finite."""


_LinAlgError.__module__ = "torch._C"


# -- errors that depend on the values -------------------------------------------------------------------------------------------
def failed(info, text, error=_LinAlgError):
    """Raise if LAPACK's info is not zero: `text(batch, info)` with what names the matrix in a batch."""
    v = read(info)
    if v.extra is TRACED or v.meta.device == "meta":
        return
    codes = np.asarray(look(info))
    if codes.any():
        k = int(np.flatnonzero(codes.ravel())[0])
        raise error(text(f"(Batch element {k}): " if codes.ndim else "", int(codes.ravel()[k])))


def _singular(name):
    return lambda batch, k: (f"{name}: {batch}The diagonal element {k} is zero, the inversion could not be completed because the input "
                             "matrix is singular.")


def _indefinite(name):
    return lambda batch, k: (f"{name}: {batch}The factorization could not be completed because the input is not positive-definite (the "
                             f"leading minor of order {k} is not positive-definite).")


def _unsolvable(name):
    return lambda batch, k: f"{name}: {batch}The solver failed because the input matrix is singular."


def _zero_pivot(name):
    return lambda batch, k: (f"{name}: {batch}U[{k},{k}] is zero and using it on lu_solve would result in a division by zero. If you still "
                             "want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")


def _expect(A, found, error):
    """Have `error(number)` raised if the operator `found` finds something in the matrices, which gives that number."""
    v = read(A)
    if v.extra is not TRACED and v.meta.device != "meta" and A.numel():
        flag(read(call(found, (A.detach(),))), v, error, "matrix", needs_grad(A))


def _finite_eig(A):
    _expect(A, spectrum.linalg_nonfinite, lambda _: RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs."))


def _finite_svd(A):
    """Infinities make its results nan."""
    def error(k):
        which = f"(Batch element {k - 1}): " if A.ndim > 2 else ""
        return _LinAlgError(f"linalg.svd: {which}The algorithm failed to converge because the input matrix contained non-finite values.")
    _expect(A, spectrum.linalg_nan, error)


# -- factorizations --------------------------------------------------------------------------------------------------------------
function("orgqr", out=True)(lambda input, input2: call(householder.linalg_householder_product, (input, input2),
                                                       "linalg_householder_product"))


@function(**linalg)
def cholesky_ex(input, *, upper=False, check_errors=False):
    """(L, info): the Cholesky factor and where the factorization failed (0: it did not)."""
    need_tensor("linalg_cholesky_ex", input)
    made = return_types.linalg_cholesky_ex(call(factor.linalg_cholesky_ex, (input, upper, check_errors)))
    if check_errors:
        failed(made.info, _indefinite("linalg.cholesky_ex"))
    return made


@function(**linalg)
def cholesky(input, *, upper=False):
    """The Cholesky factor of positive-definite matrices; LinAlgError where one is not. Looks at the values."""
    need_tensor("linalg_cholesky", input)
    L, info = call(factor.linalg_cholesky_ex, (input, upper, True))
    failed(info, _indefinite("linalg.cholesky"))
    return L


#: What replaces an old function, in torch's words.
_SUCCESSORS = {
    "cholesky": "torch.linalg.cholesky and", "qr": "torch.linalg.qr and", "lu_solve": "torch.linalg.lu_solveand",
    "lu": "torch.linalg.lu_factor / torch.linalg.lu_factor_ex and"}
_HOW = {
    "cholesky": "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, "
                "upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for "
                "all valid (symmetric positive definite) inputs.",
    "qr": "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced "
          "with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')",
    "lu_solve": "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be replaced with\n"
                "X = torch.linalg.lu_solve(LU, pivots, B)",
    "lu": "LU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
          "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
          "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)",
}


def _deprecated(name):
    warn_once(f"torch.{name} is deprecated in favor of {_SUCCESSORS[name]} will be removed in a future PyTorch release.\n{_HOW[name]}")


@function("cholesky", out=True)
def _cholesky(input, upper=False):
    """torch.linalg.cholesky is its successor. Looks at the values."""
    need_tensor("cholesky", input)
    _deprecated("cholesky")
    if not input.numel() and (input.ndim < 2 or input.shape[-1] != input.shape[-2]):       # it may have any shape
        return input.clone()
    L, info = call(factor.cholesky_old, (input, upper))
    failed(info, _indefinite("cholesky"))
    return L


@function(**linalg)
def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """(LU, pivots, info)."""
    need_tensor("linalg_lu_factor_ex", A, "A")
    made = return_types.linalg_lu_factor_ex(call(factor.linalg_lu_factor_ex, (A, pivot, check_errors)))
    if check_errors:
        failed(made.info, _zero_pivot("torch.linalg.lu_factor_ex"), RuntimeError)
    return made


@function(**linalg)
def lu_factor(A, *, pivot=True):
    """(LU, pivots); an error where a pivot is zero. Looks at the values."""
    need_tensor("linalg_lu_factor", A, "A")
    LU, pivots, info = call(factor.linalg_lu_factor_ex, (A, pivot, True))
    failed(info, _zero_pivot("torch.linalg.lu_factor"), RuntimeError)
    return return_types.linalg_lu_factor((LU, pivots))


@function("lu", **linalg)
def _linalg_lu(A, *, pivot=True):
    """(P, L, U) with A = P L U."""
    need_tensor("linalg_lu", A, "A")
    P, L, U = call(factor.linalg_lu, (A, pivot))
    return return_types.linalg_lu((P.detach(), L, U))


@function(method=False, out=True)
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """(P, L, U) of what lu_factor returns; an empty tensor for what is not wanted."""
    need_tensor("lu_unpack", LU_data, "LU_data")
    if unpack_pivots and need_tensor("lu_unpack", LU_pivots, "LU_pivots", 2)._ts_meta.dtype == np.int32:
        in_range(LU_pivots - 1, 0, LU_data.shape[-2], lambda _: RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?"))
    P, L, U = call(factor.lu_unpack, (LU_data, LU_pivots, unpack_data, unpack_pivots))
    return return_types.lu_unpack((P.detach(), L, U))


@function(out=True)
def lu(A, pivot=True, get_infos=False):
    """torch.linalg.lu_factor and lu_factor_ex are its successors. Looks at the values unless `get_infos`."""
    need_tensor("lu", A, "A")
    if pivot.__class__ is not bool:
        ask_parser("_lu_with_info", (A,), dict(pivot=pivot))
    _deprecated("lu")
    LU, pivots, info = call(factor.linalg_lu_factor_ex, (A, pivot, True))
    if get_infos:
        return return_types._lu_with_info((LU, pivots, info))
    failed(info, _zero_pivot("torch.linalg.lu_factor"), RuntimeError)
    return LU, pivots


@function("lu_solve", out=True)
def _lu_solve(input, LU_data, LU_pivots):
    """torch.linalg.lu_solve is its successor."""
    need_tensor("lu_solve", input)
    _deprecated("lu_solve")
    return call(factor.linalg_lu_solve, (LU_data, LU_pivots, input, True, False))


_NO_GRADIENT = {
    "r": "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if you "
         "are going to call backward.",
    "complete": "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"}


@function("qr", **linalg)
def _linalg_qr(A, mode="reduced"):
    """(Q, R) of a QR factorization; `mode` is 'reduced', 'complete' or 'r' (R alone)."""
    need_tensor("linalg_qr", A, "A")
    text = _NO_GRADIENT.get(mode) if mode == "r" or A.ndim > 1 and A.shape[-2] > A.shape[-1] else None
    if text is None or edge(A) is None:
        return return_types.linalg_qr(call(factor.linalg_qr, (A, mode)))
    return return_types.linalg_qr([undefined(x, (A,), "LinalgQrBackward0", RuntimeError(text))
                                   for x in call(factor.linalg_qr, (A.detach(), mode))])


@function("qr", out=True)
def _qr(input, some=True):
    """torch.linalg.qr is its successor."""
    _deprecated("qr")
    return return_types.qr(tuple(_linalg_qr(input, "reduced" if some else "complete")))


@function(**linalg)
def ldl_factor_ex(input, *, hermitian=False, check_errors=False):
    """(LD, pivots, info) of symmetric (or Hermitian) matrices; the lower triangle is read."""
    need_tensor("linalg_ldl_factor_ex", input)
    made = return_types.linalg_ldl_factor_ex(call(ldl.linalg_ldl_factor_ex, (input, hermitian, check_errors)))
    if check_errors:
        failed(made.info, _zero_block("torch.linalg.ldl_factor_ex"), RuntimeError)
    return made


@function(**linalg)
def ldl_factor(input, *, hermitian=False):
    """(LD, pivots) of symmetric (or Hermitian) matrices; an error where a block of D is zero. Looks at the values."""
    need_tensor("linalg_ldl_factor", input)
    LD, pivots, info = call(ldl.linalg_ldl_factor_ex, (input, hermitian, True))
    failed(info, _zero_block("torch.linalg.ldl_factor"), RuntimeError)
    return return_types.linalg_ldl_factor((LD, pivots))


def _zero_block(name):
    return lambda batch, k: f"{name}: {batch}The diagonal element {k} of D is zero."


# -- spectra -------------------------------------------------------------------------------------------------------------------------


@function(**linalg)
def eig(input):
    """(eigenvalues, eigenvectors) of square matrices, complex."""
    need_tensor("linalg_eig", input)
    made = return_types.linalg_eig(call(spectrum.linalg_eig, (input,)))
    _finite_eig(input)
    return made


@function(**linalg)
def eigvals(input):
    """The complex eigenvalues of square matrices."""
    need_tensor("linalg_eigvals", input)
    made = call(spectrum.linalg_eigvals, (input,))
    _finite_eig(input)
    return made


@function("svd", **linalg)
def _linalg_svd(A, full_matrices=True, *, driver=None):
    """(U, S, Vh) with A = U diag(S) Vh."""
    need_tensor("linalg_svd", A, "A")
    made = return_types.linalg_svd(call(spectrum.linalg_svd, (A, full_matrices, driver)))
    _finite_svd(A)
    return made


@function(**linalg)
def svdvals(A, *, driver=None):
    """The singular values in descending order."""
    need_tensor("linalg_svdvals", A, "A")
    made = call(spectrum.linalg_svdvals, (A, driver))
    _finite_svd(A)
    return made


@function(out=True)
def svd(input, some=True, compute_uv=True):
    """(U, S, V) with input = U diag(S) V^H; zeros for U and V without `compute_uv`. torch.linalg.svd is its successor."""
    need_tensor("svd", input)
    if input.ndim < 2:
        raise RuntimeError("linalg.svd: input should have at least 2 dimensions, but has "
                           f"{input.ndim} dimensions instead")
    if compute_uv:
        U, S, Vh = _linalg_svd(input, not some)
        return return_types.svd((U, S, Vh.mH))
    m, n = input.shape[-2:]
    zeros = lambda k: input.new_zeros((*input.shape[:-2], k, k))
    return return_types.svd((zeros(m), svdvals(input), zeros(n).mH))


def _real_tolerances(name, **given):
    for said, x in given.items():
        if isinstance(x, TensorBase) and x.is_complex():
            raise RuntimeError(f"torch.linalg.{name}: {said} tensor of complex type is not supported. Got {c_name(x.dtype.np)}")


@function(**linalg)
def matrix_rank(input, tol=None, hermitian=False, *, atol=None, rtol=None):
    """How many singular values exceed max(atol, rtol * the largest); `tol` is atol's old name."""
    need_tensor("linalg_matrix_rank", input)
    _real_tolerances("matrix_rank", atol=atol if tol is None else tol, rtol=rtol)
    if tol is not None and atol is None:
        atol, rtol = tol, 0.0 if rtol is None else rtol
    made = call(spectrum.linalg_matrix_rank, (input, atol, rtol, hermitian))
    if not hermitian:
        _finite_svd(input)
    return made


@function(**linalg)
def pinv(input, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The pseudo-inverse; singular values up to max(atol, rtol * the largest) count as zero. `rcond` is rtol's old name."""
    need_tensor("linalg_pinv", input)
    _real_tolerances("pinv", atol=atol, rtol=rtol, rcond=rcond)
    for name, x in (("atol", atol), ("rtol", rcond if rtol is None else rtol)):
        if isinstance(x, TensorBase) and x.requires_grad and context.grad:
            raise RuntimeError(f"The function 'linalg_pinv' is not differentiable with respect to argument '{name}'. This input cannot "
                               "have requires_grad True.")
    made = call(spectrum.linalg_pinv, (input, atol, rcond if rtol is None else rtol, hermitian))
    if not hermitian:
        _finite_svd(input)
    return made


@function(out=True)
def pinverse(input, rcond=1e-15):
    """torch.linalg.pinv with another default."""
    return pinv(input, rcond)


# -- systems -------------------------------------------------------------------------------------------------------------------------


@function(**linalg)
def solve_ex(A, B, *, left=True, check_errors=False):
    """(result, info) of A X = B."""
    made = return_types.linalg_solve_ex(call(S.linalg_solve_ex, (A, B, left, check_errors), "linalg_solve_ex"))
    if check_errors:
        failed(made.info, _unsolvable("torch.linalg.solve_ex"))
    return made


@function("solve", **linalg)
def _solve(A, B, *, left=True):
    """X with A X = B (X A = B without `left`); LinAlgError where A is singular. Looks at the values."""
    X, info = call(S.linalg_solve_ex, (A, B, left, True), "linalg_solve")
    failed(info, _unsolvable("torch.linalg.solve"))
    return X


@function(**linalg)
def inv_ex(A, *, check_errors=False):
    """(inverse, info)."""
    need_tensor("linalg_inv_ex", A, "A")
    made = return_types.linalg_inv_ex(call(S.linalg_inv_ex, (A, check_errors)))
    if check_errors:
        failed(made.info, _singular("linalg.inv_ex"))
    return made


@function(**linalg)
def inv(A):
    """The inverse; LinAlgError where a matrix is singular. Looks at the values."""
    need_tensor("linalg_inv", A, "A")
    made, info = call(S.linalg_inv_ex, (A, True))
    failed(info, _singular("linalg.inv"))
    return made


@function(out=True)
def inverse(input):
    """torch.linalg.inv. Looks at the values."""
    return inv(input)


@function(**linalg)
def lstsq(input, b, rcond=None, *, driver=None):
    """(solution, residuals, rank, singular_values) of min |input X - b|. The drivers gelsd and gelss look at the rank, as it decides
    whether there are residuals."""
    need_tensor("linalg_lstsq", input)
    X, rank, values = call(S.linalg_lstsq, (input, b, rcond, driver), "linalg_lstsq")
    m, n = input.shape[-2:]
    wanted = m > n and (driver == "gels" or driver in ("gelsd", "gelss") and not rank.is_meta and bool((rank == n).all()))
    return return_types.linalg_lstsq((X, call(S.linalg_lstsq_residuals, (input, b, X, wanted)), rank, values.detach()))


@function(**linalg)
def tensorinv(input, ind=2):
    """The inverse of a tensor as the linear map of tensordot; the first `ind` dimensions are its rows."""
    need_tensor("linalg_tensorinv", input)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = input.shape
    if ind > len(shape):
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {len(shape)}")
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
                           f"{columns} != {rows}")
    return inv(input.reshape(rows, rows)).reshape(shape[ind:] + shape[:ind])


@function(**linalg)
def tensorsolve(input, other, dims=None):
    """X with tensordot(input, X, X.ndim) = other; `dims` of input are moved to its end first."""
    need_tensor("linalg_tensorsolve", input)
    if dims is not None:
        ndim = input.ndim
        moved = [wrap_dim(d, ndim) for d in dims]
        input = input.permute([d for d in range(ndim) if d not in moved] + moved) if ndim else input
    if other.ndim > input.ndim:
        raise RuntimeError("cannot create std::vector larger than max_size()")
    shape = input.shape[other.ndim:]
    rows, columns = other.numel(), math.prod(shape)
    if rows != columns:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
                           f"got {columns} != {rows}")
    return _solve(input.reshape(rows, rows), other.reshape(-1)).reshape(shape)


# -- functions of matrices --------------------------------------------------------------------------------------------------------------


@function("det")
def _det(input):
    """The determinant."""
    return call(functions.linalg_det, (input,), "linalg_det")


@function("matrix_exp")
def _matrix_exp(input):
    """The exponential of a matrix."""
    return call(functions.linalg_matrix_exp, (input,), "linalg_matrix_exp")


@function("slogdet", out=True)
def _slogdet(input):
    """(sign, logabsdet) of the determinant."""
    need_tensor("slogdet", input)
    return return_types.slogdet(call(functions.linalg_slogdet, (input,)))


@function(**linalg)
def matrix_power(input, n):
    """The n-th power of square matrices; of the inverse for negative n."""
    need_tensor("linalg_matrix_power", input)
    n = as_int("linalg_matrix_power", n, "n")
    C.square("linalg.matrix_power", input)
    if n == 0:
        from .ranges import eye
        return input.clone(memory_format=contiguous_format).copy_(eye(input.shape[-1], dtype=input.dtype, device=input.device).expand(input.shape))
    if n == -1:
        return inv(input)
    if n == 1:
        return input.clone(memory_format=contiguous_format)
    if n < 0:
        input, n = inv(input), -n
    power, square = None, input
    while n:
        if n & 1:
            power = square if power is None else power @ square
        n >>= 1
        if n:
            square = square @ square
    return power


function("matrix_power", out=True)(lambda input, n: matrix_power(input, n))


@function(method=False, namespace="linalg")
def vander(x, *, N=None):
    """The powers of x from 0 to N - 1 as columns, one row for each element."""
    need_tensor("linalg_vander", x, "x")
    d = x.dtype.np
    if kind_of(d) == 0 or kind_of(d) > 1 and C.P.compute_dtype(d) != d:
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {c_name(d)}")
    x = x if x.ndim else x.unsqueeze(0)
    N = x.shape[-1] if N is None else N
    if N <= 1:
        raise RuntimeError("N must be greater than 1.")
    N = x.shape[-1] if N is None else N
    from .joining import cat
    powers = x.unsqueeze(-1).expand(*x.shape, N - 1).cumprod(-1)
    return cat([powers.new_ones((*x.shape, 1)), powers], -1)


@function(**linalg)
def vecdot(x, y, *, dim=-1):
    """Dot products along `dim` of the conjugate of x with y."""
    need_tensor("linalg_vecdot", x, "x")
    need_tensor("linalg_vecdot", y, "y")
    if x.dtype.np != y.dtype.np:
        raise RuntimeError(f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {c_name(x.dtype.np)} and y of "
                           f"type {c_name(y.dtype.np)} instead")
    C.inexact("linalg.vecdot", x._ts_meta)
    if x.ndim == y.ndim == 1:
        return x.vdot(y)
    return (x.conj() * y).sum(dim)


@function(method=False, namespace="linalg")
def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """A view of the diagonals."""
    need_tensor("linalg_diagonal", A, "A")
    return A.diagonal(offset, dim1, dim2)


# -- what torch removed -------------------------------------------------------------------------------------------------------------
_REMOVED = "This function was deprecated since version 1.9 and is now removed."


def _removed(text):
    return RuntimeError(_REMOVED + text)


@function()
def symeig(input, eigenvectors=False, upper=True, *, out=None):
    """Removed; torch.linalg.eigh."""
    raise _removed(" The default behavior has changed from using the upper triangular portion of the matrix by default to using the lower "
                   "triangular portion.\n\nL, _ = torch.symeig(A, upper=upper) should be replaced with:\nL = torch.linalg.eigvalsh(A, "
                   "UPLO='U' if upper else 'L')\n\nand\n\nL, V = torch.symeig(A, eigenvectors=True) should be replaced with:\nL, V = "
                   "torch.linalg.eigh(A, UPLO='U' if upper else 'L')")


@function("eig")
def _eig(self, eigenvectors=False, *, e=None, v=None):
    """Removed; torch.linalg.eig."""
    raise _removed(" `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking complex "
                   "tensors.\n\nL, _ = torch.eig(A) should be replaced with:\nL_complex = torch.linalg.eigvals(A)\n\nand\n\nL, V = "
                   "torch.eig(A, eigenvectors=True) should be replaced with:\nL_complex, V_complex = torch.linalg.eig(A)")


@function("lstsq")
def _lstsq(input, A, *, out=None):
    """Removed; torch.linalg.lstsq."""
    raise _removed(" `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\n`torch.linalg.lstsq` has reversed arguments and does "
                   "not return the QR decomposition in the returned tuple (although it returns other information about the problem).\n\n"
                   "To get the QR decomposition consider using `torch.linalg.qr`.\n\nThe returned solution in `torch.lstsq` stored the "
                   "residuals of the solution in the last m - n columns of the returned value whenever m > n. In torch.linalg.lstsq, the "
                   "residuals are in the field 'residuals' of the returned named tuple.\n\nThe unpacking of the solution, as in\nX, _ = "
                   "torch.lstsq(B, A).solution[:A.size(1)]\nshould be replaced with:\nX = torch.linalg.lstsq(A, B).solution")


@function("solve")
def _solve_removed(input, A, *, out=None):
    """Removed; torch.linalg.solve."""
    raise _removed(" `torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments reversed and "
                   "does not return the LU factorization.\n\nTo get the LU factorization see `torch.lu`, which can be used with "
                   "`torch.lu_solve` or `torch.lu_unpack`.\nX = torch.solve(B, A).solution should be replaced with:\nX = "
                   "torch.linalg.solve(A, B)")


@function("matrix_rank", method=False)
def _matrix_rank_removed(input, tol=None, symmetric=False, *, out=None):
    """Removed; torch.linalg.matrix_rank."""
    raise _removed("\nPlease use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
                   "`torch.linalg.matrix_rank()` to 'hermitian'.")
