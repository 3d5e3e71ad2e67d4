"""What operators are made of, in torch's steps. Those of half precision, which torch computes in float32, stay as they are."""
from __future__ import annotations

import math

from .. import bfloat16, float16, ops, strided
from .._dispatch.python import do

aten = ops.aten


def _wide(f):
    """A decomposition of what is computed in its own precision."""
    def rule(*args, **kwargs):
        if any([getattr(x, "dtype", None) in (float16, bfloat16) for x in args]):
            return NotImplemented
        return f(*args, **kwargs)
    return rule


def _mul(*factors):
    made = factors[0]
    for x in factors[1:]:
        made = do("mul.Tensor", made, x)
    return made


def _number(x, value):
    return do("scalar_tensor", value, dtype=x.dtype, layout=strided, device=x.device)


def _reduced(x, reduction):
    return x if reduction == 0 else do("mean" if reduction == 1 else "sum", x)


def _gelu(x, approximate="none"):
    if approximate == "tanh":
        inner = _mul(do("add.Tensor", x, _mul(_mul(x, x), x, 0.044715)), math.sqrt(2 / math.pi))
        return _mul(_mul(x, 0.5), do("add.Tensor", do("tanh", inner), 1))
    half = _mul(x, 0.5)
    return _mul(half, do("add.Tensor", do("erf", _mul(x, math.sqrt(0.5))), 1))


