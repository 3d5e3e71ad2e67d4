"""Linear algebra as calls of ATen's operators, with their gradients; see `decomposed` and `formulas`."""
from __future__ import annotations

import math

import torchshim as torch

from ..tensor.core.layout import strided
from .decomposed import _matmul, reshape, rule
from .formulas import FORMULAS, _add, _neg, _once, _times
from .linear_kernels import _turned
from .python import do


def _checked(made, name):
    """The first results of an operator that says whether it failed, once that is known."""
    *found, info = made
    do("_linalg_check_errors", info, name, is_matrix=info.ndim == 0)
    return found


def _transposed(x):
    return do("transpose.int", x, -2, -1)


# -- inverses, determinants, systems ----------------------------------------------------------------------------------------------
def _inv(A, name="linalg.inv"):
    return _checked(do("linalg_inv_ex", A), name)[0]


rule("linalg_inv", "inverse")(lambda A: _inv(A))
rule("linalg_det", "det")(lambda A: do("_linalg_det", A)[0])


@rule("linalg_slogdet", "slogdet")
def _slogdet(A):
    return torch.return_types.linalg_slogdet(do("_linalg_slogdet", A)[:2])


@rule("logdet")
def _logdet(input):
    sign, value = do("_linalg_slogdet", input)[:2]
    negative = do("eq.Scalar", sign, -1.0)
    return do("where.self", negative, do("scalar_tensor", math.nan, dtype=value.dtype, layout=strided, device=value.device), value)


def _solve_ex(A, B, left):
    return do("_linalg_solve_ex", A, B, left=left)


@rule("linalg_solve")
def _solve(A, B, *, left=True):
    result, _, _, info = _solve_ex(A, B, left)
    return _checked((result, info), "torch.linalg.solve")[0]


@rule("linalg_solve_ex")
def _solve_with_info(A, B, *, left=True, check_errors=False):
    if check_errors:
        return NotImplemented
    made = _solve_ex(A, B, left)
    return torch.return_types.linalg_solve_ex((made[0], made[3]))


@rule("linalg_tensorinv")
def _tensorinv(input, ind=2):
    n = math.prod(input.shape[:ind])
    return reshape(_inv(reshape(input, [n, n]), "inv"), [*input.shape[ind:], *input.shape[:ind]])


@rule("linalg_tensorsolve")
def _tensorsolve(input, other, dims=None):
    if dims is not None:
        return NotImplemented
    result = list(input.shape[other.ndim:])
    n = math.prod(result)
    A, B = reshape(input, [n, n]), other if other.ndim == 1 else reshape(other, [n])
    return reshape(_solve(A, B), result)


# -- factorizations ---------------------------------------------------------------------------------------------------------------
@rule("linalg_cholesky")
def _cholesky(input, *, upper=False):
    return _checked(do("linalg_cholesky_ex", input, upper=upper), "linalg.cholesky")[0]


@rule("linalg_lu_factor")
def _lu_factor(A, *, pivot=True):
    return torch.return_types.linalg_lu_factor(_checked(do("linalg_lu_factor_ex", A, pivot=pivot), "torch.linalg.lu_factor"))


@rule("lu")
def _lu(A, pivot=True, get_infos=False):
    made = do("linalg_lu_factor_ex", A, pivot=pivot)
    return tuple(made if get_infos else made[:2])


@rule("linalg_ldl_factor")
def _ldl_factor(input, *, hermitian=False):
    made = _checked(do("linalg_ldl_factor_ex", input, hermitian=hermitian), "torch.linalg.ldl_factor")
    return torch.return_types.linalg_ldl_factor(made)


@rule("linalg_svd")
def _svd(A, full_matrices=True, *, driver=None):
    return torch.return_types.linalg_svd(do("_linalg_svd", A, full_matrices, True, driver=driver))


@rule("svd")
def _old_svd(input, some=True, compute_uv=True):
    if not compute_uv:
        return NotImplemented
    U, S, Vh = do("_linalg_svd", input, not some)
    return torch.return_types.svd((U, S, _transposed(Vh)))


def _singular_values(A, driver=None):
    return do("_linalg_svd", A, driver=driver)[1]          # who looks on sees the vectors too


rule("linalg_svdvals")(lambda A, *, driver=None: _singular_values(A, driver))


