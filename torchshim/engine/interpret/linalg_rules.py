"""NumPy rules for factorizations and triangular systems: the LAPACK routines that XLA calls on a CPU too, without a compile for each shape.

They are called in the library that NumPy brings, as NumPy's own functions compute float32 in float64; where it is not OpenBLAS there is no
rule. A matrix without a factorization becomes nan, as in XLA. Fortran's matrices lie in memory column by column.
"""

from __future__ import annotations

import ctypes
import functools
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


def _bare(function):
    """`function` for arguments that are ctypes objects already: not to convert them is half the time of a small call."""
    return ctypes.CFUNCTYPE(None)(ctypes.cast(function, ctypes.c_void_p).value)


def _held(array):
    """Where an array lies, which so lives as long."""
    return ctypes.byref(ctypes.c_char.from_buffer(array))


_KEPT = 1 << 18            # bytes of a room up to which it stays


class _Room:
    """Arrays for the matrices of a batch, arrays to work in, LAPACK's reports, and the arguments of each call."""
    __slots__ = ("each", "shared", "info", "calls")

    def __init__(self, batches, each, shared, stages):
        self.each = [np.zeros((batches, *shape), dtype) for shape, dtype in each]
        self.shared = [np.empty(n, dtype) for n, dtype in shared]
        self.info = np.zeros(batches, integer)
        work = [ctypes.c_void_p(a.ctypes.data) for a in self.shared]
        parts = [[ctypes.c_void_p(at) for at in one] for one in _addresses(*self.each, self.info)]
        self.calls = [[arguments(*one, *work) for one in parts] for arguments in stages]


class _Rooms:
    """Where routines work for a batch of matrices: most of a small call is to find out where its arrays lie, so they stay where they are.
    Calls at the same time have a room each.

    each: (shape, dtype) of the arrays of one matrix; shared: (length, dtype) of those to work in. A stage is a function that gives a
    routine's arguments from the addresses of the former, of LAPACK's report, and of the latter.
    """

    def __init__(self, batches, each, shared=(), *stages):
        self.made, self.single, self.free = (batches, each, shared, stages), batches == 1, []
        size = sum([batches * math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in each])
        self.keeps = size + sum([n * np.dtype(dtype).itemsize for n, dtype in shared]) <= _KEPT

    def enter(self):
        try:
            return self.free.pop()
        except IndexError:
            return _Room(*self.made)

    def leave(self, room, *arrays):
        """What others may have of the room's arrays."""
        if not self.keeps:
            return arrays
        arrays = [a.copy() for a in arrays]
        self.free.append(room)
        return arrays

    def failed(self, room):
        """Which matrices a routine reports, or None."""
        info = room.info
        return None if (not info[0] if self.single else not info.any()) else info != 0


def _real(dtype):
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _by_columns(x):
    """A copy of the matrices as Fortran has them: (batch, columns, rows)."""
    return np.array(x.swapaxes(-1, -2), order="C").reshape(-1, x.shape[-1], x.shape[-2])


def _by_rows(columns, spec):
    return columns.swapaxes(-1, -2).reshape(spec.shape)


def _put(room_columns, x):
    """Matrices into a room, as Fortran has them."""
    room_columns.swapaxes(-1, -2)[...] = x if x.ndim == 2 else x.reshape(-1, *x.shape[-2:])


def _asked(function, dtype, *before, rooms=()):
    """The length of the array to work in that a routine asks for, which ends with (..., work, lwork, ..., info). `before` is an example of
    its first arguments; `rooms` are the sizes and dtypes of other arrays that it works in."""
    asked, info = np.zeros(1, dtype), np.zeros(1, integer)
    arrays = [np.empty(n, t) for n, t in rooms]
    function(*before, asked.ctypes.data, number(-1), *[a.ctypes.data for a in arrays], info.ctypes.data)
    return max(1, int(asked[0].real))


