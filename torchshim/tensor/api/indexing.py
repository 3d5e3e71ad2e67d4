"""tensor[index] and tensor[index] = value in every form that torch takes.

A basic index (ints, slices, None, ...) is one view; what tensors, lists and masks pick is one operator on top of it.
"""
from __future__ import annotations

import weakref
from operator import index
from types import EllipsisType

import numpy as np

from ...engine import TRACED, context, is_host, warn
from ...ops import index as I
from ...ops import promotion as P
from ...ops.registry import PACKED, SB, SC, SF, SI, T
from ...ops.shape import FILL, FILL_ITEM
from ...ops.views import SELECT, SLICE, alias as ALIAS, slice_op as SLICE_OP, whole
from .bind import number, pack
from .parameters import type_name
from ..core.dispatch import Tensor, apply2
from ..core.elements import at_hand, element
from ..core.handle import TensorBase, edge, look, meta, offset_of, read, refusal
from ..core.host import HostStorage
from ..core.view import make_view
from ..core.inplace import put_slice, put_slice_number
from ..core.write import (apply_inplace, check_inplace, count, is_inference, leaves_first, needs_grad, overlap_in_part, put_slice_any,
                          refuse_overlap)
from .coinciding import coincide, settled
from .picking import check_mask, in_range, masked, picked
from .shape import fill_, filler
from ..core.tensor import tensor_from
from .slicing import NEW_DIM, all_of, basic_index, basic_of, sliced
from .views import alias_of, expanded, reshaped, view

UINT8_MASK = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
NUMBER_NAME = {SB: "bool", SI: "int", SF: "float", SC: "complex"}


# -- reading an index -----------------------------------------------------------------------------------------------------------
def _invalid(x):
    return IndexError(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
                      f"{type_name(x)})")


def _as_tuple(key):
    """A list that holds slices, tensors or lists counts as a tuple, and a tuple of another class is one."""
    if isinstance(key, tuple):
        return key if key.__class__ is tuple else tuple(key)
    if isinstance(key, (list, range, str)) and len(key) < 32:
        for x in key:
            if x is None or isinstance(x, (TensorBase, list, tuple, range, slice, EllipsisType, str)):
                warn("Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
                     "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], "
                     "which will result either in an error or a different result")
                return tuple(key)
    return (key,)


def _listed(x, device):
    """A list of integers or booleans as a tensor."""
    if isinstance(x, np.ndarray):
        a = x
    else:
        a = np.asarray(_plain(x))
        if a.dtype == object:
            raise _invalid(x)
        if not a.size:
            a = a.astype(np.int64)
        if a.dtype.kind in "US":
            raise TypeError("new(): invalid data type 'str'")
    if a.dtype.kind == "f":
        a = a.astype(np.int64)
    if a.dtype.kind not in "biu":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return tensor_from(np.array(a), device)


def _plain(x):
    if isinstance(x, TensorBase):
        return look(x)
    return [_plain(y) for y in x] if isinstance(x, (list, tuple, range)) else x


_MASKS = frozenset([np.dtype(np.bool_), np.dtype(np.uint8)])
_PLACES = _MASKS | {np.dtype(np.int64), np.dtype(np.int32)}


def _is_mask(m):
    return m.dtype in _MASKS


def _consumes(x):
    """How many dimensions an entry indexes."""
    if x is None or x is True or x is False or x is Ellipsis:
        return 0
    if isinstance(x, TensorBase):
        m = meta(x)
        return m.ndim if _is_mask(m) else 1
    return 1


def _prepared(key, device):
    """Entries of an index with lists, arrays and NumPy numbers made tensors and ints."""
    out = []
    for x in _as_tuple(key):
        c = x.__class__
        if c is int or c is slice or x is None or x is Ellipsis or c is bool or isinstance(x, TensorBase):
            out.append(x)
        elif isinstance(x, np.ndarray) or isinstance(x, (list, tuple, range)):
            if isinstance(x, np.ndarray) and not x.ndim:
                out.append(bool(x) if x.dtype == bool else int(x))
            else:
                out.append(_listed(x, device))
        elif isinstance(x, str):
            raise TypeError("new(): invalid data type 'str'")
        elif isinstance(x, (float, np.bool_)) or not hasattr(x, "__index__"):
            raise _invalid(x)
        else:
            out.append(x.__index__())
    return out


