"""Products that Python prepares: linear layers, einsum's spellings, tensordot's dims, chains of matrices."""
from __future__ import annotations

import math

from ...ops import contractions, products as L
from ...ops.registry import InplaceOp, T
from ...ops.shape import RESHAPE_COPY
from .bind import call, function, into, old_form, prepare, type_name
from ..core.dispatch import apply, apply2, apply3
from ..core.handle import TensorBase, edge, meta, read
from ..core.write import apply_inplace, born_written, check_inplace, needs_grad, rewrite, write
from .reduction import need_tensor
from .views import warn_once

_PLAIN, _BIASED = (T, T, None), (T, T, T)


@function(method=False, torch=False, namespace="nn.functional")
def linear(input, weight, bias=None, *, out=None):
    """input @ weight.T + bias."""
    if out is not None:
        return into(out, call(L.linear, (input, weight, bias)), "linear")
    if isinstance(input, TensorBase) and isinstance(weight, TensorBase):
        if bias is None:
            made, rows = apply2(L.linear, input, weight, _PLAIN), (input._ts_view or input._ts_st.value).meta.ndim > 1
            return made if rows or meta(weight).ndim < 2 else born_written(made, 1)
        if isinstance(bias, TensorBase):
            return apply3(L.linear, input, weight, bias, _BIASED)
    return call(L.linear, (input, weight, bias))


def _matmul_steps(a, b):
    """A vector times a matrix, which torch squeezes in place. A vector or a matrix times a stack of matrices, in torch's steps: one
    product with a large matrix where a matrix on the left wants a gradient, which must not be as large as the stack, and a vector where it
    wants one or that takes no copy; else a stack of products. None where this is one operator: what does not want a gradient on the left is
    the same in any way. Asked where `a` is a vector or `b` such a stack."""
    ma, mb, wants = meta(a), meta(b), needs_grad(a)
    if mb.ndim < 3:
        made = apply2(L.matmul, a, b, (T, T))
        return born_written(made, 1) if mb.ndim == 2 else made
    if not ma.ndim or ma.ndim > 2 or ma.ndim == 2 and not wants:
        return None
    turned = b.mT
    *lead, inner = meta(turned).shape
    if wants or not mb.numel or L.leading_is_one(meta(turned)):
        flat = turned.reshape(math.prod(lead), inner)
        if ma.ndim == 1:
            return call(RESHAPE_COPY, (flat.mv(a), tuple(lead)))
        return call(RESHAPE_COPY, (flat.mm(a.t()), (*lead, ma.shape[0]))).mT.contiguous()
    batch, count = mb.shape[:-2], math.prod(mb.shape[:-2])
    rows = a.expand(*batch, 1, ma.shape[0]).reshape(count, 1, ma.shape[0])
    return call(RESHAPE_COPY, (rows.bmm(b.expand(mb.shape).reshape(count, *mb.shape[-2:])), (*batch, mb.shape[-1])))


L.matmul.steps = _matmul_steps


@function(method=False)
def einsum(*args, path=None):
    """einsum(equation, *operands), or einsum(op1, [labels], op2, [labels], ..., [result labels])."""
    if len(args) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand and its "
                         "subscripts list")
    if isinstance(args[0], TensorBase):
        def text(labels):
            out = ""
            for x in labels:
                if x is Ellipsis:
                    out += "..."
                elif not 0 <= x < 52:
                    raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
                else:
                    out += contractions.LABELS[x]
            return out
        operands = args[:len(args) // 2 * 2:2]
        equation = ",".join(text(s) for s in args[1::2])
        if len(args) % 2:
            equation += "->" + text(args[-1])
    else:
        equation, operands = args[0], args[1:]
        if not isinstance(equation, str):
            raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type_name(equation)}")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    for k, x in enumerate(operands):
        if not isinstance(x, TensorBase):
            raise TypeError(f"expected Tensor as element {k} in argument 1, but got {type(x).__name__}")
    if len(operands) == 1:
        view = _rearranged(equation, operands[0])
        if view is not None:
            return view
    return call(contractions.einsum, (equation, tuple(operands)))


