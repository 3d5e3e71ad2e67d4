"""Copying, filling and repeating tensors."""
from __future__ import annotations

import math

import numpy as np

from ...engine import Memory, TRACED, context, contiguous_strides, meta_of, value_of, warn
from ...ops import promotion as P
from ...ops import shape as S
from ...ops import views as V
from ...ops.common import wrap_dim
from ...ops.index import MASKED_FILL
from ...ops.registry import OPS, SI, T
from ...ops.shape import CLONE, COPY, DIAGONAL_COPY, FILL, FILL_ITEM, FILL_TENSOR, ZERO
from .bind import FUNCTIONS, PACKED, UNSET, call, function, number, pack, type_name
from ..core.dispatch import Tensor, apply1, wrap
from ..core.dtype import dtype as torch_dtype, int64
from ..core.graph import Node, begin_anew
from ..core.growing import move, others_with, storage_objects
from ..core.handle import TensorBase, edge, keep_count, log_edge, meta, offset_of, read
from ..core.hooks import retain_instead
from ..core.tensor import tensor_from
from ..core.memory_format import (batched, check_format, contiguous_format, is_in_format, no_dimension, refuse_batched, strides_for,
                                  suggested)
from ..core.storage import Storage, note_history
from ..core.view import detached, make_view, still_view, tensor_on
from ..core.inplace import inplace1, inplace_number
from ..core.write import apply_inplace, ask, bump, check_inplace, needs_grad, rebase, refuse_inference, refuse_overlap, write
from .joining import stack
from .misfits import described
from .undefined import no_derivative
from .views import as_strided, become, expanded, given_size, ints, reshaped, unsqueezed, view, warn_once


# -- copies ------------------------------------------------------------------------------------------------------------------
@function("clone")
def clone(input, *, memory_format=None):
    """A copy with memory of its own."""
    m = meta(input)
    if memory_format is None or memory_format.name == "preserve_format":
        strides = S.kept_strides(m)
    else:
        if batched(input) and memory_format is not contiguous_format:
            raise RuntimeError("NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
                               f"torch.contiguous_format (got {_CPP[memory_format.name]})")
        edge(input)
        strides = strides_for(m.shape, memory_format)
    return apply1(CLONE, input, (T, strides))


def contiguous(self, *, memory_format=None):
    """The tensor itself if its elements lie row-major (or in `memory_format`), else a copy that does."""
    m = meta(self)
    fmt = contiguous_format
    if memory_format is not None:
        check_format("contiguous", memory_format)
        fmt = memory_format
    if fmt.name == "preserve_format" and not m.contiguous:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if fmt.name != "contiguous_format":
        refuse_batched(self)
        strides_for(m.shape, fmt)
    return self if is_in_format(m, fmt) else clone(self, memory_format=fmt)


Tensor.contiguous = contiguous
_CPP = {"channels_last": "ChannelsLast", "channels_last_3d": "ChannelsLast3d"}


