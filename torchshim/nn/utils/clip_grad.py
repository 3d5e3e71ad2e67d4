"""Gradient clipping: the norm of all gradients is one recorded operator, and so is their scaling."""
from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Union

import jax.numpy as jnp

from ...autograd.grad_mode import grad_mode
from ...engine import Instance, Operator, context, record, warn
from ...ops.common import wide
from ...ops.norms import nothing_to_compare, refuse_integers
from ...ops.registry import SF as _F, T, op
from ...tensor.api.bind import FUNCTIONS
from ...tensor.core.dispatch import apply
from ...tensor.core.handle import meta, read
from ...tensor.core.tensor import Tensor
from ...tensor.core.write import bump, write
from ..parameter import Parameter


@op("total_norm(Tensor[] tensors, str? kind, float p) -> Tensor", grad="LinalgVectorNormBackward0", function=False, method=False)
def _total_norm(tensors, kind, p):
    """The norm of the tensors' norms. kind: "two", "inf", "-inf", or None for the norm of order p."""
    for t in tensors:
        refuse_integers(t)
    if kind == "two" and len({t.dtype for t in tensors}) == 1:           # all roots at once: a call of NumPy for each costs most of it
        squares = [jnp.sum(jnp.square(wide(t) if jnp.isrealobj(t) else jnp.abs(wide(t)))) for t in tensors]
        own = jnp.finfo(tensors[0].dtype).dtype
        return jnp.sqrt(jnp.sum(jnp.square(wide(jnp.sqrt(jnp.stack(squares)).astype(own))))).astype(own)
    norms = []
    for t in tensors:
        a = jnp.abs(wide(t))
        if kind == "two":
            n = jnp.sqrt(jnp.sum(jnp.square(a)))
        elif kind == "inf":
            n = jnp.max(a, initial=0)
        elif kind == "-inf":
            n = jnp.min(a, initial=jnp.inf)
        else:
            n = jnp.where(p == 0, jnp.sum(a != 0).astype(a.dtype), jnp.sum(a ** p.astype(a.dtype)) ** (1 / p).astype(a.dtype))
        norms.append(n.astype(jnp.finfo(t.dtype).dtype))             # of complex numbers: a real one
    own = jnp.result_type(*[n.dtype for n in norms])
    all_ = wide(jnp.stack([n.astype(own) for n in norms]))
    if kind == "two":
        out = jnp.sqrt(jnp.sum(jnp.square(all_)))
    elif kind == "inf":
        out = jnp.max(all_)
    elif kind == "-inf":
        out = jnp.min(all_)
    else:
        q = p.astype(all_.dtype)
        out = jnp.where(p == 0, jnp.sum(all_ != 0).astype(all_.dtype), jnp.sum(jnp.abs(all_) ** q) ** (1 / q))
    return out.astype(own)


class ScaleAll(Operator):
    """Every tensor times min(1, limit / (norm + 1e-6)); the norm comes last, and the limit is a number."""

    def build(self, layout, metas, kinds):
        *tensors, _ = metas
        return Instance(self, layout, _scaled, metas, kinds, metas[0].device, [m.strides for m in tensors],
                        alike=layout if len(tensors) == 1 else None, results=[(m.shape, m.dtype) for m in tensors])

    def parts(self, inst):
        *tensors, norm = inst.in_metas
        n = len(tensors)
        return [(self.resolve((), (m, norm), inst.kinds), (k, n), (k,)) for k, m in enumerate(tensors)] if n > 1 else ()


def _scaled(*args):
    *tensors, norm, limit = args
    n = norm.astype(jnp.promote_types(norm.dtype, jnp.float32))
    c = jnp.minimum((limit.astype(n.dtype) / (n + 1e-6).astype(norm.dtype).astype(n.dtype)).astype(norm.dtype), 1)
    return [(wide(t) * c.astype(wide(t).dtype)).astype(t.dtype) for t in tensors]


_scale_all = ScaleAll("scale_all")


_PLAIN = {Tensor, Parameter}


def _listed(parameters):
    if isinstance(parameters, Tensor):
        return [parameters]
    generator = not isinstance(parameters, (list, tuple, set))
    parameters = list(parameters)
    if generator and not parameters:
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    return parameters


def _grads(parameters):
    out = []
    for p in parameters:
        x = p._ts_extra if isinstance(p, Tensor) else p.grad
        if x is not None and x.grad is not None:
            out.append(x.grad if p.__class__ in _PLAIN else p.grad)
    return out


def _norm(tensors, norm_type, foreach=None):
    """The recorded norm; with the smallest or largest elements, or of a negative order, RuntimeError for a tensor that has none."""
    if (norm_type < 0 or norm_type == math.inf) and any([not t.numel() for t in tensors]):
        if norm_type == math.inf and foreach is not False:
            from ..._foreach import _foreach_norm
            _foreach_norm(tensors, norm_type)              # which refuses
        for t in tensors:                      # the first that is refused says why
            refuse_integers(meta(t))
            if not t.numel():
                raise nothing_to_compare(norm_type)
    kind = "two" if norm_type == 2 else "inf" if norm_type == math.inf else "-inf" if norm_type == -math.inf else None
    return apply(_total_norm, tensors, ((T,) * len(tensors), kind, _F), (float(norm_type),), "f")


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all elements of all tensors taken together."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return FUNCTIONS["tensor"](0.0)
    if not {t.__class__ for t in tensors} <= _PLAIN:
        from ...overrides import handle_torch_function, has_torch_function
        if has_torch_function(tensors):
            return handle_torch_function(get_total_norm, tensors, tensors, norm_type, error_if_nonfinite, foreach)
    from ...autograd.grad_mode import no_grad
    with no_grad():
        total = _norm(tensors, float(norm_type), foreach)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot be "
                           "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           "`error_if_nonfinite=False`")
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale the gradients in place as if `total_norm` were their norm."""
    grads = _grads(_listed(parameters))
    if grads:
        _scale(grads, float(max_norm), total_norm)


def _scale(grads, max_norm, total_norm):
    if len(grads) > 1 and len({g._ts_meta.device for g in grads}) > 1:
        raise NotImplementedError("torchshim: clipping gradients on several devices at once")
    vals = [read(g) for g in grads] + [read(total_norm)]
    out = record(context, _scale_all, (), vals, (max_norm,), "f")[0]
    for g, v in zip(grads, out if out.__class__ is list else [out]):
        write(g, v)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients in place so that their norm, all together, is at most max_norm; returns the norm before."""
    from ...autograd.grad_mode import no_grad
    grads = _grads(_listed(parameters))
    with no_grad():
        total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
        if grads:
            _scale(grads, float(max_norm), total)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of clip_grad_norm_."""
    warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


_get_total_norm = get_total_norm               # the name it had before it was public


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamp every gradient in place to [-clip_value, clip_value]."""
    from ...autograd.grad_mode import no_grad
    found = _grads(_listed(parameters))
    if not found:                              # torch groups them by device and dtype
        raise RuntimeError("Expected !nested_tensorlist[0].empty() to be true, but got false.  (Could this error message be improved?  If "
                           "so, please report an enhancement request to PyTorch.)")
    with no_grad():
        for g in found:
            g.clamp_(-float(clip_value), float(clip_value))
            if foreach is not False:           # torch writes twice: both ends one after the other
                bump(g)

_tensor_or_tensors = Union[Tensor, Iterable[Tensor]]


def _no_grad(func):
    """`func` under no_grad."""
    @functools.wraps(func)
    def without(*args, **kwargs):
        with grad_mode(False):
            return func(*args, **kwargs)
    return without
