"""What a sparse tensor is and has: memory, dtype, copies, text."""
from __future__ import annotations

from ..core import printing
from ..core.dtype import FROM_NP, get_default_dtype
from .base import COO, NAMES, Sparse, alias, handles, host, like, write
from .compressed import by_rows
from .history import missing, plain, traced


@handles("detach")
def detach(s):
    return alias(s)


@handles("detach_")
def detach_(s):
    s._ts_edge = None
    return s


@handles("data")
def data(s):
    return like(s, s._vals)


@handles("data=")
def set_data(x, other):
    """Another sparse tensor's parts; torch's refusal to let a dense tensor become a sparse one, or the other way round."""
    if isinstance(x, Sparse) and isinstance(other, Sparse):
        edge, x._ts_edge = x._ts_edge, None
        write(x, alias(other))
        x._ts_edge = edge
        return
    raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.")


# -- copies and conversions ------------------------------------------------------------------------------------------------
def no_contiguity(s):
    """torch's error where compressed layouts are asked how they lie."""
    return RuntimeError(f"Sparse {s._layout.name.rpartition('_')[2].upper()} tensors do not have is_contiguous")


@handles("clone")
def clone(s, *, memory_format=None):
    if memory_format is not None:
        raise RuntimeError("unsupported memory format option "
                           + "".join([w.capitalize() for w in memory_format.name.removesuffix("_format").split("_")]))
    p = plain(s)
    return traced("CloneBackward0", like(p, p._vals.clone(), [i.clone() for i in p._index]), (s,), (lambda g: g,))


@handles("to", "type_as", "cpu", "cuda")
def to(s, *args, **kwargs):
    """Another dtype or device; the tensor itself where it has these."""
    fmt = kwargs.get("memory_format")
    if fmt is not None and fmt.name != "preserve_format":
        raise RuntimeError("to(options): COO only supports memory format Preserve, but got "
                           f"{''.join([w.capitalize() for w in fmt.name.removesuffix('_format').split('_')])} instead.")
    if not isinstance(s, Sparse):              # a dense tensor to what a sparse one is
        other = next(a for a in args if isinstance(a, Sparse))
        return s.to(other.device, other.dtype)
    p = plain(s)
    vals = p._vals.to(*[a._vals if isinstance(a, Sparse) else a for a in args], **kwargs)
    if vals is p._vals:
        return s
    if vals.is_meta and not p._vals.is_meta:
        from .factories import _nothing_like
        out = _nothing_like(p, p._layout, vals.dtype, vals.device)
    else:
        out = like(p, vals, [i.to(vals.device, copy=True) for i in p._index])
    return traced("ToCopyBackward0", out, (s,), (lambda g: g,))


def _cast(name):
    @handles(name)
    def cast(s, memory_format=None):
        return to(s, FROM_NP[getattr(s._vals.new_empty(0), name)()._ts_meta.dtype])


for _name in "float double half bfloat16 long int short char byte bool cfloat cdouble chalf".split():
    _cast(_name)


@handles("type")
def type_(s, dtype=None, non_blocking=False):
    if dtype is not None:
        found = getattr(dtype, "_ts_dtype", None)
        if found is None and isinstance(dtype, str):
            dtype = dtype.replace(".sparse", "")
        return to(s, found or s._vals.new_empty(0).type(dtype).dtype)
    if s._layout is not COO:
        raise RuntimeError(f"Unimplemented backend {NAMES[s._layout.name]}CPU")
    return s._vals.type().replace("torch.", "torch.sparse.")


@handles("stride")
def stride(s, dim=None):
    """Zeros, as torch has them: there is no memory to walk through. RuntimeError for compressed layouts."""
    if s._layout is not COO:
        raise RuntimeError(f"Sparse {s._layout.name.rpartition('_')[2].upper()} tensors do not have strides")
    return (0,) * len(s._ts_meta.shape) if dim is None else 0


@handles("storage_offset")
def storage_offset(s):
    return 0


@handles("is_contiguous")
def is_contiguous(s, memory_format=None):
    if s._layout is not COO:
        raise no_contiguity(s)
    return False


@handles("contiguous")
def contiguous(s, memory_format=None):
    raise no_contiguity(s) if s._layout is not COO else RuntimeError("unsupported memory format option Contiguous")


