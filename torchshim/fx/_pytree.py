"""torch.fx._pytree: containers taken apart as a graph's code was written for."""
from __future__ import annotations

from ..utils import _pytree as pytree

SUPPORTED_NODES: dict = {}
SUPPORTED_NODES_EXACT_MATCH: dict = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """Say how an object of a class is taken apart like one that a spec was made of. flatten_fn_spec: (object, spec) -> a list."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(tree, spec):
    """The leaves of a tree, as many as a spec has. RuntimeError for containers that nobody registered."""
    if spec.is_leaf():
        return [tree]
    if spec.type in SUPPORTED_NODES:
        children = SUPPORTED_NODES[spec.type](tree, spec)
        return [leaf for child, part in zip(children, spec.children()) for leaf in tree_flatten_spec(child, part)]
    if spec.type not in pytree.SUPPORTED_NODES:
        raise RuntimeError(f"{spec.type} does not have a flatten_fn_spec associated with it. Please register one with "
                           "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make sure that any custom "
                           "pytrees have been registered before loading it.")
    return pytree.tree_leaves(tree)


def _dict(d, spec):
    return [d[k] for k in spec.context]


def _sequence(made, spec):
    return [made[k] for k in range(len(spec.children()))]


register_pytree_flatten_spec(dict, _dict)
register_pytree_flatten_spec(list, _sequence)
register_pytree_flatten_spec(tuple, _sequence)
