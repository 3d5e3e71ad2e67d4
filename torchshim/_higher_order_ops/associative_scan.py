"""associative_scan: running combinations by an associative function, in a logarithmic number of rounds (Blelloch 1990)."""
from __future__ import annotations

from .. import Tensor, cat, flip, func, movedim, stack
from ..utils._pytree import tree_flatten, tree_unflatten


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """What combine_fn(what came before, x) makes of the slices of `xs` along `dim`, one after the other.

    xs: tensors, or a tree of them, equally long in `dim`; combine_fn takes and returns such trees of slices and is associative.
    combine_mode is accepted: all functions are combined alike.
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, tree = tree_flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if any(not isinstance(x, Tensor) for x in leaves):
        raise ValueError(f"xs leaves must be a Tensor, but got {[x for x in leaves if not isinstance(x, Tensor)][0]}")
    if any(x.shape[dim] != leaves[0].shape[dim] for x in leaves):
        raise ValueError("All xs leaves must have the same size along the scan dimension")

    def pair(a, b):
        return tree_flatten(combine_fn(tree_unflatten(a, tree), tree_unflatten(b, tree)))[0]

    def run(a):
        n = a[0].shape[0]
        if n < 2:
            return a
        pairs = run(combine([x[:n - 1:2] for x in a], [x[1::2] for x in a]))      # up to each odd place
        heads = [x[:-1] for x in pairs] if n % 2 == 0 else pairs
        rest = combine(heads, [x[2::2] for x in a]) if n > 2 else [x[:0] for x in a]
        return [_interleaved(cat([x[:1], even]), odd) for x, even, odd in zip(a, rest, pairs)]
    combine = func.vmap(pair)
    given = [movedim(x, dim, 0) for x in leaves]
    made = run([flip(x, (0,)) for x in given] if reverse else given)
    made = [movedim(flip(x, (0,)) if reverse else x, 0, dim) for x in made]
    return tree_unflatten(made, tree)


def _interleaved(even, odd):
    both = stack([even[:odd.shape[0]], odd], 1).flatten(0, 1)
    return both if even.shape[0] == odd.shape[0] else cat([both, even[-1:]])