@handles("pin_memory", "resolve_conj", "resolve_neg", "positive", "__pos__")
def itself(s, *args, **kwargs):
    return s


@handles("is_shared")
def is_shared(s):
    return all([t.is_shared() for t in (*s._index, s._vals)])


@handles("share_memory_")
def share_memory_(s):
    for t in (*s._index, s._vals):
        t.share_memory_()
    return s


@handles("storage", "untyped_storage")
def storage(s, *args):
    raise NotImplementedError(f"Cannot access storage of {NAMES[s._layout.name] if s._layout is not COO else 'Sparse'}TensorImpl")


@handles("data_ptr", "tolist")
def data_ptr(s):
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


@handles("nbytes")
def nbytes(s):
    raise RuntimeError("nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the nbytes of the "
                       "indices and values.  If you want the size of the  equivalent dense tensor, multiply numel() by element_size()")


@handles("__len__")
def length(s):
    return s._ts_meta.shape[0]


@handles("is_same_size")
def is_same_size(s, other):
    return tuple(s.shape) == tuple(other.shape)


@handles("numpy", "__array__")
def numpy(s, *args, **kwargs):
    raise TypeError(f"can't convert {NAMES[s._layout.name]} layout tensor to numpy. Use Tensor.to_dense() first.")


@handles("reshape", "flatten")
def reshape(s, *shape, **kwargs):
    raise no_contiguity(s) if s._layout is not COO else RuntimeError("reshape is not implemented for sparse tensors")


@handles("expand", "repeat", "expand_as", "tile", "broadcast_to")
def expand(s, *shape, **kwargs):
    raise RuntimeError(f"expand is unsupported for {NAMES[s._layout.name]} tensors")


def _lacking(kernel, *names):
    """Functions that torch has no kernel for."""
    def refuse(*args, **kwargs):
        raise missing(kernel, next(a for a in (*args, *kwargs.values()) if isinstance(a, Sparse)))
    refuse.__doc__ = "torch's error."
    handles(*names)(refuse)


for _name in """exp log cos cosh sigmoid angle threshold prod amax amin argmax argmin max min clamp view tril triu trace sort logical_not
        cumsum index_add masked_fill mean std var median log2 log10 exp2 lgamma digamma i0 maximum minimum equal""".split():
    _lacking(_name, _name)
for _name, _kernel in dict(eq="eq.Tensor", ne="ne.Tensor", lt="lt.Tensor", le="le.Tensor", gt="gt.Scalar", ge="ge.Scalar").items():
    _lacking(_kernel, _name, f"__{_name}__")
for _kernel, _names in dict([("as_strided", ("squeeze", "narrow", "split", "chunk", "as_strided", "diagonal", "unfold")),
                             ("_softmax", ("softmax",)), ("_log_softmax", ("log_softmax",)), ("remainder.Tensor", ("remainder", "__mod__")),
                             ("dot", ("dot", "vdot")), ("all", ("all",)), ("count_nonzero.dim_IntList", ("count_nonzero",)),
                             ("flip", ("flip",)), ("roll", ("roll",)),
                             ("linalg_vector_norm", ("linalg.norm", "linalg.vector_norm"))]).items():
    _lacking(_kernel, *_names)


# -- text ------------------------------------------------------------------------------------------------------------------
@handles("__repr__", "__str__")
def text(s, *, tensor_contents=None):
    """What torch prints: the parts, then what there is to say of the whole."""
    prefix = "tensor("
    indent = len(prefix)

    def part(name, t):
        opening = name + "=tensor("
        if t.is_meta:
            return f"{opening}..., size={tuple(t.shape)})"
        if not t.numel():
            return f"{opening}[], size={tuple(t.shape)})"
        return opening + printing.bracketed(host(t.detach()), t.dtype.name, tuple(t.shape), indent + len(opening)) + ")"

    if s._layout is COO:
        names = ("indices",)
    else:
        names = ("crow_indices", "col_indices") if by_rows(s._layout) else ("ccol_indices", "row_indices")
    parts = [part(name, t) for name, t in zip((*names, "values"), (*s._index, s._vals))]
    device = str(s.device)
    suffixes = [f"device='{device}'"] if device != "cpu" else []
    suffixes += [f"size={tuple(s._ts_meta.shape)}"] + ([f"nnz={s._vals.shape[0]}"] if not s.is_meta else [])
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
