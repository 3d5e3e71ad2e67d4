"""Tensors compressed by rows or columns, or by blocks of these."""
from __future__ import annotations

import math

import numpy as np

from ..api.bind import FUNCTIONS as F
from ..core import settings
from ..core.device import to_jax
from ..core.dtype import FROM_NP
from ..core.tensor import Tensor
from .base import COO, LAYOUTS, NAMES, handles, host, is_sparse, known, made, on
from .coo import at, coalesce, from_dense, wanting
from .history import plain, traced

CSR, CSC, BSR, BSC = (LAYOUTS[n] for n in ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"))
_FLIPPED = {CSR: CSC, CSC: CSR, BSR: BSC, BSC: BSR}


def by_rows(layout):
    """Whether rows are compressed, not columns."""
    return layout is CSR or layout is BSR


def blocked(layout):
    """Whether values are blocks."""
    return layout is BSR or layout is BSC


def _part_names(layout):
    return ("crow", "row", "col") if by_rows(layout) else ("ccol", "column", "row")


def block_of(s):
    """(height, width) of a compressed tensor's blocks, or None."""
    lead = s._index[0].dim()
    return tuple(s._vals.shape[lead:lead + 2]) if s._layout is not COO and blocked(s._layout) else None


def held_dims(s):
    """How many dense dimensions a sparse tensor has."""
    return s._vals.dim() - (1 if s._layout is COO else s._index[0].dim() + (2 if blocked(s._layout) else 0))


def compressed_tensor(compressed, plain_indices, values, size=None, layout=None, dtype=None, device=None, requires_grad=False,
                      check_invariants=None):
    """A matrix that holds `values`; those of row (or column) k begin at compressed[k], in the columns (rows) that `plain_indices` tell.

    size: the shape, or else the smallest that fits. Raises RuntimeError where the parts do not fit together.
    """
    if layout is None:
        raise RuntimeError("sparse_compressed_tensor: expected a layout")
    if layout not in _FLIPPED:
        raise RuntimeError(f"sparse_compressed_tensor: expected a compressed layout, but got {layout}")
    values = values if isinstance(values, Tensor) else F["tensor"](values, dtype=dtype, device=device)
    if dtype is not None or device is not None:
        values = values.to(device=device, dtype=dtype)
    compressed, rest = [(t if isinstance(t, Tensor) else F["tensor"](t)).to(device=values.device) for t in (compressed, plain_indices)]
    name = f"{layout.name}_tensor"
    lead, own = compressed.dim() - 1, 2 if blocked(layout) else 0          # batch dimensions; those of a block
    if lead < 0 or rest.dim() != lead + 1:
        names = _part_names(layout)
        raise RuntimeError(f"{names[0]}_indices must have dimensionality >= 1 but got {compressed.dim()}" if lead < 0 else
                           f"{names[0]}_indices and {names[2]}_indices dimensionalities must be equal but got {compressed.dim()} and "
                           f"{rest.dim()}, respectively")
    if values.dim() < lead + 1 + own:
        raise RuntimeError(f"values must have dimensionality > sum of batch and block dimensionalities (={lead} + {own}), but got "
                           f"{values.dim()}")
    block, dense = tuple(values.shape[lead + 1:lead + 3]) if own else (1, 1), tuple(values.shape[lead + 1 + own:])
    batch = tuple(compressed.shape[:-1])
    if size is None:
        n, where = compressed.shape[-1] - 1, host(rest)
        size = (n, int(where.max()) + 1 if where.size else 0)
        size = size if by_rows(layout) else size[::-1]
        size = (*batch, size[0] * block[0], size[1] * block[1], *dense)
    size = tuple(size)
    if len(size) != lead + 2 + len(dense):
        raise RuntimeError(f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={lead} + 2 + {len(dense)}) but "
                           f"got {len(size)}")
    if size[lead + 2:] != dense:
        raise RuntimeError(f"values must have dense dimensions {list(size[lead + 2:])}, but got {list(dense)}")
    for part, which in ((rest, _part_names(layout)[2] + "_indices"), (values, "values")):
        if tuple(part.shape[:lead]) != batch or size[:lead] != batch:
            raise RuntimeError(f"all batch dimensions of the compressed indices (={list(batch)}), {which} (={list(part.shape[:lead])}), "
                               f"and of the size (={list(size[:lead])}) must be equal in {name}")
    rows = size[lead] // block[0] if by_rows(layout) else size[lead + 1] // block[1]
    names = _part_names(layout)
    if compressed.shape[-1] != rows + 1:
        raise RuntimeError(f"{names[0]}_indices.shape[-1] must be equal to the number of "
                           f"{names[1]}{'' if not blocked(layout) else ' blocks'}s + 1 (={rows + 1}), but got {compressed.shape[-1]}")
    if rest.shape[-1] != values.shape[lead]:
        raise RuntimeError(f"{names[2]}_indices and values must have the same number of elements, but got {rest.shape[-1]} and "
                           f"{values.shape[lead]}")
    if not values.is_meta and settings.checks_sparse(check_invariants):
        width = size[lead + 1] // block[1] if by_rows(layout) else size[lead] // block[0]
        for begin, where in zip(host(compressed).reshape(-1, rows + 1), host(rest).reshape(-1, rest.shape[-1])):
            _check(begin, where, width, names)
    s = made(layout, (compressed.detach(), rest.detach()), values.detach(), size)
    if requires_grad:
        return wanting(s, True)
    return traced("SparseCompressedTensorBackward0", s, (values,), (lambda g: at(g, plain(s)),))


