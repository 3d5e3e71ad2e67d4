"""Views of parts of a tensor: slices, splits, diagonals, windows."""
from __future__ import annotations

from ...engine import context, meta_of
from ...engine.record.memo import Memo
from ...ops import views as V
from ...ops.common import wrap_dim
from ...ops.promotion import c_name, kind_of
from ...ops.views import NEW, SELECT, SLICE, slice_op as SLICE_OP, whole
from .bind import function
from ..core.graph import node_class
from ..core.handle import TensorBase, edge, meta, offset_of, refusal
from ..core.memory_format import no_dimension
from ..core.view import detached, make_view, make_views
from ..core.write import is_inference
from .views import integer, ints


_wholes = Memo(1024)       # {shape: the slice that is all of it}


def all_of(shape):
    """The slice that is all of `shape`."""
    return _wholes.get(shape) or _wholes.keep(shape, tuple([whole(n) for n in shape]))


def sliced(t, d, start, length, step, name="SliceBackward0"):
    """A view of part of one dimension."""
    m = meta(t)
    spec = all_of(m.shape)
    spec = (*spec[:d], (SLICE, start, length, step), *spec[d + 1:])
    return make_view(t, SLICE_OP, (spec, name), offset_of(t) + start * m.strides[d])


def selected(t, d, i, name="SelectBackward0"):
    """A view of one index of a dimension."""
    m = meta(t)
    spec = all_of(m.shape)
    spec = (*spec[:d], (SELECT, i, 0, 1), *spec[d + 1:])
    return make_view(t, SLICE_OP, (spec, name), offset_of(t) + i * m.strides[d])


@function("select")
def select(input, dim, index):
    """One index of a dimension, without that dimension."""
    m = meta(input)
    if not m.ndim:
        raise refusal(input, no_dimension(input, IndexError("select() cannot be applied to a 0-dim tensor.")))
    d = wrap_dim(integer(dim, "select", "dim"), m.ndim, input)
    i = integer(index, "select", "index")
    if not -m.shape[d] <= i < m.shape[d]:
        raise refusal(input, IndexError(f"select(): index {i} out of range for tensor of size {list(m.shape)} at dimension {d}"))
    return selected(input, d, i % m.shape[d])


@function("narrow")
def narrow(input, dim, start, length):
    """`length` elements of a dimension from `start` on."""
    m = meta(input)
    if not m.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, TensorBase):
        if start.ndim or kind_of(meta(start).dtype) != 1:
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start)
    d = wrap_dim(integer(dim, "narrow", "dim"), m.ndim)
    length = integer(length, "narrow", "length")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    n, given = m.shape[d], integer(start, "narrow", "start")
    if not -n <= given <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {given})")
    start = given + n if given < 0 else given
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return sliced(input, d, start, length, 1)


def _cuts(bounds, n):
    """Slices between cut positions, clamped as Python slices are."""
    at, out = 0, []
    for b in [*bounds, n]:
        a, e, _ = slice(at, b).indices(n)
        out.append((a, max(e - a, 0)))
        at = b
    return out


def _pieces(t, d, sizes, name):
    """A split into pieces of the given sizes, which cover the dimension."""
    stride, at, offsets = meta(t).strides[d], offset_of(t), []
    for n in sizes:
        offsets.append(at)
        at += n * stride
    return make_views(t, V.split, (d, tuple(sizes), name), tuple(offsets))


@function(method=False)
def split(tensor, split_size_or_sections, dim=0):
    """Pieces of one size (the last may be smaller), or of the sizes listed."""
    input = tensor
    if isinstance(split_size_or_sections, (list, tuple)):
        return split_with_sizes(input, split_size_or_sections, dim)
    m = meta(input)
    if not m.ndim:
        raise refusal(input, no_dimension(input, RuntimeError("split expects at least a 1-dimensional tensor")))
    d, size = wrap_dim(integer(dim, "split", "dim"), m.ndim, input), integer(split_size_or_sections, "split", "split_size")
    edge(input)
    return _pieces(input, d, _even(m.shape[d], size), "SplitBackward0")


@function("split", torch=False)
def _split(self, split_size, dim=0):
    """Pieces of one size (the last may be smaller), or of the sizes listed."""
    return split(self, split_size, dim)


def _even(n, size):
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0:
        if n:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
        return [0]
    return [min(size, n - a) for a in range(0, n, size)] or [0]


@function("split_with_sizes")
def split_with_sizes(input, split_sizes, dim=0):
    """Pieces of the sizes listed."""
    m = meta(input)
    if not m.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d, sizes = wrap_dim(integer(dim, "split_with_sizes", "dim"), m.ndim), ints((split_sizes,), "split_with_sizes", "split_sizes")
    _check_sizes(sizes, m.shape[d], dim, input)
    return _pieces(input, d, sizes, "SplitWithSizesBackward0")


def _check_sizes(sizes, n, d, input):
    if any(s < 0 for s in sizes):
        raise RuntimeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}")
    if sum(sizes) != n:
        raise refusal(input, RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension "
                                          f"{d}), but got split_sizes={list(sizes)}"))


