"""NumPy rules for factorizations and triangular systems: the LAPACK routines that XLA calls on a CPU too, without a compile for each shape.

They are called in the library that NumPy brings, as NumPy's own functions compute float32 in float64; where it is not OpenBLAS there is no
rule. A matrix without a factorization becomes nan, as in XLA. Fortran's matrices lie in memory column by column.
"""

from __future__ import annotations

import math

import numpy as np

from ..blas import can_swap, integer, number, routine, swapped
from .rules import Spec, known_call, rule

_LETTER = {np.dtype(np.float32): "s", np.dtype(np.float64): "d", np.dtype(np.complex64): "c", np.dtype(np.complex128): "z"}


def _routine(name, spec, arguments, complex_name=None, complex_more=0):
    """The routine for matrices of `spec`; None where it is missing. Those of complex numbers may have another name, and more arguments."""
    letter = _LETTER.get(spec.dtype)
    if letter is None or 0 in spec.shape:
        return None
    complex_ = spec.dtype.kind == "c"
    return routine(letter + (complex_name or name if complex_ else name), arguments + complex_more * complex_)


def _real(dtype):
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _by_columns(x):
    """A copy of the matrices as Fortran has them: (batch, columns, rows)."""
    return np.array(x.swapaxes(-1, -2), order="C").reshape(-1, x.shape[-1], x.shape[-2])


def _by_rows(columns, spec):
    return columns.swapaxes(-1, -2).reshape(spec.shape)


class _Call:
    """A routine that ends with (..., work, lwork, ..., info). `before` is an example of its first arguments; `rooms` are the sizes and
    dtypes of other arrays that it works in."""

    def __init__(self, function, before, dtype, rooms=()):
        self.function, self.dtype, self.rooms = function, dtype, rooms
        asked, info = np.zeros(1, dtype), np.zeros(1, integer)
        arrays = [np.empty(n, dtype) for n, dtype in rooms]
        function(*before, asked.ctypes.data, number(-1), *[a.ctypes.data for a in arrays], info.ctypes.data)
        self.length = max(1, int(asked[0].real))

    def on(self, batches, arguments):
        """Whether it found each result; `arguments` are the first ones for each matrix."""
        work, info = np.empty(self.length, self.dtype), np.zeros(batches, integer)
        rooms = [np.empty(n, dtype) for n, dtype in self.rooms]
        last = [work.ctypes.data, number(self.length), *[r.ctypes.data for r in rooms]]
        at = info.ctypes.data
        for k, before in enumerate(arguments):
            self.function(*before, *last, at + k * info.itemsize)
        return info == 0


def _addresses(*arrays):
    """For each matrix of a batch the addresses of its part of the arrays."""
    starts = [a.ctypes.data for a in arrays]
    steps = [a.strides[0] for a in arrays]
    for k in range(len(arrays[0])):
        yield [start + k * step for start, step in zip(starts, steps)]


def _failed(good, *results):
    if not good.all():
        for r in results:
            r[~good] = complex(np.nan, np.nan) if r.dtype.kind == "c" else np.nan


@rule("cholesky")
def _make_cholesky(params, ins, outs):
    factor = _routine("potrf", ins[0], 5)
    if not factor:
        return None
    n = number(ins[0].shape[-1])

    def cholesky(x):
        a = _by_columns(x)
        info = np.zeros(len(a), integer)
        for (matrix, failed) in _addresses(a, info):
            factor(b"L", n, matrix, n, failed)
        _failed(info == 0, a)
        return _by_rows(a, outs[0])

    return cholesky


def _reflections(dtype, m, n, k):
    """A function of (matrices by columns, with n of them, scales of their k reflections) that makes the products; None if it is missing."""
    product = _routine("orgqr", Spec((m, n), dtype), 9, "ungqr")
    if not product or not k:
        return None
    rows, columns, count = number(m), number(n), number(k)
    call = _Call(product, (rows, columns, count, None, rows, None), dtype)

    def apply(a, tau):
        good = call.on(len(a), ((rows, columns, count, matrix, rows, scale) for matrix, scale in _addresses(a, tau)))
        _failed(good, a)
    return apply


@rule("householder_product")
def _make_householder_product(params, ins, outs):
    (shape, dtype), tau = ins[0], ins[1]
    apply = None if 0 in shape or 0 in tau.shape else _reflections(dtype, *shape[-2:], tau.shape[-1])
    if not apply:
        return None

    def householder_product(a, tau):
        a = _by_columns(a)
        apply(a, np.ascontiguousarray(tau).reshape(len(a), -1))
        return _by_rows(a, outs[0])

    return householder_product


