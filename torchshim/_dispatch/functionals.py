"""More of nn.functional as calls of ATen's operators: losses, pooling, sampling, resizing, random layers; see `decomposed`. What torch
writes in Python is written so here, with functions that are dispatched themselves."""
from __future__ import annotations

import math

import torchshim as torch

from .. import Tensor
from ..engine import warn
from ..tensor.core.layout import strided
from .decomposed import RULES, reshape, rule
from .layers import _REDUCTIONS, _closed, _each
from .python import do, unseen

_CONTIGUOUS, _SAME = torch.contiguous_format, torch.preserve_format


# -- windows, samples -----------------------------------------------------------------------------------------------------------
RULES["nn.unfold"] = lambda input, kernel_size, dilation=1, padding=0, stride=1: do(
    "im2col", input, *[_each(x, 2) for x in (kernel_size, dilation, padding, stride)])
RULES["fold"] = lambda input, output_size, kernel_size, dilation=1, padding=0, stride=1: do(
    "col2im", input, *[_each(x, 2) for x in (output_size, kernel_size, dilation, padding, stride)])


def _corners(align_corners):
    if align_corners is None:
        from ..nn.functional.resizing import _CORNERS
        warn(_CORNERS)
    return bool(align_corners)


@rule()
def _grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    how = ("bilinear", "nearest", "bicubic").index(mode), ("zeros", "border", "reflection").index(padding_mode), _corners(align_corners)
    return do(f"grid_sampler_{input.ndim - 2}d", input, grid, *how)


@rule()
def _affine_grid(theta, size, align_corners=None):
    return do("affine_grid_generator", theta, list(size), _corners(align_corners))


def _resize(input, size, scales, mode, align_corners, antialias):
    n = input.ndim - 2
    kinds = {"nearest": f"upsample_nearest{n}d", "nearest-exact": f"_upsample_nearest_exact{n}d"}
    smooth = {1: ("linear",), 2: ("bilinear", "bicubic"), 3: ("trilinear",)}[n]
    if mode in kinds and not antialias:
        return do(kinds[mode], input, size, *scales)
    if mode not in smooth or antialias and n != 2:
        return NotImplemented
    return do(f"_upsample_{mode}2d_aa" if antialias else f"upsample_{mode}{n}d", input, size, bool(align_corners), *scales)


@rule("interpolate")
def _interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    n = input.ndim - 2
    if n not in (1, 2, 3) or (size is None) is (scale_factor is None) or align_corners is not None and mode in ("nearest", "area"):
        return NotImplemented
    scales = ()
    if scale_factor is not None:
        scales = tuple([float(s) for s in (scale_factor if isinstance(scale_factor, (list, tuple)) else (scale_factor,) * n)])
        size = [math.floor(k * s) for k, s in zip(input.shape[2:], scales)]
        scales = () if recompute_scale_factor else scales
    size = _each(size, n)
    return RULES[f"adaptive_avg_pool{n}d"](input, size) if mode == "area" else _resize(input, size, scales, mode, align_corners, antialias)