def _chunk_sizes(m, chunks, d):
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = m.shape[d]
    if n == 0:
        return [0] * chunks
    return _even(n, -(-n // chunks))


@function("chunk")
def chunk(input, chunks, dim=0, *, axis=None):
    """At most `chunks` pieces of one size."""
    m = meta(input)
    if not m.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    d = wrap_dim(integer(dim if axis is None else axis, "chunk", "dim"), m.ndim)
    sizes = _chunk_sizes(m, integer(chunks, "chunk", "chunks"), d)
    return _pieces(input, d, sizes, "SplitBackward0" if m.shape[d] else "SplitWithSizesBackward0")


@function("unsafe_chunk")
def unsafe_chunk(input, chunks, dim=0):
    """`chunk` whose pieces the graph takes for memory of their own: it follows no writes from them to it, or back."""
    pieces = chunk(input, chunks, dim)
    name = "UnsafeSplitBackward0" if input._ts_meta.shape[dim] else "UnsafeSplitWithSizesBackward0"
    return _apart(pieces, name)


@function("unsafe_split")
def unsafe_split(input, split_size, dim=0):
    """`split` whose pieces the graph takes for memory of their own."""
    return _apart(split(input, split_size, dim), "UnsafeSplitBackward0")


@function("unsafe_split_with_sizes")
def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """`split_with_sizes` whose pieces the graph takes for memory of their own."""
    return _apart(split_with_sizes(input, split_sizes, dim), "UnsafeSplitWithSizesBackward0")


def _apart(pieces, name):
    if is_inference(pieces[0]):
        return pieces
    if context.inference:                      # nothing is followed of them: they stay views, which count for themselves
        for p in pieces:
            p._ts_more().version, p._ts_view.seen = [0], 0
        return pieces
    e = pieces[0]._ts_edge
    if e is not None:
        e[0].__class__ = node_class(name)
    made = tuple([detached(p) for p in pieces])
    for t, p in zip(made, pieces):
        t._ts_edge, t._ts_more().version = p._ts_edge, [0]
    return made


@function("unbind")
def unbind(input, dim=0, *, axis=None):
    """All indices of a dimension."""
    m = meta(input)
    d = wrap_dim(integer(dim if axis is None else axis, "unbind", "dim"), m.ndim, input)
    if not m.ndim:
        raise refusal(input, no_dimension(input, IndexError("Dimension specified as 0 but tensor has no dimensions")))
    at, stride = offset_of(input), m.strides[d]
    if not m.shape[d]:
        edge(input)                            # a view that lost its history says so
        return ()
    return make_views(input, V.unbind, (d, "UnbindBackward0"), tuple([at + k * stride for k in range(m.shape[d])]))


@function("tensor_split")
def tensor_split(input, at=None, dim=0, *, indices=None, sections=None, tensor_indices_or_sections=None, axis=None):
    """Pieces between indices, or `sections` pieces whose sizes differ by one at most."""
    what = next((x for x in (at, indices, sections, tensor_indices_or_sections) if x is not None), None)
    m = meta(input)
    if not m.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = wrap_dim(integer(dim if axis is None else axis, "tensor_split", "dim"), m.ndim)
    if isinstance(what, TensorBase):
        if meta(what).device != "meta" and kind_of(meta(what).dtype) != 1:
            raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                               f"{c_name(meta(what).dtype)}")
        if what.dim() > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but "
                               f"got a tensor with {what.dim()} dims")
        what = what.tolist()
    n = m.shape[d]
    if isinstance(what, (list, tuple)):
        return tuple([sliced(input, d, a, k, 1) for a, k in _cuts(ints((what,), "tensor_split", "indices"), n)])
    k = integer(what, "tensor_split", "sections")
    if k <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {k}")
    small, more = divmod(n, k)
    at, out = 0, []
    for i in range(k):
        size = small + (i < more)
        out.append(sliced(input, d, at, size, 1))
        at += size
    return tuple(out)


def _numpy_split(name, dim_of, least):
    def f(input, at=None, *, indices=None, sections=None):
        what = next((x for x in (at, indices, sections) if x is not None), None)
        m = meta(input)
        if m.ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
                               f"with {m.ndim} dimensions!")
        d = dim_of(m.ndim)
        if what.__class__ is int and (not what or m.shape[d] % what):
            raise RuntimeError(f"torch.{name} attempted to split along dimension {d}, but the size of the dimension {m.shape[d]} is not "
                               f"divisible by the split_size {what}!")
        return tensor_split(input, what, d)
    f.__name__ = f.__qualname__ = name
    f.__doc__ = "`tensor_split` along NumPy's dimension for it."
    function(name)(f)


_numpy_split("hsplit", lambda n: 0 if n == 1 else 1, 1)
_numpy_split("vsplit", lambda n: 0, 2)
_numpy_split("dsplit", lambda n: 2, 3)


