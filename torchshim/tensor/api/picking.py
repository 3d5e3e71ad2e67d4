"""Picking elements by index tensors: whether the indices are in range, and what is picked at once from arrays that NumPy has at hand."""
from __future__ import annotations

import math

import numpy as np

from ...engine import TRACED, context, expect, is_host, known, meta_of, present, record, user_site, value_of
from ...ops import index as I
from ...ops.registry import T
from ..core import host
from ..core.dispatch import apply, apply2, wrap
from ..core.elements import followed
from ..core.handle import look, meta, read
from ..core.host import HostStorage
from ..core.write import needs_grad


def host_known(v):
    """Whether a Value can be looked at for free."""
    return v.array is not None and v.extra is not TRACED and (v.meta.device == "meta" or is_host(v.meta.device))


def bounds_of(st):
    """(Value, what is not above its smallest element, what is not below its largest one) of a storage whose Value is on the host."""
    v = present(st.value)
    try:
        b = st.bounds
        if b[0] is v:
            return b
    except AttributeError:
        pass
    a = np.asarray(v.array)
    most = -1 if a.dtype != np.int64 or a.size < 2 else int(np.maximum.reduce(a.view(np.uint64), None))
    if a.size == 1:
        b = st.bounds = (v, int(a.item()), int(a.item()))
    elif 0 <= most < 2 ** 63:                  # none is negative
        b = st.bounds = (v, 0, most)
    else:
        b = st.bounds = (v, int(np.minimum.reduce(a, None)), int(np.maximum.reduce(a, None))) if a.size else (v, 0, -1)
    return b


def in_range(t, low, high, error):
    """Raise `error(index)` unless all elements of the index tensor lie in [low, high): now where the host knows them,
    else when the values are next looked at."""
    _refuse_outside(t, low, high, error)
    direct = context.trace.direct
    if direct is not None and direct.noted is not None:
        direct.note(_within(low, high), (read(t).array,))


def _within(low, high):
    """A function that refuses an array with an element that is not in [low, high)."""
    def check(a):
        if a.dtype == np.int64 and not low:
            inside = np.maximum.reduce(a.view(np.uint64), None, initial=0) < high
        else:
            inside = not a.size or low <= np.minimum.reduce(a, None) and np.maximum.reduce(a, None) < high
        if not inside:
            raise IndexError
        return ()
    return check


def _refuse_outside(t, low, high, error):
    m = meta(t)
    if not m.numel or m.device == "meta":
        return
    root = present(t._ts_st.value)
    if root.array is not None:
        if root.extra is TRACED:
            return
        if is_host(m.device):
            _, small, large = bounds_of(t._ts_st)
            if low <= small and large < high:
                return
            a = look(t)
            small, large = int(a.min()), int(a.max())
            if small < low or large >= high:
                flat = np.asarray(a).ravel()
                raise error(int(flat[np.argmax((flat < low) | (flat >= high))]))
            return
    if low >= high:
        raise error(0)
    v = read(t)
    a = known(v)
    if a is not None and is_host(m.device) and a.__class__ is np.ndarray:
        wrong = (a < low) | (a >= high)
        if wrong.any():
            raise error(int(a.ravel()[np.argmax(wrong)]))
        return
    if v.extra is TRACED:
        return
    flag(record(context, I.OUTSIDE, (T, low, high), (v,))[0], v, error, late=True)


def flag(bad, operand, error, what="index", late=False):
    """Have `error(value)` raised if the 0-d Value `bad`, made from `operand`, is not zero: now where few small operators make it, unless
    it is to be `late`; else at the next look, and it names the user's line, where `what` was used."""
    if bad.array is not None and bad.extra is TRACED:
        return
    a = None if late or not is_host(bad.meta.device) else known(bad)
    if a is not None:
        if np.asarray(a).item():
            raise error(int(np.asarray(a)))
        return
    site = user_site()

    def make():
        e = error(int(np.asarray(bad.array)))
        if site:
            e.add_note(f'The {what} was used at\n  File "{site[0]}", line {site[1]}, in {site[2]}')
        return e
    expect(context.trace, bad, operand, make)


# -- picking -------------------------------------------------------------------------------------------------------------------
def picked(op, tensors, layout):
    """`apply` of an operator that picks elements of `tensors[0]` by the others. From memory that NumPy sees too it takes no more than
    these, at once."""
    t, *indices = tensors
    if not host.shared(t._ts_st):
        found = _picked_now(op, t, indices, layout)
        if found is not None:
            return found
    elif not (context.grad and needs_grad(t)):
        metas = tuple([meta(x) for x in tensors])
        if all([m.device is metas[0].device for m in metas]) and not any([present(i._ts_st.value).extra is TRACED for i in indices]):
            value = host.picked(op, layout, t, metas, [np.asarray(look(i)) for i in indices])
            if value is not None:
                return wrap(value)
    return apply2(op, *tensors, layout) if len(tensors) == 2 else apply(op, tensors, layout)


FEW = 1 << 16             # elements that are picked at once, from arrays that are there: a record would cost more


def _picked_now(op, t, indices, layout):
    """`picked` without a record, where NumPy has everything at hand; else None."""
    pick, m = I.AT_ONCE.get(op), meta(t)
    if pick is None or m.held is not m.dtype or context.grad and needs_grad(t) or followed():
        return None
    if op is I.INDEX and (None in layout[1] or not (m.contiguous or len(indices) == m.ndim)):
        return None                            # the result lies otherwise
    a, given, size = at_hand(t), [], 1
    if a is None or not a.ndim:
        return None
    for i in indices:
        b, im = at_hand(i), meta(i)
        if b is None and i._ts_st.__class__ is not HostStorage and is_host(im.device):
            b = known(read(i))
            b = b if b.__class__ is np.ndarray else None
        if b is None or not im.ndim or op is I.INDEX and not im.contiguous or im.device is not m.device:
            return None
        given.append(b)
        size *= im.numel
    rest = m.shape[len(indices):] if op is I.INDEX else m.shape[:layout[1]] + m.shape[layout[1] + 1:] if op is I.INDEX_SELECT else ()
    if size * math.prod(rest) > FEW:
        return None
    return at_once(lambda a, *given: pick(a, layout, *given), (a, *given), m)


def at_once(f, arrays, m):
    """A tensor of what f(*arrays) gives, without a record, of the dtype and the device of the Meta `m`."""
    made, direct = f(*arrays), context.trace.direct
    if direct is not None and direct.noted is not None:
        direct.note(f, arrays, made)
    return _owner(made, m)


def masked(t, m, mask, xm):
    """t[mask], likewise."""
    if followed() or xm.device is not m.device or not (m.contiguous or xm.ndim == m.ndim) or host.shared(t._ts_st):
        return None
    check_mask(xm, m, 0)
    if mask._ts_st.value.extra is TRACED or not is_host(m.device):
        return None
    b, a = np.asarray(look(mask)), at_hand(t)
    return None if a is None else _owner(a[b], m)


def at_hand(t):
    """The array of a tensor whose memory is NumPy's already; else None."""
    return look(t) if t._ts_st.value.array.__class__ is np.ndarray and is_host(t._ts_st.value.meta.device) else None


def _owner(a, m):
    return wrap(value_of(a, meta_of(a.shape, m.dtype, m.device)))


def check_mask(xm, m, d):
    """The meta of a mask against the dimensions from `d` on that it indexes."""
    for k, n in enumerate(xm.shape):
        if m.shape[d + k] != n:
            raise IndexError(f"The shape of the mask {list(xm.shape)} at index {k} does not match the shape of the indexed tensor "
                             f"{list(m.shape)} at index {d + k}")
