"""What a quantized tensor is and has: scales, zero points, levels, memory."""
from __future__ import annotations

from ..api.bind import FUNCTIONS as F
from ..core.dtype import ALL as DTYPES
from .base import C_NAMES, PACKED, PerChannel, PerTensor, Quantized, dequantized, handles, no_kernel, per_tensor, wraps
from .. import kinds


@handles("qscheme")
def qscheme(s):
    return s._q.scheme


@handles("q_scale")
def q_scale(s):
    return per_tensor(s).scale


@handles("q_zero_point")
def q_zero_point(s):
    return per_tensor(s).zero_point


def _channels(s):
    if not isinstance(s._q, PerChannel):
        raise RuntimeError("Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams to "
                           "be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request "
                           "to PyTorch.)")
    return s._q


@handles("q_per_channel_scales")
def q_per_channel_scales(s):
    return _channels(s).scales


@handles("q_per_channel_zero_points")
def q_per_channel_zero_points(s):
    return _channels(s).zero_points


@handles("q_per_channel_axis")
def q_per_channel_axis(s):
    return _channels(s).axis


@handles("int_repr")
def int_repr(s):
    """The levels as integers; those that share bytes as these bytes, in one dimension."""
    return packed(s) if s._dtype in PACKED else s._ints.contiguous().clone()


def packed(s):
    """Levels of 4 or 2 bits in bytes, the first in the lowest bits."""
    each = PACKED[s._dtype]
    flat = s._ints.reshape(-1)
    missing = -flat.shape[0] % each
    if missing:
        flat = F["cat"]([flat, F["zeros"](missing, dtype=flat.dtype)])
    rows = flat.reshape(-1, each)
    return sum([rows[:, k] * (1 << 8 // each * k) for k in range(each)]).to(DTYPES["uint8"])


def unpacked(data, dtype, n):
    """The first n levels of what `packed` makes."""
    each = PACKED[dtype]
    bits = 8 // each
    return F["stack"]([(data.reshape(-1) >> bits * k) & ((1 << bits) - 1) for k in range(each)], 1).reshape(-1)[:n]


def _asked_of_levels(names):
    for name in names.split():
        @handles(name)
        @wraps
        def f(func, s, *args, **kwargs):
            return kinds.unasked(func)(s._ints, *args, **kwargs)


_asked_of_levels("stride storage_offset is_contiguous data_ptr const_data_ptr nbytes is_shared is_set_to __len__ dim_order")


@handles("untyped_storage")
def untyped_storage(s):
    return (packed(s) if s._dtype in PACKED else s._ints).untyped_storage()


def storage_of(s):
    """Its storage with the dtype."""
    from ..api.storages import TypedStorage
    return TypedStorage(wrap_storage=untyped_storage(s), dtype=s._dtype, _internal=True)


@handles("storage")
def storage(s):
    """Its storage with the dtype; torch has deprecated it, and says so once."""
    s._ints.storage()
    return storage_of(s)


@handles("is_same_size")
def is_same_size(s, other):
    return tuple(s.shape) == tuple(other.shape)


@handles("item", "__float__", "__int__", "__bool__", "__index__", "__complex__", "__format__")
@wraps
def item(func, s, *args):
    if func.__name__ == "__format__" and s.dim():
        return object.__format__(s, *args)
    return kinds.unasked(func)(dequantized(s), *args)


@handles("is_nonzero")
def is_nonzero(s):
    return bool(dequantized(s))


@handles("tolist")
def tolist(s):
    if not s.dim():
        return s.item()
    raise RuntimeError("load_scalar: invalid type")


@handles("numpy", "__array__")
def numpy(s, *args, **kwargs):
    raise TypeError(f"Got unsupported ScalarType {C_NAMES[s._dtype]}")


@handles("is_signed")
def is_signed(s):
    raise RuntimeError("isSignedType not supported for quantized types")


@handles("is_pinned")
def is_pinned(s, device=None):
    return False


@handles("isfinite", "isinf", "isnan")
@wraps
def isfinite(func, s):
    if func.__name__ == "isnan":
        raise no_kernel("isnan")
    raise NotImplementedError(f"\"{func.__name__}\" not implemented for '{C_NAMES[s._dtype]}'")


@handles("norm", "linalg.norm", "linalg.vector_norm")
def norm(s, *args, **kwargs):
    raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {C_NAMES[s._dtype]}")


@handles("requires_grad_")
def requires_grad_(s, requires_grad=True):
    if requires_grad:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    return s


@handles("data=")
def set_data(x, other):
    """Another quantized tensor's levels, scale and zero point; torch's refusal of a dense one."""
    from .base import become
    if not (isinstance(x, Quantized) and isinstance(other, Quantized)):
        raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.")
    become(x, other._ints.detach(), other._q).__dict__["_dtype"] = other._dtype


def pickled(s):
    """How pickles hold it: the storage, where the tensor lies in it, and its scale and zero point."""
    q = s._q
    params = (q.scheme, q.scale, q.zero_point) if isinstance(q, PerTensor) else (q.scheme, q.scales, q.zero_points, q.axis)
    return storage_of(s), s._ints.storage_offset(), tuple(s.shape), tuple(s._ints.stride()), params