def parse(t, key):
    """(spec, storage offset, name of the view's grad_fn or None, {dimension of the view: index tensor})."""
    m = meta(t)
    shape, strides, ndim = m.shape, m.strides, m.ndim
    entries = _prepared(key, m.device)
    used = 0
    for x in entries:
        used += _consumes(x)
    if used > ndim:
        if not ndim and len(entries) == 1 and key.__class__ is not tuple:
            if entries[0].__class__ is int and entries[0]:
                raise IndexError(f"index {entries[0]} is out of bounds for dimension 0 with size 0")
            if entries[0].__class__ is int:
                raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert "
                                 "a 0-dim tensor to a number")
            if entries[0].__class__ is slice:
                raise refusal(t, IndexError("slice() cannot be applied to a 0-dim tensor."))
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    spec, at, name, picks = [], offset_of(t), None, {}
    d = place = 0
    for k, x in enumerate(entries):
        c = x.__class__
        if c is int:
            n = shape[d]
            if not -n <= x < n:
                raise IndexError(f"index {x} is out of bounds for dimension {k} with size {n}")
            i = x + n if x < 0 else x
            spec.append((SELECT, i, 0, 1))
            at += i * strides[d]
            d, name = d + 1, "SelectBackward0"
        elif c is slice:
            start, length, step = cut(x, shape[d])
            if start or x.start or length != shape[d] or step != 1:
                at += start * strides[d]
                name = "SliceBackward0"
            spec.append((SLICE, start, length, step))
            d, place = d + 1, place + 1
        elif x is None:
            spec.append(NEW_DIM)
            place, name = place + 1, "UnsqueezeBackward0"
        elif x is Ellipsis:
            for _ in range(ndim - used):
                spec.append(whole(shape[d]))
                d, place = d + 1, place + 1
            used = ndim
        elif c is bool:
            spec.append(NEW_DIM)
            picks[place] = tensor_from(np.zeros(1 if x else 0, np.int64), m.device)
            place, name = place + 1, "UnsqueezeBackward0"
        else:
            xm = meta(x)
            if P.kind_of(xm.dtype) > 1 or xm.ndim and xm.dtype not in _PLACES:
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            if xm.dtype == np.uint8:
                warn(UINT8_MASK)
            if not xm.ndim and not _is_mask(xm):
                v = x._ts_st.value
                if v.extra is not TRACED and v.meta.device != "meta":
                    i, n = int(look(x)), shape[d]
                    if not -n <= i < n:
                        raise IndexError(f"index {i} is out of bounds for dimension {k} with size {n}")
                    i = i + n if i < 0 else i
                    spec.append((SELECT, i, 0, 1))
                    at += i * strides[d]
                    d, name = d + 1, "SelectBackward0"
                    continue
            if not xm.ndim and _is_mask(xm):
                spec.append(NEW_DIM)
                picks[place] = x
                place, name = place + 1, "UnsqueezeBackward0"
                continue
            picks[place] = x if xm.ndim else x.long()
            for _ in range(xm.ndim if _is_mask(xm) else 1):
                spec.append(whole(shape[d]))
                d, place = d + 1, place + 1
    while d < ndim:
        spec.append(whole(shape[d]))
        d += 1
    return tuple(spec), at, name, picks


