"""What a sparse tensor is and has: gradient, history, dtype, copies, text."""
from __future__ import annotations



from ..core import printing
from ..core.dtype import FROM_NP, get_default_dtype

from ..core.overriding import DisableTorchFunctionSubclass
from ..core.tensor import Tensor
from .base import COO, NAMES, Sparse, handles, host, like, made, wraps, write
from .compressed import by_rows


# -- gradients: those of the values ----------------------------------------------------------------------------------------
@handles("requires_grad")
def requires_grad(s):
    return s._vals.requires_grad


@handles("requires_grad=", "requires_grad_")
def requires_grad_(s, requires_grad=True):
    if requires_grad and not s._vals.requires_grad:
        s._vals, s._leaf = s._vals.detach().requires_grad_(), True
    elif not requires_grad and s._vals.requires_grad:
        if not s._leaf:
            raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
                               "that doesn't require differentiation use var_no_grad = var.detach().")
        s._vals, s._leaf = s._vals.detach(), None
    return s


@handles("is_leaf")
def is_leaf(s):
    return bool(s._leaf) or not s._vals.requires_grad


@handles("grad_fn")
def grad_fn(s):
    return None if s._leaf else s._vals.grad_fn


@handles("grad")
def grad(s):
    g = s._vals.grad if s._leaf else None
    return None if g is None else like(s, g)


@handles("autograd.grad")
@wraps
def gradients(grad, outputs, inputs, *args, **kwargs):
    """torch.autograd.grad with sparse inputs."""
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if any([isinstance(x, Sparse) and not x._leaf for x in inputs]):
        raise NotImplementedError("torchshim: torch.autograd.grad of a sparse tensor that is no leaf")
    got = grad(outputs, [x._vals if isinstance(x, Sparse) else x for x in inputs], *args, **kwargs)
    return tuple([like(x, g) if isinstance(x, Sparse) and g is not None else g for x, g in zip(inputs, got)])


@handles("grad=")
def set_grad(s, g):
    if not isinstance(s, Sparse):              # a dense leaf's gradient may be sparse
        with DisableTorchFunctionSubclass():
            s.grad = g
        return
    if g is not None and not (isinstance(g, Sparse) and g._layout is s._layout and g._nnz() == s._nnz()):
        raise NotImplementedError("torchshim: a gradient of a sparse tensor with other indices than its own")
    s._vals.grad = None if g is None else g._vals


@handles("retains_grad")
def retains_grad(s):
    return False


@handles("detach")
def detach(s):
    return like(s, s._vals.detach())


@handles("data=")
def set_data(x, other):
    """torch's refusal to let a dense tensor become a sparse one, or the other way round."""
    if isinstance(x, Sparse) and isinstance(other, Sparse):
        raise NotImplementedError("torchshim: data= of a sparse tensor")
    raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.")


@handles("data")
def data(s):
    return like(s, s._vals.detach())


@handles("detach_")
def detach_(s):
    s._vals, s._leaf = s._vals.detach(), None
    return s


# -- copies and conversions ------------------------------------------------------------------------------------------------
@handles("clone")
def clone(s, *, memory_format=None):
    return like(s, s._vals.clone())


@handles("to", "type_as", "cpu", "cuda")
def to(s, *args, **kwargs):
    args = [a._vals if isinstance(a, Sparse) else a for a in args]
    vals = s._vals.to(*args, **kwargs)
    return s if vals is s._vals else like(s, vals, [i.to(vals.device) for i in s._index])


def _cast(name):
    @handles(name)
    def cast(s, memory_format=None):
        return to(s, FROM_NP[getattr(s._vals.detach(), name)()._ts_meta.dtype])


for _name in "float double half bfloat16 long int short char byte bool cfloat cdouble".split():
    _cast(_name)


@handles("type")
def type_(s, dtype=None, non_blocking=False):
    if dtype is not None:
        return to(s, s._vals.detach().type(dtype).dtype)
    if s._layout is not COO:
        raise RuntimeError(f"Unimplemented backend {NAMES[s._layout.name]}CPU")
    return s._vals.detach().type().replace("torch.", "torch.sparse.")


@handles("stride")
def stride(s, dim=None):
    """Zeros, as torch has them: there is no memory to walk through. RuntimeError for compressed layouts."""
    if s._layout is not COO:
        raise RuntimeError(f"Sparse {s._layout.name.rpartition('_')[2].upper()} tensors do not have strides")
    return (0,) * len(s._ts_meta.shape) if dim is None else 0


