"""The graph as PyTorch's decompositions leave it, for who looks: some operators are one node here that are several there. A node becomes
these when somebody asks what it leads to; a graph that nobody walks is none the larger for it.
"""
from __future__ import annotations

import math

from ..engine import context
from ..ops.layout import broadcast_shapes
from ..ops.contractions import parsed
from ..ops.products import leading_is_one, one_matrix
from ..ops.registry import OPS, T
from ..ops.shape import RESHAPE_COPY
from ..tensor.api.bind import FUNCTIONS, call
from ..tensor.core import graph
from ..tensor.core.dispatch import wrap
from ..tensor.core.handle import TensorBase
from .saved import tensor_at
from .grad_ops import zeros_value
from .grad_mode import grad_mode


def _linear(inst, x, weight, bias=None):
    turned = weight.t()
    if bias is not None and (x.ndim == 2 or one_matrix(x._ts_meta, bias._ts_meta)):
        flat = x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
        made = FUNCTIONS["addmm"](bias, flat, turned)
        return made if x.ndim == 2 else made.view(inst.out_metas[0].shape)
    made = _matmul(inst, x, turned)
    made = x @ turned if made is None else made
    return made if bias is None else made.add_(bias)


def _matmul(inst, a, b):
    """One large matrix, or a row, where that takes no copy or the other side wants a gradient; else a stack of products."""
    shape = inst.out_metas[0].shape
    if a.ndim == 1 and b.ndim == 2:
        return a.unsqueeze(0).mm(b).squeeze_(0)
    if max(a.ndim, b.ndim) < 3:
        return None
    if a.ndim == b.ndim == 3 and b.shape[0] == 1 != a.shape[0] and b.requires_grad:
        b = b.squeeze(0)
    elif a.ndim == b.ndim == 3 and a.shape[0] == 1 != b.shape[0] and a.requires_grad:
        turned = b.mT
        made = turned.reshape(-1, turned.shape[-1]).mm(a.squeeze(0).t())
        return call(RESHAPE_COPY, (made, (*turned.shape[:-1], shape[-2]))).mT.contiguous()
    if b.ndim <= 2 and (b.requires_grad or not a.numel() or leading_is_one(a._ts_meta)):
        flat = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
        return call(RESHAPE_COPY, (flat.mm(b) if b.ndim == 2 else flat.mv(b), shape))
    vector, b = b.ndim == 1, b.unsqueeze(1) if b.ndim == 1 else b
    batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
    a, b = [x.expand(*batch, *x.shape[-2:]).reshape(math.prod(batch), *x.shape[-2:]) for x in (a, b)]
    made = a.bmm(b)
    return call(RESHAPE_COPY, (made.squeeze(-1) if vector else made, shape))


def _cross_entropy(inst, x, target, weight=None):
    reduction, ignored, smoothing = inst.layout[3:6]
    if smoothing is not None or target.is_floating_point():
        return None
    return call(OPS[None, "nll_loss"], (x.log_softmax(min(x.ndim - 1, 1)), target, weight, reduction, ignored))


def _l1_loss(inst, x, target, weight=None):
    return None if weight is not None else _reduced((x - target).abs(), inst.layout[3])


def _reduced(made, reduction):
    return made.mean() if reduction == "mean" else made.sum() if reduction == "sum" else made


def _kl_div(inst, x, target):
    reduction, log = inst.layout[2:4]
    made = target.exp() * (target - x) if log else FUNCTIONS["xlogy"](target, target) - target * x
    return made.sum() / x.shape[0] if reduction == "batchmean" else _reduced(made, reduction)


def _diff(inst, *parts):
    n, dim, prepend, append = inst.layout[1:]
    if prepend is T:
        parts = parts[1], parts[0], *parts[2:]
    x = parts[0] if len(parts) == 1 else FUNCTIONS["cat"](parts, dim)
    for _ in range(min(n, x.shape[dim])):
        x = x.narrow(dim, 1, x.shape[dim] - 1) - x.narrow(dim, 0, x.shape[dim] - 1)
    return x


def _inner(inst, a, b):
    if not a.ndim or not b.ndim:
        return None
    rows, columns, common = a.shape[:-1].numel(), b.shape[:-1].numel(), max(a.shape[-1], b.shape[-1])
    if b.shape[-1] == 1:                       # tensordot sums what it would have to broadcast
        a = a.sum(-1, keepdim=True)
    a, b = a.permute(*range(a.ndim)), b.permute(b.ndim - 1, *range(b.ndim - 1))
    return a.flatten().dot(b.flatten()) if rows == columns == 1 else a.reshape(rows, common).mm(b.reshape(common, columns))


def _einsum(inst, *tensors):
    """Products without a sum."""
    inputs, out = parsed(inst.layout[0], [m.shape for m in inst.in_metas])
    if len(inputs) == 1 or set("".join(inputs)) != set(out) or "." in out:
        return None
    made = None
    for labels, x in zip(inputs, tensors):
        places = [labels.find(c) for c in out]
        for k, c in enumerate(out):
            if places[k] < 0:
                places[k] = x.ndim
                x = x.unsqueeze(x.ndim)
        made = x.permute(places) if made is None else made * x.permute(places)
    return made


_PARTS = {"linear": _linear, "matmul": _matmul, "cross_entropy_loss": _cross_entropy, "l1_loss": _l1_loss, "kl_div": _kl_div,
          "diff": _diff, "inner": _inner, "einsum": _einsum}


def _operands(node):
    """Tensors in the place of an operator's operands, with their histories; what backward does not need of them is zeros."""
    guards = {g[0]: g for g in node._ts_guard}                 # the new nodes go on noticing the writes there
    held = {i: (v, guards.get(k)) for k, (i, v) in enumerate(zip(node._ts_plan.args, node._ts_saved))}
    return [tensor_at(held[i][0], e, held[i][1]) if i in held else wrap(zeros_value(m), e)
            for i, (m, e) in enumerate(zip(node._ts_inst.in_metas, node._ts_next))]


def _unfold(node):
    """Make a node those that PyTorch has in its place, where these are known."""
    inst = node._ts_inst
    parts = None if inst is None or node._ts_saved is None or node._ts_custom_backward is not None else _PARTS.get(inst.op.name)
    if parts is None or any([g[1].gen != g[3] for g in node._ts_guard]) or "forward AD" in context.modes or "transform" in context.modes:
        return
    with grad_mode(True), context.mode("saved tensors hooks", None):
        made = parts(inst, *_operands(node))
    root = made if made is None else made._ts_edge
    if root.__class__.__name__ != node.__class__.__name__:
        return
    _number(root, node)
    for field in ("inst", "plan", "saved", "guard", "next", "nums"):
        setattr(node, "_ts_" + field, getattr(root, "_ts_" + field))
    node.__class__ = root.__class__


def _number(root, node):
    """Give the new nodes numbers between that of the old one and its predecessors'."""
    ends = {id(e[0] if e.__class__ is tuple else e) for e in node._ts_next}
    found, stack = [], [root]
    while stack:
        for e in stack.pop()._ts_next:
            e = e[0] if e.__class__ is tuple else e
            if e is not None and not isinstance(e, TensorBase) and id(e) not in ends and e not in found:
                found.append(e)
                stack.append(e)
    for k, inner in enumerate(sorted(found, key=lambda n: n._ts_seq)):
        inner._ts_seq = node._ts_seq - 1 + (k + 1) / (len(found) + 1)


graph.before_looks(_unfold)
