"""MaskedTensor: a tensor some of whose elements are not there. Elementwise functions go on without them, reductions leave them out.

It holds all of its data; its mask says which elements count. What PyTorch's prototype can't do raises TypeError here too.
"""
from __future__ import annotations

import sys
import warnings

from .. import Tensor
from ..tensor.api.bind import FUNCTIONS as F
from ..tensor.core.dtype import ALL as DTYPES
from ..tensor.core.layout import strided
from ..tensor.core.overriding import DisableTorchFunctionSubclass
from . import _ops as ops, flow, sparse

_torch = sys.modules[__name__.partition(".")[0]]
_TYPES = [DTYPES[n] for n in ("float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64")]
_UNARY = set("""abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil clamp
    clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p
    log2 logit i0 isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin
    sinc sinh sqrt square tan tanh trunc isneginf isposinf isreal isfinite isinf""".split())
_BINARY = set("""add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide floor_divide fmod
    logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge greater greater_equal gt
    less_equal lt less maximum minimum fmax fmin not_equal rsub""".split())
_REDUCTIONS = set("sum mean amin amax argmin argmax prod all var std".split())
_VIEWS = set("select transpose t split narrow unsqueeze view reshape expand ravel unfold flatten expand_as view_as __getitem__".split())
_SHAPED = set("""size dim ndimension numel nelement is_floating_point is_complex backward requires_grad_ stride item __bool__ __len__
    __hash__ register_hook retain_grad is_contiguous storage_offset element_size get_device type is_conj is_signed
    __float__ __int__ data_ptr register_post_accumulate_grad_hook is_same_size nbytes""".split())
_KEPT = set("clone detach contiguous to float double half bfloat16 int long short char bool cpu".split())


_LAYOUTS = {"to_dense": strided, "to_sparse": sparse.COO, "to_sparse_coo": sparse.COO, "to_sparse_csr": sparse.CSR}


#: Python's operators that come under their own names.
_WRITTEN = {"__eq__": "eq", "__pow__": "pow", "__rpow__": "mul", "__rsub__": "rsub", "__rtruediv__": "div", "__floordiv__": "floor_divide",
            "__rfloordiv__": "floor_divide", "__invert__": "bitwise_not", "__and__": "bitwise_and", "__or__": "bitwise_or",
            "__xor__": "bitwise_xor", "__rmod__": "remainder", "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
            "__ipow__": "pow_", "__iand__": "bitwise_and_", "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_"}


def _plain(x):
    if isinstance(x, SparseMaskedTensor):
        return x._data
    if isinstance(x, MaskedTensor):
        with DisableTorchFunctionSubclass():
            return x.as_subclass(Tensor)
    return x


def _made(data, mask):
    with DisableTorchFunctionSubclass():
        if data.layout is not strided:
            t = F["zeros"]((), dtype=data.dtype, device=data.device).expand(data.size()).as_subclass(SparseMaskedTensor)
            t._data, t._mask = data, mask
            return t
        t = data.as_subclass(MaskedTensor)
        t._mask = mask
    return t


def _rows(data, mask, show, deep=0):
    if data.dim() == 1:
        cells = [show(v) if m else "      --" for v, m in zip(data.tolist(), mask.tolist())]
        return "  " * deep + f"[{', '.join(cells)}]"
    inner = ",\n".join([_rows(d, m, show, deep + 1) for d, m in zip(data, mask)])
    return "  " * deep + f"[\n{inner}\n" + "  " * deep + "]"


