"""Tensors that share memory: every function of torch whose result is a view of its argument."""
from __future__ import annotations

import numpy as np

from ...engine import TRACED, context, extent
from ...engine.record.memo import Memo
from ...ops import memory_views, views as V
from ...ops.common import wrap_dim
from ...ops.layout import fastest_first
from ...ops.shape import COPIED
from ...ops.promotion import c_name, type_name as tensor_type
from ...ops.registry import T
from ...ops.views import view_strides
from .batches import refuse_of_number, window_in_batch
from .bind import FUNCTIONS, call, function, type_name
from .signatures import UNSET, guarded
from ..core.settings import warn_once
from ..core.dispatch import Tensor
from ..core.dtype import FROM_NP, dtype as torch_dtype, np_dtype
from ..core import graph
from ..core.graph import loosen_shapes, node_class
from ..core.hooks import hooks_stay
from ..core.handle import edge, log_edge, meta, offset_of, refusal, version
from ..core.memory_format import contiguous_format, is_in_format, memory_format
from ..core.storage import ELSEWHERE, note_history
from ..core.view import detached, make_view, make_view_any
from ..core.write import ask, ask_for_version, check_inplace, needs_grad, refuse_inference


def integer(x, name, what):
    """An int argument; torch's TypeError for anything else."""
    if x.__class__ is int:
        return x
    if isinstance(x, bool) or isinstance(x, (float, str)) or not hasattr(x, "__index__"):
        raise TypeError(f"{name}(): argument '{what}' must be int, not {type_name(x)}")
    return x.__index__()


def ints(args, name, what="size"):
    """Integers given as one sequence or spread over the arguments."""
    spread = not (len(args) == 1 and isinstance(args[0], (list, tuple)))
    if not spread:
        args = args[0]
    if INTEGERS.issuperset(map(type, args)):
        return tuple(args)
    out = []
    for k, a in enumerate(args):
        if a.__class__ is not int:
            if isinstance(a, (float, str)) or a is None or a is True and not k or a is False and not k or not hasattr(a, "__index__"):
                raise TypeError(f"{name}()" + _no_ints(args, k, spread, what))
            a = a.__index__()
        out.append(a)
    return tuple(out)


def given_size(name, args, size, what="size"):
    """What `ints` gets of a call: arguments, or a sequence by its name; TypeError where there is neither."""
    if size is None:
        if not args:
            raise TypeError(f'{name}() missing 1 required positional arguments: "{what}"')
        return args
    if not isinstance(size, (list, tuple)):
        raise TypeError(f"{name}(): argument '{what}' must be tuple of ints, not {type_name(size)}")
    return (size,)


def _no_ints(args, k, spread, what):
    """torch's words for the first of `args`, number `k`, that is no integer."""
    kind = type_name(args[k])
    if k:
        return f": argument '{what}' failed to unpack the object at pos {k + 1} with error \"type must be tuple of ints,but got {kind}\""
    if spread and len(args) > 1:
        return f" takes 1 positional argument but {len(args)} were given"
    return f": argument '{what}' (position 1) must be tuple of ints, " + (f"not {kind}" if spread
                                                                          else f"but found element of type {kind} at pos 0")


