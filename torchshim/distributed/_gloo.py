"""Collectives on NumPy arrays, among the members of a group. `Call` is one collective call: what it sends is never mistaken for another's.

Where numbers are combined, gloo's order is kept, so that sums have gloo's digits: a tensor is cut into as many chunks as there are
processes, and a chunk is combined around the ring, ending at the process it belongs to.
"""
from __future__ import annotations

import numpy as np

from ._names import ReduceOp

_SEGMENT = 1 << 20


class Call:
    """One collective: `rank` of `size` members, whose processes are `ranks`; `key` names it at every member alike."""

    def __init__(self, peers, ranks, rank, key, timeout):
        self.peers, self.ranks, self.rank, self.size, self.key, self.timeout = peers, ranks, rank, len(ranks), key, timeout

    def put(self, to, data, part=""):
        """Send to member `to`."""
        self.peers.put(self.ranks[to], self.key + part, data)

    def take(self, source, part=""):
        """The bytes that member `source` sent."""
        return self.peers.take([self.ranks[source]], self.key + part, self.timeout)[1]

    def everyone(self, data, part=""):
        """Send to all others, beginning with the next."""
        for k in range(1, self.size):
            self.put((self.rank + k) % self.size, data, part)


def _raw(a):
    return memoryview(np.ascontiguousarray(a).reshape(-1).view(np.uint8))


def _like(data, a):
    return np.frombuffer(data, a.dtype).reshape(a.shape) if a.size else np.empty_like(a)


def _least(own, arrived):
    return np.where(arrived < own, arrived, own)


def _most(own, arrived):
    return np.where(own < arrived, arrived, own)


_COMBINE = {ReduceOp.SUM: np.add, ReduceOp.AVG: np.add, ReduceOp.PRODUCT: np.multiply, ReduceOp.MIN: _least, ReduceOp.MAX: _most,
            ReduceOp.BAND: np.bitwise_and, ReduceOp.BOR: np.bitwise_or, ReduceOp.BXOR: np.bitwise_xor}
_DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "bool", "int32", "int64", "complex64", "complex128")
_BOOL = {np.add: np.logical_or, np.multiply: np.logical_and}


def combiner(op, dtype):
    """The function of two arrays for a reduction. RuntimeError where gloo has none."""
    if dtype.name not in _DTYPES:
        raise RuntimeError("Invalid scalar type")
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR) and dtype.kind not in "iub":
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op not in _COMBINE:
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with Gloo")
    f = _COMBINE[op]
    return _BOOL.get(f, f) if dtype == bool else f


def _chunks(n, itemsize, size):
    """Where gloo cuts n items for `size` processes: a slice for each."""
    segments = max(-(-n * itemsize // _SEGMENT), 2 * size)
    segments = -(-segments // size) * size
    bytes_ = -(-(-(-n * itemsize // segments)) // itemsize) * itemsize
    each = bytes_ // itemsize * (segments // size)
    return [slice(min(c * each, n), min((c + 1) * each, n)) for c in range(size)]


def _around(parts, rank, f):
    """A chunk's combination: it begins before the process it belongs to, goes down the ring and ends there."""
    n = len(parts)
    made = parts[(rank - 1) % n]
    with np.errstate(all="ignore"):
        for k in range(2, n + 1):
            made = f(parts[(rank - k) % n], made)
    return made


def _own_chunk(call, pieces, f):
    """Send everybody the piece that is theirs, and combine those that came for this one."""
    for k in range(1, call.size):
        to = (call.rank + k) % call.size
        call.put(to, _raw(pieces[to]), "/a")
    mine = pieces[call.rank]
    return _around([mine if r == call.rank else _like(call.take(r, "/a"), mine) for r in range(call.size)], call.rank, f)


def all_reduce(call, a, op):
    """The arrays of all members combined."""
    f, flat = combiner(op, a.dtype), np.ascontiguousarray(a).reshape(-1)
    if a.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    cuts = _chunks(flat.size, flat.dtype.itemsize, call.size)
    mine = _own_chunk(call, [flat[c] for c in cuts], f)
    call.everyone(_raw(mine), "/b")
    out = np.empty_like(flat)
    for r, c in enumerate(cuts):
        out[c] = mine if r == call.rank else _like(call.take(r, "/b"), out[c])
    return out.view(a.dtype).reshape(a.shape)


def reduce(call, a, op, root):
    """The same at member `root`; None elsewhere."""
    f, flat = combiner(op, a.dtype), np.ascontiguousarray(a).reshape(-1)
    if a.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    cuts = _chunks(flat.size, flat.dtype.itemsize, call.size)
    mine = _own_chunk(call, [flat[c] for c in cuts], f)
    if call.rank != root:
        return call.put(root, _raw(mine), "/b")
    out = np.empty_like(flat)
    for r, c in enumerate(cuts):
        out[c] = mine if r == root else _like(call.take(r, "/b"), out[c])
    return out.view(a.dtype).reshape(a.shape)


def reduce_scatter(call, parts, op):
    """This member's part of the members' lists combined, with the digits of an `all_reduce` of the lists one after the other."""
    n = parts[0].size
    whole = all_reduce(call, np.concatenate([p.reshape(-1) for p in parts]), op)
    return whole[call.rank * n:(call.rank + 1) * n].reshape(parts[0].shape)


def broadcast(call, a, root):
    """The array of member `root`."""
    if call.rank == root:
        call.everyone(_raw(a))
        return a
    return _like(call.take(root), a)


def all_gather(call, a):
    """The arrays of all members, which have the same shape."""
    call.everyone(_raw(a))
    return [a if r == call.rank else _like(call.take(r), a) for r in range(call.size)]


def gather(call, a, root):
    """The same at member `root`; None elsewhere."""
    if call.rank != root:
        return call.put(root, _raw(a))
    return [a if r == root else _like(call.take(r), a) for r in range(call.size)]


def scatter(call, out, parts, root):
    """This member's array of the list at `root`; `out` has its shape."""
    if call.rank != root:
        return _like(call.take(root), out)
    for r, part in enumerate(parts):
        if r != root:
            call.put(r, _raw(part))
    return parts[root]


def all_to_all(call, parts, outs):
    """What each member's list has for this one; `outs` have their shapes."""
    for k in range(1, call.size):
        to = (call.rank + k) % call.size
        call.put(to, _raw(parts[to]))
    return [parts[r] if r == call.rank else _like(call.take(r), outs[r]) for r in range(call.size)]


def all_bytes(call, data):
    """The bytes of all members, of any length."""
    call.everyone(data)
    return [data if r == call.rank else bytes(call.take(r)) for r in range(call.size)]
