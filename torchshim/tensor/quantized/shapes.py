"""Views, copies and rearrangements of quantized tensors: those of their levels."""
from __future__ import annotations

import numpy as np

from ..api.bind import FUNCTIONS as F
from ..core.dtype import ALL as DTYPES, dtype as dtype_class
from ..core.handle import TensorBase
from ..core.memory_format import FORMATS
from ..core.settings import alert_nondeterministic
from .base import C_NAMES, LEVELS, PerChannel, PerTensor, Quantized, become, handles, is_quantized, like, levels, per_tensor, wraps
from .. import kinds

_STRIDES = "Setting strides is possible only on uniformly quantized tensor"


def _dense(args, kwargs):
    return [a._ints if is_quantized(a) else a for a in args], {k: a._ints if is_quantized(a) else a for k, a in kwargs.items()}


def _all(names, error):
    """Declare functions that give what they give of the levels; `error`: what torch says where scales differ between channels."""
    for name in names.split():
        @handles(name)
        @wraps
        def f(func, s, *args, **kwargs):
            per_tensor(s, error)
            args, kwargs = _dense(args, kwargs)
            out = kinds.unasked(func)(s._ints, *args, **kwargs)
            return tuple([like(s, t) for t in out]) if isinstance(out, (tuple, list)) else like(s, out)


_all("""t permute transpose swapaxes swapdims expand as_strided unfold diagonal movedim moveaxis T mT H mH adjoint expand_as broadcast_to
     flip repeat tile fliplr flipud rot90""", _STRIDES)
_all("index_select", "Only per_tensor quantized quantized tensors are supported by index_select.")


def _same(names):
    """Declare functions that give the same numbers, whatever the scales are."""
    for name in names.split():
        @handles(name)
        @wraps
        def f(func, s, *args, **kwargs):
            args, kwargs = _dense(args, kwargs)
            out = kinds.unasked(func)(s._ints, *args, **kwargs)
            return s if out is s._ints else like(s, out)


_same("clone contiguous detach data resolve_conj resolve_neg cpu share_memory_ positive __pos__ pin_memory alias_copy detach_copy "
      "view_copy")


def _check_axis(s, ints):
    """torch's error where levels in a new shape have not as many channels as there are scales."""
    if isinstance(s._q, PerChannel):
        n, axis = s._q.scales.numel(), s._q.axis
        found = ints.shape[axis] if axis < ints.dim() else 1
        if found != n:
            raise RuntimeError(f"length of scales must equal to channel, expected {found} got, {n}")


@handles("view", "reshape", "view_as", "reshape_as", "flatten", "ravel", "unflatten", "squeeze")
@wraps
def view(func, s, *args, **kwargs):
    args, kwargs = _dense(args, kwargs)
    out = kinds.unasked(func)(s._ints, *args, **kwargs)
    _check_axis(s, out)
    return s if out is s._ints else like(s, out)


@handles("unsqueeze")
def unsqueeze(s, dim):
    out, q = s._ints.unsqueeze(dim), s._q
    if isinstance(q, PerChannel) and dim % out.dim() <= q.axis:
        q = PerChannel(q.scales, q.zero_points, q.axis + 1)
    return like(s, out, q)


def _part(s, dim, ints, at):
    """Some indices of a dimension as a tensor, `at` (an int: one index, else a slice) with the scales that belong to it."""
    q = s._q
    if isinstance(q, PerTensor):
        return like(s, ints)
    if dim == q.axis:
        if isinstance(at, int) or len(range(*at.indices(q.scales.numel()))) == 1:
            one = at if isinstance(at, int) else at.indices(q.scales.numel())[0]
            return like(s, ints, PerTensor(float(np.float32(q.scales[one].item())), int(q.zero_points[one].item())))
        return like(s, ints, PerChannel(q.scales[at], q.zero_points[at], q.axis))
    if isinstance(at, int) and dim < q.axis:
        return like(s, ints, PerChannel(q.scales, q.zero_points, q.axis - 1))
    if isinstance(at, int):
        raise RuntimeError("Channel axis out of range in per channel affine dequantization. Got:-1 Expected: "
                           f"[0, {ints.dim()})")
    return like(s, ints)


