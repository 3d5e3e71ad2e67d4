"""What functions of torch compute on nested tensors."""
from __future__ import annotations

import functools
import math

from .. import Tensor, jagged, stack, strided
from ..nn import functional as F
from ..nn.functional.attention import allowed, none_available
from ..nn.functional.toplevel import native_dropout as native_dropout_of
from .tensor import NestedTensor, at, fit, from_parts, handles, like

_UNARY = """abs neg sin cos tan tanh exp expm1 log log1p log2 log10 sqrt rsqrt square sigmoid reciprocal sign sgn floor ceil round trunc erf
    erfc isnan isinf isfinite isneginf isposinf logical_not bitwise_not positive nan_to_num clamp clip clone contiguous detach to half float
    double bfloat16 int long bool cpu cuda relu nn.functional.relu nn.functional.gelu nn.functional.silu gelu nn.functional.leaky_relu
    nn.functional.elu nn.functional.hardtanh nn.functional.relu6 nn.functional.softplus nn.functional.mish nn.functional.sigmoid
    nn.functional.tanh nn.functional.logsigmoid zeros_like ones_like empty_like rand_like randn_like full_like
    randint_like softplus silu elu leaky_relu type_as __abs__ __neg__ __pos__ __invert__""".split()
_BINARY = """add sub mul div true_divide subtract multiply divide pow remainder fmod floor_divide maximum minimum eq ne lt le gt ge
    logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor atan2 where masked_fill rsub __add__ __radd__ __sub__ __rsub__
    __mul__ __rmul__ __truediv__ __rtruediv__ __pow__ __rpow__ __mod__ __floordiv__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __or__
    __xor__""".split()
_IN_PLACE = """add_ sub_ mul_ div_ fill_ zero_ copy_ neg_ abs_ clamp_ exp_ relu_ sqrt_ sigmoid_ tanh_ pow_ masked_fill_ normal_ uniform_
    __iadd__ __isub__ __imul__ __itruediv__ nn.functional.relu_""".split()


# -- elementwise -------------------------------------------------------------------------------------------------------------------
@handles(*_UNARY)
def unary(func, nt, *args, **kwargs):
    return like(nt, func(nt._packed, *[getattr(a, "_packed", a) for a in args], **kwargs))


@handles("dropout", "nn.functional.dropout")
def dropout(func, nt, p=0.5, training=True, inplace=False, train=None):
    """By `native_dropout`, as in torch: numbers are drawn for a probability of 0 or 1 too. RuntimeError outside of 0 to 1."""
    training = training if train is None else train
    if inplace or not training or not 0 <= p <= 1:
        return like(nt, func(nt._packed, p, training, **{"inplace": True} if inplace else {}))
    return like(nt, native_dropout_of(nt._packed, p, True)[0])


@handles("native_dropout")
def native_dropout(func, nt, p, train):
    """(the kept elements scaled, what was kept)."""
    return tuple([like(nt, x) for x in func(nt._packed, p, train)])


@handles(*_BINARY)
def binary(func, *args, **kwargs):
    nt = next(a for a in args if isinstance(a, NestedTensor))
    return like(nt, func(*[_beside(nt, a, func.__name__) for a in args], **kwargs))


@handles(*_IN_PLACE)
def in_place(func, nt, *args, **kwargs):
    func(nt._packed, *[_beside(nt, a, func.__name__) for a in args], **kwargs)
    return nt


def _beside(nt, x, name):
    """An operand as it lies beside the values of `nt`."""
    if isinstance(x, NestedTensor):
        if not fit(nt, x):
            if nt._layout is strided:
                raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
            raise RuntimeError(f"cannot call binary pointwise function {name}.Tensor with inputs of shapes {tuple(nt.size())} and "
                               f"{tuple(x.size())}")
        return x._packed
    if not isinstance(x, Tensor) or x.dim() == 0:
        return x
    if nt._layout is strided:
        raise RuntimeError("Expected both self and other to be nested, but got a nested self and non-nested other")
    inner = nt._ndim - 1
    if x.dim() < inner - nt._ragged or x.dim() <= inner and x.shape[x.dim() - (inner - nt._ragged)] == 1:
        return x                               # broadcast from the ragged dimension on
    if x.dim() == nt._ndim and x.shape[1 + nt._ragged] == 1 and nt._lengths is None:
        if x.shape[0] == 1:
            return x[0]
        if x.shape[0] == len(nt._sizes):
            return x.movedim(nt._ragged + 1, 1).squeeze(1).repeat_interleave(nt._offsets.diff(), 0).movedim(0, nt._ragged)
    raise RuntimeError(f"cannot call binary pointwise function {name}.Tensor with inputs of shapes {nt.size()} and {x.shape}")