def _circular(input, pad):
    """The tensor with what lies at its other end on each side."""
    sides = [(input.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]) for k in range(len(pad) // 2)]
    shape = list(input.shape)
    for d, left, right in sides:
        shape[d] += left + right
    made = do("new_empty", input, shape, dtype=input.dtype, layout=strided, device=input.device)
    target, source = made, input
    for d, left, right in sides:
        target = do("slice.Tensor", target, d, max(left, 0), shape[d] - max(right, 0))
        source = do("slice.Tensor", source, d, max(-left, 0), input.shape[d] - max(-right, 0))
    do("copy_", target, source)
    for d, left, right in sides:
        n, right = shape[d], max(right, 0)
        ranges = [(0, left, n - left - right, n - right)] if left > 0 else []
        ranges += [(n - right, n, max(left, 0), max(left, 0) + right)] if right else []
        for a, b, start, end in ranges:
            target = do("slice.Tensor", made, d, a, b)
            do("copy_", target, do("slice.Tensor", made, d, start, end))
    return made


@rule("pad")
def _pad(input, pad, mode="constant", value=None):
    if mode == "constant":
        return do("constant_pad_nd", input, list(pad), 0.0 if value is None else value)
    if mode == "circular":
        return _circular(input, list(pad))
    if mode not in ("reflect", "replicate"):
        return NotImplemented
    return do(f"{'reflection' if mode == 'reflect' else 'replication'}_pad{len(pad) // 2}d", input, list(pad))


# -- pooling --------------------------------------------------------------------------------------------------------------------
@rule()
def _max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    made = do("max_pool3d_with_indices", input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)
    return made if return_indices else made[0]


@rule()
def _avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    return do("avg_pool3d", input, kernel_size, [] if stride is None else stride, padding, ceil_mode, count_include_pad, divisor_override)


@rule()
def _adaptive_avg_pool3d(input, output_size):
    size = [n if m is None else m for m, n in zip(_each(output_size, 3), input.shape[-3:])]
    return do("mean.dim", input, [-1, -2, -3], True) if size == [1, 1, 1] else do("_adaptive_avg_pool3d", input, size)


def _adaptive_max(n):
    def pool(input, output_size, return_indices=False):
        size = [k if m is None else m for m, k in zip(_each(output_size, n), input.shape[-n:])]
        if n > 1:
            made = do(f"adaptive_max_pool{n}d", input, size)
        else:
            made = do("adaptive_max_pool2d", do("unsqueeze", input, -2), [1, *size])
            indices = do("squeeze.dim", made[1], -2)
            made = do("squeeze.dim", made[0], -2), indices
        return tuple(made) if return_indices else made[0]
    return pool


RULES |= {f"nn.adaptive_max_pool{_n}d": _adaptive_max(_n) for _n in (1, 2, 3)}


def _fractional(n):
    def pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        if output_size is None:
            ratio = output_ratio if isinstance(output_ratio, (list, tuple)) else [output_ratio] * n
            output_size = [int(k * r) for k, r in zip(input.shape[-n:], ratio)]
        if _random_samples is None:
            batch = 1 if input.ndim == n + 1 else input.shape[0]
            _random_samples = torch.rand(batch, input.shape[-n - 1], n, dtype=input.dtype, device=input.device)
        made = do(f"fractional_max_pool{n}d", input, _each(kernel_size, n), _each(output_size, n), _random_samples)
        return tuple(made) if return_indices else made[0]
    return pool


RULES |= {"fractional_max_pool2d": _fractional(2), "fractional_max_pool3d": _fractional(3)}


def _unpool(n):
    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        if output_size is not None:
            return NotImplemented
        kernel, pad = _each(kernel_size, n), _each(padding, n)
        step = kernel if stride is None else _each(stride, n)
        size = [(k - 1) * s + w - 2 * p for k, s, w, p in zip(input.shape[-n:], step, kernel, pad)]
        if n == 3:
            return do("max_unpool3d", input, indices, size, step, pad)
        if n == 2:
            return do("max_unpool2d", input, indices, size)
        wide = [do("unsqueeze", t, -1) for t in (input, indices)]
        return do("squeeze.dim", do("max_unpool2d", *wide, [*size, 1]), -1)
    return unpool


RULES |= {f"max_unpool{_n}d": _unpool(_n) for _n in (1, 2, 3)}


def _lp_pool(n):
    def pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        made = RULES[f"avg_pool{n}d"](input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return (torch.sign(made) * torch.relu(torch.abs(made))).mul(math.prod(_each(kernel_size, n))).pow(1.0 / norm_type)
    return pool


RULES |= {f"lp_pool{_n}d": _lp_pool(_n) for _n in (1, 2, 3)}


# -- layers -----------------------------------------------------------------------------------------------------------------------
@rule()
def _local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)")
    if not input.numel():
        return input
    made, sides = input.mul(input), (size // 2, (size - 1) // 2)
    if input.ndim == 3:
        made = RULES["avg_pool2d"](_pad(made.unsqueeze(1), (0, 0, *sides)), (size, 1), 1).squeeze(1)
    else:
        shape = input.shape
        made = _pad(made.view(shape[0], 1, shape[1], shape[2], -1), (0, 0, 0, 0, *sides))
        made = _avg_pool3d(made, (size, 1, 1), 1).squeeze(1).view(shape)
    return input / made.mul(alpha).add(k).pow(beta)


@rule()
def _bilinear(input1, input2, weight, bias=None):
    flat = [do("view", x, [-1, x.shape[-1]]) for x in (input1, input2)]
    made = do("_trilinear", flat[0], weight, flat[1], [1, 3], [0], [1, 2], [2, 3])
    made = do("view", made, [*input1.shape[:-1], weight.shape[0]])
    return made if bias is None else do("add.Tensor", made, bias)


@rule("instance_norm", of_nn=True)
def _instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    if running_mean is not None or running_var is not None or not use_input_stats:
        raise NotImplementedError("torchshim: instance_norm with running statistics under __torch_dispatch__")
    n, c = input.shape[:2]
    weight, bias = [None if t is None else do("repeat", t, [n]) for t in (weight, bias)]
    made = RULES["batch_norm"](reshape(input, [1, n * c, *input.shape[2:]]), None, None, weight, bias, True, momentum, eps)
    return do("view", made, list(input.shape))


@rule("embedding", of_nn=True)
def _embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    at = -1 if padding_idx is None else padding_idx % weight.shape[0]
    if max_norm is not None:
        do("embedding_renorm_", do("detach", weight), input, max_norm, norm_type)
    return do("embedding", weight, input, at, scale_grad_by_freq, sparse)


_ALPHA = 1.7580993408473766


def _dropped(alpha, channels):
    """A kind of dropout that is switched off: whole channels, or with what keeps mean and variance."""
    def dropout(input, p=0.5, training=not alpha, inplace=False):
        if not training or not p or not input.numel():
            return input
        if inplace or p == 1:
            return NotImplemented
        noise = do("new_empty", input, [*input.shape[:2], *[1] * (input.ndim - 2)]) if channels else do("empty_like", input)
        noise = do("bernoulli_.float", noise, 1 - p)
        if not alpha:
            return do("mul.Tensor", input, do("div_.Scalar", noise, 1 - p))
        a = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
        moved = do("add_.Scalar", do("mul_.Scalar", do("add.Scalar", noise, -1), _ALPHA * a), _ALPHA * a * p)
        return do("add_.Tensor", do("mul.Tensor", input, do("mul_.Scalar", noise, a)), moved)
    return dropout


RULES |= {"alpha_dropout": _dropped(True, False), "feature_alpha_dropout": _dropped(True, True),
          **{f"dropout{_n}d": _dropped(False, True) for _n in (2, 3)}}


@rule()
def _rrelu(input, lower=1 / 8, upper=1 / 3, training=False):
    noise = do("empty_like", input, memory_format=_CONTIGUOUS)
    return do("rrelu_with_noise", input, noise, lower, upper, training)


@rule()
def _gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    noise = -torch.empty_like(logits, memory_format=_CONTIGUOUS).exponential_().log()
    soft = RULES["softmax"]((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    first = torch.zeros_like(logits, memory_format=_CONTIGUOUS).scatter_(dim, index, 1.0)
    return first - soft.detach() + soft


RULES["selu_"] = lambda input: do("elu_", input, 1.6732632423543772, 1.0507009873554805)


# -- losses -----------------------------------------------------------------------------------------------------------------------
def _filled(numbers, like):
    made = do("empty.memory_format", [len(numbers)], dtype=like.dtype, layout=strided, device=like.device)
    with unseen():
        made.copy_(torch.tensor(numbers))
    return made


@rule("ctc_loss", of_nn=True)
def _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    of_tensors = isinstance(input_lengths, Tensor)
    lengths = (input_lengths, target_lengths) if of_tensors else (list(input_lengths), list(target_lengths))
    made = do("_ctc_loss.Tensor" if of_tensors else "_ctc_loss", log_probs, targets, *lengths, blank, zero_infinity)[0]
    if zero_infinity:
        nothing = do("zeros", [], dtype=made.dtype, layout=strided, device=made.device)
        made = do("where.self", do("eq.Scalar", made, math.inf), nothing, made)
    if reduction == "mean":
        counts = target_lengths if of_tensors else _filled(lengths[1], made)
        made = do("div.Tensor", made, do("clamp_min", counts, 1))
    return _closed(made, reduction)


@rule("nll_loss")
def _nll(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    if input.ndim < 3:
        return do("nll_loss_forward", input, target, weight, _REDUCTIONS[reduction], ignore_index)[0]
    shape = None
    if input.ndim != 4:                        # as of one row
        shape = [input.shape[0], *input.shape[2:]]
        input, target = reshape(input, [*input.shape[:2], 1, -1]), reshape(target, [input.shape[0], 1, -1])
    made = do("nll_loss2d_forward", input, target, weight, _REDUCTIONS[reduction], ignore_index)[0]
    return made if shape is None or reduction != "none" else do("view", made, shape)


@rule("cross_entropy")
def _cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    if weight is not None and (label_smoothing or target.is_floating_point()) or label_smoothing and target.is_floating_point():
        raise NotImplementedError("torchshim: cross_entropy with weights and label_smoothing or probabilities under __torch_dispatch__")
    d = 1 if input.ndim > 1 else 0
    logs = do("_log_softmax", input, d, False)
    if not target.is_floating_point():
        made = _nll(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
        return _smoothed(made, logs, target, d, ignore_index, reduction, label_smoothing) if label_smoothing else made
    made = do("mul.Tensor", logs, target)
    if reduction == "none":
        return do("neg", do("sum.dim_IntList", made, [d]))
    made = do("neg", do("sum", made))
    return made if reduction == "sum" else do("div.Scalar", made, input.numel() // input.shape[1] if input.ndim > 1 else 1)


def _smoothed(loss, logs, target, d, ignored, reduction, smoothing):
    """A loss that every class has a part in."""
    every = do("neg", do("sum.dim_IntList", logs, [d]))
    mask = do("eq.Scalar", target, ignored)
    every = do("masked_fill_.Scalar", every, mask, 0.0)
    if reduction == "mean":
        count = do("sum", do("bitwise_not", mask))
        every = do("div.Tensor", do("sum", every), count)
    elif reduction == "sum":
        every = do("sum", every)
    part = do("mul.Scalar", every, smoothing / logs.shape[d])
    return do("add.Tensor", do("mul.Scalar", loss, 1 - smoothing), part)


@rule(of_nn=True)
def _triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None,
                         reduction="mean"):
    apart = RULES["pairwise_distance"]
    near, far = apart(anchor, positive, p, eps), apart(anchor, negative, p, eps)
    if swap:
        far = do("minimum", far, apart(positive, negative, p, eps))
    return _closed(do("clamp_min", do("sub.Tensor", do("add.Scalar", near, margin), far), 0), reduction)


@rule()
def _triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    apart = torch.pairwise_distance if distance_function is None else distance_function
    near, far = apart(anchor, positive), apart(anchor, negative)
    if swap:
        far = torch.minimum(far, apart(positive, negative))
    return _closed(torch.clamp_min(margin + near - far, 0), reduction)


@rule(of_nn=True)
def _poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    if log_input:
        expected = do("mul.Tensor", target, input)
        made = do("sub.Tensor", do("exp", input), expected)
    else:
        expected = do("mul.Tensor", target, do("log", do("add.Scalar", input, eps)))
        made = do("sub.Tensor", input, expected)
    if full:
        last = do("mul.Scalar", do("log", do("mul.Scalar", target, 2 * math.pi)), 0.5)
        stirling = do("add.Tensor", do("sub.Tensor", do("mul.Tensor", target, do("log", target)), target), last)
        stirling = do("masked_fill.Scalar", stirling, do("le.Scalar", target, 1), 0)
        made = do("add_.Tensor", made, stirling)
    return _closed(made, reduction)


@rule()
def _gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    if not isinstance(var, Tensor):
        return NotImplemented
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.shape[:-1] != var.shape[:-1] or var.shape[-1] != 1:
            raise ValueError("var is of incorrect size")
    if torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    made = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        made += 0.5 * math.log(2 * math.pi)
    return _closed(made, reduction)


@rule()
def _multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    return do("multi_margin_loss", input, target, p, margin, weight, _REDUCTIONS[reduction])


RULES["multilabel_margin_loss"] = lambda input, target, size_average=None, reduce=None, reduction="mean": do(
    "multilabel_margin_loss_forward", input, target, _REDUCTIONS[reduction])[0]
RULES["soft_margin_loss"] = lambda input, target, size_average=None, reduce=None, reduction="mean": do(
    "soft_margin_loss", input, target, _REDUCTIONS[reduction])


@rule()
def _multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    certain = RULES["logsigmoid"]
    made = -(target * certain(input) + (1 - target) * certain(-input))
    made = made if weight is None else made * weight
    return _closed(made.sum(dim=input.ndim - 1) / input.shape[-1], reduction)


def _less(number, x):
    """A number less a tensor, as C++ writes it."""
    return do("sub_.Tensor", do("fill_.Scalar", do("empty_like", x, memory_format=_SAME), number), x)


@rule(of_nn=True)
def _cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    d = target.ndim
    total = lambda a, b: do("sum.dim_IntList", do("mul.Tensor", a, b), [d])
    product = total(input1, input2)
    sizes = [do("add.Scalar", total(x, x), 1e-12) for x in (input1, input2)]
    cosine = do("div.Tensor", product, do("sqrt_", do("mul.Tensor", *sizes)))
    nothing = do("zeros_like", cosine, memory_format=_CONTIGUOUS)
    near = _less(1, cosine)
    far = do("clamp_min_", do("sub.Scalar", cosine, margin), 0)
    near = do("where.self", do("eq.Scalar", target, 1), near, nothing)
    far = do("where.self", do("eq.Scalar", target, -1), far, nothing)
    return _closed(do("add.Tensor", near, far), reduction)


@rule(of_nn=True)
def _margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    apart = do("sub.Tensor", input1, input2)
    made = do("add.Scalar", do("mul.Tensor", do("neg", target), apart), margin)
    return _closed(do("clamp_min_", made, 0), reduction)


@rule(of_nn=True)
def _hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    nothing = do("zeros_like", input, memory_format=_CONTIGUOUS)
    far = do("clamp_min_", _less(margin, input), 0)
    far = do("where.self", do("ne.Scalar", target, 1), far, nothing)
    near = do("where.self", do("ne.Scalar", target, -1), input, nothing)
    return _closed(do("add.Tensor", far, near), reduction)
