"""map: a function of slices, of each slice, stacked."""
from __future__ import annotations

from .. import Tensor, stack
from ..utils._pytree import tree_flatten, tree_unflatten


def map(f, xs, *args):
    """The results of `f(slice of xs in dimension 0, *args)`, stacked; f takes and returns trees of tensors.

    RuntimeError for leaves of xs that are no tensors, have nothing in dimension 0 or are not equally long.
    """
    leaves, tree = tree_flatten(xs)
    if not all([isinstance(x, Tensor) for x in leaves]):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    shapes = [x.shape for x in leaves]
    n = shapes[0][0]
    if n == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any([shape[0] != n for shape in shapes]):
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}.")
    rows, made = [], None
    for i in range(n):
        row, made = tree_flatten(f(tree_unflatten([x[i] for x in leaves], tree), *args))
        rows.append(row)
    return tree_unflatten([None if column[0] is None else stack(column) for column in zip(*rows)], made)