@handles("storage_offset")
def storage_offset(s):
    return 0


@handles("zeros_like", "empty_like")
def zeros_like(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None):
    from .coo import sparse_coo_tensor, to_dense
    from .compressed import compress
    if memory_format is not None:
        raise RuntimeError("memory format option is only supported by strided tensors")
    if layout is not None and layout is not s._layout:
        raise NotImplementedError("torchshim: zeros_like of a sparse tensor with another layout")
    dtype, device = dtype or s.dtype, device or s.device
    if s._layout is COO:
        dims = s._index[0].shape[0]
        vals = s._vals.detach().new_empty((0, *s._vals.shape[1:]), dtype=dtype, device=device)
        return made(COO, (s._index[0].new_empty((dims, 0)),), vals, s._ts_meta.shape, True, requires_grad)
    zeros = to_dense(s).detach().to(dtype=dtype, device=device).zero_()
    block = tuple(s._vals.shape[1:]) or None
    made_of = compress(sparse_coo_tensor(zeros.shape, dtype=dtype, device=device), s._layout, block)
    return requires_grad_(made_of, requires_grad)


@handles("zero_")
def zero_(s):
    return write(s, zeros_like(s))


@handles("copy_")
def copy_(s, src, non_blocking=False):
    from .coo import to_dense
    if not isinstance(s, Sparse):
        return s.copy_(to_dense(src))
    if not isinstance(src, Sparse) or src._layout is not s._layout:
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{type_(s) if isinstance(s, Sparse) else s.type()} and src type = {src.type()}")
    return write(s, to(src, s.dtype))


@handles("is_contiguous")
def is_contiguous(s, memory_format=None):
    return False if s._layout is COO else True


@handles("contiguous", "pin_memory", "resolve_conj", "resolve_neg", "positive", "__pos__")
def itself(s, *args, **kwargs):
    return s


@handles("is_shared")
def is_shared(s):
    return all(t.is_shared() for t in (*s._index, s._vals))


@handles("share_memory_")
def share_memory_(s):
    for t in (*s._index, s._vals):
        t.share_memory_()
    return s


@handles("__len__")
def length(s):
    return s._ts_meta.shape[0]


@handles("is_same_size")
def is_same_size(s, other):
    return tuple(s.shape) == tuple(other.shape)


@handles("numpy", "__array__")
def numpy(s, *args, **kwargs):
    raise TypeError(f"can't convert {NAMES[s._layout.name]} layout tensor to numpy. Use Tensor.to_dense() first.")


@handles("reshape", "view")
def reshape(s, *shape):
    raise RuntimeError("reshape is not implemented for sparse tensors")


# -- text ------------------------------------------------------------------------------------------------------------------
@handles("__repr__", "__str__")
def text(s, *, tensor_contents=None):
    """What torch prints: the parts, then what there is to say of the whole."""
    prefix = "tensor("
    indent = len(prefix)

    def part(name, t):
        opening = name + "=tensor("
        if not t.numel():
            return f"{opening}[], size={tuple(t.shape)})"
        return opening + printing.bracketed(host(t.detach()), t.dtype.name, tuple(t.shape), indent + len(opening)) + ")"

    if s._layout is COO:
        names = ("indices",)
    else:
        names = ("crow_indices", "col_indices") if by_rows(s._layout) else ("ccol_indices", "row_indices")
    parts = [part(name, t) for name, t in zip((*names, "values"), (*s._index, s._vals))]
    suffixes = [f"size={tuple(s._ts_meta.shape)}", f"nnz={s._vals.shape[0]}"]
    device = str(s.device)
    if device != "cpu":
        suffixes.append(f"device='{device}'")
    if s.dtype is not get_default_dtype() and s.dtype.name not in ("complex64", "int64", "bool") or not s._vals.numel() and \
            s.dtype is not get_default_dtype():
        suffixes.append(f"dtype={s.dtype}")
    suffixes.append(f"layout={s._layout}")
    if s.grad_fn is not None:
        suffixes.append(f"grad_fn=<{type(s.grad_fn).__name__}>")
    elif s.requires_grad:
        suffixes.append("requires_grad=True")
    shown = "Parameter containing:\n" if s.__dict__.get("_is_param") else ""
    return shown + printing.with_suffixes(prefix + ",\n       ".join(parts), suffixes, indent, s._layout is COO) + ")"




@handles("dim_order")
def dim_order(s, ambiguity_check=False):
    raise AttributeError(f"Can't get dim order on sparse type: {s.type()} Use Tensor.to_dense() to convert to a dense tensor first.")