@rule("linalg_eigh")
def _eigh(A, UPLO="L"):
    return torch.return_types.linalg_eigh(do("_linalg_eigh", A, UPLO))


rule("linalg_eigvalsh")(lambda A, UPLO="L": do("_linalg_eigh", A, UPLO)[0])
rule("linalg_eigvals")(lambda A: do("linalg_eig", A)[0])


# -- norms, ranks -------------------------------------------------------------------------------------------------------------------
def _moved(n, a, b):
    """The order of dimensions with two of them at the end, and the one that undoes it."""
    order = [k for k in range(n) if k not in (a, b)] + [a, b]
    return order, [order.index(k) for k in range(n)]


def _matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False):
    a, b = [d % A.ndim for d in dim]
    if ord == "fro":
        return do("linalg_vector_norm", A, 2, [a, b], keepdim)
    if ord in (2, -2, "nuc"):
        order, back = _moved(A.ndim, a, b)
        made = _singular_values(do("permute", A, order))
        made = do("sum.dim_IntList", made, [-1], keepdim) if ord == "nuc" else do("amax" if ord > 0 else "amin", made, [-1], keepdim)
        return do("permute", do("unsqueeze", made, -1), back) if keepdim else made
    if abs(ord) == math.inf:
        a, b = b, a
    sums = do("linalg_vector_norm", A, 1.0, [a], keepdim)
    return do("amax" if ord > 0 else "amin", sums, [b if keepdim or b < a else b - 1], keepdim)


@rule("linalg_matrix_norm")
def _norm_of_matrix(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    return NotImplemented if dtype is not None else _matrix_norm(A, ord, dim, keepdim)


@rule("linalg_norm")
def _norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    if dtype is not None:
        return NotImplemented
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if ord is not None and (len(dims) == 2 if dims is not None else A.ndim == 2):
        return _matrix_norm(A, ord, dims or (-2, -1), keepdim)
    return NotImplemented if isinstance(ord, str) else do("linalg_vector_norm", A, 2.0 if ord is None else ord, dims, keepdim)


@rule("linalg_cond")
def _cond(A, p=None):
    if p not in (None, 2, -2):
        return NotImplemented
    values = _singular_values(A)
    ends = [do("slice.Tensor", values, -1, 0, 1), do("slice.Tensor", values, -1, values.shape[-1] - 1, values.shape[-1])]
    return do("squeeze.dim", do("div.Tensor", *(ends[::-1] if p == -2 else ends)), -1)


@rule("linalg_matrix_rank")
def _matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None):
    if isinstance(tol, torch.Tensor) or isinstance(atol, torch.Tensor) or isinstance(rtol, torch.Tensor):
        return NotImplemented
    do("empty.memory_format", list(A.shape[:-2]), dtype=torch.int64, layout=strided, device=A.device)
    absolute = atol if tol is None else tol
    if rtol is None:
        rtol = 0.0 if absolute else torch.finfo(A.dtype).eps * max(A.shape[-2:])
    bound = lambda x: do("full", [], x, dtype=torch.float64, layout=strided, device=A.device)
    atol = bound(absolute) if absolute is not None else do("zeros", [], dtype=torch.float64, layout=strided, device=A.device)
    rtol = bound(rtol)
    if hermitian:
        values = do("abs", do("_linalg_eigh", A)[0])
        largest = do("amax", values, [-1], True)
    else:
        values = _singular_values(A)
        largest = do("slice.Tensor", values, -1, 0, 1)
    scaled = do("mul.Tensor", do("unsqueeze", rtol, -1), largest)
    return do("sum.dim_IntList", do("gt.Tensor", values, do("maximum", do("unsqueeze", atol, -1), scaled)), [-1])


# -- products -------------------------------------------------------------------------------------------------------------------------
@rule("linalg_matrix_power", "matrix_power")
def _matrix_power(A, n):
    if n == 0:
        made = do("clone", A, memory_format=torch.contiguous_format)
        return do("copy_", made, do("eye", A.shape[-1], dtype=A.dtype, layout=strided, device=A.device))
    if n == 1:
        return do("clone", A, memory_format=torch.contiguous_format)
    if n < 0:
        A, n = _inv(A), -n
    if n == 1:
        return A
    if n == 2:
        return _matmul(A, A)
    if n == 3:
        return _matmul(_matmul(A, A), A)
    z = made = None
    while n:
        z = A if z is None else _matmul(z, z)
        n, odd = divmod(n, 2)
        if odd:
            made = z if made is None else _matmul(made, z)
    return made


