"""The class of sparse tensors, and who answers when a function is called with one.

`handles("mul", "__mul__")` declares the answer to all public functions and methods of these names, `PLAIN` names those that need no answer
of their own, as they ask for nothing but shape, dtype and device. All others raise NotImplementedError.
"""
from __future__ import annotations

import numpy as np

from ...engine import array_of, context, meta_of, warn
from ..core import settings
from ..core.handle import TensorBase, read
from ..core.layout import ALL as LAYOUTS
from ..core.tensor import tensor_from
from ..kinds import PLAIN, Answers, Kind, name_of  # noqa: F401  others have them from here

COO = LAYOUTS["sparse_coo"]
NAMES = {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr", "sparse_bsc": "SparseBsc"}
_answers = Answers()
handles, wraps = _answers.handles, _answers.wraps


class SparseStorage:
    """Stands where a dense tensor has its memory: operators that know no sparse tensors find out here."""
    __slots__ = ("version", "gen", "address", "meta", "__weakref__")

    def __init__(self, meta):
        self.version = self.gen = 0
        self.address, self.meta = None, meta

    @property
    def value(self):
        raise NotImplementedError("torchshim: an operator that knows dense tensors only was given a sparse one; to_dense() makes one of it")


def private(f):
    """A decorator: a method whose name begins with an underscore; such names do not ask."""
    setattr(Sparse, f.__name__, f)
    return f


def answer(name):
    """What answers to the functions of a name."""
    return _answers[name]


class Sparse(Kind):
    """A sparse tensor: `_index`, tensors that say where `_vals` lie in a tensor of the shape that `_ts_st.meta` has.

    COO: `_index` is one (sparse dimensions, n); the others: the compressed indices and the plain ones. `_vals` has no history: that is
    the tensor's own, as any tensor has one (see history.py). `_held`: a gradient that others hold, too.
    """
    __slots__ = ()

    @property
    def _ts_meta(self):
        return self._ts_st.meta

    _base = None
    layout = property(lambda self: self._layout)
    is_sparse = property(lambda self: self._layout is COO)
    is_sparse_csr = property(lambda self: self._layout is LAYOUTS["sparse_csr"])

    _answers = _answers

    @staticmethod
    def _refusal(name, args):
        layouts = sorted({f"torch.{x._layout.name}" for x in args if isinstance(x, Sparse)}) or ["a sparse layout"]
        return NotImplementedError(f"torchshim: {name} of a tensor with layout {' or '.join(layouts)}; to_dense() makes a dense one of it")

    def __deepcopy__(self, memo):
        import copy
        if id(self) not in memo:
            if self._ts_edge not in (None, True):
                raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                                   "moment.  If you were attempting to deepcopy a module, this may be because of a "
                                   "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001")
            copied = made(self._layout, [i.clone() for i in self._index], copy.deepcopy(self._vals, memo), self._ts_meta.shape,
                          self._coalesced)
            copied.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items() if k not in copied.__dict__})
            copied._ts_edge = self._ts_edge
            memo[id(self)] = copied
            if self._ts_extra is not None and self._ts_extra.grad is not None:
                copied._ts_more().grad = copy.deepcopy(self._ts_extra.grad, memo)
        return memo[id(self)]


Sparse.__name__ = Sparse.__qualname__ = "Tensor"           # what it is called in torch
Sparse.__module__ = "torch"


def made(layout, index, vals, shape, coalesced=None):
    """A sparse tensor of these parts, without history. Fewer than two values are coalesced unless told otherwise."""
    if layout is not COO and settings.once("compressed"):
        warn(f"Sparse {str(layout).rpartition('_')[2].upper()} tensor support is in beta state. If you miss a functionality in the sparse "
             "tensor support, please submit a feature request to https://github.com/pytorch/pytorch/issues.")
    s = object.__new__(Sparse)
    s._ts_st = SparseStorage(meta_of(tuple(shape), vals._ts_meta.dtype, vals._ts_meta.device))
    s._ts_view = s._ts_edge = s._ts_extra = None
    coalesced = vals._ts_meta.shape[0] < 2 if coalesced is None else bool(coalesced)
    s.__dict__.update(_layout=layout, _index=tuple(index), _vals=vals, _coalesced=coalesced, _held=False)
    return s


def like(s, vals, index=None, shape=None, coalesced=None):
    """A sparse tensor of the same layout with other values, and other indices or another shape where they are given."""
    return made(s._layout, s._index if index is None else index, vals, s._ts_meta.shape if shape is None else shape,
                s._coalesced if coalesced is None else coalesced)


def alias(s):
    """The same parts as a tensor without history."""
    t = like(s, s._vals)
    t._ts_st = s._ts_st
    t.__dict__.update(_held=s._held, _known=s.__dict__.setdefault("_known", {}))
    return t


def known(s, name, make):
    """What is made of a tensor's indices once, while they are not written: `make()` the first time."""
    kept, versions = s.__dict__.setdefault("_known", {}), [i._ts_st.version for i in s._index]
    found = kept.get(name)
    if found is None or found[0] != versions:
        found = kept[name] = versions, make()
    return found[1]


def write(s, other):
    """Let `s` be what `other` is, in place, with its history."""
    if context.grad is True:
        if s._ts_edge is True:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        s._ts_edge = other._ts_edge
    s.__dict__.update({k: other.__dict__[k] for k in ("_layout", "_index", "_vals", "_coalesced")})
    s.__dict__["_known"] = {}
    s._ts_st.version += 1
    s._ts_st.meta = other._ts_st.meta
    return s


def host(t):
    """A dense tensor's numbers, computed if need be."""
    return np.asarray(array_of(read(t)))


def on(device, array):
    """A tensor around a host array, on a JAX device."""
    return tensor_from(array, device)


def is_sparse(x):
    """Whether something is a sparse tensor, of any layout."""
    return x.__class__ is Sparse


def no_tensor(x):
    """Whether something is a number, or a dense tensor with a single one."""
    return not isinstance(x, TensorBase) or not is_sparse(x) and x.dim() == 0
