"""What tensors are made of on the host: numbers, nested sequences and arrays as one NumPy array of torch's dtype, and torch's refusals."""
from __future__ import annotations

import functools
import itertools

import numpy as np

from ...engine import half
from ...engine.quiet import quiet
from ...ops import promotion as P
from ...ops.casts import as_float8
from .bind import number
from .parameters import name_in_c
from .views import warn_once
from ..core.dtype import FROM_NP, np_dtype
from ..core.handle import TensorBase


# -- from data ------------------------------------------------------------------------------------------------------------
def check_array(a):
    """torch's errors for arrays in whose memory no tensor can lie."""
    if a.dtype.names or a.dtype not in FROM_NP and a.dtype.newbyteorder("=") not in FROM_NP:
        raise TypeError(f"can't convert np.ndarray of type numpy.{a.dtype.type.__name__}. The only supported types are: float64, float32, "
                        "float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool.")
    if any(s < 0 for s in a.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                         "currently supported. (You can probably work around this by making a copy of your array  with array.copy().) ")
    if any(s % a.itemsize for s in a.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
                         "memory.")
    if not a.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte orders is "
                         "currently not supported.")


def host_array(data, dtype=None):
    """A NumPy array that is ours alone from anything that torch.tensor takes."""
    d, c = np_dtype(dtype), data.__class__
    if d is P.complex32:
        return half.pack(host_array(data, FROM_NP[P.complex64])).view(d)
    if c is list or c is tuple:                # as nearly always
        return _from_sequence(data, d)
    if c in _PLAIN:
        return _stored([data], d or _natural(c)).reshape(())
    if isinstance(data, TensorBase):
        a = data.detach()._ts_host()
        return _copied(a, d, "K")
    if isinstance(data, np.ndarray):
        check_array(data)
        return _copied(data, d)
    if isinstance(data, np.generic):
        if d is None:
            return host_array(np.asarray(data))
        data = data.item()
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        return host_array(np.asarray(data), dtype)
    if (isinstance(data, (list, tuple)) or hasattr(data, "__len__") and hasattr(data, "__getitem__")
            and not isinstance(data, (str, bytes, dict, set))):
        return _from_sequence(data, d)
    x = number(data)
    if x is not None:
        d = d or _natural(x.__class__)
        return _stored([x], d).reshape(()) if d is not P.complex32 else host_array(x, FROM_NP[d])
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if d is not None and P.kind_of(d) in (1, 2):
        raise TypeError(f"must be real number, not {type(data).__name__}" if P.kind_of(d) == 2 else
                        f"'{type(data).__name__}' object cannot be interpreted as an integer")
    raise RuntimeError(f"Could not infer dtype of {name_in_c(type(data))}")


def _natural(kind):
    """The dtype that a number of a Python type gets."""
    return {bool: P.bool_, int: P.int64, float: P.default_float}.get(kind) or P.default_complex()


@functools.cache
def _limits(d):
    """The smallest and the largest integer of a dtype."""
    info = np.iinfo(d)
    return int(info.min), int(info.max)


def _stored(numbers, d):
    """An array of dtype `d` of Python numbers, with torch's errors for those that it cannot hold."""
    kind, kinds = P.kind_of(d), {x.__class__ for x in numbers}
    if kind in (1, 2) and complex in kinds:
        raise TypeError("must be real number, not complex")
    if kind == 0:
        return np.array([x != 0 for x in numbers], bool)
    if d is P.int64 and kinds == {int}:
        try:                                   # NumPy refuses what does not fit
            return np.array(numbers, d)
        except OverflowError:
            pass
    if kind == 1:
        low, high = _limits(d)
        if float in kinds:
            numbers = [x if x.__class__ is not float else int(x) if x - x == 0 else high + 1 for x in numbers]
        least, most = min(numbers), max(numbers)
        if d == P.int64 and not low <= least <= most <= high:
            raise ValueError("Overflow when unpacking long long")
        if least < (low or -high) or most > high:
            raise RuntimeError(f"value cannot be converted to type {d} without overflow")
        if low == 0 > least:
            numbers = [x % (high + 1) for x in numbers]
    if kind == 2 and d.itemsize == 1:          # a float8 type
        return _copied(np.array(numbers, np.float64), d)
    return quiet(np.array, numbers, d)


def c_type(d):
    return {"int64": "int64_t", "int32": "int", "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t"}.get(d.name, d.name)


def _copied(a, d, order="C"):
    """A copy of the array, of dtype `d` where there is one."""
    a = a.real if d is not None and P.kind_of(d) < 3 and a.dtype.kind == "c" else a
    with np.errstate(all="ignore"):
        if d in P.FLOAT8 and d != a.dtype:
            a = as_float8(a.astype(np.float32), d)
        return np.array(a, dtype=d or a.dtype, order=order)


