"""The class of nested tensors: tensors of different sizes in one, packed one after the other in a plain tensor.

Elementwise functions compute on the packed values, others on one component after the other; gradients are those of the values. As with
sparse tensors, `handles("mul", "__mul__")` declares what answers to a function; what nobody answers to raises NotImplementedError.
"""
from __future__ import annotations

import itertools
import math

from .. import _utils, cat, empty, int64, jagged, strided, tensor
from .._tensor import _rebuild_from_type_v2
from ..engine import meta_of
from ..tensor.core.overriding import DisableTorchFunctionSubclass
from ..tensor.core.size import Size, size_of
from ..tensor.core.tensor import Tensor
from ..tensor.sparse.base import PLAIN, SparseStorage, name_of
from ..utils.weak import WeakTensorKeyDictionary

_answers: dict = {}
_symbols = itertools.count(1)
_ragged_sizes = WeakTensorKeyDictionary()      # of offsets
#: Asked of the values; all components are alike in these.
_SAME = PLAIN - set("shape size dim ndim ndimension is_nested __reduce_ex__".split()) | {"requires_grad", "is_leaf", "grad_fn",
                                                                                         "type", "is_same",
                                                                                        "retain_grad", "retains_grad", "is_pinned"}


def handles(*names):
    """A decorator: the answer to the functions of these names, given the function itself and its arguments."""
    def put(f):
        for name in names:
            _answers[name] = f
        return f
    return put


class Ragged:
    """The size of a ragged dimension, a number of its own times a factor."""
    stands_for_sizes = True
    __slots__ = ("number", "factor")

    def __init__(self, number, factor=1):
        self.number, self.factor = number, factor

    def __mul__(self, n):
        return Ragged(self.number, self.factor * n)

    __rmul__ = __mul__

    def __eq__(self, other):
        return isinstance(other, Ragged) and (self.number, self.factor) == (other.number, other.factor)

    def __hash__(self):
        return hash((self.number, self.factor))

    def __repr__(self):
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"


class _Storage(SparseStorage):
    @property
    def value(self):
        raise NotImplementedError("torchshim: an operator that knows dense tensors only was given a nested one; to_padded_tensor makes one "
                                  "of it")