def infer_size(shape, numel):
    """`shape` with its -1 filled in; torch's errors where it does not fit."""
    known, unknown = 1, None
    for d, n in enumerate(shape):
        if n == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = d
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {d} of shape {list(shape)}")
        else:
            known *= n
    if unknown is None:
        if known != numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return shape
    if known == 0 and numel == 0:
        raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can "
                           "be any value and is ambiguous")
    if known == 0 or numel % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return shape[:unknown] + (numel // known,) + shape[unknown + 1:]


INTEGERS = frozenset((int,))
_shapes = Memo(4096)       # {(meta, shape asked for): (shape, strides)}


def _shaped(t, shape):
    """(`shape` with its -1 known, the strides with which the memory of `t` is seen so or None)."""
    m = meta(t)
    known = _shapes.get((m, shape))
    if known is None:
        try:
            full = infer_size(shape, m.numel)
        except RuntimeError as error:
            raise refusal(t, error) from None
        known = _shapes.keep((m, shape), (full, view_strides(m, full)))
    return known


# -- view and reshape -------------------------------------------------------------------------------------------------------
@function("view", torch=False)
def view(self, *shape, dtype=None, size=None):
    """The same memory with another shape, or read as another dtype."""
    if dtype is None and len(shape) == 1 and isinstance(shape[0], (torch_dtype, type)):
        dtype, = shape
    if dtype is not None:
        return view_dtype(self, dtype)
    if size is not None:
        shape = (size,)
    if not shape or not INTEGERS.issuperset(map(type, shape)) and any([isinstance(n, float) for n in shape]):
        raise TypeError("view() received an invalid combination of arguments - got (" + ", ".join(map(type_name, shape))
                        + "), but expected one of:\n * (torch.dtype dtype)\n" " * (tuple of ints size)\n")
    shape, strides = _shaped(self, ints(shape, "view"))
    if strides is None:
        raise refusal(self, RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans "
                                         "across two contiguous subspaces). Use .reshape(...) instead."))
    return make_view(self, V.reshape, (shape, strides, "ViewBackward0"), offset_of(self))


@function("view_as", torch=False)
def view_as(self, other):
    """`view` with the other tensor's shape."""
    return view(self, meta(other).shape)


def reshaped(t, shape, copied="UnsafeViewBackward0"):
    """A view where the memory allows one, else a copy."""
    shape, strides = _shaped(t, shape)
    if strides is not None:
        name = "ViewBackward0" if meta(t).contiguous else "ReshapeAliasBackward0"
        return make_view(t, V.reshape, (shape, strides, name), offset_of(t))
    from ...ops.shape import RESHAPE_COPY
    from .shape import clone
    from ..core.dispatch import apply1
    if edge(t) is None:
        return apply1(RESHAPE_COPY, t, (T, shape))
    return apply1(RESHAPE_COPY, clone(t, memory_format=contiguous_format), (T, shape))


def reshape(self, *args, shape=None):
    """The same elements with another shape: a view if possible, else a copy."""
    return reshaped(self, ints(args if shape is None and args else given_size("reshape", args, shape, "shape"), "reshape", "shape"))


Tensor.reshape = reshape


@function("reshape", method=False)
def _reshape(input, shape):
    """The same elements with another shape: a view if possible, else a copy."""
    return reshape(input, shape)


@function("reshape_as", torch=False)
def reshape_as(self, other):
    """`reshape` to the other tensor's shape."""
    return reshaped(self, meta(other).shape)


@function("ravel")
def ravel(input):
    """All elements in one dimension."""
    m = meta(input)
    if not m.contiguous:
        from .shape import clone
        input = clone(input, memory_format=contiguous_format)
    return view(input, (-1,))


@function("flatten")
def flatten(input, start_dim=0, end_dim=-1):
    """Dimensions start_dim to end_dim as one."""
    m = meta(input)
    a, b = wrap_dim(integer(start_dim, "flatten", "start_dim"), m.ndim), wrap_dim(integer(end_dim, "flatten", "end_dim"), m.ndim)
    if not m.ndim:
        return reshaped(input, (1,))
    if a > b:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if a == b:
        return input
    n = 1
    for k in m.shape[a:b + 1]:
        n *= k
    return reshaped(input, m.shape[:a] + (n,) + m.shape[b + 1:])


@function("unflatten")
def unflatten(input, dim, sizes):
    """One dimension as several."""
    m = meta(input)
    given = ints((sizes,) if isinstance(sizes, (list, tuple)) else (tuple(sizes),), "unflatten", "sizes")
    if not given:
        raise RuntimeError("unflatten: sizes must be non-empty")
    d = wrap_dim(integer(dim, "unflatten", "dim"), m.ndim)
    if not m.ndim:
        raise RuntimeError(f"unflatten got an unexpected error:\nDimension specified as {dim} but tensor has no dimensions")
    try:
        full = infer_size(given, m.shape[d])
    except RuntimeError as error:
        if str(error).startswith("only one dimension"):
            raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
        if str(error).startswith("cannot reshape"):
            raise RuntimeError(f"unflatten: {error}") from None
        raise RuntimeError(f"unflatten: Provided sizes {list(given)} don't multiply up to the size of dim {dim} ({m.shape[d]}) in the "
                           "input tensor") from None
    return view(input, m.shape[:d] + full + m.shape[d + 1:])


