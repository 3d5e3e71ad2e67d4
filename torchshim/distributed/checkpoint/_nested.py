"""State dicts as flat ones: {names joined by dots: leaf}, with the keys that lead to each leaf."""
from __future__ import annotations

from collections.abc import Mapping

from ...tensor.core.tensor import Tensor


def _is_leaf(value):
    """Lists count as containers only where there is a tensor or a dict in them."""
    if isinstance(value, Mapping):
        return False
    return not isinstance(value, list) or all(not isinstance(x, Tensor) and (not isinstance(x, (Mapping, list)) or _is_leaf(x))
                                              for x in value)


def flatten_state_dict(state_dict):
    """({name: leaf}, {name: keys}). ValueError where two leaves have one name."""
    flat, keys = {}, {}

    def visit(path, value):
        if not _is_leaf(value):
            for key, x in value.items() if isinstance(value, Mapping) else enumerate(value):
                visit((*path, str(key) if isinstance(value, Mapping) else key), x)
            return
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], keys[name] = value, path
    for key, value in state_dict.items():
        visit((str(key),), value)
    return flat, keys


def set_element(root, path, value):
    """Put a leaf where keys lead, making the dicts and lists on the way."""
    at = root
    for key, following in zip(path, path[1:]):
        at = _child(at, key, [] if isinstance(following, int) else {})
    if isinstance(at, list):
        at.extend([None] * (path[-1] + 1 - len(at)))
    at[path[-1]] = value


def _child(at, key, new):
    if isinstance(at, list):
        at.extend([None] * (key + 1 - len(at)))
        if at[key] is None:
            at[key] = new
        return at[key]
    return at.setdefault(key, new)


def unflatten_state_dict(flat, keys):
    """The state dict that `flatten_state_dict` took apart."""
    root: dict = {}
    for name, value in flat.items():
        set_element(root, keys[name], value)
    return root
