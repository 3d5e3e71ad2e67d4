"""Memory that NumPy sees too: a Value whose contents others may change between two looks.

Such a Value has neither array nor trace; its `extra` is a Memory. Whoever needs an ordinary Value calls `present`: it takes
what is there now. When nobody outside holds the memory any more, the Value becomes an ordinary one.
"""
from __future__ import annotations

import sys

import numpy as np

CHUNK = 1 << 16            # elements compared at once
ALIGNMENT = 64             # of our own memory, in bytes, as torch's

getrefcount = sys.getrefcount


class Memory:
    """`flat` is the memory from a value's first element to its last; `origin` the user's array if it is theirs;
    `last` an ordinary Value of what was there when it was last looked at. `flat` may be the owner of the Value's own array."""
    __slots__ = ("flat", "origin", "meta", "last", "_room")

    @property
    def room(self):
        """What `allocated` can use again; None where the memory is the user's."""
        if self.origin is not None:
            return None
        if self._room is None:
            self._room = memoryview(self.flat.reshape(-1).view("B")) if self.flat.base is None else self.flat.base
        return self._room

    def __init__(self, flat, meta, last=None, origin=None):
        self.flat, self.meta, self.last, self.origin, self._room = flat, meta, last, origin, None

    def part(self, meta, offset):
        """The array with `meta`'s layout, `offset` elements from the beginning: it shares the memory."""
        if not meta.numel:
            return np.empty(meta.shape, meta.held)
        if meta.contiguous and not offset:
            return np.ndarray(meta.shape, meta.held, self.flat)
        size = meta.dtype.itemsize
        return np.ndarray(meta.shape, meta.held, self.flat, offset * size, [s * size for s in meta.strides])

    def seen(self):
        """Whether anybody but us holds the memory."""
        # a room holds the array that it was made from
        if getrefcount(self.flat) > ALONE + (self._room is not None and self.flat.base is None):
            return True
        if self.origin is None:
            return False
        return getrefcount(self.origin) > ALONE + 1 or _base_seen(self.origin)      # + 1: `flat` was made from it

    def now(self, value):
        """An ordinary Value of what `value`'s memory holds."""
        seen = self.seen()
        if not seen and self.flat.base is None and self._room is None and self.origin is None:
            value.array, value.extra = self.flat.reshape(self.meta.shape), None        # as it was: nobody else can write there any more
            return value
        root = self.part(self.meta, 0)
        if self.last is None or not same_bits(np.asarray(self.last.array), root):
            self.last = _ordinary(value, root.copy())
        if seen:
            return self.last
        value.array = self.last.array
        value.extra = None
        return value

    def store(self, value, array):
        """Write through: `array` becomes what `value`'s memory holds."""
        np.copyto(self.part(self.meta, 0), np.asarray(array))
        self.last = _ordinary(value, array)


def present(value):
    """An ordinary Value with what `value` holds now: itself unless others may write its memory."""
    memory = value.extra
    return memory.now(value) if memory.__class__ is Memory else value


def _ordinary(value, array):
    v = type(value)()
    v.trace = v.slot = v.extra = None
    v.meta, v.array = value.meta, array
    return v


def _base_seen(array):
    """Whether anybody else holds what `array` is a view of."""
    while array.base is not None:
        if not isinstance(array.base, np.ndarray) or getrefcount(array.base) > ALONE:
            return True
        array = array.base
    return not array.flags.owndata


_alone = Memory(object(), None)
ALONE = getrefcount(_alone.flat)               # what getrefcount says of an object that one attribute holds


def allocated(value, array, room=None):
    """Memory of our own with the contents of an ordinary Value, whose array is `array`: in `room`, another such Memory's,
    if that is given."""
    m = value.meta
    size = extent(m) * m.dtype.itemsize
    if room is None or len(room) != size:
        room = np.empty(size + ALIGNMENT, np.uint8)
        first = -room.ctypes.data % ALIGNMENT
        room = memoryview(room)[first:first + size]    # no ndarray: what users hold has `flat` as its base, and is counted there
    memory = Memory(np.frombuffer(room, np.uint8), m, value)
    np.copyto(memory.part(m, 0), array)
    return memory


class _Holder:
    __slots__ = ("value", "array")


def _holders(value):
    array = value.array
    return getrefcount(value), getrefcount(array)


def _fewest():
    """What `_holders` tells a caller who knows a Value from its only holder, of a Value and an array that nobody else has."""
    held = _Holder()
    held.value = _Holder()
    held.value.array = object()
    value = held.value
    return _holders(value)


FEWEST = _fewest()


_turned = np.empty(2).reshape(1, 2)
_BASE_ALONE = getrefcount(_turned.base)


def alone(value):
    """The array that owns the memory of a Value, where nobody but the Value's one holder knows either: then it may be written. Else None.
    To be called as `_holders` by `_fewest`."""
    array = value.array
    if value.extra is not None or array.__class__ is not np.ndarray or getrefcount(array) > FEWEST[1] or getrefcount(value) > FEWEST[0]:
        return None
    flags = array.flags
    if not (flags.c_contiguous and flags.writeable):
        return None
    if flags.owndata:
        return array
    if array.base.__class__ is not np.ndarray or getrefcount(array.base) > _BASE_ALONE:
        return None
    base = array.base
    return base if base.flags.owndata and base.flags.c_contiguous and base.size == array.size and base.dtype == array.dtype else None


def exposed(value, room, owner):
    """Memory of our own with the contents of an ordinary Value whose array exists, for NumPy to see: that memory itself where nobody else
    can tell, as `owner`, which `alone` gives, says. room: see `allocated`."""
    m, array = value.meta, value.array
    if room is None and m.contiguous and m.numel:
        return Memory(np.array(array, order="C"), m, value) if owner is None else Memory(owner, m)
    return allocated(value, np.asarray(array), room)


def borrowed(array, meta):
    """The memory of the user's array, which has no negative strides."""
    flat = np.lib.stride_tricks.as_strided(array, (extent(meta),), (array.itemsize,))
    return Memory(flat, meta, origin=array)


def extent(meta):
    """Elements from the first to the last."""
    return 1 + sum((n - 1) * s for n, s in zip(meta.shape, meta.strides)) if meta.numel else 0


def different_bits(a, b):
    """Which elements of two arrays of one shape and dtype have other bits."""
    if a.dtype.kind == "c":
        return different_bits(a.real, b.real) | different_bits(a.imag, b.imag)
    bits = f"u{a.dtype.itemsize}"
    return a.view(bits) != b.view(bits)


def same_bits(a, b):
    """Whether two arrays of one shape and dtype hold the same bits."""
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    bits = f"u{a.dtype.itemsize}"
    if a.size <= CHUNK or not (a.flags.c_contiguous and b.flags.c_contiguous):
        return bool((a.view(bits) == b.view(bits)).all())
    bits = bits if a.nbytes % 8 else "u8"      # at the speed of the memory
    a, b = a.reshape(-1).view(bits), b.reshape(-1).view(bits)
    return all((a[k:k + CHUNK] == b[k:k + CHUNK]).all() for k in range(0, a.size, CHUNK))
