"""From layout to layout: what `to_sparse` and its kin accept, and torch's words for what they do not."""
from __future__ import annotations

from ..core.layout import strided
from .base import COO, LAYOUTS, NAMES, handles, is_sparse
from .compressed import block_of, blocked, compress, coordinates, held_dims
from .coo import conversion_traced, from_dense
from .history import plain


def _shown(x):
    return NAMES[x._layout.name] if is_sparse(x) else "Strided"


def _who(name, x, layout):
    """What torch calls the conversion, in errors."""
    if not is_sparse(x):
        return "dense_" + name
    if x._layout is layout:
        return name
    if x._layout is COO:
        return ("sparse_coo_" if name == "to_sparse" else "coo_") + name
    return "sparse_compressed_" + name


def with_sparse_dim(x, dims):
    """Coordinates with so many sparse dimensions."""
    if not is_sparse(x):
        n = x.dim()
        if not 0 <= dims <= n:
            raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{n}] range, but {dims} is given")
        if n and not dims:
            raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
        return from_dense(x, dims)
    if x._layout is COO:
        if dims != x._index[0].shape[0]:
            raise RuntimeError("to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported")
        return x
    if dims != 2:
        raise RuntimeError(f"sparse_compressed_to_sparse: conversion from {_shown(x)} to Sparse with sparse_dim argument !=2 is not "
                           "supported")
    return coordinates(plain(x))


def converted(name, x, layout, blocksize=None, dense_dim=None):
    """`x` in a layout, without history; x itself where it has that."""
    if layout is strided:
        if is_sparse(x):
            raise RuntimeError(f"{_who(name, x, layout)}: conversion from {_shown(x)} to Strided is not supported")
        return x
    who, words = _who(name, x, layout), f"conversion from {_shown(x)} to {NAMES[layout.name]}"
    blocksize = (blocksize, blocksize) if isinstance(blocksize, int) else blocksize if blocksize is None else tuple(blocksize)
    _check_block(who, words, x, layout, blocksize, dense_dim)
    if dense_dim is not None:
        if is_sparse(x):
            raise RuntimeError(f"{who}: {words} with dense_dim argument given is not supported")
        most = x.dim() - (0 if layout is COO else 2)
        if not 0 <= dense_dim <= most:
            raise RuntimeError(f"{who}: dense_dim argument must be in [0,{most}] range, but {dense_dim} is given")
    if is_sparse(x) and x._layout is layout:
        return x
    if layout is COO:
        return coordinates(plain(x)) if is_sparse(x) else from_dense(x, x.dim() - (dense_dim or 0))
    if is_sparse(x) and x._layout is COO and x._index[0].shape[0] != 2:
        raise RuntimeError(f"{who}: {words} for input tensors with sparse_dim()!=2 is not supported")
    if is_sparse(x) and blocked(x._layout) and not blocked(layout):
        raise RuntimeError(f"{who}: expected SparseCsr or SparseCsc layout but got {_shown(x)}")
    return compress(plain(x), layout, blocksize, dense_dim or 0)


def _check_block(who, words, x, layout, blocksize, dense_dim):
    if blocksize is not None and len(blocksize) != 2:
        raise RuntimeError(f"{who}: blocksize needs to be a tuple of size 2, but got {len(blocksize)}")
    if blocksize is not None and min(blocksize) <= 0:
        raise RuntimeError(f"{who}: blocksize needs to be positive, but got {list(blocksize)}")
    if blocked(layout) != (blocksize is not None):
        raise RuntimeError(f"{who}: {words} {'with' if blocksize is not None else 'without'} blocksize argument given is not supported")
    if blocksize is None:
        return
    if is_sparse(x) and blocked(x._layout):
        own = block_of(x)
        if own != blocksize:
            raise RuntimeError(f"{who}: {words} with blocksize changed from {list(own)} to {list(blocksize)} is not supported")
        return
    first = x.dim() - 2 - (held_dims(x) if is_sparse(x) else dense_dim or 0)
    if first < 0:
        raise IndexError(f"Dimension out of range (expected to be in range of [-{x.dim()}, {x.dim() - 1}], but got -2)")
    size = tuple(x.shape)[first:first + 2]
    if size[0] % blocksize[0] or size[1] % blocksize[1]:
        raise RuntimeError(f"{who}: tensor sparse size ({size[0]},{size[1]}) must be divisible by given blocksize "
                           f"({blocksize[0]},{blocksize[1]})")


def _conversion(layout):
    node = "To" + "".join([w.capitalize() for w in layout.name.split("_")]) + "Backward0"
    if blocked(layout):
        def convert(x, blocksize, dense_dim=None):
            return conversion_traced(node, x, converted(f"to_{layout.name}", x, layout, blocksize, dense_dim))
    else:
        def convert(x, dense_dim=None):
            return conversion_traced(node, x, converted(f"to_{layout.name}", x, layout, None, dense_dim))
    convert.__doc__ = f"The tensor with layout {layout}."
    return handles(f"to_{layout.name}")(convert)


to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc = [_conversion(LAYOUTS[n]) for n in (
    "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")]