@rule("qr")
def _make_qr(params, ins, outs):
    factor = None if params["pivoting"] else _routine("geqrf", ins[0], 8)
    if not factor:
        return None
    (*_, m, n), dtype = ins[0]
    k, width = min(m, n), outs[0].shape[-1]
    apply = _reflections(dtype, m, width, k)
    if not apply:
        return None
    rows, columns = number(m), number(n)
    call = _Call(factor, (rows, columns, None, rows, None), dtype)

    def qr(x):
        a = _by_columns(x)
        tau = np.empty((len(a), k), dtype)
        good = call.on(len(a), ((rows, columns, matrix, rows, scale) for matrix, scale in _addresses(a, tau)))
        r = np.triu(a.swapaxes(-1, -2)[:, :width]).reshape(outs[1].shape)
        if width <= n:
            q = np.array(a[:, :width])
        else:
            q = np.zeros((len(a), width, m), dtype)
            q[:, :n] = a
        apply(q, tau)
        _failed(good, q)
        return [_by_rows(q, outs[0]), r]

    return qr


@rule("eigh")
def _make_eigh(params, ins, outs):
    solve = _routine("syevd", ins[0], 11, "heevd", 2)
    if not solve or params.get("subset_by_index") is not None:
        return None
    (*_, n), dtype = ins[0]
    order, triangle, real = number(n), b"L" if params["lower"] else b"U", _real(dtype)
    asked, info = [np.zeros(1, t) for t in ((dtype, real, integer) if dtype.kind == "c" else (dtype, integer))], np.zeros(1, integer)
    solve(b"V", triangle, order, None, order, None, *[x for a in asked for x in (a.ctypes.data, number(-1))], info.ctypes.data)
    lengths = [max(1, int(a[0].real)) for a in asked]

    def eigh(x):
        a = _by_columns(x)
        w, info = np.empty((len(a), n), real), np.zeros(len(a), integer)
        rooms = [np.empty(length, x.dtype) for length, x in zip(lengths, asked)]
        room = [x for r in rooms for x in (r.ctypes.data, number(r.size))]
        for matrix, values, failed in _addresses(a, w, info):
            solve(b"V", triangle, order, matrix, order, values, *room, failed)
        _failed(info == 0, a, w)
        return [_by_rows(a, outs[0]), w.reshape(outs[1].shape)]

    return eigh


@rule("eig")
def _make_eig(params, ins, outs):
    solve = _routine("geev", ins[0], 14)
    if not solve or params["compute_left_eigenvectors"]:
        return None
    (*_, n), dtype = ins[0]
    order, wanted, complex_ = number(n), b"V" if params["compute_right_eigenvectors"] else b"N", dtype.kind == "c"
    values = (None,) if complex_ else (None, None)
    rooms = ((2 * n, _real(dtype)),) if complex_ else ()
    call = _Call(solve, (b"N", wanted, order, None, order, *values, None, order, None, order), dtype, rooms)

    def eig(x):
        a = _by_columns(x)
        finite = np.isfinite(a).all((1, 2))                # LAPACK may not end otherwise
        a[~finite] = 0
        w, v = [np.empty((len(a), n), dtype) for _ in values], np.empty((len(a), n, n) if wanted == b"V" else (len(a), 1), dtype)
        good = finite & call.on(len(a), ((b"N", wanted, order, matrix, order, *rest, None, order, vectors, order)
                                         for matrix, vectors, *rest in _addresses(a, v, *w)))
        w, imaginary = (w[0], None) if complex_ else (w[0] + np.array(1j, outs[0].dtype) * w[1], w[1])
        found = [w.reshape(outs[0].shape)]
        if wanted == b"V":
            if not complex_:                               # of a pair the two columns are the real and the imaginary part
                parts, v = v, v.astype(outs[1].dtype)
                first = imaginary > 0
                upper = np.zeros_like(first)
                upper[:, 1:] = first[:, :-1]
                v[first] = parts[first] + 1j * parts[upper]
                v[upper] = parts[first] - 1j * parts[upper]
            _failed(good, v)
            found.append(_by_rows(v, outs[1]))
        _failed(good, w)
        return found

    return eig


@rule("svd")
def _make_svd(params, ins, outs):
    solve = _routine("gesdd", ins[0], 14, None, 1)
    if not solve or params.get("subset_by_index") is not None:
        return None
    (*_, m, n), dtype = ins[0]
    k, wanted, real = min(m, n), params["compute_uv"], _real(dtype)
    job = b"N" if not wanted else b"A" if params["full_matrices"] else b"S"
    left, right = (outs[1].shape[-1], outs[2].shape[-2]) if wanted else (1, 1)
    rows, columns, height = number(m), number(n), number(right)
    rooms = ((8 * k, integer),)
    if dtype.kind == "c":
        rooms = ((max(7 * k, k * max(5 * k + 5, 2 * max(m, n) + 2 * k + 1)), real), *rooms)
    call = _Call(solve, (job, rows, columns, None, rows, None, None, rows, None, height), dtype, rooms)

    def svd(x):
        a = _by_columns(x)
        s, u, vh = np.empty((len(a), k), real), np.empty((len(a), left, m), dtype), np.empty((len(a), n, right), dtype)
        good = call.on(len(a), ((job, rows, columns, matrix, rows, values, first, rows, second, height)
                                for matrix, values, first, second in _addresses(a, s, u, vh)))
        _failed(good, s, u, vh)
        s = s.reshape(outs[0].shape)
        return [s, _by_rows(u, outs[1]), _by_rows(vh, outs[2])] if wanted else [s]

    return svd