def view_dtype(t, dtype):
    """The memory of `t` read as another dtype."""
    m, new = meta(t), np_dtype(dtype)
    old, size = m.dtype.itemsize, new.itemsize
    if t.is_conj() or t.is_neg():
        of = "conjugate view tensors" if t.is_conj() else "tensors with negative bit set"
        raise RuntimeError(f"torch.Tensor.view is not supported for {of} when converting to a different dtype.")
    offset = offset_of(t)
    shape, strides = m.shape, m.strides
    if size != old:
        if not m.ndim:
            raise RuntimeError(f"self.dim() cannot be 0 to view {dtype_name(m.dtype)} as {dtype_name(new)} (different element sizes)")
        if m.strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 to view {dtype_name(m.dtype)} as {dtype_name(new)} (different element sizes), "
                               f"but got {m.strides[-1]}")
    if size < old:
        r = old // size
        shape, strides, offset = shape[:-1] + (shape[-1] * r,), tuple(s * r for s in strides[:-1]) + (1,), offset * r
    elif size > old:
        r = size // old
        if shape[-1] % r:
            raise RuntimeError(f"self.size(-1) must be divisible by {r} to view {dtype_name(m.dtype)} as {dtype_name(new)} (different "
                               f"element sizes), but got {shape[-1]}")
        if offset % r:
            raise RuntimeError(f"self.storage_offset() must be divisible by {r} to view {dtype_name(m.dtype)} as {dtype_name(new)} "
                               f"(different element sizes), but got {offset}")
        for d, s in enumerate(strides[:-1]):
            if s % r:
                raise RuntimeError(f"self.stride({d}) must be divisible by {r} to view {dtype_name(m.dtype)} as {dtype_name(new)} "
                                   f"(different element sizes), but got {s}")
        shape, strides, offset = shape[:-1] + (shape[-1] // r,), tuple(s // r for s in strides[:-1]) + (1,), offset // r
    y = make_view(t, memory_views.view_dtype, (new, shape, strides, "ViewDtypeBackward0"), offset)
    y._ts_edge = None
    y._ts_view.base, y._ts_view.skip, y._ts_view.creation = None, 0, None
    return y


def dtype_name(d):
    return c_name(d)


def alias_of(t, name="AliasBackward0"):
    """A view of everything."""
    return make_view(t, V.alias, (name,), offset_of(t))


# -- dimensions in another order ---------------------------------------------------------------------------------------------
def permuted(t, perm, name):
    """A view with the dimensions in the order `perm`."""
    return make_view(t, V.permute, (perm, name), offset_of(t))


def exchanged(n, a, b):
    """n dimensions in order, but for two that are exchanged."""
    perm = list(range(n))
    if perm:
        perm[a], perm[b] = perm[b], perm[a]
    return tuple(perm)


def swap(t, a, b, name="TransposeBackward0"):
    return permuted(t, exchanged(meta(t).ndim, a, b), name)


@function("transpose", "swapdims")
def transpose(input, dim0, dim1):
    """Dimensions dim0 and dim1 exchanged."""
    n = meta(input).ndim
    plain = dim0.__class__ is int and dim1.__class__ is int
    perm = _swapped.get((n, dim0, dim1)) if plain else None
    if perm is not None:
        return permuted(input, perm, "TransposeBackward0")
    a, b = wrap_dim(integer(dim0, "transpose", "dim0"), n, input), wrap_dim(integer(dim1, "transpose", "dim1"), n, input)
    if not n:
        return input if "transform" in context.modes else swap(input, a, b)        # a batch of numbers is left as it is
    if plain:
        _swapped[n, dim0, dim1] = exchanged(n, a, b)
    return swap(input, a, b)


_swapped: dict = {}        # {(how many dimensions, two of them): all in the order in which these are exchanged}


@function("swapaxes")
def swapaxes(input, axis0, axis1):
    """Dimensions axis0 and axis1 exchanged."""
    return transpose(input, axis0, axis1)


_TURNED = (1, 0), "TBackward0"


@function("t")
def t(input):
    """A matrix transposed; other tensors as they are."""
    n = meta(input).ndim
    if n == 2:
        vw = input._ts_view
        return make_view(input, V.permute, _TURNED, 0 if vw is None else vw.offset)
    if n > 2:
        raise refusal(input, RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {n}D"))
    return permuted(input, (0,) * n, "TBackward0")


def permute(self, *args, dims=None):
    """The dimensions in another order."""
    if not args and dims is None:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    n = meta(self).ndim
    dims = ints(args if dims is None else (dims,), "permute", "dims")
    if len(dims) != n:
        raise refusal(self, RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                                         f"desired ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(dims)}"))
    perm = tuple([wrap_dim(d, n, self) for d in dims])
    if len(set(perm)) != n:
        raise refusal(self, RuntimeError("permute(): duplicate dims are not allowed."))
    return permuted(self, perm, "PermuteBackward0")


Tensor.permute = permute


@function("permute", method=False)
def _permute(input, dims):
    """The dimensions in another order."""
    return permute(input, dims)


@function("movedim", "moveaxis")
def movedim(input, source, destination):
    """Dimensions moved to other places, the others in their order."""
    n = meta(input).ndim
    src = ints((source,) if not isinstance(source, (list, tuple)) else source, "movedim", "source")
    dst = ints((destination,) if not isinstance(destination, (list, tuple)) else destination, "movedim", "destination")
    if len(src) != len(dst):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(src)} dims) should contain the same number of dims "
                           f"as destination ({list(dst)} dims)")
    a, b = [wrap_dim(d, n) for d in src], [wrap_dim(d, n) for d in dst]
    for given, dims, what in ((src, a, "source"), (dst, b, "destination")):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(given)})")
    if not n:
        return alias_of(input)
    place = dict(zip(b, a))
    rest = iter([d for d in range(n) if d not in a])
    return permuted(input, tuple([place[d] if d in place else next(rest) for d in range(n)]), "PermuteBackward0")


