"""scan: a loop over slices that carries something along."""
from __future__ import annotations

from .. import Tensor, stack
from ..utils._pytree import tree_flatten, tree_unflatten


def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """(the last carry, results of all rounds stacked in dimension 0) of `carry, result = combine_fn(carry, slice of xs along dim)`."""
    leaves, tree = tree_flatten(xs)
    if not leaves:
        return init, []
    if not tree_flatten(init)[0]:
        raise RuntimeError("scan() operator requires init leaves.")
    if any(not isinstance(x, Tensor) for x in leaves):
        raise RuntimeError(f"xs leaves must be a Tensor, but got {[x for x in leaves if not isinstance(x, Tensor)][0]}")
    n = leaves[0].shape[dim]
    carry, rows, made = init, [], None
    for i in reversed(range(n)) if reverse else range(n):
        carry, result = combine_fn(carry, tree_unflatten([x.select(dim, i) for x in leaves], tree))
        row, made = tree_flatten(result)
        rows.append(row)
    if reverse:
        rows.reverse()
    return carry, tree_unflatten([stack(column) for column in zip(*rows)], made)
