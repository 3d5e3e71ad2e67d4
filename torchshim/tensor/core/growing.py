"""Memory that grows under the tensors that see it, as `resize_` lets it in torch: who saw a part of it sees that part of the larger one."""
from __future__ import annotations

import gc
import sys
import weakref
from types import SimpleNamespace

from ...ops.memory_views import as_strided as AS_STRIDED
from .handle import TensorBase, log_edge, offset_of
from .storage import ELSEWHERE, Storage, View, new_storage


#: id(Storage) -> its UntypedStorage, which keeps the Storage alive, as long as somebody holds it.
storage_objects = weakref.WeakValueDictionary()


class Outgrown(Storage):
    """What tensors left for larger memory: graphs that saved what lay here ask it for the version that those tensors count on there."""
    __slots__ = ()
    version = property(lambda self: self.bounds.version)


def _held(t):
    return sys.getrefcount(t._ts_st)


_ALONE = _held(SimpleNamespace(_ts_st=object()))


def others_with(t):
    """The other tensors that lie on a tensor's storage: the garbage collector knows, who is asked where something else holds that."""
    if _held(t) <= _ALONE:
        return []
    return [x for x in gc.get_referrers(t._ts_st) if isinstance(x, TensorBase) and x is not t and x._ts_st is t._ts_st]


def move(tensors, value):
    """Let tensors that lie on one storage see the same places of `value`, a vector that begins with what that holds."""
    old = tensors[0]._ts_st
    st, root = new_storage(value), old.value.meta
    st.version = old.version
    window = ((AS_STRIDED.resolve((root.shape, root.strides, 0, value.meta, "AsStridedBackward0"), (value.meta,), ""), ()),)
    for t in tensors:
        log_edge(t)
        before, vw = t._ts_view, View()
        vw.steps = window if before is None else window + before.steps
        vw.base, vw.creation = (None, None) if before is None else (before.base, before.creation)
        vw.skip = 0 if vw.base is None else ELSEWHERE
        vw.offset, vw.meta = offset_of(t), root if before is None else before.meta
        vw.ref, vw.gen, vw.seen = _unread, -1, None if before is None else before.seen
        t._ts_st, t._ts_view = st, vw
    held = storage_objects.pop(id(old), None)
    if held is not None:                       # it is that of the memory, whatever that has become
        held._ts_st, storage_objects[id(st)] = st, held
        if hasattr(old, "attributes"):
            st.attributes = old.attributes
    if old.__class__ is Storage:
        old.__class__, old.bounds = Outgrown, st
        old.gen += 1


def _unread():
    return None