def empty_compressed(size, layout, dtype=None, device=None):
    """A matrix of zeros, of which none is there."""
    if blocked(layout):
        raise RuntimeError(f"empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got {NAMES[layout.name]}")
    if len(size) < 2:
        raise RuntimeError(f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}")
    batch, lines = tuple(size[:-2]), size[-2] if by_rows(layout) else size[-1]
    index = [F["zeros"]((*batch, n), dtype=FROM_NP[np.dtype(np.int64)], device=device) for n in (lines + 1, 0)]
    return made(layout, index, F["zeros"]((*batch, 0), dtype=dtype, device=device), size)


def _check(compressed, plain, n, names):
    """torch's errors for indices that fit no matrix with n columns (or rows)."""
    c, p, counts = f"{names[0]}_indices", f"{names[2]}_indices", np.diff(compressed)
    lines, width = ("nrows", "ncols") if names[0] == "crow" else ("ncols", "nrows")
    starts = compressed[1:-1]
    repeated = np.diff(plain) <= 0
    repeated[starts[(starts > 0) & (starts < len(plain))] - 1] = False         # from one line to the next anything goes
    for wrong, rule in ((compressed[0] != 0, f"{c}[..., 0] == 0"), (compressed[-1] != len(plain), f"{c}[..., -1] == nnz"),
                        (counts.min(initial=0) < 0 or counts.max(initial=0) > n, f"0 <= {c}[..., 1:] - {c}[..., :-1] <= {width}"),
                        (plain.min(initial=0) < 0 or plain.max(initial=-1) >= n, f"0 <= {p} < {width}"),
                        (repeated.any(), f"{p}[..., {c}[..., i - 1]:{c}[..., i]] for all i = 1, ..., {lines} are sorted and distinct along "
                                         "the last dimension values")):
        if wrong:
            raise RuntimeError(f"`{rule}` is not satisfied.")


def _places(s):
    """The batch's indices, then the row and the column of each value or block, on the host; (batch, values) each."""
    begin, rest = host(s._index[0]), host(s._index[1])
    batch, n = begin.shape[:-1], rest.shape[-1]
    counts = np.diff(begin.reshape(math.prod(batch), begin.shape[-1]))
    lines = np.stack([np.repeat(np.arange(counts.shape[1]), c) for c in counts]
                     or [np.zeros(n, np.int64)])[:math.prod(batch)].reshape(*batch, n)
    where = (lines, rest) if by_rows(s._layout) else (rest, lines)
    return [np.broadcast_to(k[..., None], (*batch, n)) for k in np.indices(batch)] + [k.astype(np.int64) for k in where]


def _element_places(s):
    """Where each number lies, by dimension: host arrays in the shape of the values' own dimensions."""
    where = _places(s)
    if not blocked(s._layout):
        return where
    h, w = block_of(s)
    *batch, rows, columns = [k[..., None, None] for k in where]
    rows, columns = rows * h + np.arange(h)[:, None], columns * w + np.arange(w)
    return np.broadcast_arrays(*batch, rows, columns)


def element_places(s):
    """The same as tensors."""
    device = to_jax(s.device)
    return tuple([on(device, np.ascontiguousarray(k)) for k in _element_places(s)])


def coordinates(s):
    """The same matrices as coordinates, in the order of their values."""
    def make():
        return on(to_jax(s.device), np.stack([k.reshape(-1) for k in _element_places(s)]).astype(np.int64)), {}
    index, kept = known(s, "coordinates", make)
    vals = s._vals.reshape(index.shape[1], *s._vals.shape[s._vals.dim() - held_dims(s):])
    out = made(COO, (index,), vals, s._ts_meta.shape, s._layout is CSR)
    out.__dict__["_known"] = kept
    return out


def _matrices(s):
    """The matrices of a batch, one by one."""
    lead, shape = s._index[0].dim() - 1, s._ts_meta.shape
    parts = [t.reshape(-1, *t.shape[lead:]) for t in (*s._index, s._vals)]
    return [made(s._layout, (parts[0][k], parts[1][k]), parts[2][k], shape[lead:]) for k in range(parts[0].shape[0])]


