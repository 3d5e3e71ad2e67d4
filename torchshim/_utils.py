"""torch._utils: the functions by which pickles of PyTorch rebuild tensors. Their names are part of the file format."""
from __future__ import annotations

import contextlib
import math
import sys
import threading
import traceback

from .tensor.api.storages import tensor_on
from .tensor.core.dispatch import wrap
from .engine import meta_of, value_of


def _rebuild_tensor(storage, storage_offset, size, stride):
    """A tensor of `size` and `stride` (in elements) from element `storage_offset` of a TypedStorage on."""
    return tensor_on(storage, storage.dtype, storage_offset, size, stride)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    """The same with its flags; `metadata` says whether it is the conjugate or the negative of what lies in memory."""
    return _flagged(_rebuild_tensor(storage, storage_offset, size, stride), requires_grad, backward_hooks, metadata)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    """The same for an UntypedStorage and a dtype (the unsigned integers and float8)."""
    return _flagged(tensor_on(storage, dtype, storage_offset, size, stride), requires_grad, backward_hooks, metadata)


def _flagged(t, requires_grad, backward_hooks, metadata):
    if metadata and metadata.get("conj"):
        t = t.conj()
    if metadata and metadata.get("neg"):
        t = t._neg_view()
    if requires_grad:
        t.requires_grad_(True)
    for hook in (backward_hooks or {}).values():
        t.register_hook(hook)
    return t


def _rebuild_parameter(data, requires_grad, backward_hooks):
    """A Parameter on `data`'s memory."""
    from .nn.parameter import Parameter
    return _flagged(Parameter(data, requires_grad), False, backward_hooks, None)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    """The same with attributes that the program gave it."""
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    """A tensor on the meta device."""
    t = wrap(value_of(None, meta_of(tuple(size), dtype.np, "meta", tuple(stride))))
    return t.requires_grad_(requires_grad) if requires_grad else t


def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    """A tensor of `dtype` on `device` from a NumPy array."""
    from .tensor.api.sharing import from_numpy
    t = from_numpy(data).to(dtype=dtype, device=device)
    return t.requires_grad_(requires_grad) if requires_grad else t


def _rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad):
    """`data` as `dtype` on `device`."""
    t = data.to(dtype=dtype, device=device)
    return t.requires_grad_(requires_grad) if requires_grad else t


def _missing(what):
    def rebuild(*args):
        raise NotImplementedError(f"torchshim: loading {what} tensors")
    rebuild.__doc__ = f"Not there: torchshim has no {what} tensors."
    return rebuild


#: Per thread what is to be done with the tensors of a file whose numbers come after them, once these are there.
_unchecked = threading.local()


@contextlib.contextmanager
def _checked_at_the_end():
    """A context in which tensors are rebuilt before their numbers are there; what these decide is done when it ends."""
    _unchecked.found = []
    try:
        yield
        for check in _unchecked.found:
            check()
    finally:
        _unchecked.found = None


def _rebuild_sparse_tensor(layout, data):
    """A sparse tensor of a layout from its parts: indices, values, size and whether it is coalesced, or both indices, values and size."""
    later = getattr(_unchecked, "found", None)
    if later is not None:
        later.append(lambda: _sparse_tensor(layout, data, True))
    return _sparse_tensor(layout, data, later is None)


def _sparse_tensor(layout, data, check):
    from .tensor.api.bind import FUNCTIONS
    if layout.name == "sparse_coo":
        indices, values, size, *coalesced = data
        return FUNCTIONS["sparse_coo_tensor"](indices, values, size, is_coalesced=coalesced[0] if coalesced else None,
                                              check_invariants=check)
    return FUNCTIONS["sparse_compressed_tensor"](*data, layout=layout, check_invariants=check)