def _gelu_backward(g, x, approximate="none"):
    if approximate == "tanh":
        return NotImplemented
    cdf = _mul(do("add.Tensor", do("erf", _mul(x, math.sqrt(0.5))), 1), 0.5)
    pdf = _mul(do("exp", _mul(_mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
    return _mul(g, do("add.Tensor", cdf, _mul(x, pdf)))


def _softmax(x, dim, half_to_float):
    if half_to_float or not x.numel():
        return NotImplemented
    e = do("exp", do("sub.Tensor", x, do("amax", x, [dim], True)))
    return do("div.Tensor", e, do("sum.dim_IntList", e, [dim], True))


def _log_softmax(x, dim, half_to_float):
    if half_to_float or not x.numel():
        return NotImplemented
    shifted = do("sub.Tensor", x, do("amax", x, [dim], True))
    return do("sub.Tensor", shifted, do("log", do("sum.dim_IntList", do("exp", shifted), [dim], True)))


def _softmax_backward(g, y, dim, dtype):
    both = _mul(g, y)
    return do("sub.Tensor", both, _mul(y, do("sum.dim_IntList", both, [dim], True)))


def _log_softmax_backward(g, y, dim, dtype):
    return do("sub.Tensor", g, _mul(do("exp", y), do("sum.dim_IntList", g, [dim], True)))


def _layer_norm(x, normalized_shape, weight, bias, eps):
    dims = list(range(x.ndim - len(normalized_shape), x.ndim))
    var, mean = do("var_mean.correction", x, dims, correction=0, keepdim=True)
    rstd = do("rsqrt", do("add.Tensor", var, eps))
    made = _mul(do("sub.Tensor", x, mean), rstd)
    made = made if weight is None else _mul(made, weight)
    return made if bias is None else do("add.Tensor", made, bias), mean, rstd


def _addmm(x, a, b, *, beta=1, alpha=1):
    if not x.is_floating_point():
        return NotImplemented
    product = _mul(do("mm", a, b), alpha)
    return do("add.Tensor", product, _mul(x, beta)) if beta else product


def _baddbmm(x, a, b, *, beta=1, alpha=1):
    if not x.is_floating_point():
        return NotImplemented
    product = do("bmm", a, b)
    product = product if alpha == 1 else _mul(product, alpha)
    return (do("add.Tensor", x if beta == 1 else _mul(x, beta), product)) if beta else product


def _elu(x, alpha=1, scale=1, input_scale=1):
    above = do("gt.Scalar", x, 0)
    first = _mul(x, float(scale))
    rest = _mul(do("expm1", _mul(x, float(input_scale))), float(alpha * scale))
    return do("where.self", above, first, rest)


def _leaky_relu(x, slope=0.01):
    return do("where.self", do("gt.Scalar", x, 0), x, _mul(x, slope))


def _leaky_relu_backward(g, x, slope, is_result):
    return do("where.self", do("gt.Scalar", x, 0), g, _mul(g, slope))


def _below_zero(x, low, made):
    at = do("le.Scalar", x, low)
    return do("where.self", at, _number(made, 0), made)


def _hardtanh_backward(g, x, low, high):
    outside = do("bitwise_or.Tensor", do("le.Scalar", x, low), do("ge.Scalar", x, high))
    return do("where.self", outside, _number(g, 0.0), g)


def _mse_backward(g, x, y, reduction):
    if reduction != 1:
        return NotImplemented
    return _mul(do("sub.Tensor", x, y), 2 / x.numel(), g)


def _silu_backward(g, x):
    s = do("sigmoid", x)
    first = _mul(g, s)
    return _mul(first, do("add.Tensor", _mul(x, _less(1, s)), 1))


def _less(number, x):
    return do("rsub.Scalar", x, number)


def _smooth_l1(x, y, reduction=1, beta=1.0):
    if beta == 0:
        return NotImplemented
    d = do("abs", do("sub.Tensor", x, y))
    near = do("lt.Scalar", d, beta)
    square = do("div.Tensor", _mul(do("pow.Tensor_Scalar", d, 2), 0.5), beta)
    return _reduced(do("where.self", near, square, do("sub.Tensor", d, 0.5 * beta)), reduction)


def rules():
    """{overload: function}"""
    from ..export.decomposing import DEFAULT
    own = {
        "gelu.default": _gelu, "gelu_backward.default": _gelu_backward, "_softmax.default": _softmax, "_log_softmax.default": _log_softmax,
        "_softmax_backward_data.default": _softmax_backward, "_log_softmax_backward_data.default": _log_softmax_backward,
        "native_layer_norm.default": _layer_norm, "addmm.default": _addmm, "elu.default": _elu, "baddbmm.default": _baddbmm,
        "leaky_relu.default": _leaky_relu, "leaky_relu_backward.default": _leaky_relu_backward, "relu.default": lambda x: _below_zero(x, 0, x),
        "threshold_backward.default": lambda g, x, low: _below_zero(x, low, g), "hardtanh_backward.default": _hardtanh_backward,
        "hardtanh.default": lambda x, low=-1, high=1: do("clamp", x, float(low), float(high)) if x.is_floating_point() else NotImplemented,
        "mse_loss_backward.default": _mse_backward, "silu_backward.default": _silu_backward,
        "sigmoid_backward.default": lambda g, y: _mul(g, _mul(y, _less(1, y))),
        "tanh_backward.default": lambda g, y: _mul(g, _less(1, _mul(y, y))), "smooth_l1_loss.default": _smooth_l1,
        "t.default": lambda x: do("transpose.int", x, 0, 1) if x.ndim == 2 else x,
        "addcdiv.default": lambda x, a, b, value=1: do("add.Tensor", x, do("div.Tensor", _mul(a, value) if value != 1 else a, b)),
        "rsub.Scalar": lambda x, n, alpha=1: do("sub.Tensor", n, x) if alpha == 1 else NotImplemented,
        "rsub.Tensor": lambda x, y, alpha=1: do("sub.Tensor", y, x) if alpha == 1 else NotImplemented,
    }
    table = dict(DEFAULT())
    for name, f in own.items():
        base, _, overload = name.partition(".")
        op = getattr(getattr(aten, base), overload)
        if op._known is not None:
            table[op] = _wide(f)
    del table[aten.native_batch_norm.default]  # it needs run_decompositions' own account of what was written
    return table
