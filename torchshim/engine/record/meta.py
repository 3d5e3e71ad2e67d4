"""What is known of an array without looking at it."""
from __future__ import annotations

import collections
import sys

import numpy as np

# two float16 next to each other; arrays hold their bits, see engine/half.py
COMPLEX_HALF, HELD = np.dtype([("real", np.float16), ("imag", np.float16)]), np.dtype(np.uint32)


class Meta:
    """Shape, element strides, dtype and device of a value. Interned: equal metas are one object,
    so a trace key compares and hashes them by identity.

    `device` is a JAX device, or the string "meta" for values that have no data. `held` is the dtype of arrays, which is `dtype` except
    where that is COMPLEX_HALF. `coincident`: its elements do not plainly lie in different places of the memory.
    """
    __slots__ = ("shape", "strides", "dtype", "held", "device", "numel", "ndim", "contiguous", "coincident", "_dense", "__weakref__")

    def __repr__(self):
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"

    @property
    def dense(self):
        """Whether the elements fill their memory without gaps or overlap, in whatever order of dimensions."""
        if self._dense is None:
            self._dense = self.contiguous or self._fills()
        return self._dense

    def _fills(self):
        step = 1
        for s, n in sorted([(s, n) for s, n in zip(self.strides, self.shape) if n != 1]):
            if s != step:
                return False
            step *= n
        return True


META_CAP = 10_000          # metas before those that nobody holds are forgotten
_interned: dict = {}
_full = META_CAP


def contiguous_strides(shape):
    """Row-major strides as torch counts them: a dimension of size 0 or 1 advances by at least 1."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n if n > 1 else 1
    return tuple(reversed(strides))


def is_contiguous(shape, strides):
    step = 1
    for n, s in zip(reversed(shape), reversed(strides)):
        if n == 0:
            return True
        if n != 1:
            if s != step:
                return False
            step *= n
    return True


def _apart(shape, strides):
    reach = 0
    for s, n in sorted(zip(strides, shape)):
        if n > 1:
            if s <= reach:
                return False
            reach += (n - 1) * s
    return True


def _forget():
    """Drop the metas that only the table holds. Those in use stay, since traces tell them apart by identity."""
    global _full
    entries = collections.Counter(map(id, _interned.values()))
    for key in list(_interned):
        m = _interned[key]
        if sys.getrefcount(m) <= entries[id(m)] + 2:        # `m` and the call hold it too
            del _interned[key]
            entries[id(m)] -= 1
    _full = max(META_CAP, 2 * len(_interned))


def _the(dtype):
    """NumPy's own object for a dtype: that of an array from a pickle is an equal one, of which NumPy says that it is not built in."""
    own = np.dtype(dtype.type)
    return own if own == dtype else dtype


def meta_of(shape, dtype, device, strides=None):
    """The one Meta with these fields; `strides` None means contiguous."""
    key = (shape, dtype, device, strides)
    m = _interned.get(key)
    if m is None:
        if len(_interned) > _full:
            _forget()
        shape = tuple(int(n) for n in shape)
        full = contiguous_strides(shape) if strides is None else tuple(strides)
        canonical = (shape, dtype, device, full)
        m = _interned.get(canonical)
        if m is None:
            m = Meta()
            m.shape, m.strides, m.dtype, m.device = shape, full, _the(np.dtype(dtype)), device
            if m.dtype == COMPLEX_HALF:
                m.dtype, m.held = COMPLEX_HALF, HELD
            else:
                m.held = m.dtype
            m.numel = 1
            for n in shape:
                m.numel *= n
            m.ndim, m._dense = len(shape), None
            m.contiguous = m.numel == 0 or is_contiguous(shape, full)
            m.coincident = not m.contiguous and not _apart(shape, full)
            m = _interned.setdefault(canonical, m)
        _interned[key] = m
    return m