@rule("linalg_multi_dot", "chain_matmul")
def _multi_dot(*tensors):
    tensors = list(tensors[0]) if len(tensors) == 1 else list(tensors)
    first, last = tensors[0], tensors[-1]
    shape = [*first.shape[:-1], *last.shape[1:]]
    if first.ndim == 1:
        tensors[0] = do("unsqueeze", first, 0)
    if last.ndim == 1:
        tensors[-1] = do("unsqueeze", last, -1)
    if len(tensors) == 2:
        return do("view", do("mm", *tensors), shape)
    order = _order([t.shape[0] for t in tensors] + [tensors[-1].shape[1]])

    def product(i, j):
        return tensors[i] if i == j else do("mm", product(i, order[i, j]), product(order[i, j] + 1, j))
    return do("view", product(0, len(tensors) - 1), shape)


def _order(sizes):
    """Where to cut a chain of matrices, by its first and last: the fewest multiplications."""
    n, cost, cut = len(sizes) - 1, {}, {}
    if n == 3:                                 # torch's own case, with another choice among equals
        a, b, c, d = sizes
        return {(0, 2): int(a * c * (b + d) <= b * d * (a + c)), (0, 1): 0, (1, 2): 1}
    for i in range(n):
        cost[i, i] = 0
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j] = math.inf
            for k in range(i, j):
                c = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if c < cost[i, j]:
                    cost[i, j], cut[i, j] = c, k
    return cut


@rule("linalg_vander")
def _vander(x, *, N=None):
    n = x.shape[-1] if N is None else N
    powers = do("cumprod", do("expand", do("unsqueeze", x, -1), [*x.shape, n - 1]), -1)
    return do("cat", [do("new_ones", powers, [*x.shape, 1]), powers], -1)


@rule("kron")
def _kron(input, other):
    n = max(input.ndim, other.ndim)
    a, b = [[1] * (n - x.ndim) + list(x.shape) for x in (input, other)]
    wide = [do("_unsafe_view", x, [m for pair in zip(*sizes) for m in pair]) for x, sizes in (
        (input, (a, [1] * n)), (other, ([1] * n, b)))]
    return do("_unsafe_view", do("mul.Tensor", *wide), [p * q for p, q in zip(a, b)])


rule("linalg_diagonal")(lambda A, *, offset=0, dim1=-2, dim2=-1: do("diagonal", A, offset, dim1, dim2))
rule("linalg_vecdot")(lambda x, y, *, dim=-1: NotImplemented if x.is_complex() else do(
    "sum.dim_IntList", do("mul.Tensor", x, y), [dim]))


# -- gradients ------------------------------------------------------------------------------------------------------------------------
def _inv_back(a):
    inner = _matmul(a.gs[0], _transposed(a.y))
    return _neg(_matmul(_transposed(a.y), inner))


def _diagonal_of(g, pivots):
    return _transposed(do("diag_embed", do("expand", do("unsqueeze", g, -1), list(pivots.shape))))


def _det_back(a):
    _once("_linalg_det")
    det, (LU, pivots) = do("detach", a.results[0]), a.results[1:]
    d = _diagonal_of(_times(a.gs[0], det), pivots)
    number = lambda x: do("scalar_tensor", x, dtype=LU.dtype, layout=strided, device=LU.device)
    zero = do("eq.Scalar", do("diagonal", LU, 0, -2, -1), 0.0)
    nothing, little = number(0.0), number(torch.finfo(LU.dtype).eps)
    LU = do("add.Tensor", LU, do("diag_embed", do("where.self", zero, little, nothing)))
    return do("linalg_lu_solve", LU, pivots, d, adjoint=not _turned(a.A))


def _slogdet_back(a):
    _once("_linalg_slogdet")
    do("detach", a.results[0])
    if a.gs[1] is None:
        return do("zeros_like", a.A)
    return do("linalg_lu_solve", a.results[2], a.results[3], _diagonal_of(a.gs[1], a.results[3]), adjoint=not _turned(a.A))


