"""Sparse tensors that hold nothing yet, made by size or like others, and what resizes and fills them."""
from __future__ import annotations

from ...ops.promotion import c_name
from ..api.bind import FUNCTIONS as F, type_name
from ..core.handle import TensorBase
from ..core.layout import strided
from .base import COO, NAMES, handles, is_sparse, like, made, private, write
from .compressed import block_of, blocked, by_rows, empty_compressed
from .coo import empty_coo, sparse_coo_tensor, wanting
from .history import missing, plain, traced


def empty_in_layout(size, layout, dtype=None, device=None, requires_grad=False):
    """A sparse tensor without values."""
    size = tuple(size)
    s = empty_coo(size, len(size), dtype, device) if layout is COO else empty_compressed(size, layout, dtype, device)
    return wanting(s, requires_grad)


def emptied(name, size, out, dtype=None, requires_grad=False):
    """torch.zeros and torch.empty of a size, with a sparse `out`."""
    if name == "ones":
        raise RuntimeError("full(...) is not implemented for sparse layout")
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"dtype {c_name(dtype.np)} does not match dtype of out parameter ({c_name(out.dtype.np)})")
    return wanting(_keep_history(out, empty_in_layout(tuple(size), out._layout, out.dtype, out.device)), requires_grad)


def _strided_like(name):
    """The factory of that name for a dense model of the same shape, which takes no memory."""
    def make(s, *args, dtype=None, device=None, **kwargs):
        model = F["empty"]((0,), dtype=dtype or s.dtype, device=device or s.device)
        return F[name](model.new_empty(1).expand(tuple(s.shape)).contiguous(), *args, **kwargs)
    return make


def _like(name, filler=None):
    """zeros_like and its kin: of a strided layout if that is asked for; `filler` is the operator that COO tensors lack for it."""
    def make(s, *args, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None):
        layout = layout or s._layout
        if layout is strided:
            if s._layout is not COO:
                raise RuntimeError(f"empty_like with different sparse layout is not supported (self is {NAMES[s._layout.name]} but you "
                                   "requested Strided)")
            return _strided_like(name)(s, *args, dtype=dtype, device=device, requires_grad=requires_grad)
        if memory_format is not None and layout is COO:
            raise RuntimeError("memory format option is only supported by strided tensors")
        if filler is not None and (layout is COO or filler != "fill_.Scalar"):
            raise missing(filler, s)
        if filler is not None and layout is s._layout:
            vals = F[name](s._vals, *args, dtype=dtype or s.dtype, device=device)
            return wanting(like(plain(s), vals, [i.to(vals.device) for i in s._index]), requires_grad)
        return wanting(_nothing_like(s, layout, dtype or s.dtype, device or s.device), requires_grad)
    make.__doc__ = f"{name} of a sparse tensor."
    handles(name)(make)