class MaskedTensor(Tensor):
    """data with a mask of the same shape: elements where it is False are not there. See `masked_tensor`, which copies the data."""

    @staticmethod
    def __new__(cls, data, mask, requires_grad=False):
        if not isinstance(data, Tensor) or isinstance(data, MaskedTensor):
            raise TypeError("data must be a Tensor")
        if not isinstance(mask, Tensor) or isinstance(mask, MaskedTensor):
            raise TypeError("mask must be a Tensor")
        data, mask = sparse.aligned(data, mask)
        if mask.dtype is not DTYPES["bool"]:
            raise TypeError("mask must have dtype bool.")
        if data.dtype not in _TYPES:
            raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
        if data.dim() != mask.dim():
            raise ValueError("data.dim() must equal mask.dim()")
        if data.size() != mask.size():
            raise ValueError("data.size() must equal mask.size()")
        warnings.warn("The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github "
                      "issue for features requests and see our documentation on the torch.masked module for further information about "
                      "the project.", UserWarning, stacklevel=2)
        if data.requires_grad and requires_grad:
            warnings.warn("It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
                          "data.detach().clone()", UserWarning, stacklevel=2)
        if data.layout is not strided:
            return _made(data.detach().requires_grad_(requires_grad), mask)
        t = _made(data.detach(), mask)
        with DisableTorchFunctionSubclass():
            return t.requires_grad_() if requires_grad else t

    def __init__(self, *args, **kwargs):
        pass

    def get_data(self):
        """The data, with the elements that are not there; gradients go through."""
        return _plain(self)

    def get_mask(self):
        """The mask."""
        return self._mask

    def to_tensor(self, value):
        """A plain tensor with `value` where nothing is."""
        return _plain(self).masked_fill(~self._mask, value)

    def is_sparse_coo(self):
        """Whether the data is sparse, by coordinates."""
        return self.layout is sparse.COO

    def is_sparse_csr(self):
        """Whether the data is sparse, compressed by rows."""
        return self.layout is sparse.CSR

    is_sparse = property(lambda self: self.layout is not strided, doc="Whether the data is sparse.")

    def __repr__(self, *, tensor_contents=None):
        data, mask = sparse.converted(_plain(self).detach(), self._mask, strided)
        show = (lambda v: f"{v:8.4f}") if data.is_floating_point() else str
        if not data.dim():
            return f"MaskedTensor({show(data.item())}, True)" if mask.item() else "MaskedTensor(--, False)"
        return f"MaskedTensor(\n{_rows(data, mask, show, 1)}\n)"

    def __format__(self, spec):
        return repr(self)

    __str__ = __repr__

    @property
    def grad(self):
        """The gradient, with this mask."""
        with DisableTorchFunctionSubclass():
            g = Tensor.grad.__get__(self)
        return None if g is None else _made(_plain(g), self._mask)

    @grad.setter
    def grad(self, value):
        with DisableTorchFunctionSubclass():
            Tensor.grad.__set__(self, _plain(value))

    def numpy(self, *, force=False):
        """RuntimeError, as for every subclass."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def tolist(self):
        """RuntimeError, as for every subclass."""
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got MaskedTensor")

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        full = _torch.overrides.resolve_name(func) or getattr(func, "__name__", "")
        if full.endswith((".__get__", ".__set__", ".__delete__")):
            name = full.rsplit(".", 2)[1]
            if name in ("T", "mT", "H", "mH", "real", "imag"):
                raise _unknown("permute" if name in ("T", "mT") else name)
            with DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        name = full.rpartition(".")[2]
        if name in _SHAPED:
            with DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        if func is _torch.autograd.grad:
            return flow.grad(func, args, kwargs)
        name = _WRITTEN.get(name, name)
        return flow.noted(name, args, _answer(name, func, args, kwargs))


class SparseMaskedTensor(MaskedTensor):
    """One whose data and mask are sparse: it keeps them beside it, and is itself a stand-in of their size and dtype."""

    layout = property(lambda self: self._data.layout)
    def is_contiguous(self, memory_format=None):
        """ValueError."""
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")

    requires_grad = property(lambda self: self._data.requires_grad, lambda self, value: self.requires_grad_(value))
    grad_fn = property(lambda self: self._data.grad_fn)
    is_leaf = property(lambda self: self._data.is_leaf)

    @property
    def grad(self):
        """The gradient, with this mask."""
        g = self._data.grad
        return None if g is None else _made(g, self._mask)

    def requires_grad_(self, requires_grad=True):
        """Ask for a gradient."""
        self._data.requires_grad_(requires_grad)
        return self


def _unknown(name):
    return TypeError(f"Multiple dispatch failed for 'torch._ops.aten.{name}.default'; all __torch_dispatch__ handlers returned "
                     f"NotImplemented:\n\n  "
                     f"- tensor subclass {MaskedTensor}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def _same(a, b):
    """Whether two masks are equal; sparse ones have to lie in the same places."""
    if a.layout is not b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if a.layout is strided:
        return F["equal"](a, b)
    return all([F["equal"](c, d) for c, d in zip([a.values(), *sparse.places(a)], [b.values(), *sparse.places(b)])])


def _mask_of(x):
    return x._mask if isinstance(x, MaskedTensor) else F["ones_like"](x, dtype=DTYPES["bool"])


def _answer(name, func, args, kwargs):
    x = args[0] if args else None
    base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    if base in _UNARY and isinstance(x, MaskedTensor) and (base != "pow" or not isinstance(args[1], Tensor)):
        if any([isinstance(a, Tensor) for a in (*args[1:], *kwargs.values())]):
            raise _unknown(name)
        if isinstance(x, SparseMaskedTensor):
            out = sparse.elementwise(func, [x._data], args[1:], kwargs)
            return x if base is not name else _made(out, x._mask)
        out = func(_plain(x), *args[1:], **kwargs)
        return x if base is not name else _made(out, x._mask)
    if base in _BINARY or base == "pow":
        pair = [a for a in args[:2] if isinstance(a, MaskedTensor)]
        if len(pair) == 2 and not _same(pair[0]._mask, pair[1]._mask):
            raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
        if base is not name and not isinstance(x, MaskedTensor):
            raise _unknown(name)
        mask = pair[0]._mask
        if isinstance(x, SparseMaskedTensor):
            out = sparse.elementwise(func, [_plain(a) for a in args[:2]], args[2:], kwargs)
            return x if base is not name else _made(out, mask)
        out = func(*[_plain(a) if isinstance(a, MaskedTensor) else flow.through(a, mask) for a in args], **kwargs)
        if base is not name:
            return x
        return _made(out, mask if mask.shape == out.shape else mask.expand(out.shape))
    if name in _REDUCTIONS and isinstance(x, MaskedTensor):
        return _reduced(name, x, args[1:], dict(kwargs))
    if name in _VIEWS and isinstance(x, MaskedTensor):
        rest = [_plain(a) for a in args[1:]]
        data, mask = func(_plain(x), *rest, **kwargs), func(x._mask, *rest, **kwargs)
        return tuple(map(_made, data, mask)) if isinstance(data, (tuple, list)) else _made(data, mask)
    if name in _KEPT and isinstance(x, MaskedTensor):
        mask = x._mask.clone() if name == "clone" else x._mask
        return _made(func(_plain(x), *args[1:], **kwargs), mask)
    if name in ("cat", "stack") and all([isinstance(a, MaskedTensor) for a in args[0]]):
        return _made(func([_plain(a) for a in args[0]], *args[1:], **kwargs), func([a._mask for a in args[0]], *args[1:], **kwargs))
    if name == "where" and len(args) == 3 and not isinstance(x, MaskedTensor) and all([isinstance(a, Tensor) for a in args]):
        return _made(func(x, _plain(args[1]), _plain(args[2])), func(x, _mask_of(args[1]), _mask_of(args[2])))
    if name in _LAYOUTS and isinstance(x, MaskedTensor) and len(args) == 1 and not kwargs:
        data = _plain(x)
        return x if data.layout is _LAYOUTS[name] else _made(*sparse.converted(data, x._mask, _LAYOUTS[name]))
    if name == "softmax" and isinstance(x, MaskedTensor):
        dim = args[1] if len(args) > 1 else kwargs.get("dim")
        return _made(ops.softmax(_plain(x), dim, dtype=kwargs.get("dtype"), mask=x._mask), x._mask)
    if name == "ones_like" and isinstance(x, MaskedTensor):
        return _made(func(_plain(x), **kwargs), x._mask)
    raise _unknown(name)


def _reduced(name, x, rest, kwargs):
    dim = rest[0] if rest else kwargs.pop("dim", None)
    keep = rest[1] if len(rest) > 1 else kwargs.pop("keepdim", False)
    data, mask = _plain(x), x._mask
    if isinstance(x, SparseMaskedTensor):
        if dim is not None or rest:
            raise TypeError(f"Multiple dispatch failed for 'torch.Tensor.{name}'; all __torch_function__ handlers returned NotImplemented:"
                            f"\n\n  - tensor subclass {MaskedTensor}\n\nFor more information, try re-running with "
                            "TORCH_LOGS=not_implemented")
        if name in ("argmin", "argmax") and data.layout is sparse.COO:
            return _made(sparse.place_of(data, getattr(ops, name)(data.values(), 0, mask=mask.values())), mask.values().any())
        data, mask = data.values(), mask.values()
    if len(rest) > 2 or set(kwargs) - {"dtype"}:
        raise TypeError(f"{name}() of a MaskedTensor takes dim, keepdim and dtype, but got {[*rest[2:], *kwargs]}")
    if name == "all":
        filled = F["where"](mask, data.bool(), data.new_full((), True).bool())
        out = filled.all() if dim is None else filled.all(dim, keep)
    elif dim is None and name in ("argmin", "argmax"):
        out = getattr(ops, name)(data.flatten(), 0, mask=mask.flatten()).to(data.dtype)
    elif name in ("argmin", "argmax"):
        out = getattr(ops, name)(data, dim, keepdim=keep, mask=mask).to(data.dtype)
    elif name in ("var", "std"):
        out = getattr(ops, name)(data, dim, keepdim=keep, mask=mask, **kwargs)
    else:
        out = getattr(ops, name)(data, dim, keepdim=keep, mask=mask, **kwargs)
    return _made(out, mask.any() if dim is None else mask.any(dim, keep))


def masked_tensor(data, mask, requires_grad=False):
    """A MaskedTensor of a copy of `data`; a leaf.

    TypeError for masks that are not boolean and dtypes that are not supported, ValueError for shapes that differ.
    """
    if isinstance(data, Tensor) and isinstance(mask, Tensor) and not isinstance(data, MaskedTensor):
        data, mask = data.clone().detach(), mask.clone().detach()
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data, mask):
    """A MaskedTensor on the memory of `data`. NotImplementedError for data that requires a gradient: the gradient would be masked too."""
    if isinstance(data, Tensor) and data.requires_grad:
        raise NotImplementedError("torchshim: as_masked_tensor of a tensor that requires a gradient (masked_tensor makes a leaf)")
    return MaskedTensor(data, mask)


def is_masked_tensor(obj, /):
    """Whether obj is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


MaskedTensor.__module__ = SparseMaskedTensor.__module__ = "torch.masked.maskedtensor.core"
SparseMaskedTensor.__name__ = SparseMaskedTensor.__qualname__ = "MaskedTensor"
