"""softmax and log_softmax: their gradients need only the result."""
from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from ...engine.interpret import fused
from .. import promotion as P
from ..common import half_of, peak, real_alone, wide, wrap_dim
from ..casts import cast, short
from ..registry import op


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def softmax_of(x, dim, half=None):
    """Along one dimension, in x's own precision; 1 for a 0-d array. half: the half type to which torch rounds what gradients are made of."""
    if not x.ndim:
        return jnp.where(jnp.isfinite(x), jnp.ones_like(x), x * jnp.nan)
    e = jnp.exp(x - _peak(x, dim))
    total = jnp.sum(e, dim, keepdims=True)
    return e * (1 / total) if dim == x.ndim - 1 else e / total         # as torch's two kernels


@softmax_of.defjvp
def _softmax_jvp(dim, half, primals, tangents):
    made, t = softmax_of(primals[0], dim, half), tangents[0]
    y = short(made, half)
    # the sign is changed where there is less to change, here and in the transposed program
    return made, y * (t + -(jnp.sum(y * t, dim, keepdims=True) if y.ndim else y * t))


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def log_softmax_of(x, dim, half=None):
    """log of softmax, without overflow. half: the half type to which torch rounds the result and, along the last dimension, the sum and
    its logarithm."""
    if not x.ndim:
        return jnp.where(jnp.isfinite(x), jnp.zeros_like(x), x * jnp.nan)

    def rounded(a):
        return a if half is None else a.astype(half).astype(a.dtype)
    d, steps = x - _peak(x, dim), rounded if dim == x.ndim - 1 else lambda a: a
    return rounded(d - steps(jnp.log(steps(jnp.sum(jnp.exp(d), dim, keepdims=True)))))


@log_softmax_of.defjvp
def _log_softmax_jvp(dim, half, primals, tangents):
    made, t = log_softmax_of(primals[0], dim, half), tangents[0]
    y = short(made, half)                      # it is already: so the gradient is seen to need no more than the result
    e = jnp.exp(y) * t
    return made, t + -(jnp.sum(e, dim, keepdims=True) if y.ndim else e)


def _peak(x, dim):
    return peak(x, dim) if x.shape[dim] else jnp.zeros_like(jnp.sum(x, dim, keepdims=True))


def _prepared(name, x, dim, dtype):
    """(the array to compute on, its wrapped dim, the result's dtype)."""
    d = x.dtype if dtype is None else jnp.dtype(dtype)
    dim = wrap_dim(dim, x.ndim)
    refuse_integers(name, x, dim, d)
    return wide(cast(x, d if P.kind_of(d) == 2 else P.float32)), dim, d


def refuse_integers(name, x, dim, d):
    """torch's error for dtypes that have no softmax; it names the kernel, which is not asked where there are no elements."""
    if P.kind_of(d) != 2 and 0 not in x.shape:
        last = "lastdim_" if dim == max(len(x.shape) - 1, 0) else ""
        raise NotImplementedError(f'"{name}_{last}kernel_impl" not implemented for \'{P.c_name(d)}\'')


def _on_host(log):
    """(host, host_back) of the operators' declarations: where nothing is cast."""
    def sizes(inst):
        m, out = inst.in_metas[0], inst.out_metas[0]
        if m.ndim and m.numel and m.dtype == out.dtype and m.dtype in (P.float32, P.float64):
            return m.shape, wrap_dim(inst.layout[1], m.ndim), m.dtype, log

    def host(inst):
        given = sizes(inst)
        return given and fused.softmax(*given)

    def host_back(inst, plan):
        given = sizes(inst)
        return fused.softmax_back(*given) if given and plan.args == () and plan.outs == (0,) else None
    return dict(host=host, host_back=host_back)


@op("softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", grad="SoftmaxBackward0", grad_back="SoftmaxBackwardData",
    plain_gradients=True, grad_for=real_alone, **_on_host(False))
def softmax(self, dim, dtype):
    """exp(x) / sum(exp(x)) along dim; dtype: cast before."""
    x, dim, d = _prepared("softmax", self, dim, dtype)
    return softmax_of(x, dim, half_of(d)).astype(d)


@op("log_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", grad="LogSoftmaxBackward0", grad_back="LogSoftmaxBackwardData",
    plain_gradients=True, grad_for=real_alone, **_on_host(True))
def log_softmax(self, dim, dtype):
    """log(softmax(x)) along dim; dtype: cast before."""
    x, dim, d = _prepared("log_softmax", self, dim, dtype)
    return log_softmax_of(x, dim, half_of(d)).astype(d)


# -- kernels that torch shows under names of their own ------------------------------------------------------------------------------
@op("_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", method=False,
    grad="SoftmaxBackwardDataBackward0")
def softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax from its result, in the dtype of what it was taken of."""
    g, y, d = wide(grad_output), wide(output), wrap_dim(dim, output.ndim)
    along = y * g
    return cast(y * (g - (jnp.sum(along, d, keepdims=True) if y.ndim else along)), input_dtype)


@op("_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", method=False,
    grad="LogSoftmaxBackwardDataBackward0")
def log_softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of log_softmax from its result, in the dtype of what it was taken of."""
    g, y, d = wide(grad_output), wide(output), wrap_dim(dim, output.ndim)
    return cast(g - jnp.exp(y) * (jnp.sum(g, d, keepdims=True) if y.ndim else g), input_dtype)


@op("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", grad="SafeSoftmaxBackward0", method=False)
def safe_softmax(self, dim, dtype):
    """softmax, and zeros where all is -inf."""
    x, dim, d = _prepared("softmax", self, dim, dtype)
    nothing = jnp.all(jnp.isneginf(x), dim, keepdims=True) if x.ndim else jnp.isneginf(x)
    return jnp.where(nothing, 0, softmax_of(jnp.where(nothing, 0, x), dim)).astype(d)