@rule("lu")
def _make_lu(params, ins, outs):
    factor = can_swap() and _routine("getrf", ins[0], 6)
    if not factor:
        return None
    m, n = ins[0].shape[-2:]
    rows, columns, info = number(m), number(n), number(0)

    def lu(x):
        a = _by_columns(x)
        pivots = np.empty((len(a), min(m, n)), integer)
        for matrix, pivot in _addresses(a, pivots):
            factor(rows, columns, matrix, rows, pivot, info)
        pivots -= 1
        order = np.array([swapped(m, p) for p in pivots], np.int32)
        return [_by_rows(a, outs[0]), pivots.astype(np.int32).reshape(outs[1].shape), order.reshape(outs[2].shape)]

    return lu


def _matrices(specs):
    """Whether all are batches of matrices of one dtype, alike in their batches."""
    return all(s.dtype == specs[0].dtype and s.shape[:-2] == specs[0].shape[:-2] and len(s.shape) > 1 for s in specs)


@known_call
def determinant(params, ins, outs):
    factor = _matrices(ins) and _routine("getrf", ins[0], 6)
    if not factor:
        return None
    n = number(ins[0].shape[-1])
    places = np.arange(1, ins[0].shape[-1] + 1)

    def det(x):
        a = _by_columns(x)
        pivots, info = np.empty(a.shape[:2], integer), number(0)
        for matrix, pivot in _addresses(a, pivots):
            factor(n, n, matrix, n, pivot, info)
        sign = 1 - 2 * (np.count_nonzero(pivots != places, -1) & 1)
        return [(np.multiply.reduce(a.diagonal(0, 1, 2), -1) * sign.astype(a.dtype)).reshape(outs[0].shape)]

    return det


@known_call
def solved(params, ins, outs):
    solve, again = _matrices(ins) and _routine("gesv", ins[0], 8), _routine("getrs", ins[0], 9)
    if not solve or not again or 0 in ins[1].shape:
        return None
    n, columns = number(ins[0].shape[-1]), number(ins[1].shape[-1])

    def solved(x, b):
        a, b = _by_columns(x), _by_columns(b)
        pivots, info = np.empty(a.shape[:2], integer), np.zeros(len(a), integer)
        for matrix, pivot, right, failed in _addresses(a, pivots, b, info):
            solve(n, columns, matrix, n, pivot, right, n, failed)
        for k in np.flatnonzero(info).tolist():            # inf and nan where a pivot is zero
            again(b"N", n, columns, a[k].ctypes.data, n, pivots[k].ctypes.data, b[k].ctypes.data, n, number(0))
        return [_by_rows(b, outs[0]), info.astype(np.int32).reshape(outs[1].shape)]

    return solved


@known_call
def failed_minor(params, ins, outs):
    factor = _matrices(ins) and _routine("potrf", ins[0], 5)
    if not factor:
        return None
    n = number(ins[0].shape[-1])

    def failed_minor(x, lower):
        if (lower.diagonal(0, -2, -1).real > 0).all():
            return [np.zeros(outs[0].shape, np.int32)]
        a = _by_columns(x)
        info = np.zeros(len(a), integer)
        for matrix, failed in _addresses(a, info):
            factor(b"L", n, matrix, n, failed)
        return [info.astype(np.int32).reshape(outs[0].shape)]

    return failed_minor


@rule("lu_pivots_to_permutation")
def _make_permutation(params, ins, outs):
    if not can_swap() or 0 in outs[0].shape or 0 in ins[0].shape:
        return None
    shape, dtype = outs[0]

    def permutation(pivots):
        return np.array([swapped(shape[-1], p) for p in pivots.reshape(-1, ins[0].shape[-1])], dtype).reshape(shape)

    return permutation


@rule("triangular_solve")
def _make_triangular_solve(params, ins, outs):
    solve = None if 0 in outs[0].shape else _routine("trsm", ins[0], 11)
    if not solve:
        return None
    (a_shape, dtype), (shape, _) = ins
    m, n = shape[-2:]
    conjugate = params["conjugate_a"] and dtype.kind == "c"
    # Fortran sees the transpose of each array: op(A) X = B as X^T op(A)^T = B^T
    side = b"R" if params["left_side"] else b"L"
    triangle = b"U" if params["lower"] else b"L"
    turned = (b"C" if conjugate else b"T") if params["transpose_a"] else b"N"
    diagonal = b"U" if params["unit_diagonal"] else b"N"
    conjugate = conjugate and not params["transpose_a"]
    rows, columns, order = number(n), number(m), number(a_shape[-1])
    one, batches = np.ones((), dtype), math.prod(shape[:-2])

    def triangular_solve(a, b):
        a = np.ascontiguousarray(a.conj() if conjugate else a).reshape(batches, *a_shape[-2:])
        out = np.array(b, order="C").reshape(batches, m, n)
        for matrix, right in _addresses(a, out):
            solve(side, triangle, turned, diagonal, rows, columns, one.ctypes.data, matrix, order, right, rows)
        return out.reshape(shape)

    return triangular_solve