def _batched(matrices, batch, layout):
    """A batch of compressed matrices."""
    if len({m._vals.shape[0] for m in matrices}) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    index, vals = [F["stack"]([m._index[k] for m in matrices]) for k in (0, 1)], F["stack"]([m._vals for m in matrices])
    return made(layout, [t.reshape(*batch, *t.shape[1:]) for t in index], vals.reshape(*batch, *vals.shape[1:]),
                (*batch, *matrices[0]._ts_meta.shape))


def compress(x, layout, blocksize=None, dense_dim=0, dtype=np.int64):
    """Any matrix in a compressed layout, without history; `dense_dim` of a dense one's dimensions are dense."""
    held = held_dims(x) if is_sparse(x) else dense_dim
    lead = x.dim() - held - 2
    if lead < 0:
        raise IndexError(f"select(): index 1 out of range for tensor of size [{max(x.dim(), 1)}] at dimension 0: {NAMES[layout.name]} "
                         "wants a matrix")
    if lead:
        batch = tuple(x.shape)[:lead]
        if is_sparse(x) and blocked(layout) and not blocked(x._layout):
            raise RuntimeError(f"sparse_compressed_to_{layout.name}: conversion from {NAMES[x._layout.name]} to {NAMES[layout.name]} for "
                               "batched inputs is not supported")
        if not math.prod(batch):
            raise NotImplementedError(f"torchshim: {layout} of an empty batch")
        each = _matrices(x) if is_sparse(x) else x.reshape(-1, *x.shape[lead:])
        return _batched([compress(m, layout, blocksize, dense_dim, dtype) for m in each], batch, layout)
    if is_sparse(x):
        x = coalesce(x if x._layout is COO else coordinates(x))
    else:
        x = from_dense(x, 2)
    where, vals, shape, device = host(x._index[0]), x._vals, x._ts_meta.shape, to_jax(x.device)
    if blocked(layout):
        h, w = blocksize
        places = where // np.array([[h], [w]])
        kept, to = np.unique(places[0] * (shape[1] // w) + places[1] if layout is BSR else places[1] * (shape[0] // h) + places[0],
                             return_inverse=True)
        inside = (where[0] % h) * w + where[1] % w
        flat = F["zeros"]((len(kept) * h * w, *vals.shape[1:]), dtype=vals.dtype, device=vals.device)
        vals = flat.index_put((on(device, to.reshape(-1) * h * w + inside),), vals).reshape(-1, h, w, *vals.shape[1:])
        lines, plain = divmod(kept, shape[1] // w if layout is BSR else shape[0] // h)
        count = shape[0] // h if layout is BSR else shape[1] // w
    else:
        lines, plain, count = where[0], where[1], shape[0]
        if layout is CSC:
            order = np.lexsort(where)
            lines, plain, count = where[1][order], where[0][order], shape[1]
            vals = vals[on(device, order)]
    begin = np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=count))]).astype(dtype)
    return made(layout, (on(device, begin), on(device, np.ascontiguousarray(plain.astype(dtype)))), vals, shape)


def compressed_by(x, like):
    """A COO tensor in the layout of another one."""
    if like._index[0].dim() > 1:
        raise NotImplementedError("torchshim: an operator on batches of compressed sparse tensors whose values lie at different places")
    return compress(x, like._layout, block_of(like))


def transposed(s, dim0, dim1):
    """The matrix with its dimensions exchanged, without history: the same parts, read the other way."""
    lead = s._index[0].dim() - 1
    if dim0 == dim1:
        return made(s._layout, s._index, s._vals, s._ts_meta.shape)
    kinds = ["Batch" if d < lead else "Sparse" if d < lead + 2 else "Dense" for d in (dim0, dim1)]
    if kinds[0] != kinds[1]:
        raise RuntimeError("transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got "
                           f"{dim0}({kinds[0]}) and {dim1}({kinds[1]})")
    shape = list(s._ts_meta.shape)
    shape[dim0], shape[dim1] = shape[dim1], shape[dim0]
    if kinds[0] == "Batch":
        return made(s._layout, [i.transpose(dim0, dim1) for i in s._index], s._vals.transpose(dim0, dim1), shape)
    if kinds[0] == "Dense":
        skip = s._vals.dim() - s.dim()
        return made(s._layout, s._index, s._vals.transpose(dim0 + skip, dim1 + skip), shape)
    vals = s._vals.transpose(lead + 1, lead + 2) if blocked(s._layout) else s._vals
    return made(_FLIPPED[s._layout], s._index, vals, shape)


def _part(name, k, rows):
    @handles(name)
    def part(s):
        if s._layout is COO or by_rows(s._layout) is not rows:
            kind = "row" if rows else "column"
            raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got {NAMES[s._layout.name]}")
        return s._index[k].detach()
    part.__doc__ = "Part of a compressed tensor."
    handles(f"{name}_copy")(lambda s: part(s).clone())


_part("crow_indices", 0, True)
_part("col_indices", 1, True)
_part("ccol_indices", 0, False)
_part("row_indices", 1, False)
