"""What a tensor's hooks and its retained gradient do when it gets another history."""
from __future__ import annotations

from .graph import Node


def retain_too(t, e, node):
    """A tensor that retains its gradient is written in place: `node`, what it will be, retains it for it. Returns where the edge `e` tells
    so until then, to be taken out there: (dict or None, key)."""
    old, nr = e if e.__class__ is tuple else (e, 0)
    if isinstance(old, Node) and old._ts_extra is not None and old._ts_extra.retain:
        ref = old._ts_extra.retain.get(nr)
        if ref is not None and ref() is t:
            if node is not None:
                x = node._ts_more()
                x.retain = {0: ref}
            return old._ts_extra.retain, nr
    return None, 0


def retain_instead(t, e, node):
    """A tensor that retains its gradient gets another history: `node` retains it, and what the edge `e` leads to does no more."""
    retained, nr = retain_too(t, e, node)
    if retained is not None:
        del retained[nr]


def hooks_at(e, extra):
    """The hooks that a tensor with the edge `e` and this Extra adds its next one to; None where there were none yet."""
    if extra is not None and extra.later is not None and extra.later[0] == e:
        return extra.later[1]
    node, nr = e if e.__class__ is tuple else (e, 0)
    x = node._ts_extra if isinstance(node, Node) else None
    return None if x is None or not x.tensor_hooks else x.tensor_hooks.get(nr)


def hooks_stay(t, e):
    """A tensor that had the edge `e` is seen otherwise, by a node of its own: in torch its hooks stay where they were, and later ones join
    them."""
    hooks = hooks_at(e, t._ts_extra) if t._ts_edge is not e else None
    if hooks is not None:
        t._ts_more().later = t._ts_edge, hooks