def _nothing_like(s, layout, dtype, device):
    shape = s._ts_meta.shape
    if layout is COO:
        return empty_coo(shape, s._index[0].shape[0] if s._layout is COO else len(shape), dtype, device)
    if blocked(layout):
        if not blocked(s._layout):
            raise RuntimeError("sparse_compressed_tensor_with_dims: blocksize needs to be a tuple of size 2, but got 0")
        block, lead = block_of(s), s._index[0].dim() - 1
        lines, batch = (shape[lead] // block[0] if by_rows(layout) else shape[lead + 1] // block[1]), shape[:lead]
        index = [F["zeros"]((*batch, n), dtype=s._index[0].dtype, device=device) for n in (lines + 1, 0)]
        return made(layout, index, F["zeros"]((*batch, 0, *s._vals.shape[lead + 1:]), dtype=dtype, device=device), shape)
    return empty_compressed(shape, layout, dtype, device)


_like("zeros_like")
_like("empty_like")
_like("ones_like", "fill_.Scalar")
_like("full_like", "fill_.Scalar")
for _name, _filler in (("rand_like", "uniform_"), ("randn_like", "normal_"), ("randint_like", "random_.from")):
    _like(_name, _filler)


def _sizes(args):
    return tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else args


def _new(name, filler=None):
    def make(s, *size, dtype=None, device=None, layout=None, pin_memory=False, requires_grad=False, **kwargs):
        size = (kwargs.pop("size"),) if "size" in kwargs else size
        dtype, device, layout = dtype or s.dtype, device or s.device, layout or s._layout
        if layout is strided:
            return getattr(F["empty"]((0,), dtype=dtype, device=device), name)(*size, requires_grad=requires_grad, **kwargs)
        if filler is not None and layout is COO:
            raise missing(filler, s)
        return empty_in_layout(_sizes(size), layout, dtype, device, requires_grad)
    make.__doc__ = f"{name} of a sparse tensor."
    handles(name)(make)


_new("new_zeros")
_new("new_empty")
_new("new_ones", "fill_.Scalar")
handles("new_full")(lambda s, size, fill_value, **kwargs: _new_full(s, size, fill_value, **kwargs))
handles("new_tensor")(lambda s, data, *, dtype=None, device=None, requires_grad=False: F["tensor"](
    data, dtype=dtype or s.dtype, device=device or s.device, requires_grad=requires_grad))


def _new_full(s, size, fill_value, *, dtype=None, device=None, layout=None, pin_memory=False, requires_grad=False):
    if layout is not strided:
        raise missing("fill_.Scalar", s)
    return F["full"](size, fill_value, dtype=dtype or s.dtype, device=device or s.device, requires_grad=requires_grad)


@private
def new(s, *args, device=None):
    """torch's older constructor: of a size, or of indices, values and a size."""
    if s._layout is not COO:
        raise NotImplementedError(f"torchshim: new of a tensor with layout {s._layout}")
    device = device or s.device
    if not args:
        return empty_in_layout((0,), COO, s.dtype, device)
    if len(args) == 1 and isinstance(args[0], list):
        raise TypeError("SparseTensor.new(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or construct a strided tensor "
                        "and convert it to sparse via to_sparse.")
    kinds = [TensorBase if hasattr(x, "_ts_meta") else type(x) for x in args]
    if not (kinds[:2] == [TensorBase, TensorBase] and len(args) < 4 or all([issubclass(k, (int, tuple)) for k in kinds])):
        raise TypeError(f"new() received an invalid combination of arguments - got ({', '.join(map(type_name, args))}), but expected one "
                        "of:\n * (*, torch.device device = None)\n * (Tensor indices, Tensor values, *, torch.device device = None)\n"
                        " * (Tensor indices, Tensor values, tuple of ints size, *, torch.device device = None)\n"
                        " * (tuple of ints size, *, torch.device device = None)\n")
    if hasattr(args[0], "_ts_meta"):
        if args[0].dtype.name != "int64":
            raise RuntimeError(f"expected scalar type Long but found {c_name(args[0].dtype.np)}")
        return sparse_coo_tensor(*args, device=device, check_invariants=False)
    return empty_in_layout(_sizes(args), COO, s.dtype, device)


# -- size and contents -------------------------------------------------------------------------------------------------------
_REFUSED = ("{} on a non-empty sparse tensor is not supported.\nYou could try the following options:\n1. If you need an empty sparse "
            "tensor of this size, call `x = torch.sparse_coo_tensor(size)`.\n2. If you need to resize this tensor, you have the following "
            "options:\n    1. For both sparse and dense dimensions, keep the number of them constant and the size of them non-shrinking, "
            "and then try the same call again.\n    2. Or, create a new sparse tensor with the correct indices and values from this sparse "
            "tensor.")


def _resized(s, size, dims, dense):
    """A COO tensor without history in another size; torch's errors where values would have no place."""
    if len(size) != dims + dense:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {dims}, "
                           f"dense_dim = {dense}")
    old, had = s._ts_meta.shape, s._index[0].shape[0]
    if not s._vals.shape[0]:
        return empty_coo(size, dims, s.dtype, s.device)
    if had != dims:
        raise RuntimeError(_REFUSED.format(f"changing the number of sparse dimensions (from {had} to {dims})"))
    if len(old) - had != dense:
        raise RuntimeError(_REFUSED.format(f"changing the number of dense dimensions (from {len(old) - had} to {dense})"))
    for kind, a, b in (("sparse", old[:dims], size[:dims]), ("dense", old[dims:], size[dims:])):
        if any([m < n for n, m in zip(a, b)]):
            raise RuntimeError(_REFUSED.format(f"shrinking the size of {kind} dimensions (from {list(a)} to {list(b)})"))
    vals = s._vals
    if tuple(old[dims:]) != tuple(size[dims:]):        # torch leaves what is new as it finds it
        vals = vals.contiguous().clone().resize_(vals.shape[0], *size[dims:])
    return like(s, vals, None, size)


