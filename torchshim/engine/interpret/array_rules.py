"""NumPy rules for primitives that move, reduce, sort or contract arrays."""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from ..pool import parts, together
from .copies import reshaped
from .rules import F32, Spec, category, rule

# ---------------------------------------------------------------- shape and movement


@rule("reshape")
def _make_reshape(params, ins, outs):
    shape, dimensions = outs[0].shape, params.get("dimensions")
    if len(ins) != 1:
        return None
    if dimensions is not None:
        return lambda x: reshaped(x.transpose(dimensions), shape)
    return lambda x: reshaped(x, shape)


@rule("squeeze", "expand_dims")
def _make_squeeze(params, ins, outs):
    shape = outs[0].shape
    return lambda x: x.reshape(shape)


@rule("transpose")
def _make_transpose(params, ins, outs):
    permutation = tuple(params["permutation"])
    return lambda x: x.transpose(permutation)


@rule("rev")
def _make_rev(params, ins, outs):
    dims = set(params["dimensions"])
    index = tuple(slice(None, None, -1) if d in dims else slice(None) for d in range(len(ins[0].shape)))
    return lambda x: x[(*index, ...)]


@rule("slice")
def _make_slice(params, ins, outs):
    strides = params["strides"] or (1,) * len(ins[0].shape)
    bounds = zip(params["start_indices"], params["limit_indices"], strides)
    index = (*(slice(int(a), int(b), int(s)) for a, b, s in bounds), ...)
    return lambda x: x[index]


@rule("split")
def _make_split(params, ins, outs):
    axis, index, start = params["axis"], [], 0
    for size in params["sizes"]:
        stop = start + int(size)
        index.append((slice(None),) * axis + (slice(start, stop), ...))
        start = stop
    return lambda x: [x[i] for i in index]


@rule("concatenate")
def _make_concatenate(params, ins, outs):
    axis = params["dimension"]
    return lambda *xs: np.concatenate(xs, axis)


@rule("stack")
def _make_stack(params, ins, outs):
    axis = params["axis"]
    shape = ins[0].shape
    unit = (*shape[:axis], 1, *shape[axis:])
    return lambda *xs: np.concatenate([x.reshape(unit) for x in xs], axis)


@rule("unstack")
def _make_unstack(params, ins, outs):
    axis = params["axis"]
    index = [(slice(None),) * axis + (i, ...) for i in range(ins[0].shape[axis])]
    return lambda x: [x[i] for i in index]


@rule("tile")
def _make_tile(params, ins, outs):
    reps = tuple(params["reps"])
    return lambda x: np.tile(x, reps)


def iota(shape: tuple[int, ...], dtype: np.dtype, dimension: int) -> np.ndarray:
    """The counting array, with every dimension but `dimension` of size one."""
    steps = np.arange(shape[dimension])
    if category(dtype) == "low":
        steps = steps.astype(F32)
    return steps.astype(dtype).reshape([n if d == dimension else 1 for d, n in enumerate(shape)])