def copy_(self, other=UNSET, non_blocking=False):
    """Write the elements of `other`, broadcast and cast, into this tensor."""
    src = other
    if non_blocking.__class__ is not bool:
        raise TypeError(f"copy_(): argument 'non_blocking' (position 2) must be bool, not {type_name(non_blocking)}")
    if not isinstance(src, TensorBase):
        n = number(src)
        if n is None:
            if src is UNSET:
                raise TypeError("copy_() received an invalid combination of arguments - got (), but expected (Tensor other, "
                                "bool non_blocking = False)")
            raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type_name(src)}")
        # what every dtype holds needs no cast
        if n.__class__ is not complex and 0 <= n < 128 and (not context.grad or not needs_grad(self)):
            refuse_overlap(self)               # where filling does not mind
            return fill_(self, n)
        if n.__class__ is int and not -2 ** 63 <= n < 2 ** 63:
            raise OverflowError("int too big to convert")
        src = tensor_from(np.asarray(n))       # which has a place in the graph, and loses what does not fit
    m, sm = meta(self), meta(src)
    if sm.device is not m.device and sm.device != m.device:
        if m.device == "meta":
            S.check_copy(m, sm)
            return self
        src = src.to(device=self.device)
        sm = meta(src)
    if sm is m and not needs_grad(self) and not needs_grad(src) and (self._ts_st is not src._ts_st or self is src) \
            and "transform" not in context.modes:
        if self is not src:
            refuse_overlap(self)               # nothing to compute: values never change, so both may hold the same one
        write(self, read(src))
        return self
    if P.kind_of(sm.dtype) == 3 and P.kind_of(m.dtype) < 3:
        warn_once("Casting complex values to real discards the imaginary part")
    itself = self is src or self._ts_st is src._ts_st and sm is m and offset_of(self) == offset_of(src)          # nothing moves
    overlap = "fill" if itself else None
    if P.kind_of(m.dtype) < 2 and context.grad is True:        # what can have no gradient asks for none
        context.grad = False
        try:
            return apply_inplace(COPY.inplace_op, (self, src), (T, T), overlap=overlap)
        finally:
            context.grad = True
    return apply_inplace(COPY.inplace_op, (self, src), (T, T), overlap=overlap)


Tensor.copy_ = copy_


def fill_(self, value=UNSET, op=FILL):
    """Write one number, or the value of a 0-d tensor, everywhere."""
    if isinstance(value, TensorBase):
        if meta(value).ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {meta(value).ndim} dimensions.")
        if meta(value).device is not meta(self).device and meta(value).device != meta(self).device:
            return fill_(self, value.item())
        refuse_overlap(self)                   # a copy, of what is read before
        return apply_inplace(FILL_TENSOR.inplace_op, (self, value), (T, T), overlap="fill")
    nums = []
    token = pack(filler(value, meta(self), "fill_", op is FILL_ITEM or meta(self).numel == 1), nums)
    if len(nums) == 1 and 0 not in meta(self).strides:
        return inplace_number(op.inplace_op, self, nums[0], (T, token), PACKED[token])
    return apply_inplace(op.inplace_op, (self,), (T, token), nums, PACKED[token], overlap="fill")


def filler(value, m, name, item=False):
    """A number that can be stored in a tensor like `m`; torch's errors for others. `item`: it is assigned to an index, where
    one beyond a half type becomes infinite."""
    n = number(value)
    if value is UNSET:
        raise TypeError(f"{name}() received an invalid combination of arguments - got (), but expected one of:\n * (Tensor value)\n"
                        " * (Number value)\n")
    if n is None:
        wrong = f"      didn't match because some of the arguments have invalid types: (!{described(value)}!)\n"
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({type_name(value)}), but expected one of:\n"
                        f" * (Tensor value)\n{wrong} * (Number value)\n{wrong}")
    d, c, bad = m.dtype, n.__class__, False
    if c is int and not -2 ** 63 <= n < 2 ** 64 and not item:
        raise OverflowError("int too big to convert")
    k = P.kind_of(d)
    if c is complex and k == 0:
        return n != 0
    if c is complex and k < 3:
        bad, n, c = n.imag != 0, n.real, float
    elif c is int and not -2 ** 63 <= n < 2 ** 63 and k != 1:
        n, c = float(n), float
    if bad or c is not complex and not (item and d.itemsize == 2 and k == 2):
        P.refuse_beyond(n, d, bad)
    if c is int and k == 1 and n >= 2 ** 63:
        n -= 2 ** 64                           # packed as int64
    return n


def _fill_(self, value=UNSET):
    """Write one number, or the value of a 0-d tensor, everywhere."""
    return fill_(self, value)


Tensor.fill_ = _fill_
_fill_.__name__ = _fill_.__qualname__ = "fill_"


@function("fill_", method=False)
def _filled(input, value):
    """Write one number, or the value of a 0-d tensor, everywhere."""
    return fill_(input, value)