def _addresses(*arrays):
    """For each matrix of a batch the addresses of its part of the arrays."""
    starts = [a.ctypes.data for a in arrays]
    steps = [a.strides[0] for a in arrays]
    for k in range(len(arrays[0])):
        yield [start + k * step for start, step in zip(starts, steps)]


def _spoil(bad, *results):
    """nan for the matrices without a result."""
    if bad is not None:
        for r in results:
            r[bad] = complex(np.nan, np.nan) if r.dtype.kind == "c" else np.nan


def _count(spec):
    """How many matrices there are."""
    return math.prod(spec.shape[:-2])


def _no_reports(spec):
    """What LAPACK says of matrices that all have what was asked for."""
    reports = np.zeros(spec.shape, np.int32)
    reports.flags.writeable = False
    return reports


@functools.lru_cache(maxsize=64)
def _upper(m, n):
    """Where the upper triangle is."""
    return ~np.tri(m, n, -1, dtype=bool)


@rule("cholesky")
def _make_cholesky(params, ins, outs):
    factor = _routine("potrf", ins[0], 5)
    if not factor:
        return None
    m = ins[0].shape[-1]
    n = number(m)
    factor = _bare(factor)
    rooms = _Rooms(_count(ins[0]), [((m, m), ins[0].dtype)], (), lambda a, info: (b"L", n, a, n, info))

    def cholesky(x):
        room = rooms.enter()
        a, = room.each
        _put(a, x)
        for call in room.calls[0]:
            factor(*call)
        _spoil(rooms.failed(room), a)
        return _by_rows(*rooms.leave(room, a), outs[0])

    return cholesky


def factored(shape, dtype, upper):
    """The whole of cholesky_ex: (the factor, nan where there is none, LAPACK's info); None where LAPACK is missing."""
    factor = _routine("potrf", Spec(shape, dtype), 5)
    if not factor:
        return None
    m, reported = shape[-1], Spec(shape[:-2], np.dtype(np.int32))
    n, none, complex_ = number(m), _no_reports(reported), dtype.kind == "c"
    factor = _bare(factor)
    rooms = _Rooms(math.prod(reported.shape), [((m, m), dtype)], (), lambda a, info: (b"L", n, a, n, info))
    kept = _upper(m, m) if upper else _upper(m, m).T

    def factored(x):
        x = np.asarray(x)
        room = rooms.enter()
        a, = room.each                         # by columns: its upper triangle is the factor's lower one
        x = x if x.ndim == 3 else x.reshape(a.shape)
        np.copyto(a if upper else a.swapaxes(1, 2), x.conj() if upper and complex_ else x, where=kept)
        for call in room.calls[0]:
            factor(*call)
        bad, reports = rooms.failed(room), none
        if bad is not None:
            reports = room.info.astype(np.int32).reshape(reported.shape)
            a[bad] = np.where(_upper(m, m), a.dtype.type(complex(np.nan, np.nan) if complex_ else np.nan), a.dtype.type(0))
        a, = rooms.leave(room, a)
        return [((a.conj() if complex_ else a) if upper else a.swapaxes(1, 2)).reshape(shape), reports]

    return factored


def _products(dtype, m, n, k):
    """(routine, its arguments without addresses, the length it asks for) to multiply k reflections, as the first n columns of m rows;
    None."""
    product = _routine("orgqr", Spec((m, n), dtype), 9, "ungqr")
    if not product or not k:
        return None
    rows, columns, count = number(m), number(n), number(k)
    length = _asked(product, dtype, rows, columns, count, None, rows, None)
    work = number(length)
    return product, lambda q, tau, info, room: (rows, columns, count, q, rows, tau, room, work, info), length


