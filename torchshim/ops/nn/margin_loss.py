"""Losses with a margin between classes, pairs and triplets."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from .. import promotion as P
from ..common import wide
from ..layout import broadcast_shapes
from ..casts import cast
from ..registry import op
from .loss import _LOSS, _named, _nothing_itself, no_mean_of, reduced, refuse_bool_minus


def _checked(x, target, *rest):
    broadcast_shapes([target.shape, x.shape])


def _check_hinge(x, target, margin, reduction):
    broadcast_shapes([target.shape, x.shape])
    if P.kind_of(x.dtype) == 3:
        raise NotImplementedError("clamp is not supported for complex types")
    refuse_bool_minus(x)
    if P.kind_of(x.dtype) < 2 and reduction == "mean":
        raise no_mean_of(x.dtype)


@jax.custom_jvp
def _clamp_min(x):
    return jnp.where(x <= 0, 0, x)


@_clamp_min.defjvp
def _clamp_min_jvp(primals, tangents):
    # torch's clamp_min passes the gradient at the bound itself
    return _clamp_min(primals[0]), jnp.where(primals[0] >= 0, tangents[0], 0)


def _as_chosen(inst, x, target, *rest):
    """The strides of what the target chooses, whose layout comes first."""
    return _LOSS["strides"](inst, target, x)


@op("hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, str reduction='mean') -> Tensor",
    seen=_nothing_itself, grad=_named("AddBackward0", mean="MeanBackward0", sum="SumBackward0"), check=_check_hinge, nondiff=("target",),
    twice="compared", **{**_LOSS, "promote": None, "strides": _as_chosen})
def hinge_embedding_loss(self, target, margin, reduction):
    """self where target is 1, max(0, margin - self) where it is -1; all of it, the margin too, in the dtype of self."""
    d = self.dtype
    target = target.astype(P.int64) if target.dtype == P.bool_ else target
    one = jnp.ones((), target.dtype)
    far = jnp.where(target != one, _clamp_min((wide(cast(margin, d)) - wide(self)).astype(d)), 0)
    near = jnp.where(target != 0 - one, self, 0)
    total = wide((wide(far) + wide(near)).astype(d))
    if P.kind_of(d) < 2:
        return reduced(total.astype(P.int64) if reduction == "sum" else total, reduction)
    return reduced(total, reduction).astype(d)


@op("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, str reduction='mean') -> Tensor",
    seen=_nothing_itself, grad=_named("ClampMinBackward0", mean="MeanBackward0", sum="SumBackward0"),
    **{**_LOSS, "strides": None, "promote": "float"},
    twice="compared")
def margin_ranking_loss(input1, input2, target, margin, reduction):
    """max(0, -target * (input1 - input2) + margin)."""
    made = -target * (input1 - input2) + margin
    if P.kind_of(made.dtype) == 3:
        raise NotImplementedError("clamp is not supported for complex types")
    return reduced(_clamp_min(made), reduction)


def _only_floats(kernel):
    """A check that raises for what torch's kernel does not take: it knows float32 and float64 alone."""
    def check(x, target, *rest):
        if x.dtype not in (P.float32, P.float64):
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(x.dtype)}'")
    return check


@op("multi_margin_loss(Tensor self, Tensor target, Tensor? weight=None, int p=1, float margin=1.0, str reduction='mean') -> Tensor",
    grad="MultiMarginLossBackward0", check=_only_floats("multi_margin_loss_cpu_kernel"), nondiff=("target", "weight"), function=False,
    method=False, pushes=False, grad_back=lambda inst, needs: "NotImplemented")
def multi_margin_loss(self, target, weight, p, margin, reduction):
    """mean over other classes of max(0, margin - x[target] + x[i])^p."""
    x = self if self.ndim == 2 else self.reshape(1, -1)
    t = target.reshape(-1)
    at = jnp.take_along_axis(x, t[:, None], 1, mode="clip")
    z = _hinge(margin.astype(x.dtype) - at + x)
    z = z if p == 1 else z * z
    if weight is not None:
        z = z * weight.astype(x.dtype)[t][:, None]
    y = jnp.sum(jnp.where(jnp.arange(x.shape[1]) == t[:, None], 0, z), 1) / x.shape[1]
    return reduced(y if self.ndim == 2 and target.ndim else y.reshape(target.shape), reduction)


@jax.custom_jvp
def _hinge(x):
    return jnp.where(x > 0, x, 0)             # torch adds what is above 0, so no NaN


@_hinge.defjvp
def _hinge_jvp(primals, tangents):
    return _hinge(primals[0]), jnp.where(primals[0] > 0, tangents[0], 0)


@op("multilabel_margin_loss(Tensor self, Tensor target, str reduction='mean') -> Tensor", grad="MultilabelMarginLossBackward0",
    check=_only_floats("multilabel_margin_loss_forward_out_frame"), nondiff=("target",), function=False, method=False,
    pushes="multilabel_margin_loss_forward", plain_gradients=True, grad_back=lambda inst, needs: "NotImplemented")
def multilabel_margin_loss(self, target, reduction):
    """Hinge between every labelled class and every other; a row's labels end at the first -1."""
    x, t = (self, target) if self.ndim == 2 else (self.reshape(1, -1), target.reshape(1, -1))
    n = x.shape[1]
    live = jnp.cumprod(t >= 0, 1).astype(bool)
    at = jnp.where(live, t, 0)
    labelled = jnp.any((at[:, :, None] == jnp.arange(n)) & live[:, :, None], 1)
    z = _hinge(1 - jnp.take_along_axis(x, at, 1)[:, :, None] + x[:, None, :])
    y = jnp.sum(jnp.where(live[:, :, None] & ~labelled[:, None, :], z, 0), (1, 2)) / max(n, 1)
    return reduced(y if self.ndim == 2 else y.reshape(()), reduction)


multi_margin_loss.edges = multilabel_margin_loss.edges = (0,)