@function("fill", method=False)
def fill(input, value):
    """A tensor like this one with one value everywhere."""
    if isinstance(value, TensorBase):
        if meta(value).ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {meta(value).ndim} dimensions.")
        return call(FILL_TENSOR, (input, value))
    return call(FILL, (input, filler(value, meta(input), "fill", meta(input).numel == 1)))


def zero_(self):
    """Write zeros everywhere."""
    if 0 in meta(self).strides:                # elements may coincide
        return apply_inplace(ZERO.inplace_op, (self,), (T,), overlap="fill")
    return inplace1(ZERO.inplace_op, self, (T,))


Tensor.zero_ = zero_


@function("zero_", method=False)
def _zeroed_(input):
    """Write zeros everywhere."""
    return zero_(input)


@function("zero", method=False)
def zero(input):
    """A tensor like this one of zeros."""
    return call(ZERO, (input,))


def _zeroed(op, t, layout):
    """torch's triangles write nothing but zeros in place, and refuse no elements that lie in one place: those are zero that are so
    anywhere. None where no elements do. No gradient gets through such a write, see autograd.backward."""
    m = meta(t)
    if m.contiguous or m.dense:
        return None
    check_inplace(t, needs_grad(t))
    op.inplace_op.resolve(layout, (m,), "")    # what it refuses
    if read(t).extra is TRACED:
        return None
    place = np.zeros(m.shape, np.int64)
    for d, (n, s) in enumerate(zip(m.shape, m.strides)):
        place += (np.arange(n) * s).reshape((-1,) + (1,) * (m.ndim - 1 - d))
    if len(np.unique(place)) == place.size:
        return None
    cut = ~getattr(np, op.name)(np.ones(m.shape, bool), layout[1])
    hidden = np.isin(place, place[cut])
    return apply_inplace(MASKED_FILL.inplace_op, (t, wrap(value_of(hidden, meta_of(m.shape, hidden.dtype, m.device)))),
                         (T, T, SI), (0,), "i", overlap="fill")


for _name in ("tril", "triu"):
    OPS[None, _name].overlap = _zeroed