# -- along dimensions --------------------------------------------------------------------------------------------------------------
def _each(nt, f, ragged=None):
    """`f` of each component."""
    return from_parts([f(p) for p in nt.unbind()], nt, ragged)


def _inside(nt, f):
    """`f` where it looks at dimensions behind the ragged one only."""
    if nt._layout is jagged and nt._ragged == 0 and nt._lengths is None:
        return like(nt, f(nt._packed))
    return _each(nt, f)


@handles("nn.functional.linear")
def linear(func, input, weight, bias=None):
    return _inside(_only(input, weight, bias), lambda p: func(p, weight, bias))


def _only(nt, *others):
    if not isinstance(nt, NestedTensor) or any([isinstance(x, NestedTensor) for x in others]):
        raise NotImplementedError("torchshim: this function with a nested tensor in another place than its first")
    return nt


@handles("nn.functional.layer_norm")
def layer_norm(func, input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return _inside(_only(input, weight, bias), lambda p: func(p, normalized_shape, weight, bias, eps))


@handles("rms_norm", "nn.functional.rms_norm")
def rms_norm(func, input, normalized_shape, weight=None, eps=None):
    return _inside(_only(input, weight), lambda p: func(p, normalized_shape, weight, eps))


@handles("nn.functional.embedding")
def embedding(func, input, weight, *args, **kwargs):
    return _inside(_only(input, weight), lambda p: func(p, weight, *args, **kwargs))


@handles("softmax", "log_softmax", "nn.functional.softmax", "nn.functional.log_softmax", "cumsum")
def along(func, nt, dim, *args, **kwargs):
    kwargs.pop("_stacklevel", None)
    d = at(nt, dim) - 1
    if d < 0:
        raise RuntimeError(f"{func.__name__}(): not supported when reducing across the batch dimension for NestedTensor")
    return _each(nt, lambda p: func(p, d, *args, **kwargs))


@handles("matmul", "__matmul__", "bmm")
def matmul(func, a, b):
    if not isinstance(b, NestedTensor):
        if a._layout is strided:
            raise RuntimeError("Expected both to be nested, but got a nested self and non-nested other")
        if b.dim() > 2:
            return from_parts([p @ q for p, q in zip(a.unbind(), b, strict=True)], a)
        return _inside(a, lambda p: p @ b)
    if not isinstance(a, NestedTensor) or len(a._sizes) != len(b._sizes):
        raise RuntimeError("Expected both to be nested, but got a non-nested self and nested other" if not isinstance(a, NestedTensor) else
                           f"matmul: Expected size for the 1st dimension of 2nd input tensor to be: {len(a._sizes)} but got: "
                           f"{len(b._sizes)}.")
    inner = a._ndim - 2
    if a._layout is jagged and not (a._ragged == b._ragged < inner - 1 or a._ragged == inner == b._ragged + 1):
        raise RuntimeError(f"matmul(): not supported between inputs of shapes {a.size()} and {b.size()}")
    parts = [p @ q for p, q in zip(a.unbind(), b.unbind())]
    return stack(parts) if a._layout is jagged and a._ragged == inner else from_parts(parts, a)


@handles("nn.functional.scaled_dot_product_attention")
def attention(func, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if not all([isinstance(x, NestedTensor) for x in (query, key, value)]) or attn_mask is not None:
        raise NotImplementedError("torchshim: scaled_dot_product_attention of nested and dense tensors together, or with attn_mask")
    if allowed["flash"] and not allowed["math"] and query._layout is strided:
        none_available("Both fused kernels of cpp version currently do not support Nested Tensor inputs.")
    parts = [func(q[None], k[None], v[None], None, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)[0]
             for q, k, v in zip(query.unbind(), key.unbind(), value.unbind(), strict=True)]
    return from_parts(parts, query)


# -- reductions --------------------------------------------------------------------------------------------------------------------
@handles("sum", "mean", "amax", "amin", "max", "min", "prod", "all", "any", "argmax", "argmin", "logsumexp", "var", "std")
def reduce(func, nt, dim=None, keepdim=False, **kwargs):
    name = func.__name__
    if dim is None:
        if nt._layout is jagged and nt._lengths is not None:
            raise NotImplementedError(f"torchshim: {name} of all of a nested tensor with gaps")
        return func(nt._packed, **kwargs)
    dims = sorted({at(nt, d) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))})
    if nt._layout is strided:
        if dims != [nt._ndim - 1]:
            raise RuntimeError(f"NestedTensor can only be reduced across the last dimension for now got dimension {dims[0]} instead.")
        if not keepdim:
            raise RuntimeError("NestedTensor always requires keepdim=True for now.")
        return _each(nt, lambda p: func(p, -1, True, **kwargs))
    ragged = nt._ragged + 1
    if 0 in dims:
        raise (NotImplementedError(f"torchshim: {name} along the batch and the ragged dimension of a nested tensor") if ragged in dims
            else RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"))
    inner = [d - 1 for d in dims]
    call = functools.partial(func, dim=inner[0] if len(inner) == 1 else tuple(inner), keepdim=keepdim, **kwargs)
    if name in ("max", "min", "cummax"):
        raise NotImplementedError(f"torchshim: {name} along a dimension of a nested tensor; amax and amin are there")
    if ragged in dims:
        return stack([call(p) for p in nt.unbind()])
    left = nt._ragged - (0 if keepdim else sum([d < nt._ragged for d in inner]))
    return _each(nt, call, left)


# -- shape -------------------------------------------------------------------------------------------------------------------------
@handles("transpose", "swapaxes", "swapdims")
def transpose(func, nt, dim0, dim1):
    a, b = at(nt, dim0), at(nt, dim1)
    if a == b:
        return like(nt, nt._packed)
    if 0 in (a, b):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT") if nt._layout is jagged else RuntimeError(
            "Nested tensor dimension 0 cannot be transposed")
    order = list(range(nt._ndim))
    order[a], order[b] = b, a
    return permute(func, nt, order)


