"""Weight normalisation by a hook before forward (Salimans & Kingma, arXiv:1602.07868); parametrizations.weight_norm is the newer form."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from ...engine import warn
from ...ops.common import wide
from ...ops.registry import op
from ...tensor.api.bind import call, function
from ..parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "weight_norm", "remove_weight_norm"]


def _norm(x, dim):
    return jnp.sqrt(jnp.sum(jnp.square(jnp.abs(x)), tuple(d for d in range(x.ndim) if d != dim), keepdims=True))


def _gradients(ct, v, g, dim):
    """torch's formulas: the norm is what the forward pass saved, which has no history, so that second derivatives do not follow it."""
    x, length, c = wide(v), wide(g), wide(ct)
    norm = jax.lax.stop_gradient(_norm(x, dim))
    along = jnp.sum(c * x, tuple(d for d in range(v.ndim) if d != dim), keepdims=True)
    return ((length / norm) * (c - x * (along / (norm * norm)))).astype(v.dtype), (along / norm).astype(g.dtype)


@op("_weight_norm_first_last(Tensor v, Tensor g, int dim) -> Tensor", grad="WeightNormInterfaceBackward0", function=False, method=False,
    pushes="_weight_norm_interface", rule=_gradients)
def _first_last(v, g, dim):
    """v times g over v's norm along all dimensions but dim, the first or the last."""
    x = wide(v)
    return (x * (wide(g) / _norm(x, dim))).astype(v.dtype)


@function(method=False)
def _weight_norm(v, g, dim=0):
    """v times g over v's norm along all dimensions but dim; -1: along all."""
    if dim in (0, v.ndim - 1):
        return call(_first_last, (v, g, dim))
    return v * (g / norm_except_dim(v, 2, dim))


@function(method=False)
def norm_except_dim(v, pow=2, dim=0):
    """The norm of order pow along all dimensions but dim, which are kept with size 1; -1: along all."""
    if dim == -1:
        return v.norm(pow)
    if not -v.ndim <= dim < v.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-v.ndim}, {v.ndim - 1}], but got {dim})")
    if dim % v.ndim not in (0, v.ndim - 1):
        return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)
    if dim % v.ndim == 0:
        return v.contiguous().view(v.shape[0], -1).norm(pow, 1).view(v.shape[0], *[1] * (v.ndim - 1))
    return v.contiguous().view(-1, v.shape[-1]).norm(pow, 0).view(*[1] * (v.ndim - 1), v.shape[-1])


class WeightNorm:
    """The hook: `name` is computed from `name`_g and `name`_v before every forward."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight of the present parameters."""
        return _weight_norm(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module, name, dim):
        """Put the hook on a module."""
        warn("`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.", FutureWarning)
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
                             "before applying weight normalization")
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, 2, hook.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module):
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """The weight as its direction (name_v) times its length (name_g) along all dimensions but dim (None: along all)."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight"):
    """Undo weight_norm."""
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
