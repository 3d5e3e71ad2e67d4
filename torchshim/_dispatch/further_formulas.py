"""The gradients of further dispatched operators: bounds, products of elements, copies in rows, norms of groups, resizing, functions of one
or two elements, places.

See `formulas`.
"""
from __future__ import annotations

import math

from .decomposed import RULES
from .formulas import _add, _chosen, _neg, _once, _pow_number, _times
from .python import do


def _zero_like(g):
    return do("scalar_tensor", 0.0, dtype=g.dtype, layout=g.layout, device=g.device)


def _clamped_by(a, how, bound):
    zero = _zero_like(a.g)
    return do("where.self", do(f"{how}.Scalar", a.self, bound), a.g, zero)


def _clamped_by_tensors(a):
    made, ends = {}, [n for n in ("min", "max") if a.needs.get(n)]
    if ends:
        zero = _zero_like(a.g)
        for name, beyond, join in (("min", "lt", "logical_and"), ("max", "gt", "logical_or")):
            if name in ends:
                x, other = getattr(a, name), a.max if name == "min" else a.min
                mask = do(f"{beyond}.Tensor", a.self, x)
                mask = mask if other is None else do(join, mask, do("lt.Tensor", x, other))
                made[name] = do("where.self", mask, a.g, zero)
    if a.needs.get("self"):
        zero = _zero_like(a.g)
        masks = [do(f"{how}.Tensor", a.self, x) for how, x in (("ge", a.min), ("le", a.max)) if x is not None]
        made["self"] = do("where.self", masks[0] if len(masks) == 1 else do("logical_and", *masks), a.g, zero)
    return made


def _with_logits(a):
    g = a.g
    if a.pos_weight is not None:
        t = do("mul.Tensor", a.pos_weight, a.target)
        made = do("mul.Tensor", do("sub.Tensor", do("add.Scalar", t, 1), a.target), do("sigmoid", a.self))
        made = do("mul.Tensor", do("sub.Tensor", made, t), g)
    else:
        made = do("mul.Tensor", do("sub.Tensor", do("sigmoid", a.self), a.target), g)
    if a.weight is not None:
        made = do("mul.Tensor", made, a.weight)
    return do("div_.Scalar", made, a.self.numel()) if a.reduction == 1 else made


def _with_logits_target(a):
    if a.pos_weight is None:
        made = _times(_neg(a.self), a.g)
    else:
        down, up = do("log_sigmoid_forward", _neg(a.self))[0], do("log_sigmoid_forward", a.self)[0]
        made = _times(do("sub.Tensor", down, do("mul.Tensor", a.pos_weight, up)), a.g)
    if a.weight is not None:
        made = do("mul.Tensor", made, a.weight)
    return do("div_.Scalar", made, a.target.numel()) if a.reduction == 1 else made


def _group_norm(a):
    mask = [a.needs.get(n, False) for n in ("input", "weight", "bias")]
    mean, rstd = [do("detach", x) for x in a.results[1:]]
    return dict(zip(("input", "weight", "bias"), do("native_group_norm_backward", a.g, a.input, mean, rstd, a.weight, a.N, a.C, a.HxW,
                                                    a.group, mask)))


def _repeated(a):
    g, shape = a.g, a.self.shape
    lead = len(a.repeats) - len(shape)
    if lead:
        g = do("sum.dim_IntList", g, list(range(lead)))
    sizes, dims = [], []
    for n, times in zip(shape, a.repeats[lead:]):
        if times != 1:
            dims.append(len(sizes))
            sizes.append(times)
        sizes.append(n)
    return do("sum.dim_IntList", do("view", g, sizes), dims) if dims else g


def _xlogy_self(a):
    made, below = do("xlogy.Tensor", a.g, a.other), do("le.Scalar", a.other, 0.0)
    return do("masked_fill.Scalar", made, do("bitwise_and.Tensor", do("eq.Scalar", a.self, 0.0), below), 0.0)


def _others_multiplied(x, dim):
    """The product of the other elements along a dimension, for each."""
    n, shape = x.shape[dim], list(x.shape)
    shape[dim] = 1
    ones = do("ones", shape, dtype=x.dtype, layout=x.layout, device=x.device)
    before = do("cumprod", do("cat", [ones, do("slice.Tensor", x, dim, 0, n - 1)], dim), dim)
    after = do("cat", [ones, do("flip", do("slice.Tensor", x, dim, 1, n), [dim])], dim)
    return do("mul.Tensor", before, do("flip", do("cumprod", after, dim), [dim]))


def _product(a):
    if not (a.self.ndim and a.y is not None):  # torch reads it first
        return a.g
    flat = do("view", a.self, [-1])
    return do("view", do("mul.Tensor", a.g, _others_multiplied(flat, 0)), list(a.self.shape))