@handles("select")
def select(s, dim, index):
    return _part(s, dim % max(s.dim(), 1), s._ints.select(dim, index), index)


@handles("narrow", "narrow_copy")
def narrow(s, dim, start, length):
    start = int(start) % s.shape[dim] if s.shape[dim] and start < 0 else int(start)
    return _part(s, dim % max(s.dim(), 1), s._ints.narrow(dim, start, length), slice(start, start + length))


def _stretches(s, dim, parts):
    at, out = 0, []
    for ints in parts:
        n = ints.shape[dim]
        out.append(_part(s, dim % s.dim(), ints, slice(at, at + n)))
        at += n
    return tuple(out)


@handles("split", "split_with_sizes")
def split(s, split_size_or_sections, dim=0):
    return _stretches(s, dim, F["split"](s._ints, split_size_or_sections, dim))


@handles("chunk")
def chunk(s, chunks, dim=0):
    return _stretches(s, dim, F["chunk"](s._ints, chunks, dim))


@handles("tensor_split")
def tensor_split(s, indices_or_sections, dim=0):
    return _stretches(s, dim, F["tensor_split"](s._ints, indices_or_sections, dim))


@handles("unbind", "__iter__")
def unbind(s, dim=0):
    return tuple([_part(s, dim % s.dim(), ints, k) for k, ints in enumerate(s._ints.unbind(dim))])


handles("__iter__")(lambda s: iter(unbind(s)))


@handles("__getitem__")
def getitem(s, key):
    """Indices, slices and masks; with scales for channels integers and slices only."""
    if isinstance(s._q, PerTensor):
        return like(s, s._ints[tuple([k._ints if is_quantized(k) else k for k in key]) if isinstance(key, tuple) else key])
    key = key if isinstance(key, tuple) else (key,)
    if any([isinstance(k, TensorBase) or not (k is None or k is Ellipsis or isinstance(k, (int, slice))) or isinstance(k, bool)
            for k in key]):
        raise RuntimeError("self.qscheme() == c10::kPerTensorAffine || self.qscheme() == c10::kPerTensorSymmetric INTERNAL ASSERT FAILED: "
                           "indexing of tensors with scales for channels")
    out, dim = s, 0
    rest = s.dim() - sum([k is not None and k is not Ellipsis for k in key])
    for k in key:
        if k is None:
            out, dim = unsqueeze(out, dim), dim + 1
        elif k is Ellipsis:
            dim += rest
        elif isinstance(k, int):
            out = select(out, dim, k)
        else:
            out = _part(out, dim, out._ints[(slice(None),) * dim + (k,)], k)
            dim += 1
    return out


def _levels_like(s, value):
    """The levels that `value`, a number or a tensor, has where it is written to `s`."""
    if is_quantized(value):
        return value._ints
    if isinstance(value, TensorBase):
        return levels(value.float(), s._q, s._dtype)
    return levels(F["full"]((), float(value), dtype=DTYPES["float32"]), per_tensor(s), s._dtype)


def _masks(key):
    return any([isinstance(k, TensorBase) for k in (key if isinstance(key, tuple) else (key,))])


@handles("__setitem__")
def setitem(s, key, value):
    """Numbers are rounded to levels; quantized values bring theirs, and must be of the same dtype."""
    if is_quantized(s):
        if is_quantized(value):
            place = getitem(s, key)
            copy_(place, value)
            if place._ints._base is None:      # not a view of it
                s._ints[key] = value._ints
            return
        if not _masks(key):
            place = getitem(s, key)
            if place._ints._base is not None:
                copy_(place, value.float() if isinstance(value, TensorBase) else F["full"]((), float(value), dtype=DTYPES["float32"]))
                return
        s._ints[key] = _levels_like(s, value)
        return
    raise RuntimeError("Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a float Tensor "
                       "from a quantized Tensor")