@rule("householder_product")
def _make_householder_product(params, ins, outs):
    (shape, dtype), tau = ins[0], ins[1]
    known = None if 0 in shape or 0 in tau.shape else _products(dtype, *shape[-2:], tau.shape[-1])
    if not known:
        return None
    product, arguments, length = known
    product = _bare(product)
    rooms = _Rooms(_count(ins[0]), [(shape[:-3:-1], dtype), (tau.shape[-1:], dtype)], [(length, dtype)],
                   lambda a, t, info, work: arguments(a, t, info, work))

    def householder_product(a, tau):
        room = rooms.enter()
        q, t = room.each
        _put(q, a)
        t[...] = tau.reshape(t.shape)
        for call in room.calls[0]:
            product(*call)
        _spoil(rooms.failed(room), q)
        return _by_rows(*rooms.leave(room, q), outs[0])

    return householder_product


@rule("qr")
def _make_qr(params, ins, outs):
    factor = None if params["pivoting"] else _routine("geqrf", ins[0], 8)
    if not factor:
        return None
    (*_, m, n), dtype = ins[0]
    k, width = min(m, n), outs[0].shape[-1]
    known = _products(dtype, m, width, k)
    if not known:
        return None
    product, arguments, length = known
    rows, columns = number(m), number(n)
    first = _asked(factor, dtype, rows, columns, None, rows, None)
    work, room_length = number(first), max(first, length)
    # reflections and products have one memory, of the longer of the two
    most = max(width, n)
    factor, product = _bare(factor), _bare(product)
    rooms = _Rooms(_count(ins[0]), [((most, m), dtype), ((k,), dtype)], [(room_length, dtype)],
                   lambda a, tau, info, w: (rows, columns, a, rows, tau, w, work, info), arguments)
    triangle, zero = _upper(width, n), dtype.type(0)

    def qr(x):
        room = rooms.enter()
        a = room.each[0]
        _put(a[:, :n], x)
        for call in room.calls[0]:
            factor(*call)
        bad = rooms.failed(room)
        r = np.where(triangle, a[:, :n].swapaxes(-1, -2)[:, :width], zero).reshape(outs[1].shape)
        if width > n:
            a[:, n:] = 0
        for call in room.calls[1]:
            product(*call)
        q = a[:, :width]
        _spoil(bad, q)
        return [_by_rows(*rooms.leave(room, q), outs[0]), r]

    return qr


@rule("eigh")
def _make_eigh(params, ins, outs):
    solve = _routine("syevd", ins[0], 11, "heevd", 2)
    if not solve or params.get("subset_by_index") is not None:
        return None
    (*_, n), dtype = ins[0]
    order, triangle, real = number(n), b"L" if params["lower"] else b"U", _real(dtype)
    kinds = (dtype, real, integer) if dtype.kind == "c" else (dtype, integer)
    asked, info = [np.zeros(1, t) for t in kinds], np.zeros(1, integer)
    solve(b"V", triangle, order, None, order, None, *[x for a in asked for x in (a.ctypes.data, number(-1))], info.ctypes.data)
    shared = [(max(1, int(a[0].real)), a.dtype) for a in asked]
    lengths = [number(length) for length, _ in shared]
    solve = _bare(solve)
    rooms = _Rooms(_count(ins[0]), [((n, n), dtype), ((n,), real)], shared, lambda a, w, info, *work: (
        b"V", triangle, order, a, order, w, *[x for pair in zip(work, lengths) for x in pair], info))

    def eigh(x):
        room = rooms.enter()
        a, w = room.each
        _put(a, x)
        for call in room.calls[0]:
            solve(*call)
        _spoil(rooms.failed(room), a, w)
        a, w = rooms.leave(room, a, w)
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
    more = [(2 * n, _real(dtype))] if complex_ else []
    length = _asked(solve, dtype, b"N", wanted, order, None, order, *values, None, order, None, order, rooms=more)
    work = number(length)
    solve = _bare(solve)
    rooms = _Rooms(
        _count(ins[0]), [((n, n), dtype), ((n, n) if wanted == b"V" else (1,), dtype), *[((n,), dtype)] * len(values)],
        [(length, dtype), *more], lambda a, v, *rest: (b"N", wanted, order, a, order, *rest[:len(values)], None, order, v, order,
                             rest[len(values) + 1], work, *rest[len(values) + 2:], rest[len(values)]))

    def eig(x):
        room = rooms.enter()
        a, v, *w = room.each
        _put(a, x)
        finite = np.isfinite(a).all((1, 2))                # LAPACK may not end otherwise
        a[~finite] = 0
        for call in room.calls[0]:
            solve(*call)
        bad = ~finite | (room.info != 0)
        v, *w = rooms.leave(room, v, *w)
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
            _spoil(bad, v)
            found.append(_by_rows(v, outs[1]))
        _spoil(bad, w)
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
    more = [(8 * k, integer)]
    if dtype.kind == "c":
        more = [(max(7 * k, k * max(5 * k + 5, 2 * max(m, n) + 2 * k + 1)), real), *more]
    length = _asked(solve, dtype, job, rows, columns, None, rows, None, None, rows, None, height, rooms=more)
    work = number(length)
    vectors = [((left, m), dtype), ((n, right), dtype)] if wanted else [((1,), dtype), ((1,), dtype)]
    solve = _bare(solve)
    rooms = _Rooms(_count(ins[0]), [((n, m), dtype), ((k,), real), *vectors], [(length, dtype), *more],
        lambda a, s, u, vh, info, w, *rest: (
        job, rows, columns, a, rows, s, u, rows, vh, height, w, work, *rest, info))

    def svd(x):
        room = rooms.enter()
        a, s, u, vh = room.each
        _put(a, x)
        for call in room.calls[0]:
            solve(*call)
        if not wanted:
            _spoil(rooms.failed(room), s)
            return [rooms.leave(room, s)[0].reshape(outs[0].shape)]
        _spoil(rooms.failed(room), s, u, vh)
        s, u, vh = rooms.leave(room, s, u, vh)
        return [s.reshape(outs[0].shape), _by_rows(u, outs[1]), _by_rows(vh, outs[2])]

    return svd


