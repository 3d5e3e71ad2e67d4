"""Similarities, distances, and the losses made of them."""
from __future__ import annotations

from ...ops.nn import margin_loss as ops
from ...ops.nn.loss import refuse_bool_minus
from ...autograd.grad_mode import no_grad
from ...ops import promotion as P
from ...ops.common import size_at
from ...ops.activation import logsigmoid
from ...ops.layout import broadcast_shapes
from ...ops.norms import linalg_vector_norm, norm_along
from ...tensor.api.bind import call
from ...tensor.api.convert import result_type
from ...tensor.api.signatures import ask_parser
from ...tensor.core.handle import TensorBase
from ...tensor.api.creation import zeros_like
from ...tensor.api.picking import in_range
from .common import REDUCTIONS, not_differentiable, reduction_of


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between x1 and x2 along dim."""
    common = result_type(x1, x2)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {P.c_name(common.np)}")
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    x1, x2 = [x if x.is_floating_point() or x.is_complex() else x.to(common) for x in (x1, x2)]
    if x1.shape != x2.shape:
        shape = broadcast_shapes([x1.shape, x2.shape])
        x2 = x2.expand(shape)                  # in torch's order, too
        x1 = x1.expand(shape)
    norms = [call(linalg_vector_norm, (x, 2, (dim,), True, None)).clone() for x in (x1, x2)]
    with no_grad():                            # the bound changes the norms' values and takes no gradient away
        for norm in norms:
            norm.clamp_min_(float(eps))
    second = x2 / norms[1]                     # in torch's order: it tells whose write since is refused
    return ((x1 / norms[0]) * second).sum(dim)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dimension."""
    if keepdim.__class__ is not bool or not isinstance(x1, TensorBase) or not isinstance(x2, TensorBase):
        ask_parser("pairwise_distance", (x1, x2, p, eps, keepdim), {})
    return call(norm_along, (x1 - x2 + eps, p, (-1,), keepdim))


def _reduced(x, reduction):
    return x.mean() if reduction == "mean" else x.sum() if reduction == "sum" else x


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target is 1, max(0, margin - input) where it is -1."""
    return call(ops.hinge_embedding_loss,
                (input, target.detach() if target.requires_grad else target, float(margin), reduction_of(reduction, size_average, reduce)))


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target * (input1 - input2) + margin)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.size()}, "
                           f"input2: {input2.size()}, target: {target.size()} ")
    return ranking_loss(input1, input2, target, margin, reduction)


def ranking_loss(input1, input2, target, margin, reduction):
    """margin_ranking_loss of tensors that may broadcast."""
    refuse_bool_minus(*[t._ts_meta for t in (input1, input2)])
    # whole numbers wrap around, and a target without a sign does before it meets the others
    d = target._ts_meta.dtype
    if P.kind_of(P.promote(input1._ts_meta.dtype, P.promote(input2._ts_meta.dtype, d))) == 1 or d.kind in "ub":
        return _reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)
    return call(ops.margin_ranking_loss, (input1, input2, target, float(margin), reduction))


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos for pairs with target 1, max(0, cos - margin) for -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    n = target.dim()
    if n not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if n and (input1.dim() != 2 or input2.dim() != 2):
        raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with sizes {list(input1.shape)} and "
                           f"{list(input2.shape)}.")
    if not n and (input1.dim() != 1 or input2.dim() != 1):
        raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with sizes {list(input1.shape)} and "
                           f"{list(input2.shape)}.")
    cos = _stiff_cosine(input1, input2, n)
    zeros = zeros_like(cos)
    near = (1 - cos).where(target == 1, zeros)
    far = (cos - margin).clamp_min(0).where(target == -1, zeros)
    return _reduced(near + far, reduction)


def _stiff_cosine(a, b, dim):
    """As torch computes it here: with epsilon inside the squares."""
    eps = 1e-12
    return (a * b).sum(dim) / (((a * a).sum(dim) + eps) * ((b * b).sum(dim) + eps)).sqrt()


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None,
                        reduction="mean"):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin); swap: the nearer of anchor and positive to the negative."""
    reduction = reduction_of(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    a, b, c = anchor.dim(), positive.dim(), negative.dim()
    if not a == b == c:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
                           f"anchor {a}D, positive {b}D, and negative {c}D inputs")
    if swap.__class__ is not bool:
        ask_parser("triplet_margin_loss", (anchor, positive, negative, margin, p, eps, swap, 1), {})
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return _reduced((margin + near - far).clamp_min(0), reduction)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """triplet_margin_loss with a distance of one's own."""
    reduction_of(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    a, b, c = anchor.dim(), positive.dim(), negative.dim()
    if not a == b == c:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
                           f"anchor {a}D, positive {b}D, and negative {c}D inputs")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return _reduced((margin + near - far).clamp_min(0), reduction)


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The hinge between the target class and every other, to the power p (1 or 2)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    if input.dim() > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}")
    n = input.shape[0] if input.dim() == 2 else 1
    if weight is not None and weight.numel() != (input.shape[-1] if input.dim() else 1):
        raise RuntimeError(f"inconsistent weight size, expected {input.shape[-1] if input.dim() else 1} but got {list(weight.shape)}")
    if target.dim() > 1 or target.numel() != n:
        raise RuntimeError("multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
                           f"Expected target size [{n}], but got {list(target.shape)}. Input has shape {list(input.shape)}.")
    _expect_labels(target)
    in_range(target, 0, input.shape[-1] if input.dim() else 1, lambda i: RuntimeError("target out of range"))
    not_differentiable("multi_margin_loss", weight=weight)
    return call(ops.multi_margin_loss, (input, target, weight, int(p), float(margin), reduction))


def _expect_labels(target):
    if target._ts_meta.dtype != P.int64:
        raise RuntimeError(f"expected scalar type Long but found {P.c_name(target._ts_meta.dtype)}")


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The hinge between labelled classes and the others; a row of labels ends at the first -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input.dim() > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}")
    if input.shape != target.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _expect_labels(target)
    in_range(target, -1, input.shape[-1] if input.dim() else 1, lambda i: RuntimeError("argument #2 'target' is out of range"))
    return call(ops.multilabel_margin_loss, (input, target, reduction))


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Binary cross entropy of logits, averaged over classes."""
    if size_average is None and reduce is None and reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    reduction = reduction_of(reduction, size_average, reduce)
    if not isinstance(input, TensorBase):
        call(logsigmoid, (input,), "log_sigmoid")
    if P.kind_of(input._ts_meta.dtype) < 2:
        raise NotImplementedError(f"\"log_sigmoid_cpu\" not implemented for '{P.c_name(input._ts_meta.dtype)}'")
    loss = -(target * call(logsigmoid, (input,)) + (1 - target) * call(logsigmoid, (-input,)))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum(-1) / size_at(input, -1), reduction)