def pad_plan(shape, config):
    """Where `lax.pad` puts an array of `shape`: (result shape, index into it, index into the array).

    The indices are None when nothing of the array survives negative padding.
    """
    result, into, source = [], [], []
    empty = False
    for n, (low, high, interior) in zip(shape, config):
        step = interior + 1
        size = low + high + n + max(n - 1, 0) * interior
        first = -(low // step) if low < 0 else 0
        last = min(n - 1, (size - 1 - low) // step)
        result.append(size)
        if size <= 0 or last < first:
            empty = True
            continue
        into.append(slice(low + first * step, low + last * step + 1, step))
        source.append(slice(first, last + 1))
    return tuple(result), None if empty else (*into, ...), None if empty else (*source, ...)


def padder(shape, config, dtype):
    """A function (array, fill value) that pads by `config`."""
    if not any(low or high or interior for low, high, interior in config):
        return lambda x, fill: x
    result, into, source = pad_plan(shape, config)

    def pad(x, fill):
        out = np.empty(result, dtype)
        out[...] = fill
        if into is not None:
            out[into] = x[source]
        return out

    return pad


@rule("pad")
def _make_pad(params, ins, outs):
    return padder(ins[0].shape, params["padding_config"], ins[0].dtype)


@rule("bitcast_convert_type")
def _make_bitcast(params, ins, outs):
    old, new, shape = ins[0].dtype, outs[0].dtype, outs[0].shape
    if np.bool_ in (old, new):
        return None
    if old.itemsize == new.itemsize:
        return lambda x: x.view(new)
    return lambda x: np.ascontiguousarray(x).reshape(-1).view(new).reshape(shape)


# ---------------------------------------------------------------- reductions

@rule("reduce_prod")
def _make_reduce_prod(params, ins, outs):
    axes, out = tuple(params["axes"]), outs[0].dtype
    if category(ins[0].dtype) == "low":
        return lambda x: np.asarray(np.multiply.reduce(x.astype(F32), axes)).astype(out)
    return lambda x: np.multiply.reduce(x, axes, out)


# elements in all, and of a row, for which NumPy finds where the extreme is sooner than the extreme
_PLACES_FROM, _PLACES_UPTO = 256, 400


def _extreme_by_place(ufunc, name, shape):
    """The extreme of each row, nan where there is one, by where it is."""
    rows, n = math.prod(shape[:-1]), shape[-1]
    starts = np.arange(0, rows * n, n)

    def extreme(x):
        if not x.flags.c_contiguous:           # rows that lie across memory: NumPy's loop goes along it
            return ufunc.reduce(x, -1)
        at = getattr(x.reshape(rows, n), name)(1)
        at += starts
        return x.reshape(-1)[at].reshape(shape[:-1])
    return extreme


# Rows so short, and so many of them, are turned in blocks of so many elements: the loop then runs along them all
_SHORT, _MANY, _BLOCK = 32, 512, 1 << 13


def _extreme_of_short(ufunc, shape, dtype):
    """The extreme of each row, where rows are short."""
    rows, n = math.prod(shape[:-1]), shape[-1]
    most = _BLOCK // n

    def extreme(x):
        if not x.flags.c_contiguous:
            return ufunc.reduce(x, -1)
        x, out, turned = x.reshape(rows, n), np.empty(rows, dtype), np.empty((n, most), dtype)
        for start in range(0, rows, most):
            part = x[start:start + most]
            block = turned[:, :len(part)]
            block[...] = part.T
            ufunc.reduce(block, 0, out=out[start:start + most])
        return out.reshape(shape[:-1])
    return extreme


def _with_signs(extreme, axes, dtype, largest):
    """`extreme` whose zeros are ordered, +0 being the larger one, as in compiled programs of few elements; NumPy takes either."""
    whole = np.dtype(f"i{dtype.itemsize}")
    reduce = np.maximum.reduce if largest else np.minimum.reduce

    def signed(x):
        x = np.asarray(x)                      # what a program made is JAX's
        out = extreme(x)
        if np.logical_and.reduce(out, None):
            return out
        bits = reduce(x.view(whole), axes)     # a zero that is the largest is that of no bits, if there is one; -0 has the least
        zeros = np.where(bits, dtype.type(-0.0), dtype.type(0.0)) if largest else bits.astype(whole).view(dtype)
        return np.where(out == 0, zeros, out)
    return signed


def _extreme(ufunc, largest: bool):
    def make(params, ins, outs):
        axes, dtype = tuple(params["axes"]), ins[0].dtype
        kind = category(dtype)
        if kind == "complex":
            return None
        if kind == "low":
            inner = make(params, [Spec(ins[0].shape, F32)], outs)
            return lambda x: np.asarray(inner(x.astype(F32))).astype(dtype)
        if any(ins[0].shape[a] == 0 for a in axes):
            if kind == "float":
                identity = -np.inf if largest else np.inf
            elif kind == "bool":
                identity = not largest
            else:
                identity = np.iinfo(dtype).min if largest else np.iinfo(dtype).max
            return lambda x: ufunc.reduce(x, axes, initial=dtype.type(identity))
        last = axes == (len(ins[0].shape) - 1,)
        if kind == "float" and last and 1 < ins[0].shape[-1] <= _SHORT and ins[0].size >= _MANY * ins[0].shape[-1]:
            return _with_signs(_extreme_of_short(ufunc, ins[0].shape, dtype), axes, dtype, largest)
        if kind == "float" and last and _PLACES_FROM <= ins[0].size and ins[0].shape[-1] <= _PLACES_UPTO:
            return _with_signs(_extreme_by_place(ufunc, "argmax" if largest else "argmin", ins[0].shape), axes, dtype, largest)
        if kind == "float":
            return _with_signs(lambda x: ufunc.reduce(x, axes), axes, dtype, largest)
        return lambda x: ufunc.reduce(x, axes)

    return make


rule("reduce_max")(_extreme(np.maximum, True))
rule("reduce_min")(_extreme(np.minimum, False))


def _bitwise_reduction(ufunc, logical):
    def make(params, ins, outs):
        axes = tuple(params["axes"])
        kind = category(ins[0].dtype)
        if kind == "bool" and logical is not None:
            return lambda x: logical.reduce(x, axes)
        return (lambda x: ufunc.reduce(x, axes)) if kind in ("bool", "int", "uint") else None

    return make


rule("reduce_and")(_bitwise_reduction(np.bitwise_and, np.logical_and))
rule("reduce_or")(_bitwise_reduction(np.bitwise_or, np.logical_or))
rule("reduce_xor")(_bitwise_reduction(np.bitwise_xor, None))


def _arg_extreme(fn):
    def make(params, ins, outs):
        if len(params["axes"]) != 1 or category(ins[0].dtype) == "complex":
            return None
        axis, out = params["axes"][0], outs[0].dtype
        if category(ins[0].dtype) == "low":
            return lambda x: np.asarray(fn(x.astype(F32), axis)).astype(out)
        if out == np.intp:
            return lambda x: fn(x, axis)
        return lambda x: np.asarray(fn(x, axis)).astype(out)

    return make


rule("argmax")(_arg_extreme(np.ndarray.argmax))
rule("argmin")(_arg_extreme(np.ndarray.argmin))


# ---------------------------------------------------------------- contractions


def compute_dtype(ins: list[Spec], out: np.dtype) -> np.dtype | None:
    """The dtype in which a product of sums is accumulated; None when there is no rule."""
    kinds = {category(s.dtype) for s in ins} | {category(out)}
    if kinds & {"bool", "other"}:
        return None
    return F32 if category(out) == "low" else out


def _has_unit_stride(x) -> bool:
    return x.strides[-1] == x.itemsize or x.strides[-2] == x.itemsize


def _copied(dtype, rows, inner, columns):
    """Whether a transposed second matrix is copied first: BLAS takes a fifth longer for one, where it is small and meets many rows. (Of
    fewer elements, or rows, its other kernels would round otherwise.)"""
    return dtype == F32 and rows >= 64 and max(inner, columns) <= 96 and rows * inner * columns >= 1 << 17


# The product of two matrices of which one or both are transposed first.
_FLIPPED = {(True, False): lambda a, b: a.T.dot(b), (False, True): lambda a, b: a.dot(b.T), (True, True): lambda a, b: a.T.dot(b.T)}
WORTH = 1 << 24            # terms of a product from which on several threads take parts of it
_STACKS_WORTH = 1 << 23    # likewise, of a stack of matrices, which take longer


def _dot(a, b):
    """The product of two large matrices, or of one with a vector: several threads make some of the rows, or of the columns."""
    shape = (*a.shape[:-1], *b.shape[1:])
    if not shape:
        return a.dot(b)
    a, b = [x if x.flags.c_contiguous or x.flags.f_contiguous else np.ascontiguousarray(x) for x in (a, b)]
    out = np.empty(shape, a.dtype)
    if len(shape) == 1 and b.ndim == 1 or len(shape) == 2 and shape[0] >= shape[1]:
        together(lambda part: np.matmul(a[part], b, out=out[part]), parts(len(out)))
    else:
        together(lambda part: np.matmul(a, b[:, part], out=out[..., part]), parts(shape[-1]))
    return out


def product(a, b):
    """The product of two matrices."""
    return _dot(a, b) if a.shape[0] * a.shape[1] * b.shape[1] >= WORTH else a.dot(b)


def _matmul(a, b):
    """The same of stacks of matrices, of which several threads take some."""
    d = int(np.argmax(a.shape[:-2]))
    before, out = (slice(None),) * d, np.empty((*a.shape[:-1], b.shape[-1]), a.dtype)

    def job(part):
        at = (*before, part)
        np.matmul(a[at], b[at], out=out[at])
    together(job, parts(a.shape[d]))
    return out


@rule("dot_general")
def _make_dot_general(params, ins, outs):
    (lc, rc), (lb, rb) = params["dimension_numbers"]
    precision = params.get("precision")
    if isinstance(precision, (tuple, list)):
        exact = all(isinstance(p, lax.Precision) for p in precision)
    else:
        exact = precision is None or isinstance(precision, lax.Precision)
    lhs, rhs = ins
    out = outs[0].dtype
    work = compute_dtype(ins, out)
    if not exact or work is None:
        return None
    lhs_cast, rhs_cast, out_cast = lhs.dtype != work, rhs.dtype != work, out != work
    lfree = [d for d in range(len(lhs.shape)) if d not in lc and d not in lb]
    rfree = [d for d in range(len(rhs.shape)) if d not in rc and d not in rb]
    lperm, rperm = (*lb, *lfree, *lc), (*rb, *rc, *rfree)
    batch = tuple(lhs.shape[d] for d in lb)
    rows = math.prod(lhs.shape[d] for d in lfree)
    inner = math.prod(lhs.shape[d] for d in lc)
    columns = math.prod(rhs.shape[d] for d in rfree)
    lshape, rshape, shape = (*batch, rows, inner), (*batch, inner, columns), outs[0].shape
    lperm = None if lperm == tuple(range(len(lperm))) else lperm
    rperm = None if rperm == tuple(range(len(rperm))) else rperm
    worth = rows * inner * columns * math.prod(batch) >= (_STACKS_WORTH if batch else WORTH)
    direct = lshape == lhs.shape and rshape == rhs.shape and (*batch, rows, columns) == shape
    if direct and not batch and inner != 1 and not (lperm or rperm or lhs_cast or rhs_cast or out_cast):
        return _dot if worth else np.ndarray.dot
    if (not (batch or lperm or rperm or lhs_cast or rhs_cast or out_cast) and inner != 1
            and {len(lhs.shape), len(rhs.shape)} in ({1}, {1, 2}) and lc):
        return _dot if worth else np.ndarray.dot       # by a vector: NumPy sums as it does for a matrix of one row or column
    if not batch and inner != 1 and shape == (rows, columns) and not (lhs_cast or rhs_cast or out_cast):
        flips = [len(s.shape) == 2 and perm == (1, 0) for s, perm in ((lhs, lperm), (rhs, rperm))]
        if all([flip or perm is None and s.shape == to for flip, perm, s, to in zip(flips, (lperm, rperm), (lhs, rhs), (lshape, rshape))]):
            product = _FLIPPED[tuple(flips)]
            if flips == [False, True] and _copied(work, rows, inner, columns):
                return lambda a, b: a.dot(b.T.copy())
            return product if not worth else lambda a, b: _dot(a.T if flips[0] else a, b.T if flips[1] else b)

    copied = not batch and rperm == (1, 0) and inner != 1 and _copied(work, rows, inner, columns)
    if inner == 1 and not batch and shape == (rows, columns) and not (lhs_cast or rhs_cast or out_cast):
        return lambda a, b: a.reshape(rows, 1) * b.reshape(columns)            # as below

    def dot_general(a, b):
        if lhs_cast:
            a = a.astype(work)
        if rhs_cast:
            b = b.astype(work)
        a = (a.transpose(lperm) if lperm else a).reshape(lshape)
        b = (b.transpose(rperm) if rperm else b).reshape(rshape)
        if copied:
            b = b.copy()
        if inner == 1:
            result = a * b                     # NumPy's dot scales by BLAS here, for which 0 times NaN is 0
        elif batch:
            # matmul leaves BLAS for strides that it cannot pass on.
            a = a if _has_unit_stride(a) else np.ascontiguousarray(a)
            b = b if _has_unit_stride(b) else np.ascontiguousarray(b)
            result = _matmul(a, b) if worth else np.matmul(a, b)
        else:
            result = _dot(a, b) if worth else a.dot(b)
        result = result.reshape(shape)
        return result.astype(out) if out_cast else result

    return dot_general


_FFT = {"FFT": "fftn", "IFFT": "ifftn", "RFFT": "rfftn", "IRFFT": "irfftn"}


@rule("fft")
def _make_fft(params, ins, outs):
    lengths = tuple(int(n) for n in params["fft_lengths"])
    name = getattr(params["fft_type"], "name", None)
    if name not in _FFT or 0 in ins[0].shape:
        return None
    axes = tuple(range(len(ins[0].shape) - len(lengths), len(ins[0].shape)))
    fn = getattr(np.fft, _FFT[name])
    out = outs[0].dtype
    if len(lengths) == 1:                      # of one dimension: the same, with fewer questions
        fn, (n,) = getattr(np.fft, _FFT[name][:-1]), lengths
        return lambda x: fn(x, n).astype(out, copy=False)
    return lambda x: fn(x, s=lengths, axes=axes).astype(out, copy=False)
