"""torch.nested: tensors of different sizes in one, with the strided or the jagged layout. See `tensor` for how they are held."""
from __future__ import annotations

import math

from .. import Tensor, arange, as_tensor, bool as _bool, int64, jagged, no_grad, strided, tensor as _tensor
from ..dropin import missing_attribute as _missing_attribute
from ..engine import warn

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]


def nested_tensor(tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A nested tensor of copies of tensors (or lists of numbers), a leaf.

    layout: torch.strided (the default; components may differ in any dimension) or torch.jagged (in one). TypeError for anything but lists;
    RuntimeError for components that differ in dimensions.
    """
    with no_grad():
        made = _nested(tensor_list, dtype, strided if layout is None else layout, device, "nested_tensor")
    made._packed = made._packed.detach()
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """The same with a history: gradients reach the given tensors. A dense tensor's components are its rows; a nested one is itself."""
    layout = strided if layout is None else layout
    if isinstance(ts, Tensor):
        if ts.is_nested:
            return ts if dtype is None and device is None else ts.to(dtype=dtype or ts.dtype, device=device or ts.device)
        ts = ts.unbind()
    elif layout is strided and not (isinstance(ts, (list, tuple)) and all([isinstance(t, Tensor) for t in ts])):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    return _nested(list(ts), dtype, layout, device, "as_nested_tensor")


_said = []


def _say_prototype():
    """torch's warning at the first nested tensor of the strided layout."""
    if not _said:
        _said.append(True)
        warn("The PyTorch API of nested tensors is in prototype stage and will change in the near future. We recommend specifying "
             "layout=torch.jagged when constructing a nested tensor, as this layout receives active development, has better operator "
             "coverage, and works with torch.compile.", UserWarning)


def _nested(given, dtype, layout, device, name):
    from . import functions                    # noqa: F401  the answers
    from .tensor import pack
    if layout not in (strided, jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    if layout is strided:
        if not isinstance(given, list):
            raise TypeError(f"Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in {name}")
        ts = [t if isinstance(t, Tensor) else as_tensor(t) for t in given]
        dtype = dtype or (ts[0].dtype if ts else None)
        for k, t in enumerate(ts):
            if t.dim() != ts[0].dim():
                raise RuntimeError(f"All Tensors given to nested_tensor must have the same dimension. Found dimension {t.dim()} for Tensor "
                                   f"at index {k} and dimension {ts[0].dim()} for Tensor at index 0.")
        _say_prototype()
        return pack([t.to(dtype=dtype, device=device or t.device) for t in ts], strided)
    ts = [t if isinstance(t, Tensor) else _tensor(t) for t in given]
    if not ts:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    ts = [t.to(dtype=dtype or t.dtype, device=device or t.device) for t in ts]
    for what in ("dtype", "device", "dim"):
        found = {x() if callable(x) else x for x in [getattr(t, what) for t in ts]}
        if len(found) > 1:
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must {'be on' if what == 'device' else 'have'} the "
                               f"same {what}")
    if ts[0].dim() == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    differ = [k for k in range(ts[0].dim()) if len({t.shape[k] for t in ts}) > 1]
    if len(differ) > 1:
        raise RuntimeError("Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout only "
                           "allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim.")
    return pack(ts, jagged, differ[0] if differ else 0)


def nested_tensor_from_jagged(values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None):
    """The nested tensor whose components lie along dimension `jagged_dim` - 1 of `values`: from offsets[i] on, to offsets[i + 1] or
    `lengths` long. Tensors on the same `offsets` fit together. RuntimeError without both."""
    from . import functions                    # noqa: F401  the answers
    from .tensor import make_jagged
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = _tensor([0, *lengths.cumsum(0).tolist()], device=lengths.device), None
    return make_jagged(values, offsets, lengths, 0 if jagged_dim is None else jagged_dim - 1)


def to_padded_tensor(input, padding, output_size=None):
    """A dense tensor with the components of `input`; what is beyond them is `padding`."""
    return input.to_padded_tensor(padding, output_size)


def narrow(tensor, dim, start, length, layout=strided):
    """A nested tensor of pieces of the rows of a dense one: from start[i], length[i] long along dimension 1. With the jagged layout `start`
    and `length` may be tensors; it is a copy here."""
    if layout is strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(list(tensor.unbind()), layout=strided).narrow(dim, start, length)
    if layout is not jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    n = tensor.shape[0]
    starts = start.tolist() if isinstance(start, Tensor) else [start] * n
    lengths = length.tolist() if isinstance(length, Tensor) else [length] * n
    return as_nested_tensor([row.narrow(0, s, k) for row, s, k in zip(tensor, starts, lengths)], layout=jagged)


def masked_select(tensor, mask):
    """The elements of a dense tensor's rows, along its last dimension, where `mask` (which broadcasts to its shape) is True, as a
    jagged tensor."""
    if tensor.layout is not strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {tensor.layout}")
    if mask.layout is not strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided mask, given: {mask.layout}")
    chosen = mask.expand(tensor.shape)
    return nested_tensor_from_jagged(tensor.masked_select(chosen), lengths=chosen.sum(-1).reshape(-1))


def _nested_compute_contiguous_strides_offsets(nested_size):
    """As `compact_strides`."""
    from .tensor import compact_strides
    return compact_strides(nested_size)


def _nested_view_from_buffer(buffer, nested_size, nested_strides, offsets):
    """A nested tensor whose components are parts of a flat buffer, and share its memory. NotImplementedError for components that do not lie
    one after the other."""
    from . import functions                    # noqa: F401  the answers
    from .tensor import make_strided
    strides, starts = _nested_compute_contiguous_strides_offsets(nested_size)
    first = int(offsets[0]) if len(starts) else 0
    if buffer.dim() != 1 or nested_strides.tolist() != strides.tolist() or (offsets - first).tolist() != starts.tolist():
        raise NotImplementedError("torchshim: _nested_view_from_buffer of components that do not lie one after the other in a flat buffer")
    sizes = [tuple(s) for s in nested_size.tolist()]
    n = sum([math.prod(s) for s in sizes])
    if first + n > buffer.numel():
        raise RuntimeError(f"_nested_view_from_buffer: components end at {first + n}, the buffer at {buffer.numel()}")
    return make_strided(buffer[first:first + n], sizes, nested_size.shape[1] + 1)


def _nested_tensor_from_mask(t, mask, mask_check=True):
    """The rows of `t` (batch, length, features), each as long as its part of `mask` (batch, length; bool) is True. RuntimeError where that
    is not a beginning."""
    if mask.dtype != _bool:
        raise RuntimeError("Expected mask to be of ScalarType Bool, but got " + str(mask.dtype) + " instead.")
    if mask.dim() != 2 or t.dim() != 3 or tuple(mask.shape) != tuple(t.shape[:2]):
        raise RuntimeError("Mask should be 2D and match the first two sizes of a 3-D tensor" if mask.dim() != 2 or t.dim() != 3 else
                           "Mask size should match input size")
    lengths = mask.sum(1)
    if mask_check and not bool((mask == (arange(mask.shape[1], device=mask.device) < lengths[:, None])).all()):
        raise RuntimeError("Mask must be left-aligned without gaps")
    return as_nested_tensor([row[:n] for row, n in zip(t, lengths.tolist())])


__getattr__ = _missing_attribute(__name__)