def _cholesky_back(a):
    y = a.y
    if a.upper:
        raise NotImplementedError("torchshim: the gradient of aten.linalg_cholesky_ex of an upper factor under __torch_dispatch__")
    turned = _transposed(y)
    phi = do("tril", _matmul(turned, a.gs[0]))
    both = do("mul.Scalar", do("add.Tensor", phi, _transposed(do("tril", phi, -1))), 0.5)
    made = do("linalg_solve_triangular", _transposed(y), both, upper=True)
    return do("linalg_solve_triangular", y, made, upper=False, left=False)


def _solve_back(a):
    _once("_linalg_solve_ex")
    if not a.left:
        raise NotImplementedError("torchshim: the gradient of aten._linalg_solve_ex(left=False) under __torch_dispatch__")
    X, LU, pivots = do("detach", a.results[0]), a.results[1], a.results[2]
    vector = a.B.ndim == 1 or a.B.ndim + 1 == a.A.ndim and list(a.B.shape) == list(a.A.shape[:-1])
    column = lambda x: do("unsqueeze", x, -1) if vector else x
    g = do("linalg_lu_solve", LU, pivots, column(a.gs[0]), adjoint=True)
    made = {}
    if a.needs.get("A"):
        made["A"] = _neg(_matmul(g, _transposed(column(X))))
    if a.needs.get("B"):
        made["B"] = do("squeeze.dim", g, -1) if vector else g
    return made


def _eigh_back(a):
    _once("_linalg_eigh")
    values, vectors = [do("detach", x) for x in a.results]
    gl, gv = a.gs
    turned = _transposed(vectors)
    if gv is None:
        return _matmul(_times(vectors, do("unsqueeze", gl, -2)), turned)
    VhgV = _matmul(turned, gv)
    do("diagonal", VhgV, 0, -2, -1)            # what torch checks of complex matrices
    inner = do("mul.Scalar", do("sub.Tensor", VhgV, _transposed(VhgV)), 0.5)
    apart = do("unsqueeze", values, -1)
    apart = do("sub.Tensor", do("unsqueeze", values, -2), apart)
    do("fill_.Scalar", do("diagonal", apart, 0, -2, -1), 1.0)
    inner = do("div_.Tensor", inner, apart)
    if gl is not None:
        inner = do("diagonal_scatter", inner, gl, 0, -2, -1)
    return _matmul(vectors, _matmul(inner, _transposed(vectors)))


def _svd_back(a):
    _once("_linalg_svd")
    _, U, Vh = [do("detach", a.results[k]) for k in (1, 0, 2)]
    if a.gs[0] is not None or a.gs[2] is not None or not a.compute_uv:
        raise NotImplementedError("torchshim: the gradient of aten._linalg_svd through singular vectors under __torch_dispatch__")
    return _matmul(U, _times(do("unsqueeze", a.gs[1], -1), Vh))


def _triangular_back(a):
    X = a.y
    if not a.left or a.unitriangular:
        raise NotImplementedError("torchshim: the gradient of aten.linalg_solve_triangular with these options under __torch_dispatch__")
    g = do("linalg_solve_triangular", _transposed(a.self), a.g, upper=not a.upper)
    made = {}
    if a.needs.get("self"):
        made["self"] = do("triu" if a.upper else "tril", _neg(_matmul(g, _transposed(X))))
    if a.needs.get("B"):
        made["B"] = g
    return made


_add("linalg_inv_ex", "LinalgInvExBackward0", only=(0,), A=_inv_back)
_add("_linalg_det", "LinalgDetBackward0", only=(0,), A=_det_back)
_add("_linalg_slogdet", "LinalgSlogdetBackward0", only=(0, 1), A=_slogdet_back)
_add("linalg_cholesky_ex", "LinalgCholeskyExBackward0", only=(0,), self=_cholesky_back)
_add("_linalg_solve_ex", "LinalgSolveExBackward0", _solve_back, only=(0,))
_add("_linalg_eigh", "LinalgEighBackward0", only=(0, 1), A=_eigh_back)
_add("_linalg_svd", "LinalgSvdBackward0", only=(0, 1, 2), A=_svd_back)
_add("linalg_solve_triangular", "LinalgSolveTriangularBackward0", _triangular_back)
for _name, _kept in {"_linalg_det": (0,), "_linalg_slogdet": (0,), "_linalg_solve_ex": (0,), "_linalg_eigh": (0, 1),
                     "_linalg_svd": (1, 0, 2)}.items():
    FORMULAS[_name].first = _kept
