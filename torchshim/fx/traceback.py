"""torch.fx.traceback: what the steps made meanwhile are to know of where they come from."""
from __future__ import annotations

import contextlib
import functools

from ..dropin import missing_attribute as _missing_attribute

_meta: dict = {}
_kept = [False]


@contextlib.contextmanager
def preserve_node_meta(enable=True):
    """Within it, `annotate` and `set_current_meta` are heeded."""
    before = _kept[0], dict(_meta)
    _kept[0] = enable
    try:
        yield
    finally:
        _kept[0] = before[0]
        _meta.clear()
        _meta.update(before[1])


def has_preserved_node_meta():
    """Whether a `preserve_node_meta` is open."""
    return _kept[0]


@contextlib.contextmanager
def annotate(annotation_dict):
    """Steps made within it have the entries of a dict among their meta's "custom"."""
    before = _meta.get("custom")
    _meta["custom"] = {**(before or {}), **annotation_dict}
    try:
        yield
    finally:
        if before is None:
            _meta.pop("custom", None)
        else:
            _meta["custom"] = before


def annotate_fn(annotation_dict):
    """A decorator: what the function makes is annotated."""
    def decorate(fn):
        @functools.wraps(fn)
        def annotated(*args, **kwargs):
            with annotate(annotation_dict):
                return fn(*args, **kwargs)
        return annotated
    return decorate


@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """Steps made within it have a step's meta, if a `preserve_node_meta` is open."""
    if not (_kept[0] and node.meta):
        yield
        return
    before = dict(_meta)
    _meta.clear()
    _meta.update(node.meta)
    try:
        yield
    finally:
        _meta.clear()
        _meta.update(before)


def get_current_meta():
    """The meta that the next step would have."""
    return _meta


def set_stack_trace(stack):
    """Say which lines the next steps come from, within a `preserve_node_meta`."""
    if _kept[0] and stack:
        _meta["stack_trace"] = "".join(stack)


def format_stack():
    """The lines that the next steps come from."""
    return [_meta.get("stack_trace", "")] if _kept[0] else []


__getattr__ = _missing_attribute(__name__)