@rule("lu")
def _make_lu(params, ins, outs):
    factor = can_swap() and _routine("getrf", ins[0], 6)
    if not factor:
        return None
    m, n = ins[0].shape[-2:]
    rows, columns = number(m), number(n)
    factor = _bare(factor)
    rooms = _Rooms(_count(ins[0]), [((n, m), ins[0].dtype), ((min(m, n),), integer)], (),
                   lambda a, pivots, info: (rows, columns, a, rows, pivots, info))

    def lu(x):
        room = rooms.enter()
        a, pivots = room.each
        _put(a, x)
        for call in room.calls[0]:
            factor(*call)
        a, pivots = rooms.leave(room, a, pivots)
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
    m = ins[0].shape[-1]
    n, places = number(m), np.arange(1, m + 1)
    factor = _bare(factor)
    rooms = _Rooms(_count(ins[0]), [((m, m), ins[0].dtype), ((m,), integer)], (), lambda a, pivots, info: (n, n, a, n, pivots, info))

    def det(x):
        room = rooms.enter()
        a, pivots = room.each
        _put(a, x)
        for call in room.calls[0]:
            factor(*call)
        sign = 1 - 2 * (np.count_nonzero(pivots != places, -1) & 1)
        product = np.multiply.reduce(a.diagonal(0, 1, 2), -1)
        rooms.leave(room)
        return [(product * sign.astype(product.dtype)).reshape(outs[0].shape)]

    return det


@known_call
def solved(params, ins, outs):
    solve, again = _matrices(ins) and _routine("gesv", ins[0], 8), _routine("getrs", ins[0], 9)
    if not solve or not again or 0 in ins[1].shape:
        return None
    (*_, m), dtype = ins[0]
    width = ins[1].shape[-1]
    n, columns, none = number(m), number(width), _no_reports(outs[1])
    again, solve = _bare(again), _bare(solve)
    rooms = _Rooms(_count(ins[0]), [((m, m), dtype), ((m,), integer), ((width, m), dtype)], (),
                   lambda a, pivots, b, info: (n, columns, a, n, pivots, b, n, info),
                   lambda a, pivots, b, info: (b"N", n, columns, a, n, pivots, b, n, number(0)))

    def solved(x, b):
        room = rooms.enter()
        a, _, right = room.each
        _put(a, x)
        _put(right, b)
        for call in room.calls[0]:
            solve(*call)
        singular, reports = rooms.failed(room), none
        if singular is not None:
            reports = room.info.astype(np.int32).reshape(outs[1].shape)
            for k in np.flatnonzero(singular).tolist():    # inf and nan where a pivot is zero
                again(*room.calls[1][k])
        return [_by_rows(*rooms.leave(room, right), outs[0]), reports]

    return solved