@handles("permute")
def permute(func, nt, *dims):
    dims = [at(nt, d) for d in (dims[0] if len(dims) == 1 else dims)]
    if sorted(dims) != list(range(nt._ndim)) or dims[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    inner = [d - 1 for d in dims[1:]]
    if nt._layout is jagged:
        return like(nt, nt._packed.permute(inner), inner.index(nt._ragged))
    return _each(nt, lambda p: p.permute(inner))


@handles("mT")
def mT(func, nt):
    return transpose(func, nt, -2, -1)


@handles("unsqueeze")
def unsqueeze(func, nt, dim):
    d = dim if dim >= 0 else dim + nt._ndim + 1
    if d == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0" if nt._layout is jagged else
                           "unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the moment if you need this "
                           "feature, please open an issue on github describing your use case.")
    return _each(nt, lambda p: p.unsqueeze(d - 1), nt.__dict__.get("_ragged", 0) + (d - 1 <= nt.__dict__.get("_ragged", -1)))


@handles("squeeze")
def squeeze(func, nt, dim=None):
    if dim is None:
        raise RuntimeError("For nested tensors, squeeze without the dim argument is not supported at the moment.")
    d = at(nt, dim) - 1
    if d < 0:
        raise RuntimeError("squeeze(): not supported for NestedTensor on dim=0")
    if nt._layout is jagged and d == nt._ragged or any([s[d] != 1 for s in nt._sizes]):
        return like(nt, nt._packed)
    return _each(nt, lambda p: p.squeeze(d), nt.__dict__.get("_ragged", 0) - (d < nt.__dict__.get("_ragged", -1)))


@handles("view", "reshape")
def view(func, nt, *shape):
    shape = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)
    parts = nt.unbind()
    if len(shape) < 2 or shape[0] not in (len(parts), -1):
        mine = nt._sizes if nt._layout is strided else tuple(nt.size())
        raise RuntimeError(f"{func.__name__}(): cannot view shape {mine} as {list(shape)}")
    ragged = nt._ragged if nt._layout is jagged else 0
    wanted = [None if not isinstance(n, int) else n for n in shape[1:]]
    place = wanted.index(None) if None in wanted else ragged if nt._layout is jagged else None
    inherit = nt._layout is strided and shape[1:].count(-1) > 1
    made = []
    for p in parts:
        sizes = [p.shape[k] if n == -1 and (inherit or k == place) and k < p.dim() else n for k, n in enumerate(wanted)]
        if place is not None:
            sizes[place] = p.shape[ragged]
        made.append(p.reshape(sizes))
    return from_parts(made, nt, place if nt._layout is jagged else None)


@handles("flatten")
def flatten(func, nt, start_dim=0, end_dim=-1):
    a, b = at(nt, start_dim), at(nt, end_dim)
    ragged = nt._ragged + 1 if nt._layout is jagged else 1
    if a <= ragged <= b or a == 0:
        raise RuntimeError("flatten(): cannot flatten along the batch or ragged dimension for a nested tensor")
    return _each(nt, lambda p: p.flatten(a - 1, b - 1), ragged - 1 - (b - a if b < ragged else 0))


@handles("unflatten")
def unflatten(func, nt, dim, sizes):
    d = at(nt, dim)
    ragged = nt._ragged + 1 if nt._layout is jagged else 1
    if d in (0, ragged):
        raise RuntimeError("unflatten(): cannot unflatten the batch or ragged dimension of a nested tensor")
    return _each(nt, lambda p: p.unflatten(d - 1, sizes), ragged - 1 + (len(sizes) - 1 if d < ragged else 0))


