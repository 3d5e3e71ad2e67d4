"""Writes to picked elements where several of them, or they and what is written, lie in one place of memory: one after the other."""
from __future__ import annotations

import numpy as np

from ...engine import array_of
from ..core.handle import TensorBase, meta, offset_of, read
from ..core.tensor import tensor_from


def coincide(t, value):
    """Whether elements of a tensor lie in one place, or may do so with those of what is written."""
    m = meta(t)
    if m.contiguous and value._ts_st is not t._ts_st if isinstance(value, TensorBase) else m.contiguous:
        return False
    return (m.coincident or isinstance(value, TensorBase) and value._ts_st is t._ts_st and not (m.dense and meta(value).dense)) and m.numel > 0


def settled(t, index, value, accumulate):
    """What puts into the memory of `t` what is there after t[index] = value, or +=, element by element: a function to call after the
    write. index: a tensor or None for each dimension."""
    m, at = meta(t), offset_of(t)
    own = isinstance(value, TensorBase) and value._ts_st is t._ts_st
    spans = [(x, offset_of(x)) for x in ((t, value) if own else (t,))]
    first = min([o for _, o in spans])
    size = max([o + sum([(n - 1) * s for n, s in zip(meta(x).shape, meta(x).strides)]) for x, o in spans]) + 1 - first
    flat = lambda: t.data.as_strided((size,), (1,), first)
    places = np.arange(size)
    seen = lambda x, o: np.lib.stride_tricks.as_strided(places[o - first:], meta(x).shape, [8 * s for s in meta(x).strides])
    memory = np.array(array_of(read(flat())))
    picked = seen(t, at)[tuple([slice(None) if x is None else np.asarray(array_of(read(x))) for x in index])]
    if own:
        source = np.broadcast_to(seen(value, offset_of(value)), picked.shape)
        for p, q in zip(picked.ravel().tolist(), source.ravel().tolist()):
            memory[p] = memory[p] + memory[q] if accumulate else memory[q]
    else:
        values = np.asarray(array_of(read(value)) if isinstance(value, TensorBase) else value).astype(m.dtype)
        picked, values = picked.ravel(), np.broadcast_to(values, picked.shape).ravel()
        if accumulate:
            np.add.at(memory, picked, values)
        else:
            memory[picked] = values
    return lambda: flat().copy_(tensor_from(memory))