def cut(s, n):
    """(start, length, step) of a slice of n elements."""
    try:
        step = 1 if s.step is None else index(s.step)
    except TypeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None
    if step < 0:
        raise ValueError("step must be greater than zero")
    start, stop, step = s.indices(n)
    return start, -(-(stop - start) // step) if stop > start else 0, step


FIRST = (T, (T,))                          # layout of x[tensor]


# -- x[index] -------------------------------------------------------------------------------------------------------------------
def getitem(self, key):
    """self[key]"""
    m = meta(self)
    known = basic_index(m, key)
    if known is not None:
        if known.single and not (context.grad and needs_grad(self)) and at_hand(self):
            return element(self, m, known.layout[0], known.shift)
        if known.name is None:
            return alias_of(self)
        vw = self._ts_view
        return make_view(self, SLICE_OP, known.layout, known.shift if vw is None else vw.offset + known.shift)
    c = key.__class__
    if c is slice:
        if m.ndim:
            return sliced(self, 0, *cut(key, m.shape[0]))
    elif isinstance(key, TensorBase):
        km = meta(key)
        if m.ndim and km.ndim and km.dtype == np.int64 and m.shape[0] and km.device is m.device:
            n = m.shape[0]
            in_range(key, -n, n, lambda i: refusal(self, IndexError(f"index {i} is out of bounds for dimension 0 with size {n}")))
            return apply2(I.INDEX, self, key, FIRST) if context.grad and needs_grad(self) else picked(I.INDEX, (self, key), FIRST)
        if km.dtype == np.bool_ and 0 < km.ndim <= m.ndim and not (context.grad and needs_grad(self)):
            found = masked(self, m, key, km)
            if found is not None:
                return found
    spec, at, name, picks = parse(self, key)
    if not picks:
        return make_view(self, SLICE_OP, (spec, name), at) if name is not None else alias_of(self)
    t = make_view(self, SLICE_OP, (spec, name), at) if name is not None else self
    return pick(t, picks)


def pick(t, picks):
    """t indexed by tensors at some dimensions."""
    edge(t)                                    # a history that was lost is told before places that there are not
    tensors, layout = _index_list(t, picks)
    return picked(I.INDEX, [t, *tensors], (T, layout))


MASKS = weakref.WeakKeyDictionary()    # of the memory of places that were made of a mask: (it, their dimension in it), where hooks ask


def _index_list(t, picks):
    """(index tensors, the operator's index layout): masks become places, and places are checked."""
    m = meta(t)
    full = {}
    for d, x in picks.items():
        xm = meta(x)
        if _is_mask(xm):
            if not xm.ndim:
                x = reshaped(x, (1,))
                xm = meta(x)
            check_mask(xm, m, d)
            if xm.device == "meta":
                raise NotImplementedError("indexing with a mask on the meta device: the result's shape depends on data")
            for k, a in enumerate(np.nonzero(np.asarray(look(x)))):
                places = full[d + k] = tensor_from(a, xm.device)
                places._ts_st.bounds = places._ts_st.value, 0, xm.shape[k] - 1         # for `in_range`
                if "saved tensors hooks" in context.modes:
                    MASKS[places._ts_st] = x, k
        else:
            full[d] = x
    check_places(m, full)
    last = max(full)
    tensors = [full[d] for d in sorted(full)]
    if m.device != "meta":
        tensors = [x if meta(x).device is m.device else _beside(x, t) for x in tensors]
    return tensors, tuple([T if d in full else None for d in range(last + 1)])


def _beside(index, t):
    """An index tensor of another device than the tensor's: the host's may be used anywhere."""
    if is_host(meta(index).device):
        return index.to(device=t.device)
    if index.is_meta:
        return index
    raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({t.device})")


def check_places(m, full):
    """Index tensors against the sizes of the dimensions that they index."""
    I.indexed_shape(m.shape, [meta(full[d]) if d in full else None for d in range(max(full) + 1)])
    for k, d in enumerate(sorted(full)):
        n = m.shape[d]
        if n:
            in_range(full[d], -n, n, lambda i, k=k, n=n: IndexError(f"index {i} is out of bounds for dimension {k} with size {n}"))
        elif meta(full[d]).numel and all(meta(x).numel for x in full.values()):
            raise IndexError("index is out of bounds for dimension with size 0")


# -- x[index] = value -----------------------------------------------------------------------------------------------------------
def setitem(self, key, value):
    """self[key] = value"""
    if not isinstance(value, TensorBase):
        n = number(value)
        if n is None or isinstance(value, np.generic) and not isinstance(value, (float, complex, np.integer)):
            raise TypeError(f"can't assign a {_type_of(value)} to a {_legacy(self)}")
        value = n
        if n.__class__ is complex:             # a number that does not fit is told before an index that is none
            pack(filler(n, meta(self), "fill_", True), [])
    if key is False:
        return
    if key is True:                            # a dimension more, written to as any basic index is
        key = None
    m = meta(self)
    known = basic_index(m, (key,) if key.__class__ is slice else key)          # all of it is itself here
    if known is not None:
        if _set_plain(self, m, known, value):
            return
        (spec, name), at, picks = known.layout, offset_of(self) + known.shift, None
    else:
        spec, at, name, picks = parse(self, key)
        if not picks and _set_plain(self, m, basic_of(m, spec, name, at - offset_of(self)), value):
            return
    t = self if name is None else make_view(self, SLICE_OP, (spec, name), at)
    if isinstance(value, TensorBase) and (picks or value is not t) and value._ts_view is not None and needs_grad(value):
        shape = meta(value).shape
        if picks and shape[:1] != (1,):
            check_inplace(t, True)
        if picks or shape and shape != meta(t).shape:          # else it is not reshaped first
            edge(value)                        # a history that was lost is told before shapes that do not fit
    if picks:
        with leaves_first(t, value):
            _put(t, picks, value)
        return
    given = not isinstance(value, TensorBase)          # a number
    if not given and meta(value).shape != meta(t).shape and meta(value).ndim:
        value = _without_ones(value, True)
        expand_check(meta(value), meta(t))
        if meta(value).shape != meta(t).shape:
            value = expanded(value, meta(t).shape)
    if given or value._ts_st is not t._ts_st or meta(value) != meta(t) or offset_of(value) != offset_of(t):    # itself is not copied
        with leaves_first(t):
            refuse_overlap(t)
    if given or not meta(value).ndim and meta(t).ndim:
        fill_(t, value, FILL_ITEM if given else FILL)
        return
    t.copy_(value)


def _set_plain(self, m, known, value):
    """Write a basic index, a Basic, in one step, where no gradients are in play. Whether it was done."""
    if not known.plain or (context.grad and needs_grad(self)) or is_inference(self):
        return False
    hosted = self._ts_st.__class__ is HostStorage      # others see the memory: only what is written of it may be touched
    if not isinstance(value, TensorBase):
        if hosted:
            return False
        nums = []
        token = pack(filler(value, m, "fill_", True), nums)
        layout, kinds = (known.put[0], NUMBER_NAME[token]), PACKED[token]
        if token is SC:
            put_slice_any(self, None, layout, nums, kinds)
        else:
            put_slice_number(self, nums[0], layout, kinds)
        return True
    vm = meta(value)
    if vm.device is not m.device or (context.grad and needs_grad(value)):
        return False
    shared = value._ts_st is self._ts_st
    part = known.part(m)
    if shared:
        if _is_part(value, self, known.put[0]):
            count(self)                        # the end of `x[key] += y`: it is there already
            return True
        if overlap_in_part(part, offset_of(self) + known.shift, vm, offset_of(value)):
            return False
    if hosted or P.kind_of(vm.dtype) == 3 and P.kind_of(m.dtype) != 3:
        return False
    if vm.shape != part.shape and vm.ndim:
        value = _without_ones(value)
        expand_check(meta(value), part)
    put_slice(self, value, known.put)
    return True


def _is_part(part, t, spec):
    """Whether the tensor `part` is the view of `t` through the basic index `spec`."""
    steps = part._ts_view.steps if part._ts_view is not None else ()
    before = t._ts_view.steps if t._ts_view is not None else ()
    if len(steps) != len(before) + 1 or steps[:-1] != before:
        return False
    inst, nums = steps[-1]
    if inst.op is not SLICE_OP:
        return inst.op is ALIAS and spec == all_of(inst.out.shape)
    places = iter(nums)
    return spec == tuple([(e[0], next(places), e[2], e[3]) if e[1] is None else e for e in inst.layout[0]] if nums else inst.layout[0])


def expand_check(vm, m):
    """torch's errors for a value that cannot be expanded to the target's shape."""
    if vm.ndim > m.ndim:
        raise RuntimeError(f"expand({P.type_name(vm.dtype)}{{{list(vm.shape)}}}, size={list(m.shape)}): the number of sizes provided "
                           f"({m.ndim}) must be greater or equal to the number of dimensions in the tensor ({vm.ndim})")
    lead = m.ndim - vm.ndim
    for d in range(vm.ndim - 1, -1, -1):
        if vm.shape[d] != 1 and vm.shape[d] != m.shape[d + lead]:
            raise RuntimeError(f"The expanded size of the tensor ({m.shape[d + lead]}) must match the existing size ({vm.shape[d]}) at "
                               f"non-singleton dimension {d + lead}.  Target sizes: {list(m.shape)}.  Tensor sizes: {list(vm.shape)}")


def _without_ones(value, always=False):
    """A value without leading dimensions of size 1; `always` as a view, which it is in torch's graphs."""
    s = meta(value).shape
    k = 0
    while k < len(s) and s[k] == 1:
        k += 1
    return view(value, s[k:]) if always else reshaped(value, s[k:]) if k else value


def _type_of(x):
    c = type(x)
    return c.__name__ if c.__module__ == "builtins" else f"{c.__module__}.{c.__name__}"


def _legacy(t):
    return f"torch.{P.c_name(meta(t).dtype)}Tensor"


def _put(t, picks, value):
    m = meta(t)
    tensor = isinstance(value, TensorBase)
    if tensor:
        vm = meta(value)
        if vm.device is not m.device and vm.numel == 1 and not vm.ndim:
            value = value.to(device=t.device)
        value = _without_ones(value)
        vm = meta(value)
        if value._ts_st is t._ts_st or any([x._ts_st is t._ts_st for x in picks.values()]):
            # torch finds the places of a mask without dimensions before it looks where memory lies, and this before it looks at shapes
            picks = {d: x if meta(x).ndim or P.kind_of(meta(x).dtype) > 1 or meta(x).dtype == np.int64 else x.clone() for d, x in picks.items()}
            if vm.numel != 1:
                if needs_grad(t) or needs_grad(value):
                    check_inplace(t, True)
                refuse_overlap(t, (t, *picks.values(), value), "put")
    else:
        value = filler(value, m, "index_put_")
    if len(picks) == 1:
        (d, mask), = picks.items()
        xm = meta(mask)
        if xm.dtype == np.uint8 and xm.numel > 1 and (not tensor or vm.numel == 1):
            check_mask(xm, m, d)
            I._check_mask(m, xm)               # torch fills with one value, which asks for a bool mask
        if xm.dtype == np.bool_ and xm.ndim:
            check_mask(xm, m, d)
            if not tensor:
                nums = []
                token = pack(value, nums)
                written(t, (mask,), (None,) * d + (T,), value, False,
                        lambda: apply_inplace(I.MASK_PUT_NUMBER.inplace_op, (t, mask), (T, T, token, d), nums, PACKED[token], overlap="put"))
                return
            if vm.numel == 1 and P.kind_of(vm.dtype) == 3 != P.kind_of(m.dtype):
                n = value.item()
                P.refuse_beyond(n.real, m.dtype, n.imag != 0)
            rest = m.ndim - d - xm.ndim
            k = vm.ndim - rest - 1
            if (vm.numel == 1 or vm.dtype == m.dtype) and _broadcasts(vm, m.shape[:d] + (None,) + m.shape[d + xm.ndim:]):
                if k >= 0 and vm.shape[k] == 1:        # one value for all places
                    value = reshaped(value, vm.shape[:k] + (1,) * xm.ndim + vm.shape[k + 1:])
                    k = -1
                if k < 0:
                    apply_inplace(I.MASK_PUT.inplace_op, (t, mask, value), (T, T, T, d),
                                  overlap="fill" if meta(value).numel == 1 else "put")
                    return
                if not d and not k and m.device != "meta":
                    _expect_count(mask, vm, m, rest)
                    apply_inplace(I.MASK_PUT_ROWS.inplace_op, (t, mask, value), (T, T, T), overlap="put")
                    return
    if tensor:
        refuse_overlap(t, (t, *[x for x in picks.values() if isinstance(x, TensorBase)], value), "put")
    tensors, layout = _index_list(t, picks)
    if not tensor:
        nums = []
        token = pack(value, nums)
        written(t, tensors, layout, value, False,
                 lambda: apply_inplace(I.INDEX_PUT_NUMBER.inplace_op, (t, *tensors), (T, layout, token), nums, PACKED[token], overlap="put"))
        return
    put_values(t, tensors, layout, value, False)


def _metas(tensors, layout):
    it = iter(tensors)
    return [None if x is None else meta(next(it)) for x in layout]


def put_values(t, tensors, layout, value, accumulate):
    """t[tensors] = value, or += with accumulate; in place."""
    m = meta(t)
    if needs_grad(t) or needs_grad(value):
        check_inplace(t, True)
        if value._ts_view is not None:
            edge(value)                        # a history that was lost is told before shapes that do not fit
    refuse_overlap(t, (t, *tensors, value), "put")
    _check_put(m, tensors, layout, meta(value))
    if not m.contiguous and any([s == 0 and n > 1 for n, s in zip(m.shape, m.strides)]):
        warn("Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This also "
             "applies to advanced indexing e.g. tensor[indices] = tensor")
    return written(t, tensors, layout, value, accumulate,
                    lambda: apply_inplace(I.INDEX_PUT.inplace_op, (t, *tensors, value), (T, layout, T, accumulate), overlap="put"))


def written(t, tensors, layout, value, accumulate, write):
    """What `write` gives, after which memory holds what is written there element by element."""
    if "transform" in context.modes or not coincide(t, value):
        return write()
    rest = iter(tensors)
    then = settled(t, [None if x is None else next(rest) for x in layout], value, accumulate)
    made = write()
    then()
    return made


def _check_put(m, tensors, layout, vm):
    shape, _, _ = I.indexed_shape(m.shape, _metas(tensors, layout))
    _fits(vm, shape)
    _same_dtype(m, vm)


def _same_dtype(m, vm):
    if vm.dtype != m.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {P.c_name(m.dtype)} for the destination and "
                           f"{P.c_name(vm.dtype)} for the source.")


def _broadcasts(vm, shape):
    """Whether a value broadcasts to a shape; None in it stands for a size that depends on data."""
    return vm.ndim <= len(shape) and all([n == 1 or k is None or n == k for n, k in zip(vm.shape[::-1], shape[::-1])])


def _fits(vm, shape):
    if not _broadcasts(vm, shape):
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(vm.shape)} cannot be broadcast to indexing result of shape "
                           f"{list(shape)}")


def _expect_count(mask, vm, m, rest):
    """The mask must choose as many places as the value has rows."""
    n, tail = vm.shape[0], list(m.shape[m.ndim - rest:])

    if read(mask).extra is TRACED:
        return
    count = int(np.count_nonzero(np.asarray(look(mask))))
    if count != n:
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(vm.shape)} cannot be broadcast to indexing result of shape "
                           f"{[count] + tail}")


def delitem(self, key):
    """Refused."""
    raise TypeError("Tensor does not support deleting items")


Tensor.__getitem__, Tensor.__setitem__, Tensor.__delitem__ = getitem, setitem, delitem
getitem.__name__, setitem.__name__, delitem.__name__ = "__getitem__", "__setitem__", "__delitem__"     # who is asked reads it
