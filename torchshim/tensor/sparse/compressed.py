"""Tensors compressed by rows or columns, or by blocks of these."""
from __future__ import annotations

import numpy as np

from ..api.bind import FUNCTIONS as F
from ..core import settings
from ..core.device import to_jax
from ..core.tensor import Tensor
from .base import COO, LAYOUTS, NAMES, from_parts, handles, host, is_sparse, made, on

CSR, CSC, BSR, BSC = (LAYOUTS[n] for n in ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"))
_FLIPPED = {CSR: CSC, CSC: CSR, BSR: BSC, BSC: BSR}


def by_rows(layout):
    """Whether rows are compressed, not columns."""
    return layout is CSR or layout is BSR


def blocked(layout):
    """Whether values are blocks."""
    return layout is BSR or layout is BSC


def compressed_tensor(compressed, plain, values, size=None, layout=None, dtype=None, device=None, requires_grad=False,
                      check_invariants=None):
    """A matrix that holds `values`; those of row (or column) k begin at compressed[k], in the columns (rows) that `plain` tells.

    size: the shape, or else the smallest that fits. Raises RuntimeError where the parts do not fit together.
    """
    if layout is None:
        raise RuntimeError("sparse_compressed_tensor: expected a layout")
    values = values if isinstance(values, Tensor) else F["tensor"](values, dtype=dtype, device=device)
    if dtype is not None or device is not None:
        values = values.to(device=device, dtype=dtype)
    compressed, plain = [(t if isinstance(t, Tensor) else F["tensor"](t)).to(device=values.device) for t in (compressed, plain)]
    if compressed.dim() != 1 or plain.dim() != 1:
        raise NotImplementedError("torchshim: batches of compressed sparse tensors")
    own = 3 if blocked(layout) else 1          # dimensions of the values before the dense ones
    if values.dim() < own:
        raise RuntimeError(f"values must have dimensionality > {own - 1}, but got {values.dim()}")
    block, dense = tuple(values.shape[1:3]) if blocked(layout) else (1, 1), tuple(values.shape[own:])
    if size is None:
        n, where = compressed.shape[0] - 1, host(plain)
        size = (n, int(where.max()) + 1 if where.size else 0)
        size = size if by_rows(layout) else size[::-1]
        size = (size[0] * block[0], size[1] * block[1], *dense)
    size = tuple(size)
    if len(size) != 2 + len(dense):
        raise NotImplementedError("torchshim: batches of compressed sparse tensors")
    if size[2:] != dense:
        raise RuntimeError(f"values must have dense dimensions {list(size[2:])}, but got {list(dense)}")
    rows = size[0] // block[0] if by_rows(layout) else size[1] // block[1]
    names = ("crow", "row", "col") if by_rows(layout) else ("ccol", "column", "row")
    if compressed.shape[0] != rows + 1:
        raise RuntimeError(f"{names[0]}_indices.shape[-1] must be equal to the number of {names[1]}{'' if not blocked(layout) else ' blocks'}s "
                           f"+ 1 (={rows + 1}), but got {compressed.shape[0]}")
    if plain.shape[0] != values.shape[0]:
        raise RuntimeError(f"{names[2]}_indices and values must have the same number of elements, but got {plain.shape[0]} and "
                           f"{values.shape[0]}")
    if settings.checks_sparse(check_invariants):
        _check(host(compressed), host(plain), (size[1] // block[1] if by_rows(layout) else size[0] // block[0]), names)
    return from_parts(layout, (compressed, plain), values, size, False, requires_grad, "SparseCompressedTensorBackward0")


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
                        (repeated.any(), f"{p}[..., {c}[..., i - 1]:{c}[..., i]] for all i = 1, ..., {lines} are sorted and distinct along the "
                                         "last dimension values")):
        if wrong:
            raise RuntimeError(f"`{rule}` is not satisfied.")


def _lines(s):
    """The row (or column) of each value, on the host."""
    begin = host(s._index[0])
    return np.repeat(np.arange(len(begin) - 1), np.diff(begin))


def coordinates(s):
    """The same matrix as coordinates."""
    lines, plain = _lines(s), host(s._index[1])
    where = np.stack([lines, plain] if by_rows(s._layout) else [plain, lines]).astype(np.int64)
    vals, device = s._vals, to_jax(s.device)
    if blocked(s._layout):
        h, w = s._vals.shape[1:3]
        inside = np.stack(np.meshgrid(np.arange(h), np.arange(w), indexing="ij")).reshape(2, 1, -1)
        where = (where[:, :, None] * np.array([[[h]], [[w]]]) + inside).reshape(2, -1)
        vals = vals.reshape(-1, *vals.shape[3:])
    order = np.lexsort(where[::-1])
    if (order[:-1] > order[1:]).any():
        where, vals = where[:, order], vals[on(device, order)]
    return made(COO, (on(device, np.ascontiguousarray(where)),), vals, s._ts_meta.shape, True)


def compress(x, layout, blocksize=None, dense_dim=None, dtype=np.int64):
    """Any matrix in a compressed layout; all dimensions but the first two are dense."""
    from .coo import coalesce, from_dense, to_coo
    if layout is COO:
        return to_coo(x)
    if is_sparse(x) and x._layout is layout and blocksize is None:
        return x
    held = x._vals.dim() - (3 if blocked(x._layout) else 1) if is_sparse(x) else dense_dim or 0
    if x.dim() - held != 2:
        raise NotImplementedError(f"torchshim: {layout} of a tensor with {x.dim()} dimensions, {held} of them dense: a batch")
    x = coalesce(to_coo(x) if is_sparse(x) else from_dense(x, 2))
    where, vals, shape, device = host(x._index[0]), x._vals, x._ts_meta.shape, to_jax(x.device)
    if blocked(layout):
        if blocksize is None:
            raise RuntimeError(f"to_sparse_{layout.name[7:]}: blocksize needs to be specified")
        h, w = blocksize
        if shape[0] % h or shape[1] % w:
            raise RuntimeError(f"Tensor size({list(shape)}) should be divisible by blocksize ({h}, {w})")
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


def transposed(s, dim0, dim1):
    """The matrix with its dimensions exchanged: the same parts, read the other way."""
    if dim0 % 2 == dim1 % 2:
        return s
    vals = s._vals.transpose(1, 2) if blocked(s._layout) else s._vals
    return made(_FLIPPED[s._layout], s._index, vals, s._ts_meta.shape[::-1])


def _part(name, k, rows):
    @handles(name)
    def part(s):
        if s._layout is COO or by_rows(s._layout) is not rows:
            kind = "row" if rows else "column"
            raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got {NAMES[s._layout.name]}")
        return s._index[k]
    part.__doc__ = "Part of a compressed tensor."
    handles(f"{name}_copy")(lambda s: part(s).clone())


_part("crow_indices", 0, True)
_part("col_indices", 1, True)
_part("ccol_indices", 0, False)
_part("row_indices", 1, False)


def _conversion(layout):
    if blocked(layout):
        def convert(x, blocksize, dense_dim=None):
            return compress(x, layout, tuple(blocksize), dense_dim)
    else:
        def convert(x, dense_dim=None):
            return compress(x, layout, None, dense_dim)
    convert.__doc__ = f"The tensor with layout {layout}."
    return handles(f"to_{layout.name}")(convert)


to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc = (_conversion(layout) for layout in (CSR, CSC, BSR, BSC))
