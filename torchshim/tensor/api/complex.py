"""Views of complex tensors: parts, conjugates, conjugate transposes."""
from __future__ import annotations

import numpy as np

from ...ops import memory_views as V
from ...ops.promotion import c_name, kind_of
from .bind import FUNCTIONS, function
from ..core.dispatch import Tensor
from ..core.handle import TensorBase, edge, meta, offset_of
from ..core.view import make_view
from .slicing import selected
from .views import _matrix, swap, warn_once


@function("view_as_real")
def view_as_real(input):
    """A complex tensor's parts as a last dimension of size 2."""
    m = meta(input)
    if kind_of(m.dtype) != 3:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if is_conj(input):
        raise RuntimeError("view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view "
                           "it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.")
    return make_view(input, V.view_as_real, ("ViewAsRealBackward0",), offset_of(input) * 2)


@function("view_as_complex")
def view_as_complex(input):
    """The inverse of `view_as_real`."""
    m = meta(input)
    edge(input)
    if m.dtype not in (np.float16, np.float32, np.float64):
        raise RuntimeError(f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
                           f"{c_name(m.dtype)}")
    if not m.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if m.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if m.strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in m.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if offset_of(input) % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return make_view(input, V.view_as_complex, ("ViewAsComplexBackward0",), offset_of(input) // 2)


def _part(t, k):
    both = make_view(t, V.view_as_real, ("ViewAsRealBackward0",), offset_of(t) * 2)
    return selected(both, meta(both).ndim - 1, k)


@function("real", method=False)
def real(input):
    """The real part, sharing memory; a real tensor itself."""
    return _part(input, 0) if kind_of(meta(input).dtype) == 3 else input


@function("imag", method=False)
def imag(input):
    """The imaginary part, sharing memory."""
    if kind_of(meta(input).dtype) != 3:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _part(input, 1)


def _set_part(get):
    def put(self, value):
        get(self).copy_(value if isinstance(value, TensorBase) else FUNCTIONS["tensor"](value))
    return put


Tensor.real = property(real, _set_part(real), doc=real.__doc__)
Tensor.imag = property(imag, _set_part(imag), doc=imag.__doc__)


@function("conj")
def conj(input):
    """The complex conjugate, as a view; a real tensor itself."""
    if kind_of(meta(input).dtype) != 3:
        return input
    return make_view(input, V.conjugate, ("ConjBackward0",), offset_of(input))


@function("is_conj")
def is_conj(input):
    """Whether the tensor is a conjugated view of its memory."""
    vw = input._ts_view
    return kind_of(meta(input).dtype) == 3 and vw is not None and sum(i.op is V.conjugate for i, _ in vw.steps) % 2 == 1


@function("_neg_view")
def _neg_view(input):
    """The negative, as a view."""
    return make_view(input, V.negate, ("NegViewBackward0",), offset_of(input))


@function("is_neg")
def is_neg(input):
    """Whether the tensor is a negated view of its memory: `_neg_view`, or the imaginary part of a conjugate."""
    vw = input._ts_view
    if vw is None:
        return False
    ops = [i.op for i, _ in vw.steps]
    imaginary = kind_of(meta(input).dtype) != 3 and V.view_as_real in ops and offset_of(input) % 2 == 1
    return (ops.count(V.negate) + (ops.count(V.conjugate) if imaginary else 0)) % 2 == 1


@function("resolve_conj")
def resolve_conj(input):
    """The tensor, copied if it is a conjugated view."""
    return input.clone() if is_conj(input) else input


@function("resolve_neg")
def resolve_neg(input):
    """The tensor, copied if it is a negated view."""
    return input.clone() if is_neg(input) else input


# -- conjugate transposes ---------------------------------------------------------------------------------------------------
def _get_H(self):
    m = meta(self)
    if m.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {m.ndim}-D tensor."
                           + (" For batches of matrices, consider using tensor.mH" if m.ndim > 2 else ""))
    if m.ndim:
        return adjoint(self)
    warn_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
    return conj(self)


@function("adjoint")
def adjoint(input):
    """The last two dimensions exchanged, conjugated."""
    m = meta(input)
    if not m.ndim:
        warn_once("adjoint() is deprecated on 0-D tensors. Consider using x.conj().")
        return conj(input)
    if m.ndim < 2:
        raise RuntimeError(f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {m.ndim}-D tensor.")
    return conj(swap(input, m.ndim - 2, m.ndim - 1))


def _get_mH(self):
    n = meta(self).ndim
    if not n:
        warn_once("Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().")
        return conj(self)
    return _matrix(self, "mH") if n < 2 else adjoint(self)


Tensor.H = property(_get_H, doc="The conjugate transpose of a matrix.")
Tensor.mH = property(_get_mH, doc="The conjugate transpose of the last two dimensions.")