def _matrix(t, name):
    m = meta(t)
    if not m.ndim:
        warn_once(f"Tensor.{name} is deprecated on 0-D tensors. This function is the identity in these cases.")
        return t
    if m.ndim < 2:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got {m.ndim}-D tensor.")
    return swap(t, m.ndim - 2, m.ndim - 1)


def _get_T(self):
    n = meta(self).ndim
    if n == 2:
        return permuted(self, (1, 0), "PermuteBackward0")
    if n == 0:
        warn_once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
    else:
        warn_once("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error "
                  "in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` "
                  "to reverse the dimensions of a tensor.")
    return permuted(self, tuple(range(n - 1, -1, -1)), "PermuteBackward0")


Tensor.T = property(_get_T, doc="All dimensions in reverse order.")
Tensor.mT = property(lambda self: _matrix(self, "mT"), doc="The last two dimensions exchanged.")


# -- dimensions of size 1 ------------------------------------------------------------------------------------------------------
def squeezed(t, drop, name):
    m = meta(t)
    keep = [d for d in range(m.ndim) if not (d in drop and m.shape[d] == 1)]
    shape, strides = tuple([m.shape[d] for d in keep]), tuple([m.strides[d] for d in keep])
    return make_view(t, V.reshape, (shape, strides, name), offset_of(t))


def _squeeze_dims(t, dim):
    """(dimensions, which of the three forms)."""
    m = meta(t)
    if dim is UNSET:
        return range(m.ndim), "SqueezeBackward0"
    if not m.ndim and "transform" in context.modes:
        refuse_of_number(t, dim)
    if isinstance(dim, (list, tuple)):
        dims = [wrap_dim(d, m.ndim, t) for d in ints(dim, "squeeze", "dim")]
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"dim {next(d for d in dims if dims.count(d) > 1)} appears multiple times in the list of dims")
        return dims, "SqueezeBackward2"
    return (wrap_dim(integer(dim, "squeeze", "dim"), m.ndim, t),), "SqueezeBackward1"