@function("diagonal")
def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of two dimensions, as the last dimension."""
    m = meta(input)
    a, b = wrap_dim(integer(dim1, "diagonal", "dim1"), m.ndim, input), wrap_dim(integer(dim2, "diagonal", "dim2"), m.ndim, input)
    if a == b:
        raise refusal(input, RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}"))
    k = integer(offset, "diagonal", "offset")
    count = min(m.shape[a], m.shape[b] - k) if k >= 0 else min(m.shape[a] + k, m.shape[b])
    at = offset_of(input)
    if count > 0:
        at += k * m.strides[b] if k >= 0 else -k * m.strides[a]
    return make_view(input, V.diagonal, (k, a, b, "DiagonalBackward0"), at)


@function("unfold", torch=False)
def unfold(self, dimension, size, step):
    """Windows of a dimension, `step` apart, as the last dimension."""
    m = meta(self)
    d = wrap_dim(integer(dimension, "unfold", "dimension"), m.ndim, self)
    size, step = integer(size, "unfold", "size"), integer(step, "unfold", "step")
    edge(self)
    n = m.shape[d] if m.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return make_view(self, V.unfold, (d, size, step, "UnfoldBackward0"), offset_of(self))


# -- basic indices ---------------------------------------------------------------------------------------------------------------
class Basic:
    """What an index of integers, slices and new dimensions means for a Meta: the layouts of the view and of a write, the name of the view's
    grad_fn (None: it is no view), how far into the tensor it begins, whether it may be written in one step, whether it is one place, and
    the view's Meta."""
    __slots__ = ("layout", "put", "name", "shift", "plain", "single", "_part")

    def part(self, m):
        """The Meta of the view; `m` is the one that this was made for."""
        if self._part is None:
            shape, dtype, strides = SLICE_OP.place(m, self.layout[0])          # no operator for each place
            self._part = meta_of(shape, dtype, m.device, strides)
        return self._part


NEW_DIM = (NEW, 0, 1, 1)
_basics = Memo(4096)       # {(Meta, the entries): Basic}


def basic_index(m, key):
    """The Basic of a key of integers, slices, None and an ellipsis; None for other keys, and for what is out of range."""
    c = key.__class__
    if c is int:
        return _basics.get((m, key)) or _read_basic(m, (key,), (m, key))
    if c is slice and key.step is None:
        start, stop = key.start, key.stop
        if (start.__class__ is int or start is None) and (stop.__class__ is int or stop is None):
            form = m, ..., slice, start, stop
            return _basics.get(form) or _read_basic(m, (key,), form)
        return None
    if c is tuple:
        form, entries = [m], key
    else:
        form, entries = [m, ...], (key,)       # x[:] is a slice, x[:,] an alias
    for x in entries:
        c = x.__class__
        if c is int or x is None:
            form.append(x)
        elif c is slice:
            start, stop, step = x.start, x.stop, x.step
            if not ((start is None or start.__class__ is int) and (stop is None or stop.__class__ is int)):
                return None
            if step is None:
                form += (slice, start, stop)   # the class tells a slice from two integers
            elif step.__class__ is int and step > 0:
                form += (range, start, stop, step)
            else:
                return None
        elif x is Ellipsis:
            form.append("...")
        else:
            return None
    form = tuple(form)
    return _basics.get(form) or _read_basic(m, entries, form)


def _read_basic(m, key, form):
    used = sum([x is not None and x is not Ellipsis for x in key])
    if used > m.ndim or len([x for x in key if x is Ellipsis]) > 1:
        return None
    spec, name, d, shift = [], "SliceBackward0" if form[1:2] == (...,) and key[0].__class__ is slice else None, 0, 0
    for x in key:
        if x is None:
            spec.append(NEW_DIM)
            name = "UnsqueezeBackward0"
            continue
        if x is Ellipsis:
            spec += all_of(m.shape)[d:d + m.ndim - used]
            d += m.ndim - used
            continue
        n = m.shape[d]
        if x.__class__ is slice:
            start, stop, step = x.indices(n)
            length = -(-(stop - start) // step) if stop > start else 0
            if length != n or x.start or step != 1:        # a start of its own makes a view of it, even of all
                shift += start * m.strides[d]
                name = "SliceBackward0"
            spec.append((SLICE, start, length, step))
        elif -n <= x < n:
            i = x + n if x < 0 else x
            spec.append((SELECT, i, 0, 1))
            shift += i * m.strides[d]
            name = "SelectBackward0"
        else:
            return None
        d += 1
    return _basics.keep(form, basic_of(m, (*spec, *all_of(m.shape)[d:]), name, shift))


def basic_of(m, spec, name, shift):
    """The Basic with these fields."""
    b = Basic()
    b.layout, b.put, b.name, b.shift = (spec, name), (spec, None), name, shift
    b.single = bool(spec) and all([e[0] == SELECT for e in spec])
    b._part, b.plain = None, m.device != "meta" and m.dense
    return b


@function("slice_inverse")
def slice_inverse(input, src, dim=0, start=None, end=None, step=1):
    """The tensor that `input` is a slice of: a window on the same memory that lies as `src`."""
    if context.grad and input.requires_grad:
        raise NotImplementedError("torchshim: the gradient of slice_inverse")
    return input.as_strided(src.shape, src.stride(), src.storage_offset())