@handles("chunk", "split", "split_with_sizes", "tensor_split")
def pieces(func, nt, size, dim=0):
    d = at(nt, dim)
    if nt._layout is strided and d != nt._ndim - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    if nt._layout is jagged and d == nt._ragged + 1:
        raise RuntimeError(f"{func.__name__}(): not supported for NestedTensor on ragged dim")
    if d == 0:
        from .tensor import jagged_of
        if func.__name__ != "chunk":
            raise RuntimeError(f"{func.__name__}(): not supported for NestedTensor on dim=0")
        parts, n = nt.unbind(), math.ceil(len(nt._sizes) / size)
        return tuple([jagged_of(parts[k:k + n], nt._ragged) for k in range(0, len(parts), n)])
    each = [func(p, size, d - 1) for p in nt.unbind()]
    return tuple([from_parts(list(parts), nt) for parts in zip(*each)])


@handles("narrow")
def narrow(func, nt, dim, start, length):
    d = at(nt, dim)
    if nt._layout is strided:
        if d:
            raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
        return from_parts(list(nt.unbind()[start:start + length]), nt)
    if d in (0, nt._ragged + 1):
        raise RuntimeError(f"narrow(): not supported for NestedTensor on dim={d}")
    return _each(nt, lambda p: p.narrow(d - 1, start, length))


@handles("select")
def select(func, nt, dim, index):
    d = at(nt, dim)
    if d == 0:
        return nt[index]
    if nt._layout is jagged and d == nt._ragged + 1:
        raise RuntimeError("select(): not supported for NestedTensor on dim=1")
    return _each(nt, lambda p: p.select(d - 1, index), nt.__dict__.get("_ragged", 0) - (d - 1 < nt.__dict__.get("_ragged", -1)))


@handles("unbind")
def unbind(func, nt, dim=0):
    return nt.unbind(dim)


@handles("cat", "concat", "concatenate")
def cat(func, tensors, dim=0):
    first = next(t for t in tensors if isinstance(t, NestedTensor))
    d = at(first, dim)
    if not all([isinstance(t, NestedTensor) for t in tensors]):
        raise NotImplementedError("torchshim: cat of nested and dense tensors together")
    if d == 0:
        if first._layout is jagged:
            raise RuntimeError("cat(): not supported for NestedTensor on dim=0")
        return from_parts([p for t in tensors for p in t.unbind()], first)
    return from_parts([func(parts, d - 1) for parts in zip(*[t.unbind() for t in tensors], strict=True)], first)


@handles("is_same_size")
def is_same_size(func, a, b):
    one, other = isinstance(a, NestedTensor), isinstance(b, NestedTensor)
    if one is not other:
        raise RuntimeError(f"Expected both self and other to be nested tensors. Self is {'' if one else 'not '}nested. While Other is "
                           f"{'' if other else 'not '}nested.")
    return fit(a, b)


@handles("to_padded_tensor")
def to_padded_tensor(func, nt, padding, output_size=None):
    """The components in one dense tensor, what is beyond them filled. RuntimeError if `output_size` is less than they need."""
    parts, n = nt.unbind(), nt._ndim - 1
    largest = [max([p.shape[k] for p in parts], default=0) for k in range(n)]
    if output_size is None:
        wanted = largest
    elif nt._layout is strided:
        wanted = list(output_size[1:])
        if output_size[0] != len(parts) or any([w < m for w, m in zip(wanted, largest)]):
            raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
    else:                                      # the ragged dimension alone is chosen, and shortened
        wanted = [output_size[1 + k] if k == nt._ragged else m for k, m in enumerate(largest)]
    filled = []
    for p in parts:
        missing = [(0, w - s) for w, s in zip(wanted, p.shape)]
        filled.append(F.pad(p, [x for pair in reversed(missing) for x in pair], value=padding))
    return stack(filled) if filled else nt._packed.new_empty((0, *wanted))


@handles("autograd.grad")
def gradients(func, outputs, inputs, *args, **kwargs):
    inputs, outputs = ((x,) if isinstance(x, Tensor) else tuple(x) for x in (inputs, outputs))
    given = kwargs.pop("grad_outputs", None)
    if args or given is not None:
        given, args = (given if not args else args[0]), args[1:]
        given = [getattr(g, "_packed", g) for g in ((given,) if isinstance(given, Tensor) else given or ())] or None
    got = func([getattr(x, "_packed", x) for x in outputs], [getattr(x, "_packed", x) for x in inputs], given, *args, **kwargs)
    return tuple([like(x, g) if isinstance(x, NestedTensor) and g is not None else g for x, g in zip(inputs, got)])