@function("squeeze")
def squeeze(input, dim=UNSET, *, axis=None):
    """Without the dimensions of size 1 (all, or those named)."""
    return squeezed(input, *_squeeze_dims(input, dim if axis is None else axis))


def unsqueezed(t, d):
    m = meta(t)
    layout = _unsqueezed.get((m, d)) or _unsqueezed.keep((m, d), _with_one(m, d))
    return make_view(t, V.reshape, layout, offset_of(t))


_unsqueezed = Memo(1024)   # {(Meta, place): layout of the view}


def _with_one(m, d):
    shape = m.shape[:d] + (1,) + m.shape[d:]
    strides = m.strides[:d] + (1 if d >= m.ndim else m.shape[d] * m.strides[d],) + m.strides[d:]
    return shape, strides, "UnsqueezeBackward0"


@function("unsqueeze")
def unsqueeze(input, dim=None, *, axis=None):
    """With a dimension of size 1 more."""
    n = meta(input).ndim + 1
    dim = integer(dim if axis is None else axis, "unsqueeze", "dim")
    return unsqueezed(input, wrap_dim(dim, n, input))


# -- broadcasting -----------------------------------------------------------------------------------------------------------
def expanded(t, shape):
    """A view of `t` repeated without memory; -1 keeps a size."""
    m, shape = meta(t), tuple(shape)
    if INTEGERS.issuperset(map(type, shape)):
        layout = _expansions.get((m, shape)) or _expansions.keep((m, shape), _expansion(t, m, shape))
    else:                                      # symbols are equal as they are asked
        layout = _expansion(t, m, shape)
    return make_view(t, V.expand, layout, offset_of(t))


_expansions = Memo(1024)   # {(Meta, shape): layout of the view}


def _expansion(t, m, shape):
    """The layout of the view for `expanded`; torch's errors."""
    if len(shape) < m.ndim:
        raise refusal(t, RuntimeError(f"expand({tensor_type(m.dtype)}{{{list(m.shape)}}}, size={list(shape)}): the number of sizes "
                                      f"provided ({len(shape)}) must be greater or equal to the number of dimensions in the tensor "
                                      f"({m.ndim})"))
    lead, full = len(shape) - m.ndim, []
    for d, n in reversed(tuple(enumerate(shape))):     # torch looks at the last dimension first
        old = m.shape[d - lead] if d >= lead else 1
        if n == -1 and m.ndim:                 # else the sizes are taken as they are
            if d < lead:
                raise refusal(t, RuntimeError("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension "
                                              f"{d}"))
            n = old
        if old != 1 and old != n:
            raise refusal(t, RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({old}) at non-singleton "
                                          f"dimension {d}.  Target sizes: {list(shape)}.  Tensor sizes: {list(m.shape)}"))
        full.append(n)
    if any([n < 0 for n in full]):
        raise refusal(t, RuntimeError("numel: integer multiplication overflow"))
    return tuple(full[::-1]), "ExpandBackward0"


@function("expand", torch=False)
def expand(self, *args, size=None, implicit=False):
    """Dimensions of size 1 repeated without using memory."""
    if not args and size is None:
        raise TypeError('expand() missing 1 required positional arguments: "size"')
    return expanded(self, ints(args if size is None else (size,), "expand"))


@function("expand_as", torch=False)
def expand_as(self, other):
    """`expand` to the other tensor's shape."""
    return expanded(self, meta(other).shape)


@function("broadcast_to")
def broadcast_to(input, *args, size=None):
    """`expand` to a shape."""
    return expanded(input, ints(args if size is None else (size,), "broadcast_to"))


# -- memory itself ---------------------------------------------------------------------------------------------------------
@function("as_strided")
def as_strided(input, size, stride, storage_offset=None):
    """Any window on the tensor's memory."""
    size, stride = ints((size,), "as_strided"), ints((stride,), "as_strided", "stride")
    at = offset_of(input) if storage_offset is None else integer(storage_offset, "as_strided", "storage_offset")
    edge(input)
    if "transform" in context.modes and input._ts_st.value.extra is TRACED:
        at = window_in_batch(input, size, stride, at, storage_offset is not None)
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if at < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {at}")
    return _from_memory(input, size, stride, at)