def _product_dim(a):
    y = a.y                                    # as torch does, which asks it for zeros
    if not a.self.ndim:
        return a.g
    g, y = (a.g, y) if a.keepdim else [do("unsqueeze", x, a.dim) for x in (a.g, y)]
    return do("mul.Tensor", g, _others_multiplied(a.self, a.dim))


def _of_two(a, beyond, other):
    half = do("div.Scalar", a.g, 2)
    shared = do("where.self", do("eq.Tensor", a.self, a.other), half, a.g)
    return do("masked_fill_.Scalar", shared, do(f"{beyond[other]}.Tensor", a.self, a.other), 0)


_add("maximum", "MaximumBackward0", self=lambda a: _of_two(a, ("lt", "gt"), 0), other=lambda a: _of_two(a, ("lt", "gt"), 1))
_add("minimum", "MinimumBackward0", self=lambda a: _of_two(a, ("gt", "lt"), 0), other=lambda a: _of_two(a, ("gt", "lt"), 1))
_add("clamp_min", "ClampMinBackward0", self=lambda a: _clamped_by(a, "ge", a.min))
_add("clamp_max", "ClampMaxBackward0", self=lambda a: _clamped_by(a, "le", a.max))
_add("clamp.Tensor", "ClampBackward0", _clamped_by_tensors)
_add("binary_cross_entropy_with_logits", "BinaryCrossEntropyWithLogitsBackward0", self=_with_logits, target=_with_logits_target)
_add("native_group_norm", "NativeGroupNormBackward0", _group_norm, only=(0,))
_add("repeat", "RepeatBackward0", self=_repeated)
_add("xlogy.Tensor", "XlogyBackward0", self=_xlogy_self, other=lambda a: do("div.Tensor", do("mul.Tensor", a.g, a.self), a.other))
_add("xlogy.Scalar_Other", "XlogyBackward2", self=lambda a: do("xlogy.Scalar_Other", a.g, a.other) if a.other > 0 else do(
    "masked_fill.Scalar", do("xlogy.Scalar_Other", a.g, a.other), do("eq.Scalar", a.self, 0.0), 0.0))
_add("prod", "ProdBackward0", self=_product)
_add("prod.dim_int", "ProdBackward1", self=_product_dim)
_add("upsample_nearest2d", "UpsampleNearest2DBackward0",
     self=lambda a: do("upsample_nearest2d_backward", a.g, a.output_size, list(a.self.shape), a.scales_h, a.scales_w))
_add("upsample_bilinear2d", "UpsampleBilinear2DBackward0",
     self=lambda a: do("upsample_bilinear2d_backward", a.g, a.output_size, list(a.self.shape), a.align_corners, a.scales_h, a.scales_w))
_add("fill.Tensor", "FillBackward1", self=lambda a: do("zeros_like", a.g), value=lambda a: do("sum", a.g))
_add("_safe_softmax", "SafeSoftmaxBackward0", self=lambda a: do("_softmax_backward_data", a.g, a.y, a.dim, a.self.dtype))
_add("roll", "RollBackward0", self=lambda a: do("roll", a.g, [-n for n in a.shifts], a.dims))


def _bag(a):
    _once("_embedding_bag")
    if a.per_sample_weights is not None and a.needs.get("per_sample_weights") or a.sparse or a.include_last_offset:
        raise NotImplementedError("torchshim: the gradient of aten._embedding_bag with these options under __torch_dispatch__")
    return {"weight": do("_embedding_bag_backward", a.g, a.indices, a.offsets, *a.results[1:], a.weight.shape[0], a.scale_grad_by_freq, a.mode,
                         a.sparse, a.per_sample_weights, a.padding_idx)}


_add("_embedding_bag", "EmbeddingBagBackward0", _bag, only=(0,))


# -- functions of one or two elements -----------------------------------------------------------------------------------------------
def _one_less(a):
    """1 - x², under a root's reciprocal."""
    return do("rsqrt", do("add.Scalar", do("mul.Tensor", _neg(a.self), a.self), 1))


def _less_than(a, b):
    return do("add.Scalar", do("exp", do("sub.Tensor", b, a)), 1)


def _hypot(a, y, x):
    return do("div.Tensor", do("mul.Tensor", a.g, x), y)


def _atan2(a):
    square = do("add.Tensor", do("mul.Tensor", a.self, a.self), do("mul.Tensor", a.other, a.other))
    recip = do("reciprocal", square)
    recip = do("masked_fill.Scalar", recip, do("eq.Scalar", square, 0), 0)
    made = {}
    if a.needs.get("self"):
        made["self"] = do("mul.Tensor", do("mul.Tensor", a.g, a.other), recip)
    if a.needs.get("other"):
        made["other"] = do("mul.Tensor", do("mul.Tensor", a.g, _neg(a.self)), recip)
    return made