class NestedTensor(Tensor):
    """A nested tensor. `_packed` holds the components: with the strided layout flat, one after the other; with the jagged one they lie
    along the dimension `_ragged` of it, where `_offsets` (and `_lengths`, where there are gaps) say. `_sizes` are the components'
    shapes."""
    __slots__ = ()
    __module__ = "torchshim.nested._internal.nested_tensor"

    @property
    def _ts_meta(self):
        return self._ts_st.meta

    _version = property(lambda self: self._ts_st.version)
    _base = None
    is_nested = True
    _asks = property(lambda self: self._layout is jagged, doc="Whether torch has a __torch_function__ for it.")
    layout = property(lambda self: self._layout)
    ndim = property(lambda self: self._ndim)
    shape = property(lambda self: self.size())
    data = property(lambda self: like(self, self._packed.detach()))

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name, kwargs = name_of(func), kwargs or {}
        answer = _answers.get(name)
        if answer is not None:
            return answer(func, *args, **kwargs)
        if name in _SAME and isinstance(args[0], NestedTensor):
            return func(args[0]._packed, *args[1:], **kwargs)
        raise NotImplementedError(f"torchshim: {name} of a nested tensor; unbind() gives its components, to_padded_tensor() a dense tensor")

    # -- what it is ---------------------------------------------------------------------------------------------------------------
    def dim(self):
        return self._ndim

    ndimension = dim

    def size(self, dim=None):
        """The shape, with a symbol where components differ; one size. The strided layout tells single sizes only, as in torch."""
        if dim is None:
            if self._layout is strided:
                raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")
            return size_of(Size, [self.size(d) for d in range(self._ndim)])
        d = at(self, dim)
        if d == 0:
            return len(self._sizes)
        if self._layout is jagged and d - 1 == self._ragged:
            return _ragged_sizes[self._offsets]
        found = {s[d - 1] for s in self._sizes}
        if len(found) != 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return found.pop()

    def stride(self, dim=None):
        if self._layout is strided:
            raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")
        inner = self._packed.stride()
        shape = self.size()
        outer = shape[self._ragged + 1] * inner[self._ragged - 1] if self._ragged else shape[1] * (inner[0] if inner else 1)
        made = (outer, *inner)
        return made if dim is None else made[at(self, dim)]

    def is_contiguous(self, memory_format=None):
        return self._layout is strided or self._lengths is None and self._ragged == 0 and self._packed.is_contiguous()

    def __len__(self):
        return self.size()[0]

    def storage_offset(self):
        return 0

    def numel(self):
        return sum([math.prod(s) for s in self._sizes])

    nelement = numel
    nbytes = property(lambda self: self.numel() * self.element_size())

    def offsets(self):
        """Where each component begins, and the last ends, along the ragged dimension."""
        return self._jagged("offsets")._offsets

    def lengths(self):
        """How long each component is, where there are gaps between them; else None."""
        return self._jagged("lengths")._lengths

    def _jagged(self, name):
        if self._layout is strided:
            raise AttributeError(f"'Tensor' object has no attribute '{name}'")
        return self

    def values(self):
        """The components in one tensor, one after the other."""
        if self._layout is jagged and self._lengths is not None:
            raise RuntimeError("values(): only supported for contiguous NestedTensors")
        return self._packed.view_as(self._packed)

    @property
    def _values(self):
        return self._packed

    def unbind(self, dim=0):
        """The components, views of the values."""
        if at(self, dim) != 0:
            raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
        if self._layout is jagged:
            return tuple([self._packed.narrow(self._ragged, start, s[self._ragged]) for start, s in zip(self._starts, self._sizes)])
        ends = list(itertools.accumulate([math.prod(s) for s in self._sizes]))
        return tuple([self._packed[end - math.prod(s):end].view(s) for end, s in zip(ends, self._sizes)])

    def __iter__(self):
        return iter(self.unbind())

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if Ellipsis in index:
            k = index.index(Ellipsis)
            index = index[:k] + (slice(None),) * (self._ndim - len(index) + 1) + index[k + 1:]
        first, rest = index[0], index[1:]
        if isinstance(first, int):
            if not -len(self._sizes) <= first < len(self._sizes):
                raise IndexError(f"index {first} is out of bounds for dimension 0 with size {len(self._sizes)}")
            part = self.unbind()[first]
            return part[rest] if rest else part
        if first != slice(None) or any([not isinstance(i, slice) for i in rest]):
            raise RuntimeError("slice(): not supported for NestedTensor on dim=0")
        return from_parts([p[rest] for p in self.unbind()], self)

    def __setitem__(self, index, value):
        raise NotImplementedError("torchshim: writing into parts of a nested tensor; unbind() gives views that can be written")

    # -- gradients ------------------------------------------------------------------------------------------------------------------
    def requires_grad_(self, requires_grad=True):
        self._packed.requires_grad_(requires_grad)
        return self

    requires_grad = property(lambda self: self._packed.requires_grad, requires_grad_)

    @property
    def grad(self):
        return None if self._packed.grad is None else like(self, self._packed.grad)

    @grad.setter
    def grad(self, g):
        self._packed.grad = g if g is None else g._packed

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        self._packed.backward(gradient if gradient is None else gradient._packed, retain_graph, create_graph,
                              inputs and [getattr(x, "_packed", x) for x in inputs])

    def register_hook(self, hook):
        def on_values(g):
            made = hook(like(self, g))
            return made if made is None else made._packed
        return self._packed.register_hook(on_values)

    # -- text and copies --------------------------------------------------------------------------------------------------------------
    def __format__(self, spec):
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents=None):
        node = self._packed.grad_fn
        if self._layout is jagged:
            grad = f", grad_fn={node}" if node is not None else ", requires_grad=True" if self.requires_grad else ""
            return f"NestedTensor(size={tuple(self.size())}, offsets={self._offsets}{grad}, contiguous={self.is_contiguous()})"
        parts = [p.detach().requires_grad_(self.requires_grad) for p in self.unbind()]
        body = ",\n".join(["  " + repr(p).replace("\n", "\n  ") for p in parts])
        grad = f", grad_fn=<{node.name()}>" if node is not None else ", requires_grad=True" if self.requires_grad else ""
        return f"nested_tensor([\n{body}\n]{grad})"

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.")
        made = like(self, self._packed.detach().clone().requires_grad_(self.requires_grad))
        return memo.setdefault(id(self), made)

    def __reduce_ex__(self, protocol):
        # (torch's forms, so that each reads the other's)
        if self._layout is strided:
            sizes = tensor(self._sizes, dtype=int64).reshape(len(self._sizes), self._ndim - 1)
            return _utils._rebuild_nested_tensor, (self._packed, sizes, *compact_strides(sizes))
        parts = dict(values=self._packed, offsets=self._offsets, lengths=self._lengths, _ragged_idx=self._ragged + 1, _metadata_cache={},
                     requires_grad=self.requires_grad)
        return _rebuild_from_type_v2, (_rebuild_njt, NestedTensor, (parts,), {})

    def __setstate__(self, state):
        """Nothing: what torch writes of its attributes is in the parts."""

    def item(self):
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self._packed.item()

    def __bool__(self):
        return bool(self._packed)

    def tolist(self):
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got NestedTensor")

    def numpy(self, *, force=False):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")