def _rebuild_qtensor(storage, storage_offset, size, stride, quantizer_params, requires_grad, backward_hooks):
    """A quantized tensor: its levels lie in `storage`; quantizer_params: its scheme, then what that one has."""
    from .tensor.quantized.base import PACKED, PerChannel, PerTensor, made
    from .tensor.quantized.fields import unpacked
    scheme, *params = quantizer_params
    dtype = storage.dtype
    if dtype in PACKED:
        def taken_apart():
            return unpacked(storage._tensor(), dtype, math.prod(size)).reshape(tuple(size))
        ints = taken_apart()
        later = getattr(_unchecked, "found", None)
        if later is not None:
            later.append(lambda: ints.copy_(taken_apart()))
    else:
        ints = tensor_on(storage, dtype.held, storage_offset, size, stride)
    return made(ints, PerTensor(*params) if "tensor" in scheme.name else PerChannel(*params), dtype)


def _rebuild_nested_tensor(buffer, sizes, strides, storage_offsets):
    """A nested tensor with the strided layout from the buffer that its components lie in."""
    from .nested import _nested_view_from_buffer
    return _nested_view_from_buffer(buffer, sizes, strides, storage_offsets)


_rebuild_wrapper_subclass = _missing("wrapper subclass")


def _get_obj_state(obj):
    """What pickling an object's attributes needs: its __dict__, with its slots where the class has some of its own."""
    import copyreg
    if hasattr(type(obj), "__getstate__") and type(obj).__getstate__ is not object.__getstate__:
        return obj.__getstate__()
    slots = [s for s in copyreg._slotnames(type(obj)) if not s.startswith("_") and hasattr(obj, s)]
    return (obj.__dict__, {s: getattr(obj, s) for s in slots}) if slots else obj.__dict__


def _set_obj_state(obj, state):
    """The reverse of `_get_obj_state`; returns the object."""
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    for k, v in (attributes or {}).items():
        setattr(obj, k, v)
    for k, v in (slots or {}).items():
        setattr(obj, k, v)
    return obj


def _flatten_dense_tensors(tensors):
    """All elements of some tensors in one of a single dimension."""
    from . import cat
    return tensors[0].reshape(-1) if len(tensors) == 1 else cat([t.contiguous().reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """The reverse, as views in the shapes of `tensors`."""
    parts, at = [], 0
    for t in tensors:
        parts.append(flat.narrow(0, at, t.numel()).view_as(t))
        at += t.numel()
    return tuple(parts)


def _take_tensors(tensors, size_limit):
    """Lists of tensors of one type, each of up to size_limit bytes."""
    open_lists = {}
    for t in tensors:
        held = open_lists.setdefault(t.type(), [[], 0])
        size = t.numel() * t.element_size()
        if held[0] and held[1] + size > size_limit:
            yield held[0]
            held = open_lists[t.type()] = [[], 0]
        held[0].append(t)
        held[1] += size
    for held, _ in open_lists.values():
        if held:
            yield held


def _element_size(dtype):
    """Bytes of an element."""
    return dtype.itemsize


def _get_available_device_type():
    """"cuda" where JAX has a GPU, else None."""
    from . import cuda
    return "cuda" if cuda.is_available() else None


def _get_device_module(device_type):
    """torch.<device_type>; RuntimeError where there is none."""
    import torchshim as torch
    found = getattr(torch, device_type, None)
    if found is None:
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'.")
    return found


class KeyErrorMessage(str):
    """The text of a KeyError, which shows its argument's repr: this one's keeps its line breaks."""
    __slots__ = ()

    def __repr__(self):
        return self


class ExceptionWrapper:
    """An exception on its way to another thread or process, with its traceback as text: the one that is handled now, or that of
    `exc_info`; `where` tells in the new text where it was raised."""

    def __init__(self, exc_info=None, where="in background"):
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type, self.where = kind, where
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))

    def reraise(self):
        """Raise it again: the same class, where that can be made from a text, else RuntimeError."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            error = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


def is_compiling():
    """torch.compiler.is_compiling."""
    from .compiler import is_compiling as ask
    return ask()


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a device, which may be one already; ValueError for those that have none. optional: None for the current one."""
    from . import device as kind
    found = kind(device) if isinstance(device, str) else device
    if isinstance(found, kind):
        if not allow_cpu and found.type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        index = -1 if found.type == "cpu" else found.index
    else:
        index = found if isinstance(found, int) else None
    if index is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return index