def _rearranged(equation, x):
    """What einsum returns where nothing is summed: a view. None otherwise."""
    (text,), out = contractions.parsed(equation, [x._ts_meta.shape])
    at = text.find(".")
    labels = list(text) if at < 0 else [*text[:at], *range(x.ndim - len(text) + 1), *text[at + 1:]]
    out = list(out) if "." not in out else [*out[:out.index(".")], *range(x.ndim - len(text) + 1), *out[out.index(".") + 1:]]
    if set(labels) != set(out):
        return None
    while len(set(labels)) < len(labels):
        c = next(c for c in labels if labels.count(c) > 1)
        i, j = [k for k, d in enumerate(labels) if d == c][:2]
        x = x.diagonal(0, i, j)
        labels = [d for k, d in enumerate(labels) if k not in (i, j)] + [c]
    return x.permute([labels.index(c) for c in out])


@function(method=False, out=True)
def inner(input, other):
    """Sum of products over the last dimension of both: a view of the product of two matrices."""
    return _inner(input, other, 1)


def _inner(input, other, first):
    made = call(L.inner, (input, other), "inner", first)
    a, b = meta(input).shape, meta(other).shape
    return made.view(a[:-1] + b[:-1]) if a and b else made


@function("inner", torch=False)
def inner_of(self, other):
    """Sum of products over the last dimension of both: a view of the product of two matrices."""
    return _inner(self, other, 0)


@function("outer", "ger", out=True)
def outer(input, vec2):
    """All products of two vectors' elements."""
    L.vector("self", meta(input), "outer")
    L.vector("vec2", meta(vec2), "outer")
    return input.reshape(meta(input).shape[0], 1) * vec2


@function(method=False)
def tensordot(a, b, dims=2, out=None):
    """Contraction of the last `dims` dimensions of a with the first of b, or of two lists of dimensions."""
    if isinstance(dims, (list, tuple)):
        dims_a, dims_b = dims
    elif isinstance(dims, TensorBase) and dims.numel() > 1:
        dims_a, dims_b = dims[0].tolist(), dims[1].tolist()
    else:
        n = int(dims)
        if n < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={n}")
        if n > a.ndim or n > b.ndim:
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={n}")
        dims_a, dims_b = list(range(-n, 0)), list(range(n))
    listed = lambda d: tuple(d) if isinstance(d, (list, tuple)) else (int(d),)
    made = call(contractions.tensordot, (a, b, listed(dims_a), listed(dims_b)))
    return made if out is None else into(out, made, "tensordot")


@function(method=False)
def chain_matmul(*matrices, out=None):
    """Product of several matrices; torch.linalg.multi_dot is its successor."""
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    warn_once("torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, which "
              "accepts a list of two or more tensors rather than multiple parameters.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for x in matrices:
        need_tensor("chain_matmul", x)
        if x.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {x.ndim}, expected 2 instead.")
    made = matrices[0] if len(matrices) == 1 else call(contractions.multi_dot, (matrices,))
    return made if out is None else into(out, made, "chain_matmul", rule=() if len(matrices) == 1 else None)


_addbmm_ = InplaceOp(L.addbmm)


@function()
def addbmm_(input, batch1, batch2, *old, beta=1, alpha=1):
    """In-place addbmm. As in torch a smaller `input` takes the shape of the result."""
    if old:
        return old_form(L.addbmm, "addbmm_", (input, batch1, batch2, *old), True, _addbmm_in_order, None)
    return _addbmm_in_order(input, batch1, batch2, beta, alpha)


def _addbmm_in_order(input, batch1, batch2, beta, alpha):
    tensors, layout, nums, kinds = prepare(L.addbmm, (input, batch1, batch2, beta, alpha))
    if batch1.ndim != 3 or batch2.ndim != 3 or input._ts_view is not None or input.shape == (batch1.shape[1], batch2.shape[2]):
        return apply_inplace(_addbmm_, tensors, layout, nums, kinds)
    made = apply(L.addbmm, tensors, layout, nums, kinds)
    check_inplace(input, edge(made) is not None)
    if made._ts_edge is None:
        write(input, read(made))
    else:
        rewrite(input, read(made), made._ts_edge)
    return input