def memory_of(t):
    """How many bytes the memory of a tensor has."""
    root = t._ts_st.value.meta
    return (root.numel if root.dense else extent(root)) * root.dtype.itemsize


def refuse_outside(size, stride, at, item, room):
    """torch's error where a window on a memory of `room` bytes does not lie in it; else the window's last element there."""
    last = at + sum((n - 1) * s for n, s in zip(size, stride)) if all(size) else at - 1
    if all(size) and (last + 1) * item > room:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {at}, and itemsize {item} requiring a "
                           f"storage size of {(last + 1) * item} are out of bounds for storage of size {room}")
    return last


def _from_memory(t, size, stride, at):
    root, here = t._ts_st.value.meta, meta(t)
    last = refuse_outside(size, stride, at, here.dtype.itemsize, memory_of(t))
    if here.dtype != root.dtype:
        whole = _read_as(t, here.dtype)
        return make_view_any(whole, memory_views.as_strided, (size, stride, at, meta(whole), "AsStridedBackward0"), at)
    source, seen, before = _window_source(t, size, stride, at, last)
    creation = t._ts_view.creation if t._ts_view is not None else None
    y = make_view_any(source, memory_views.as_strided, (size, stride, at - before, seen, "AsStridedBackward0"), at, creation=creation)
    if source is not t and context.grad and edge(t) is not None:       # memory is the base's; the gradient goes where the tensor came from
        inst = memory_views.as_strided.resolve((size, stride, at - offset_of(t), here, "AsStridedBackward0"), (here,), "")
        y._ts_edge = graph.make_node(inst, 1, (edge(t),), (None,), (None,), (None,), ())
    return y


def _read_as(t, dtype):
    """All of a tensor's memory in one dimension, as another dtype than that in which it lies there."""
    root = t._ts_st.value.meta
    if needs_grad(t) or root.numel * root.dtype.itemsize % dtype.itemsize:
        raise NotImplementedError("as_strided of a tensor that reads its memory as another dtype")
    y = detached(t)
    y._ts_view = None
    flat = y if root.ndim == 1 and root.contiguous else _from_memory(y, (root.numel,), (1,), 0)
    return flat.view(FROM_NP[dtype])


def _window_source(t, size, stride, first, last):
    """(tensor, its Meta, its offset) through which a window on the places first..last of `t`'s memory is seen, with `t`'s history."""
    vw, root = t._ts_view, t._ts_st.value.meta
    if vw is None:
        return t, root, 0
    base = vw.base if t._ts_edge is not True and vw.skip != ELSEWHERE else None            # a leaf's history is its own
    if base is not None and not vw.skip and base._ts_view is None:
        return base, root, 0
    owner = t if base is None else base
    m, at = meta(owner), offset_of(owner)
    if m.dtype == root.dtype and at <= first:
        places = memory_views.places_of
        if last < at + m.numel if m.dense else np.isin(places(size, stride, first), places(m.shape, m.strides, at)).all():
            return owner, m, at
    if needs_grad(t):
        raise NotImplementedError("as_strided beyond the memory of a detached tensor that requires grad")
    y = detached(t)
    y._ts_view = None
    return y, root, 0


# -- aliases ---------------------------------------------------------------------------------------------------------------
@function("alias_copy", method=False, out=True)
def alias_copy(input):
    """A copy of the tensor."""
    return call(COPIED, (input, "AliasBackward0_copy"))


FUNCTIONS["detach"] = guarded(lambda input: input.detach(), "detach", False)
FUNCTIONS["detach_"] = guarded(lambda input: input.detach_(), "detach_", False)
FUNCTIONS["is_same_size"] = guarded(lambda input, other: input.is_same_size(other), "is_same_size", False)
for _name in ("is_same_size", "is_pinned"):
    setattr(Tensor, _name, guarded(getattr(Tensor, _name), _name, True))