_add("sinh", "SinhBackward0", self=lambda a: _times(a.g, do("cosh", a.self)))
_add("cosh", "CoshBackward0", self=lambda a: _times(a.g, do("sinh", a.self)))
_add("tan", "TanBackward0", self=lambda a: _times(a.g, do("add.Scalar", do("pow.Tensor_Scalar", a.y, 2), 1)))
_add("asin", "AsinBackward0", self=lambda a: _times(a.g, _one_less(a)))
_add("acos", "AcosBackward0", self=lambda a: _times(a.g, _neg(_one_less(a))))
_add("atan", "AtanBackward0", self=lambda a: do("div.Tensor", a.g, do("add.Scalar", do("mul.Tensor", a.self, a.self), 1)))
_add("log10", "Log10Backward0", self=lambda a: do("div.Tensor", a.g, do("mul.Scalar", a.self, 2.3025850929940456)))
_add("log2", "Log2Backward0", self=lambda a: do("div.Tensor", a.g, do("mul.Scalar", a.self, 0.6931471805599453)))
_add("exp2", "Exp2Backward0", self=lambda a: do("mul.Scalar", _times(a.g, a.y), math.log(2)))
_add("lgamma", "LgammaBackward0", self=lambda a: _times(a.g, do("digamma", a.self)))
_add("digamma", "DigammaBackward0", self=lambda a: _times(a.g, do("polygamma", 1, a.self)))
_add("erfinv", "ErfinvBackward0", self=lambda a: do("mul.Tensor", do("mul.Scalar", do("exp", do("pow.Tensor_Scalar", do(
    "erfinv", a.self), 2)), 0.5 * math.sqrt(math.pi)), a.g))
_add("erfc", "ErfcBackward0", self=lambda a: do("mul.Tensor", do("mul.Scalar", do("exp", _neg(do("pow.Tensor_Scalar", a.self, 2))),
                                                                 -2 / math.sqrt(math.pi)), a.g))
_add("nan_to_num", "NanToNumBackward0", self=lambda a: _times(a.g, RULES["isfinite"](a.self)))
_add("atan2", "Atan2Backward0", _atan2)
_add("hypot", "HypotBackward0", self=lambda a: _hypot(a, a.y, a.self), other=lambda a: _hypot(a, a.y, a.other))
_add("logaddexp", "LogaddexpBackward0", self=lambda a: do("div.Tensor", a.g, _less_than(a.self, a.other)),
     other=lambda a: do("div.Tensor", a.g, _less_than(a.other, a.self)))
_add("log_sigmoid_forward", "LogSigmoidBackward0", only=(0,), self=lambda a: do("log_sigmoid_backward", a.g, a.self, a.results[1]))
_add("pow.Scalar", "PowBackward0", self=_pow_number, exponent=lambda a: _times(a.g, do("mul.Scalar", a.y, math.log(a.self))))
_add("addcmul", "AddcmulBackward0", self=lambda a: a.g, tensor1=lambda a: _times(a.g, _scaled(a.tensor2, a.value)),
     tensor2=lambda a: _times(a.g, _scaled(a.tensor1, a.value)))


def _scaled(x, value):
    return x if value == 1 else do("mul.Scalar", x, value)


# -- places -------------------------------------------------------------------------------------------------------------------------
def _running(a):
    """Of running extremes: put where they were."""
    g = a.gs[0]
    zeros = do("zeros", list(a.self.shape), dtype=g.dtype, layout=g.layout, device=g.device)
    return do("scatter_add", zeros, a.dim, a.results[1], g)


_add("transpose", "TransposeBackward0", self=lambda a: do("transpose.int", a.g, a.dim0, a.dim1))
_add("scatter_add", "ScatterAddBackward0", self=lambda a: a.g, src=lambda a: do("gather", a.g, a.dim, a.index))
_add("index_add", "IndexAddBackward0", self=lambda a: a.g, source=lambda a: _scaled(do("index_select", a.g, a.dim, a.index), a.alpha))
_add("cummax", "CummaxBackward0", only=(0,), self=_running)
_add("cummin", "CumminBackward0", only=(0,), self=_running)
_add("kthvalue", "KthvalueBackward0", only=(0,), self=lambda a: _chosen(a, a.results[1], a.dim, a.keepdim))
_add("median.dim", "MedianBackward1", only=(0,), self=lambda a: _chosen(a, a.results[1], a.dim, a.keepdim))
_add("nanmedian.dim", "NanmedianBackward1", only=(0,), self=lambda a: _chosen(a, a.results[1], a.dim, a.keepdim))
_add("mode", "ModeBackward0", only=(0,), self=lambda a: _chosen(a, a.results[1], a.dim, a.keepdim))
_add("pixel_shuffle", "PixelShuffleBackward0", self=lambda a: do("pixel_unshuffle", a.g, a.upscale_factor))
_add("pixel_unshuffle", "PixelUnshuffleBackward0", self=lambda a: do("pixel_shuffle", a.g, a.downscale_factor))