def _keep_history(s, other):
    """write, for what has no gradient of its own."""
    edge = s._ts_edge
    s._ts_edge = None
    write(s, other)
    s._ts_edge = edge
    return s


@handles("sparse_resize_")
def sparse_resize_(s, size, sparse_dim, dense_dim):
    """Another size, in place; values stay where they are."""
    if not is_sparse(s) or s._layout is not COO:
        raise missing("sparse_resize_", s)
    return _keep_history(s, _resized(plain(s), tuple(size), sparse_dim, dense_dim))


@handles("sparse_resize_and_clear_")
def sparse_resize_and_clear_(s, size, sparse_dim, dense_dim):
    """Another size, in place, without values."""
    if s._layout is not COO:
        raise missing("sparse_resize_and_clear_", s)
    if len(size) != sparse_dim + dense_dim:
        _resized(s, tuple(size), sparse_dim, dense_dim)
    return _keep_history(s, empty_coo(tuple(size), sparse_dim, s.dtype, s.device))


@handles("resize_as_")
@private
def resize_as_sparse_(s, other, memory_format=None):
    """The size of another sparse tensor, in place."""
    if not is_sparse(s) or not is_sparse(other):
        raise missing("resize_", s)
    if s._layout is not COO:
        if s._layout is not other._layout:
            raise RuntimeError(f"resize_as_sparse_compressed_tensor_: self and src must have the same layout, but got: self "
                               f"({NAMES[s._layout.name]}) and source ({NAMES[other._layout.name]})")
        return s
    if tuple(s.shape) == tuple(other.shape) and s._index[0].shape[0] == other._index[0].shape[0]:
        return s
    dims = other._index[0].shape[0]
    return sparse_resize_(s, tuple(other.shape), dims, other.dim() - dims)


@handles("resize_")
def resize_(s, *args, **kwargs):
    raise missing("resize_", s)


@handles("zero_")
def zero_(s):
    """No values any more."""
    result = traced("ZeroBackward0", _nothing_like(s, s._layout, s.dtype, s.device), (s,), (lambda g: F["zeros_like"](g),))
    return write(s, result)


@handles("fill_")
def fill_(s, value):
    if s._layout is COO:
        raise missing("fill_.Scalar", s)
    return write(s, like(plain(s), F["full_like"](s._vals, value)))


@handles("copy_")
def copy_(s, src, non_blocking=False):
    """The values and places of another tensor of the same layout."""
    if not is_sparse(s) or not is_sparse(src) and s._layout is COO:
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{s.type()} and src type = {src.type()}")
    if s._layout is COO and src._layout is not COO:
        raise RuntimeError("copy_sparse_compressed_ expected sparse compressed tensor layout but got Sparse")
    if s._layout is not COO:
        kind = NAMES[src._layout.name] if is_sparse(src) else "Strided"
        if not is_sparse(src) or src._layout is not s._layout:
            raise RuntimeError("torch.copy_: copy of sparse compressed tensors having different layouts is not supported. self layout is "
                               f"{NAMES[s._layout.name]} and src layout is {kind}")
        if s._vals.shape[0] != src._vals.shape[0]:
            raise RuntimeError("torch.copy_: only sparse compressed tensors with the same number of specified elements are supported.")
    elif tuple(s.shape) != tuple(src.shape) or s._index[0].shape[0] != src._index[0].shape[0]:
        dims = src._index[0].shape[0]
        _resized(plain(s), tuple(src.shape), dims, src.dim() - dims)
    p = plain(src)
    result = like(p, p._vals.to(device=s.device, dtype=s.dtype).clone(), [i.to(s.device).clone() for i in p._index])
    return write(s, traced("CopyBackwards", result, (s, src), (lambda g: F["zeros_like"](g), lambda g: g)))