# -- making them ---------------------------------------------------------------------------------------------------------------------
def _made(layout, packed, sizes, **fields):
    nt = object.__new__(NestedTensor)
    nt._ts_st = _Storage(meta_of(tuple(packed.shape), packed._ts_meta.dtype, packed._ts_meta.device))
    nt._ts_view = nt._ts_edge = nt._ts_extra = None
    nt.__dict__.update(_layout=layout, _packed=packed, _sizes=tuple([tuple(s) for s in sizes]), **fields)
    return nt


def make_strided(packed, sizes, ndim=None):
    """A nested tensor on flat values."""
    return _made(strided, packed, sizes, _ndim=ndim or (len(sizes[0]) + 1 if sizes else 1))


def make_jagged(packed, offsets, lengths=None, ragged=0, starts=None, sizes=None):
    """A nested tensor on values whose dimension `ragged` is divided at `offsets`; `lengths` leave gaps."""
    if starts is None:
        at = offsets.tolist()
        starts = at[:-1]
        long = [b - a for a, b in zip(at, at[1:])] if lengths is None else lengths.tolist()
        sizes = [(*packed.shape[:ragged], n, *packed.shape[ragged + 1:]) for n in long]
    if offsets not in _ragged_sizes:
        _ragged_sizes[offsets] = Ragged(next(_symbols))
    return _made(jagged, packed, sizes, _ndim=packed.dim() + 1, _offsets=offsets, _lengths=lengths, _ragged=ragged, _starts=tuple(starts))


def compact_strides(sizes):
    """(strides, a row for each component, and where each begins) of components of these sizes, a row each, one after the other in a
    flat buffer."""
    rows = sizes.tolist()
    strides = [[math.prod(s[k + 1:]) for k in range(len(s))] for s in rows]
    starts = [0, *itertools.accumulate([math.prod(s) for s in rows])][:len(rows)]
    return tensor(strides, dtype=int64).reshape(sizes.shape), tensor(starts, dtype=int64)


def _rebuild_njt(constructor_kwargs):
    """A jagged tensor from the parts that its pickle has."""
    parts = constructor_kwargs
    nt = make_jagged(parts["values"], parts["offsets"], parts["lengths"], parts["_ragged_idx"] - 1)
    return nt.requires_grad_() if parts["requires_grad"] and not nt.requires_grad else nt


_rebuild_njt.__module__ = "torchshim.nested._internal.nested_tensor"


def like(nt, packed, ragged=None):
    """A nested tensor with the same components' sizes along the ragged dimension, and other values."""
    if nt._layout is strided:
        return make_strided(packed, nt._sizes, nt._ndim)
    r = nt._ragged if ragged is None else ragged
    sizes = [(*packed.shape[:r], s[nt._ragged], *packed.shape[r + 1:]) for s in nt._sizes]
    return make_jagged(packed, nt._offsets, nt._lengths, r, nt._starts, sizes)


def from_parts(parts, of, ragged=None):
    """A nested tensor of these components, in the layout of another; jagged ones share its offsets, so that they fit together."""
    if of._layout is strided:
        return make_strided(cat([p.reshape(-1) for p in parts]) if parts else of._packed, [p.shape for p in parts])
    r = of._ragged if ragged is None else ragged
    if [p.shape[r] for p in parts] == [s[of._ragged] for s in of._sizes] and of._lengths is None:
        return like(of, cat(list(parts), r), r)
    return jagged_of(parts, r)


def jagged_of(parts, ragged):
    """A jagged tensor with offsets of its own."""
    ends = list(itertools.accumulate([p.shape[ragged] for p in parts]))
    return make_jagged(cat(list(parts), ragged), tensor([0, *ends], device=parts[0].device), None, ragged, [0, *ends[:-1]],
                       [p.shape for p in parts])


def pack(parts, layout, ragged=0):
    """A nested tensor of components, differentiable in each."""
    if layout is jagged:
        return jagged_of(parts, ragged)
    return make_strided(cat([p.reshape(-1) for p in parts]) if parts else empty(0), [p.shape for p in parts])


def at(nt, dim):
    """A dimension counted from the first."""
    if not -nt._ndim <= dim < nt._ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-nt._ndim}, {nt._ndim - 1}], but got {dim})")
    return dim % nt._ndim


def fit(a, b):
    """Whether two nested tensors have components of the same sizes, of jagged ones by the same offsets."""
    return a._layout is b._layout and a._sizes == b._sizes and (a._layout is strided or a._offsets is b._offsets or
                                                                _ragged_sizes[a._offsets] == _ragged_sizes[b._offsets])


def without_asking(func, *args, **kwargs):
    """A function of plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs)