def _shape_of(seq, shape=()):
    """The shape that the first elements promise."""
    out = []
    while True:
        if isinstance(seq, TensorBase):
            return tuple(out)                  # an element: it counts as a number
        if isinstance(seq, np.ndarray):
            if out and seq.ndim:
                warn_once("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
                          "single numpy.ndarray with numpy.array() before converting to a tensor.")
            return tuple(out) + seq.shape
        if isinstance(seq, (str, bytes, dict, set, frozenset)) or not hasattr(seq, "__len__") or isinstance(seq, np.generic):
            return tuple(out)
        out.append(len(seq))
        if not len(seq):
            return tuple(out)
        try:
            first = seq[0]
        except Exception:
            raise ValueError(f"could not determine the shape of object type '{type(seq).__name__}'") from None
        if first is seq:
            raise ValueError(f"too many dimensions '{type(seq).__name__}'")
        seq = first


_PLAIN = {int, float, bool, complex}
SIMPLE = {*_PLAIN, list, tuple}


def _flatten(seq, shape, depth, out, kinds, wanted=None):
    if depth == len(shape):
        if isinstance(seq, TensorBase):
            kinds.add(seq._ts_meta.dtype)
            if seq.numel() == 1:
                seq._ts_tell_scalar()
            seq = seq.item() if seq.numel() == 1 else _bad(kinds, "tensors of a single element can be converted to an")
        elif isinstance(seq, (np.generic, np.ndarray)):
            kinds.add(seq.dtype)
            seq = seq.item() if seq.ndim == 0 else _bad(kinds, "scalar arrays can be converted to a scalar")
        else:
            c = seq.__class__
            if c not in _PLAIN:
                n = number(seq)
                if n is None:
                    if isinstance(seq, str) and not out:
                        raise ValueError("too many dimensions 'str'")      # torch looks for its elements, and theirs
                    if wanted is not None and P.kind_of(wanted) < 3:           # it is not asked what it is
                        raise TypeError(f"'{c.__name__}' object cannot be interpreted as an integer" if P.kind_of(wanted) < 2 else
                                        f"must be real number, not {c.__name__}")
                    if isinstance(seq, (str, bytes)):
                        raise TypeError(f"new(): invalid data type '{c.__name__}'")
                    if isinstance(seq, (list, tuple)):
                        if any([x is seq for x in seq]):
                            raise TypeError("new(): self-referential lists are incompatible")
                        inner = set()
                        _flatten(seq, _shape_of(seq), 0, [], inner)
                        inner = inner or {float}           # nothing is of the default dtype
                        raise TypeError(f"'{c.__name__}' object cannot be interpreted as an integer" if _whole(kinds | inner)
                                        else f"must be real number, not {c.__name__}")
                    raise RuntimeError(f"Could not infer dtype of {name_in_c(c)}")
                seq, c = n, n.__class__
            kinds.add(c)
        out.append(seq)
        return
    if isinstance(seq, TensorBase) or isinstance(seq, np.ndarray):
        a = seq.detach()._ts_host() if isinstance(seq, TensorBase) else seq
        if a.shape != shape[depth:]:
            raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(a) if a.ndim else 0})")
        kinds.add(a.dtype)
        out.extend(a.ravel().tolist())
        return
    if not hasattr(seq, "__len__") or isinstance(seq, str):
        raise TypeError("not a sequence")
    if len(seq) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(seq)})")
    if depth + 1 == len(shape):
        classes = set(map(type, seq))
        if classes <= _PLAIN:                  # Python numbers alone, as nearly always: nothing to ask of each
            kinds |= classes
            out.extend(seq)
            return
    for x in seq:
        _flatten(x, shape, depth + 1, out, kinds, wanted)


def _whole(kinds):
    """Whether all these types and dtypes are integers'."""
    return all([k in (int, bool) or getattr(k, "kind", "f") in "iub" for k in kinds])


def _bad(kinds, what):
    if _whole(kinds):
        raise TypeError(f"only integer {what} index")
    raise ValueError("only one element tensors can be converted to Python scalars")


_NESTED = {list, tuple}


def _even(data):
    """(elements, shape, their types) of nested lists and tuples of Python's own numbers; None of anything else, which is looked at element by
    element."""
    shape = [len(data)]
    while len(shape) < 9:
        kinds = set(map(type, data))
        if kinds <= _PLAIN:
            return (data, shape, kinds) if data else None
        if not kinds <= _NESTED or len(lengths := set(map(len, data))) > 1:
            return None
        shape += lengths
        first, data = data[0], list(itertools.chain.from_iterable(data))
        if data and data[0] is first:          # a list in itself
            return None
    return None


def _from_sequence(data, d):
    known = data.__class__ in _NESTED          # other sequences are asked for their first element before they are gone through
    if known and d is None and set(map(type, data)) == {int}:
        return _stored(data, P.int64)
    found = _even(data) if known else None
    if found is not None:
        flat, shape, kinds = found
    else:
        shape = _shape_of(data)
        flat, kinds = [], set()
        if 0 in shape:
            return np.empty(shape, d or P.default_float)
        _flatten(data, shape, 0, flat, kinds, d)
    if d is None:
        for k in kinds:
            here = k if isinstance(k, np.dtype) else _natural(k)
            d = here if d is None else P.promote(d, here)
    return _stored(flat, d).reshape(shape) if d is not P.complex32 else half.pack(_stored(flat, P.complex64).reshape(shape)).view(d)