# -- the tensor itself seen otherwise ---------------------------------------------------------------------------------------
def become(self, y):
    """Make `self` the view `y` of itself: what transpose_, squeeze_ and their like do."""
    old, new = self._ts_view, y._ts_view
    if old is None or old.base is None:
        new.base, new.skip = None, 0
    new.creation = old.creation if old is not None else None
    log_edge(self)
    if self._ts_edge is not None and not context.grad:    # its history stays what it was, as in torch
        loosen_shapes()
    note_history(self)
    self._ts_view = new
    if self._ts_edge is not None and context.grad:
        before, self._ts_edge = self._ts_edge, y._ts_edge
        hooks_stay(self, before)
    bump_version(self)
    if y._ts_edge is not None and (old is None or old.base is None):       # what is turned through a view keeps its own writer
        self._ts_st.writer = type(y._ts_edge).__name__
    refuse_inference(self)
    return self


def _check_become(self):
    ask_for_version(self)
    if context.grad and needs_grad(self):
        check_inplace(self, True)


def bump_version(t, n=1):
    extra = t._ts_extra
    if extra is not None and extra.version is not None:
        extra.version[0] += n
    else:
        t._ts_st.version += n
    t._ts_st.gen += 1                             # what was saved before is looked at again
    if t._ts_view is not None and context.grad and needs_grad(t):      # else its history is read anew
        t._ts_view.seen = version(t)


def _inplace(name, f):
    def g(self, *args, **kwargs):
        _check_become(self)
        ask(self, "squeeze_.dim" if name == "squeeze_" and (args or kwargs) else name)
        if name == "t_" and self.ndim > 2:
            raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
        y = f(self, *args, **kwargs)
        node = y._ts_edge
        if node is not None:                       # the in-place forms are numbered on
            kind, _, number = type(node).__name__.partition("Backward")
            if number:                             # and those that only carry a tangent have no name
                node.__class__ = node_class(f"{kind}Backward{int(number) + (3 if kind == 'Squeeze' else 1)}")
        return become(self, y)
    g.__name__ = g.__qualname__ = name
    g.__doc__ = f"`{name[:-1]}` of the tensor itself."
    setattr(Tensor, name, guarded(g, name, True))


for _name, _f in (("transpose_", transpose), ("swapdims_", transpose), ("swapaxes_", swapaxes), ("t_", t), ("squeeze_", squeeze),
                  ("unsqueeze_", unsqueeze)):
    _inplace(_name, _f)


@function("as_strided_")
def as_strided_(input, size, stride, storage_offset=None):
    """`as_strided` of the tensor itself."""
    _check_become(input)
    ask(input, "as_strided_")
    y = as_strided(input, size, stride, storage_offset)
    node = y.grad_fn
    if node is not None:
        node.__class__ = node_class("AsStridedBackward1")            # torch has two formulas
    return become(input, y)


@function("is_set_to", torch=False)
def is_set_to(self, tensor):
    """Whether both see the same memory in the same way."""
    a, b = meta(self), meta(tensor)
    return self._ts_st is tensor._ts_st and offset_of(self) == offset_of(tensor) and a.shape == b.shape and a.strides == b.strides


@function("dim_order", torch=False)
def dim_order(self, ambiguity_check=False):
    """The dimensions from the outermost in memory to the innermost. `ambiguity_check`: True raises RuntimeError where strides allow
    several orders; a list of memory formats, where not exactly one of them fits then."""
    listed = isinstance(ambiguity_check, list) and all([isinstance(f, memory_format) for f in ambiguity_check])
    if not isinstance(ambiguity_check, bool) and not listed:
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    m = meta(self)
    order = tuple(reversed(fastest_first((m.strides,), m.shape)))
    if not ambiguity_check:
        return order
    if 0 in m.strides or 0 in m.shape:
        raise RuntimeError("The tensor does not have unique dim order.")
    if len(set(m.strides)) == m.ndim and all([n > 1 for n in m.shape]):
        return order
    fitting = [f for f in (ambiguity_check if listed else ()) if is_in_format(m, f)]
    if len(fitting) != 1:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    return (0, *range(2, m.ndim), 1) if fitting[0].name.startswith("channels_last") else tuple(range(m.ndim))