@handles("copy_")
def copy_(s, src, non_blocking=False):
    """Numbers rounded to this tensor's levels; a quantized tensor of the same dtype brings its levels, scale and zero point."""
    if not is_quantized(s):
        raise RuntimeError("Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a float "
                           "Tensor from a quantized Tensor")
    if is_quantized(src):
        if src._dtype is not s._dtype:
            raise RuntimeError("Quantized Copy only works with same qscheme and dtype")
        if type(s._q) is not type(src._q):
            raise RuntimeError("Quantized Copy only works with same qscheme")
        s._ints.copy_(src._ints)
        s.__dict__["_q"] = src._q
    else:
        if src._ts_meta.dtype.name != "float32":
            raise RuntimeError("Quantized copy only works with kFloat as source Tensor")
        if not s._ints.is_contiguous() and s._ints.numel() and not s._ints.is_contiguous(memory_format=FORMATS["channels_last"]):
            raise RuntimeError("Quantized copy only works with contiguous and NHWC Tensors")
        s._ints.copy_(levels(src.broadcast_to(s.shape), s._q, s._dtype))
    return s


@handles("fill_")
def fill_(s, value):
    s._ints.copy_(levels(F["full"](tuple(s.shape), float(value)), s._q, s._dtype))
    return s


@handles("masked_fill", "masked_fill_")
@wraps
def masked_fill(func, s, mask, value):
    per_tensor(s, "masked_fill__quantized_cpu for quantized tensors is currently only supported for per tensor quantized tensors")
    out = s if func.__name__.endswith("_") else like(s, s._ints.clone())
    out._ints.masked_fill_(mask, int(_levels_like(s, value).item()))
    return out


@handles("index_put", "index_put_")
@wraps
def index_put(func, s, indices, values, accumulate=False):
    if is_quantized(values):
        raise RuntimeError("Value argument for quantized input_put should not be quantized")
    if accumulate:
        raise RuntimeError("index_put for quantized tensors is currently only supported for accumulate=False")
    out = s if func.__name__.endswith("_") else like(s, s._ints.clone())
    out._ints.index_put_(indices, _levels_like(s, values))
    return out


def _in_place(names):
    for name in names.split():
        @handles(name + "_")
        @wraps
        def f(func, s, *args, _name=name, **kwargs):
            ints = getattr(s._ints, _name)(*args, **kwargs)
            _check_axis(s, ints)
            return become(s, ints)


_in_place("t transpose swapaxes swapdims unsqueeze squeeze")


@handles("resize_")
def resize_(s, *size, memory_format=None):
    per_tensor(s, "Can only resize quantized tensors with per-tensor schemes!")
    alert_nondeterministic("quantized_resize_cpu_")
    s._ints.resize_(*size)
    return become(s, s._ints)


@handles("type")
def type_(s, dtype=None, non_blocking=False):
    return f"torch.quantized.{C_NAMES[s._dtype]}Tensor" if dtype is None else _to(s, (dtype,), {})


@handles("to", "type_as", "cuda")
@wraps
def to(func, s, *args, **kwargs):
    """Another device or memory format; no other dtype."""
    if not is_quantized(s):
        raise RuntimeError("Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a float "
                           "Tensor from a quantized Tensor")
    return _to(s, args, kwargs)


def _to(s, args, kwargs):
    for a in (*args, *kwargs.values()):
        dtype = a.dtype if isinstance(a, TensorBase) else a
        if isinstance(dtype, dtype_class) and dtype is not s._dtype:
            raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8" if dtype not in LEVELS else
                               "Expected self.scalar_type() == src.scalar_type() to be true, but got false.  (Could this error message be "
                               "improved?  If so, please report an enhancement request to PyTorch.)")
    args = [a for a in args if not isinstance(a, (dtype_class, Quantized))]
    kwargs = {k: a for k, a in kwargs.items() if k != "dtype"}
    out = s._ints.to(*args, **kwargs) if args or kwargs else s._ints
    return s if out is s._ints else like(s, out)


def _no_cast(s, *args, **kwargs):
    raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")


for _name in "float double half bfloat16 long int short char byte bool cfloat cdouble chalf".split():
    handles(_name)(_no_cast)


@handles("cat", "concat", "concatenate", "stack")
@wraps
def cat(func, tensors, dim=0, *, out=None):
    """Tensors behind each other, with the first one's scale and zero point."""
    from .arithmetic import joined
    if func.__name__ == "stack":
        tensors = [t.unsqueeze(dim) for t in tensors]
    first = tensors[0]
    return joined(tensors, dim, per_tensor(first, "Only per-tensor quantization is supported in 'cat'!"))