def least_squares(A, B, dtype, slow):
    """(the least-norm solution for matrices of these shapes with one batch, ranks, no singular values) by LAPACK's gelsy, as torch has it
    by default; None where that is missing. `slow` computes it where something is not finite."""
    spec = Spec(A, dtype)
    solve = _routine("gelsy", spec, 13, None, 1)
    if not solve or 0 in B or A[:-2] != B[:-2]:
        return None
    (*batch, m, n), width, most, real = A, B[-1], max(A[-2:]), _real(dtype)
    rows, columns, count, high, limit = number(m), number(n), number(width), number(most), np.array(np.finfo(real).eps * most, real)
    least = _held(limit)
    more = [(2 * n, real)] if dtype.kind == "c" else []
    asked, info, spare = np.zeros(1, dtype), np.zeros(1, integer), np.zeros(1, integer)
    solve(rows, columns, count, None, rows, None, high, None, least, spare.ctypes.data, asked.ctypes.data, number(-1),
          *[None for _ in more], info.ctypes.data)
    length = max(1, int(asked[0].real))
    work, none = number(length), np.zeros(0, real)
    solve = _bare(solve)
    rooms = _Rooms(_count(spec), [((n, m), dtype), ((width, most), dtype), ((n,), integer), ((1,), integer)], [(length, dtype), *more],
                   lambda a, b, pivots, rank, info, w, *rest: (
                       rows, columns, count, a, rows, b, high, pivots, least, rank, w, work, *rest, info))

    def least_squares(A, B):
        A, B = np.asarray(A), np.asarray(B)
        if not (np.isfinite(A).all() and np.isfinite(B).all()):
            return slow(A, B)
        room = rooms.enter()
        a, b, pivots, rank = room.each
        _put(a, A)
        _put(b[:, :, :m], B)
        b[:, :, m:] = 0
        pivots[...] = 0                        # no column goes first
        for call in room.calls[0]:
            solve(*call)
        X, rank = rooms.leave(room, b[:, :, :n], rank)
        return [_by_rows(X, Spec((*batch, n, width), dtype)), rank.astype(np.int64).reshape(A.shape[:-2]), none]

    return least_squares


@known_call
def failed_minor(params, ins, outs):
    factor = _matrices(ins) and _routine("potrf", ins[0], 5)
    if not factor:
        return None
    n, none = number(ins[0].shape[-1]), _no_reports(outs[0])

    def failed_minor(x, lower):
        if (lower.diagonal(0, -2, -1).real > 0).all():
            return [none]
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
    scale, bare = _held(one), _bare(solve)
    arguments = lambda matrix, right, info=None: (
        side, triangle, turned, diagonal, rows, columns, scale, matrix, order, right, rows)
    rooms = _Rooms(batches, [(a_shape[-2:], dtype), ((m, n), dtype)], (), arguments)

    def triangular_solve(a, b):
        a = (a.conj() if conjugate else a).reshape(batches, *a_shape[-2:])
        if rooms.keeps:
            room = rooms.enter()
            matrix, out = room.each
            matrix[...], out[...] = a, b.reshape(out.shape)
            for call in room.calls[0]:
                bare(*call)
            out, = rooms.leave(room, out)
        else:
            a, out = np.ascontiguousarray(a), np.array(b, order="C").reshape(batches, m, n)
            for addresses in _addresses(a, out):
                solve(*arguments(*addresses))
        return out.reshape(shape)

    return triangular_solve
