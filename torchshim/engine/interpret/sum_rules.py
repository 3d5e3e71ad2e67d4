"""NumPy rules for sums, and for sums of products.

A sum along an axis is a matrix times ones, which BLAS computes in a third of the time that NumPy's own loops take. It adds in several
lanes, one after the other; so that long sums lose no more digits than pairwise ones do, they are cut in blocks.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from .rules import F32, Spec, category, rule

_BLOCK = 256               # terms that are added in lanes
_RUN = 64                  # terms that are added one after the other
_MANY = 1 << 13            # elements of a whole array from which on blocks are worth their calls
_FEW = 8                   # terms up to which NumPy's loop is left alone
_LANES = 32                # products below this many are rounded each before they are added: what cancels in a few of them cancels exactly


@functools.lru_cache(maxsize=64)
def _ones(n, dtype):
    ones = np.ones(n, dtype)
    ones.flags.writeable = False
    return ones


def _runs(axes, shape):
    """The shape with neighbouring axes merged: (sizes, which of them are summed)."""
    sizes, summed = [], []
    for d, n in enumerate(shape):
        if n == 1:
            continue
        this = d in axes
        if summed and summed[-1] == this:
            sizes[-1] *= n
        else:
            sizes.append(n)
            summed.append(this)
    return sizes, summed


def _last(rows, n, dtype):
    """The sums of the rows of a matrix (rows, n), given with any shape."""
    if n <= 2 * _BLOCK:
        ones = _ones(n, dtype)
        return lambda x: x.reshape(rows, n).dot(ones)
    blocks = n // _BLOCK
    whole, ones = blocks * _BLOCK, _ones(_BLOCK, dtype)
    if whole == n:
        return lambda x: np.add.reduce(x.reshape(rows * blocks, _BLOCK).dot(ones).reshape(rows, blocks), 1)
    if rows == 1:
        return lambda x: np.add.reduce(x.reshape(-1)[:whole].reshape(blocks, _BLOCK).dot(ones)) + np.add.reduce(x.reshape(-1)[whole:])

    def last(x):
        x = x.reshape(rows, n)
        return np.add.reduce(np.matmul(x[:, :whole].reshape(rows, blocks, _BLOCK), ones), 1) + np.add.reduce(x[:, whole:], 1)

    return last


def _middle(batch, n, columns, dtype):
    """The sums over the middle of an array (batch, n, columns), given with any shape."""
    block = _BLOCK if n >= _BLOCK * _BLOCK else _RUN
    blocks, ones = n // block, _ones(block, dtype)
    if blocks < 2:
        ones = _ones(n, dtype)
        if columns <= _FEW:
            return lambda x: np.add.reduce(x.reshape(batch, n, columns), 1)
        if batch == 1:
            return lambda x: ones.dot(x.reshape(n, columns))
        return lambda x: np.matmul(ones, x.reshape(batch, n, columns))
    whole, over_blocks = blocks * block, _middle(batch, blocks, columns, dtype)

    def middle(x):
        x = x.reshape(batch, n, columns)
        cut = x[:, :whole].reshape(batch, blocks, block, columns)
        total = over_blocks(np.add.reduce(cut, 2) if columns <= _FEW else np.matmul(ones, cut)).reshape(batch, columns)
        return total if whole == n else total + np.add.reduce(x[:, whole:], 1)

    return middle


def _steps(axes, shape, dtype):
    """A function of contiguous arrays: the sum over these axes, in any shape. None where NumPy's own is as good."""
    sizes, summed = _runs(axes, shape)
    if not any(summed) or 0 in sizes:
        return None
    if summed[-1]:
        n, rows = sizes[-1], math.prod(sizes[:-1])
        if n <= _FEW or rows == 1 and n < _MANY:
            return None
        first, rest, left = _last(rows, n, dtype), sizes[:-1], summed[:-1]
    else:
        n, columns, batch = sizes[-2], sizes[-1], math.prod(sizes[:-2])
        if n <= _FEW or columns <= _FEW and n < 2 * _BLOCK:
            return None
        first, rest, left = _middle(batch, n, columns, dtype), sizes[:-2] + sizes[-1:], summed[:-2] + summed[-1:]
    others = tuple(d for d, this in enumerate(left) if this)
    if not others:
        return first
    return lambda x: np.add.reduce(first(x).reshape(rest), others)


@rule("reduce_sum")
def make_reduce_sum(params, ins, outs):
    axes, out = tuple(params["axes"]), outs[0].dtype
    kind = category(ins[0].dtype)
    if not axes:
        return lambda x: x
    if kind == "low":
        inner = make_reduce_sum(params, [Spec(ins[0].shape, F32)], [Spec(outs[0].shape, F32)])
        return lambda x: np.asarray(inner(x.astype(F32))).astype(out)
    if kind not in ("float", "complex"):
        return lambda x: np.add.reduce(x, axes, out)
    if all(ins[0].shape[d] == 1 for d in axes):
        shape, zero = outs[0].shape, out.type(0)
        return lambda x: x.reshape(shape) + zero           # as sums begin at 0, that of a single -0 is 0
    steps, shape = _steps(axes, ins[0].shape, out) if kind == "float" else None, outs[0].shape
    if steps is None:
        return lambda x: np.add.reduce(x, axes)

    def reduce_sum(x):
        return steps(x).reshape(shape) if x.flags.c_contiguous else np.add.reduce(x, axes)

    return reduce_sum


def make_sum_of_products(params, ins, outs):
    """`reduce_sum` of the product of two arrays of one shape, which is not written down where both are contiguous."""
    axes, shape = tuple(params["axes"]), ins[0].shape
    sizes, summed = _runs(axes, shape)
    total = make_reduce_sum(params, ins[:1], outs)
    if category(ins[0].dtype) != "float" or not summed or not summed[-1] or sizes[-1] < _LANES:
        return lambda x, y: total(x * y)
    n = sizes[-1]
    block = n if n <= 2 * _BLOCK else _BLOCK
    whole, out = n - n % block, outs[0].shape
    if block == n and len(sizes) == 1 and out == ():

        def sum_of_all(x, y):
            return np.vdot(x, y) if x.flags.c_contiguous and y.flags.c_contiguous else total(x * y)
        return sum_of_all
    others, all_blocks = (*(d for d, this in enumerate(summed[:-1]) if this), len(sizes) - 1), (*sizes[:-1], whole // block, block)
    if whole == n:

        def sum_of_blocks(x, y):
            if not (x.flags.c_contiguous and y.flags.c_contiguous):
                return total(x * y)
            return np.add.reduce(np.vecdot(x.reshape(all_blocks), y.reshape(all_blocks)), others).reshape(out)
        return sum_of_blocks

    def sum_of_products(x, y):
        if not (x.flags.c_contiguous and y.flags.c_contiguous):
            return total(x * y)
        x, y = x.reshape(sizes), y.reshape(sizes)
        result = np.vecdot(x[..., :whole].reshape(all_blocks), y[..., :whole].reshape(all_blocks))
        result = np.add.reduce(result, others) + np.add.reduce(x[..., whole:] * y[..., whole:], others)
        return result.reshape(out)

    return sum_of_products