@function("fill_diagonal_")
def fill_diagonal_(input, fill_value, wrap=False):
    """Write a number on the main diagonal; `wrap` begins anew below a tall matrix."""
    m = meta(input)
    if m.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if m.ndim > 2 and len(set(m.shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if isinstance(fill_value, TensorBase) and not fill_value.ndim:
        fill_value = fill_value.item()
    value, step, n = filler(fill_value, m, "fill_diagonal_"), sum(m.strides), min(m.shape)
    as_strided(input, (n,), (step,)).fill_(value)
    if wrap and m.ndim == 2 and m.shape[0] > m.shape[1] + 1:
        rest = -(-m.numel // (m.shape[1] + 1)) - n
        as_strided(input, (rest,), (step,), offset_of(input) + m.strides[0] * (m.shape[1] + 1)).fill_(value)
    return input


def resize_(self, *sizes, size=None, memory_format=None):
    """Another shape in the same memory, which grows if it is too small."""
    sizes = given_size("resize_", sizes, size)
    if memory_format is not None:
        check_format("resize_", memory_format)
        if memory_format.name == "preserve_format":
            raise RuntimeError("Unsupported memory formatPreserve")
    shape = ints(sizes, "resize_")
    if self.requires_grad and not context.inference:
        raise RuntimeError("cannot resize variables that require grad")
    return resized(self, shape, memory_format)


def resized(self, shape, memory_format=None):
    """The tensor, which got another shape; whether it requires grad is nobody's question, as where it is an out tensor."""
    edge(self)                                 # a view that lost its history says so
    ask(self, "resize_")
    m = meta(self)
    if shape == m.shape:
        return self
    _resize(self, shape, m, memory_format)
    refuse_inference(self)                     # after it is done: that is when torch notices
    return self


def _resize(self, shape, m, memory_format):
    from .creation import check_memory, check_size
    from .views import as_strided, become, bump_version
    check_size(shape)
    count = math.prod(shape)
    if count >= 2 ** 63:
        raise RuntimeError("numel: integer multiplication overflow")
    strides = contiguous_strides(check_memory(shape, m.dtype.itemsize))
    if memory_format is not None and memory_format.name.startswith("channels_last"):
        strides = strides_for(shape, memory_format)
    at, root = offset_of(self), self._ts_st.value.meta
    if at + count <= root.numel and root.dtype == m.dtype:
        become(self, as_strided(self, shape, strides, at))
        return
    if self._ts_st.value.extra.__class__ is Memory and (at + count) * m.dtype.itemsize > root.numel * root.dtype.itemsize:
        raise RuntimeError("Trying to resize storage that is not resizable")       # NumPy sees it
    others = others_with(self)
    if (others or not m.contiguous or id(self._ts_st) in storage_objects) and root.dense and root.dtype == m.dtype and self._ts_st.__class__ is Storage:
        bump(self)
        grow([self, *others], at + count)
        y = as_strided(self, shape, strides, at)
        become(self, y)
        bump_version(self, -1)
        return
    old = make_view(self, V.reshape, ((m.numel,), (1,), "ViewBackward0"), at) if m.contiguous else reshaped(self, (m.numel,))
    more = FUNCTIONS["empty"](max(count - m.numel, 0), dtype=self.dtype, device=self.device)
    grown = reshaped(FUNCTIONS["cat"]([old.detach()[:count], more]), shape)      # an expanded tensor has more elements than memory
    if strides != contiguous_strides(shape):
        grown = as_strided(grown, shape, strides, 0)
    bump(self)
    keep_count(self)
    self._ts_st, self._ts_view = wrap(read(clone(grown)))._ts_st, None


def grow(tensors, count):
    """Let the memory that tensors share, a dense one of their dtype, have `count` elements."""
    from .views import as_strided
    t, root = tensors[0], tensors[0]._ts_st.value.meta
    held = as_strided(tensor_on(t._ts_st, (), 0, None), (root.numel,), (1,), 0)
    more = FUNCTIONS["empty"](count - root.numel, dtype=t.dtype, device=t.device)
    move(tensors, read(FUNCTIONS["cat"]([held, more])))


def _fit(self, y, shape, stride, at):
    """Make room in the memory of `y` for a window that `self` is set to: torch does where it is not the one that `self` has already."""
    from .views import memory_of
    m, root = meta(self), y._ts_st.value.meta
    count = at + 1 + sum([(n - 1) * s for n, s in zip(shape, contiguous_strides(shape) if stride is None else stride)])
    room = memory_of(y)
    if not all(shape) or count * m.dtype.itemsize <= room:
        return
    if shape == m.shape and stride in (None, m.strides):
        raise RuntimeError(f"setStorage: sizes {list(shape)}, strides {list(stride or ())}, storage offset {at}, and itemsize "
                           f"{m.dtype.itemsize} requiring a storage size of {count * m.dtype.itemsize} are out of bounds for storage of "
                           f"size {room}")
    if y._ts_st.value.extra.__class__ is Memory:
        raise RuntimeError("Trying to resize storage that is not resizable")
    if not (root.dense and root.dtype == m.dtype and y._ts_st.__class__ is Storage):
        raise NotImplementedError("torchshim: set_ to more memory than a storage has, where that holds another dtype")
    grow([y, *others_with(y)], count)


Tensor.resize_ = resize_


#: What C++ calls the types whose names there are others.
_IN_C = {"int64": "long int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char", "uint16": "short unsigned int",
         "uint32": "unsigned int", "uint64": "long unsigned int", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
         "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


@function("resize_as_")
def resize_as_(input, the_template, *, memory_format=None):
    """`resize_` to another tensor's shape."""
    if not isinstance(the_template, TensorBase):
        raise TypeError(f"resize_as_(): argument 'the_template' (position 1) must be Tensor, not {type_name(the_template)}")
    if memory_format is not None and memory_format.name == "preserve_format":
        memory_format = suggested(meta(the_template))
    shape = meta(the_template).shape
    resize_(input, shape)
    if memory_format is not None:              # elements stay where they are
        strides = strides_for(shape, memory_format) or contiguous_strides(shape)
        if strides != meta(input).strides:
            become(input, as_strided(input, shape, strides, offset_of(input)))
    return input


def resize_as(self, tensor):
    """`resize_as_` of the detached tensor, which shares its memory."""
    warn("non-inplace resize_as is deprecated")
    return resize_as_(self.detach(), tensor)


def resize(self, *sizes):
    """`resize_` of the detached tensor, which shares its memory."""
    warn("non-inplace resize is deprecated")
    return resize_(self.detach(), *sizes)


Tensor.resize_as, Tensor.resize = resize_as, resize


def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """See the memory of another tensor from now on."""
    from .views import as_strided
    if source is None:
        source = FUNCTIONS["empty"](0, dtype=self.dtype, device=self.device)
    if not isinstance(source, TensorBase):
        if getattr(source, "dtype", self.dtype) is not self.dtype:
            raise RuntimeError(f"Expected a Storage of type {P.c_name(meta(self).dtype).lower()} or an UntypedStorage, but got type "
                               f"{P.c_name(source.dtype.np)} for argument 1 'storage'")
        source = source._tensor(self.dtype)        # a storage object
    if meta(source).dtype != meta(self).dtype:
        theirs, own = [_IN_C.get(meta(x).dtype.name, P.c_name(meta(x).dtype).lower()) for x in (source, self)]
        raise RuntimeError(f"Could not set tensor of type {theirs} to a tensor of type {own}")
    if context.grad and needs_grad(self):
        check_inplace(self, True)
    ask(self, "set_.source_Tensor", (source,))
    y = detached(source)
    if size is not None:
        shape = ints((size,), "set_")
        strides = contiguous_strides(shape) if stride is None else ints((stride,), "set_")
        if any([s < 0 for s in strides]):
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(strides)}")
        _fit(self, y, shape, None if stride is None else strides, storage_offset)
        y = as_strided(y, shape, strides, storage_offset)
        y._ts_view.base, y._ts_view.skip, y._ts_view.creation = None, 0, None
    if self._ts_edge is True and not (y._ts_st is self._ts_st and y._ts_meta == self._ts_meta and offset_of(y) == offset_of(self)):
        begin_anew(self)                       # not where it is its own memory, as when most parametrizations are registered: it is dear
    bump(self)
    log_edge(self)
    keep_count(self)
    if self._ts_view is None or self._ts_view.base is None:
        if isinstance(self._ts_edge, (tuple, Node)):
            note_history(self)
        self._ts_st, self._ts_view, e = y._ts_st, y._ts_view, self._ts_edge
        no_derivative(self, (self, source), "set_")
        if self._ts_edge is not e:
            retain_instead(self, e, self._ts_edge)
        refuse_inference(self)                 # after it is done: that is when torch notices
        return self
    e = self._ts_edge
    self._ts_edge = None
    no_derivative(self, (self._ts_view.base, source), "set_")
    node, self._ts_edge = self._ts_edge, e
    self._ts_st, self._ts_view = y._ts_st, still_view(self, y)
    if node is not None:
        rebase(self, node)
    refuse_inference(self)
    return self


Tensor.set_ = set_


# -- repeating and mirroring ------------------------------------------------------------------------------------------------
def repeat(self, *args, repeats=None):
    """The tensor laid side by side."""
    if not args and repeats is None:
        raise TypeError('repeat() missing 1 required positional arguments: "repeats"')
    return call(S.repeat, (self, ints(args if repeats is None else (repeats,), "repeat", "repeats")))


Tensor.repeat = repeat


def tile(input, *args, dims=None):
    """As `repeat`, where missing counts are 1."""
    dims = ints(given_size("tile", args, dims, "dims"), "tile", "dims")
    return call(S.repeat, (input, (1,) * (meta(input).ndim - len(dims)) + dims))


Tensor.tile = tile


@function("tile", method=False)
def _tile(input, dims):
    """As `repeat`, where missing counts are 1."""
    return tile(input, dims)


def _check_counts(repeats):
    if meta(repeats).dtype.name not in ("int64", "int32"):
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{P.c_name(meta(repeats).dtype)}'")


@function("repeat_interleave")
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element several times in a row."""
    if repeats is None:
        counts = input
        if meta(counts).ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        _check_counts(counts)
        n = counts._ts_host()
        if n.size and n.min() < 0:
            raise RuntimeError("repeats can not be negative")
        return tensor_from(np.repeat(np.arange(n.size, dtype=meta(counts).dtype), n), meta(counts).device)
    if dim is None:
        input, dim = reshaped(input, (meta(input).numel,)), 0
    m = meta(input)
    d = wrap_dim(dim, m.ndim)
    if not m.ndim:
        if not isinstance(repeats, TensorBase):
            raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not isinstance(repeats, TensorBase):
        if isinstance(repeats, (list, tuple)):
            repeats = FUNCTIONS["tensor"](list(repeats))
        else:
            if repeats < 0:
                raise RuntimeError("Repeats must be non-negative")
            if output_size is not None and output_size != m.shape[d] * repeats:
                raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {m.shape[d] * repeats} but got {output_size}")
            wide = expanded(unsqueezed(input, d + 1), m.shape[:d + 1] + (repeats,) + m.shape[d + 1:])
            return view(clone(wide, memory_format=contiguous_format), m.shape[:d] + (m.shape[d] * repeats,) + m.shape[d + 1:])
    rm = meta(repeats)
    if rm.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    _check_counts(repeats)
    counts = repeats._ts_host()
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if counts.ndim == 0 or counts.size == 1:
        counts = np.broadcast_to(counts.reshape(-1), (m.shape[d],))
    if counts.size != m.shape[d]:
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
                           f"input.size({d}) = {m.shape[d]}")
    if output_size is not None and output_size != counts.sum():
        raise RuntimeError("allocated size does not match required size")
    return FUNCTIONS["index_select"](input, d, tensor_from(np.repeat(np.arange(m.shape[d]), counts), m.device))


def flip(self, *args, dims=None):
    """The elements of some dimensions in reverse order."""
    if not args and dims is None:
        raise TypeError('flip() missing 1 required positional arguments: "dims"')
    if dims is not None and not isinstance(dims, (tuple, list)):
        raise TypeError(f"flip(): argument 'dims' must be tuple of ints, not {type_name(dims)}")
    dims = ints(args if dims is None else (dims,), "flip", "dims")
    if dims and not meta(self).ndim and batched(self):
        S.wrap_dims(dims, 0)                   # what lies outside of an example's dimensions is told before
        raise no_dimension(self, None)
    return call(S.flip, (self, dims))


Tensor.flip = flip


@function("flip", method=False)
def _flip(input, dims):
    """The elements of some dimensions in reverse order."""
    return flip(input, dims)


@function("fliplr")
def fliplr(input):
    """The columns in reverse order."""
    if meta(input).ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@function("flipud")
def flipud(input):
    """The rows in reverse order."""
    if meta(input).ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


# -- diagonals ------------------------------------------------------------------------------------------------------------
@function("diag", out=True)
def diag(input, diagonal=0):
    """A matrix with the vector on its diagonal, or a copy of a matrix's diagonal."""
    n = meta(input).ndim
    if n not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {n}D")
    if n == 1:
        return call(S.diag_embed, (input, diagonal, 0, 1))
    return call(DIAGONAL_COPY, (input, diagonal, 0, 1))


@function("diagflat")
def diagflat(input, offset=0):
    """A matrix with all elements on its diagonal."""
    return call(S.diag_embed, (view(contiguous(input), (-1,)), offset, 0, 1))


def _triangle_indices(name, keep):
    def f(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False, requires_grad=False):
        if row < 0 or col < 0:
            raise RuntimeError(f"{'row' if row < 0 else 'col'} must be non-negative, got{row if row < 0 else col}")
        if dtype is not None and dtype.name not in ("int64", "int32"):
            raise NotImplementedError(f"\"{name}\" not implemented for '{P.c_name(dtype.np)}'")
        at = np.stack(np.nonzero(keep(np.ones((row, col), bool), offset))).astype(np.int64)
        t = tensor_from(at, None)
        if requires_grad:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return t.to(dtype or t.dtype).to(device) if device is not None or dtype is not None else t
    f.__name__ = f.__qualname__ = name
    f.__doc__ = "The places of a triangle of a matrix: rows, then columns."
    function(name, method=False)(f)


_triangle_indices("tril_indices", np.tril)
_triangle_indices("triu_indices", np.triu)


@function("vander", method=False)
def vander(x, N=None, increasing=False):
    """The powers of a vector's elements as columns."""
    m = meta(x)
    if m.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = m.numel if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    whole = P.kind_of(m.dtype) < 2
    columns = [FUNCTIONS["ones_like"](x, dtype=int64 if whole else None) if whole else FUNCTIONS["ones_like"](x)][:n]
    while len(columns) < n:
        columns.append(columns[-1] * x)
    if not columns:
        return FUNCTIONS["empty"]((m.numel, 0), dtype=int64 if whole else x.dtype)
    made = stack(columns, 1)
    return made if increasing else made.flip(1)


# -- views as copies --------------------------------------------------------------------------------------------------------
def _copied(view, x, name=None):
    """A contiguous copy of a view of x that is made for it; its node has the view's name, or the given one."""
    fn = view.grad_fn
    if fn is None or isinstance(x, TensorBase) and fn is x.grad_fn:
        return clone(view, memory_format=contiguous_format)
    return call(S.COPIED, (view, name or f"{type(fn).__name__}_copy"))


def _refuse_complex(name, x):
    """torch's refusal of complex numbers whose derivative it did not write for them."""
    if context.grad and isinstance(x, TensorBase) and x.is_complex() and x.requires_grad:
        raise RuntimeError(f"{name}_copy does not support automatic differentiation for outputs with complex dtype.")


def _copy_of(name):
    def f(*args, **kwargs):
        if name == "select" and args:
            _refuse_complex(name, args[0])
        if name == "view" and not args[0].is_contiguous() and not isinstance(args[1], torch_dtype):
            args = (args[0].contiguous(), *args[1:])
        out = FUNCTIONS.get(name, getattr(Tensor, name, None))(*args, **kwargs)
        return tuple([_copied(x, args and args[0]) for x in out]) if isinstance(out, tuple) else _copied(out, args and args[0])
    f.__name__ = f.__qualname__ = name + "_copy"
    f.__doc__ = f"As `{name}`, with memory of its own."
    function(name + "_copy", method=False, out=True)(f)


for _name in ("as_strided", "detach", "diagonal", "expand", "permute", "select", "squeeze", "t", "transpose", "unbind", "unfold",
              "unsqueeze", "view", "view_as_real", "view_as_complex", "split", "split_with_sizes"):
    _copy_of(_name)


@function("slice_copy", method=False, out=True)
def slice_copy(input, dim=0, start=None, end=None, step=1):
    """As `input[start:end:step]` along a dimension, with memory of its own."""
    _refuse_complex("slice", input)
    if not input.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, input.ndim)
    return _copied(input[(slice(None),) * d + (slice(start, end, step),)], input, "SliceBackward0_copy")


@function("narrow_copy", out=True)
def narrow_copy(input, dim, start, length):
    """As `narrow`, with memory of its own."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if dim >= input.ndim:
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error message "
                           "be improved?  If so, please report an enhancement request to PyTorch.)")
    if length < 0:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({input.shape[dim]}).")
    return _copied(FUNCTIONS["narrow"](input, dim, start, length), input, "NarrowCopyBackward0")
