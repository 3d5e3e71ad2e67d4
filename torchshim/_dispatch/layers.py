"""The functions of nn.functional as calls of ATen's operators; see `decomposed`."""
from __future__ import annotations

import math

import torchshim as torch

from ..tensor.core.layout import strided
from .decomposed import RULES, _matmul, rule
from .python import do

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _cast(input, dtype):
    return do("_to_copy", input, dtype=dtype, layout=strided,
              device=input.device) if dtype is not None and dtype is not input.dtype else input


@rule("softmax")
def _softmax(input, dim, _stacklevel=3, dtype=None):
    return do("_softmax", _cast(input, dtype), dim, False)


@rule("log_softmax")
def _log_softmax(input, dim, _stacklevel=3, dtype=None):
    return do("_log_softmax", _cast(input, dtype), dim, False)


@rule("elu")
def _elu(input, alpha=1.0):
    return do("elu", input, alpha)


RULES["selu"] = lambda input: do("elu", input, 1.6732632423543772, 1.0507009873554805)
RULES["relu6"] = lambda input: do("hardtanh", input, 0, 6)
RULES["hardtanh"] = lambda input, min_val=-1.0, max_val=1.0: do("hardtanh", input, min_val, max_val)
RULES["logsigmoid"] = lambda input: do("log_sigmoid_forward", input)[0]
RULES["prelu"] = lambda input, weight: do("_prelu_kernel", input, weight if weight.ndim == input.ndim or input.ndim < 2 else do(
    "view", weight, [1, weight.numel(), *[1] * (input.ndim - 2)]))


@rule("normalize")
def _normalize(input, p=2.0, dim=1, eps=1e-12):
    length = do("clamp_min", do("linalg_vector_norm", input, p, [dim], True), eps)
    return do("div.Tensor", input, do("expand", length, list(input.shape)))


# -- losses ---------------------------------------------------------------------------------------------------------------------
def _of_reduction(name, *options):
    def loss(input, target, size_average=None, reduce=None, reduction="mean", **named):
        return do(name, input, target, _REDUCTIONS[reduction], *[named[o] for o in options if o in named])
    return loss


RULES["mse_loss"] = _of_reduction("mse_loss")
RULES["smooth_l1_loss"] = lambda input, target, size_average=None, reduce=None, reduction="mean", beta=1.0: do(
    "smooth_l1_loss", input, target, _REDUCTIONS[reduction], beta)
RULES["huber_loss"] = lambda input, target, reduction="mean", delta=1.0, weight=None: do(
    "huber_loss", input, target, _REDUCTIONS[reduction], delta)


def _closed(loss, reduction):
    return loss if reduction == "none" else do(reduction, loss)


RULES["l1_loss"] = lambda input, target, size_average=None, reduce=None, reduction="mean": _closed(
    do("abs", do("sub.Tensor", input, target)), reduction)
RULES["binary_cross_entropy"] = lambda input, target, weight=None, size_average=None, reduce=None, reduction="mean": do(
    "binary_cross_entropy", input, target, weight, _REDUCTIONS[reduction])
RULES["binary_cross_entropy_with_logits"] = (
    lambda input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None: do(
        "binary_cross_entropy_with_logits", input, target, weight, pos_weight, _REDUCTIONS[reduction]))


# -- normalisation, embedding -----------------------------------------------------------------------------------------------------
@rule("layer_norm")
def _layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    return do("native_layer_norm", input, list(normalized_shape), weight, bias, eps)[0]


@rule("group_norm")
def _group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    n, c = input.shape[:2]
    return do("native_group_norm", input, weight, bias, n, c, math.prod(input.shape[2:]), num_groups, eps)[0]


@rule("batch_norm")
def _batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    do("empty.memory_format", [0], dtype=torch.uint8, layout=strided, device=input.device)
    return do("native_batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@rule("rms_norm")
def _rms_norm(input, normalized_shape, weight=None, eps=None):
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    eps = torch.finfo(input.dtype).eps if eps is None else eps
    rate = do("rsqrt", do("add_.Scalar", do("mean.dim", do("pow.Tensor_Scalar", input, 2), dims, True), eps))
    made = do("mul.Tensor", input, rate)
    return made if weight is None else do("mul.Tensor", made, weight)


@rule("embedding_bag")
def _embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                   per_sample_weights=None, include_last_offset=False, padding_idx=None):
    if max_norm is not None:
        raise NotImplementedError("torchshim: embedding_bag with max_norm under __torch_dispatch__")
    if input.dtype is weight.dtype:            # arguments in an old order
        return NotImplemented
    if input.ndim == 2:
        offsets = do("arange.start_step", 0, input.numel(), input.shape[1], dtype=input.dtype, device=input.device, pin_memory=False)
        input = do("view", input, [-1])
        per_sample_weights = None if per_sample_weights is None else do("view", per_sample_weights, [-1])
    followed = weight.requires_grad or per_sample_weights is not None and per_sample_weights.requires_grad
    at = -1 if padding_idx is None else padding_idx % weight.shape[0]
    return do("_embedding_bag" if followed else "_embedding_bag_forward_only", weight, input, offsets, scale_grad_by_freq,
              ("sum", "mean", "max").index(mode), sparse, per_sample_weights, include_last_offset, at)[0]


# -- convolutions, pooling ---------------------------------------------------------------------------------------------------------
def _each(x, n):
    return [x] * n if isinstance(x, int) else list(x)


def _convolution(n):
    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if isinstance(padding, str):
            if padding == "same" and any([s != 1 for s in _each(stride, n)]) or padding == "same" and any([k % 2 == 0
                                                                                                           for k in weight.shape[2:]]):
                raise NotImplementedError("torchshim: convolution with padding='same' and even kernels under __torch_dispatch__")
            padding = 0 if padding == "valid" else [d * (k - 1) // 2 for d, k in zip(_each(dilation, n), weight.shape[2:])]
        batched = input.ndim == n + 2
        x = input if batched else do("unsqueeze", input, 0)
        made = do("convolution", x, weight, bias, _each(stride, n), _each(padding, n), _each(dilation, n), False, [0] * n, groups)
        return made if batched else do("squeeze.dim", made, 0)
    return conv


def _transposed(n):
    def conv(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return do("convolution", input, weight, bias, _each(stride, n), _each(padding, n), _each(dilation, n), True,
                  _each(output_padding, n),
                  groups)
    return conv


for _n in (1, 2, 3):
    RULES[f"conv{_n}d"], RULES[f"conv_transpose{_n}d"] = _convolution(_n), _transposed(_n)


@rule("max_pool2d")
def _max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    made = do("max_pool2d_with_indices", input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)
    return made if return_indices else made[0]


@rule("avg_pool2d")
def _avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    return do("avg_pool2d", input, kernel_size, [] if stride is None else stride, padding, ceil_mode, count_include_pad, divisor_override)


@rule("adaptive_avg_pool2d")
def _adaptive(input, output_size):
    size = [n if m is None else m for m, n in zip(_each(output_size, 2), input.shape[-2:])]
    return do("mean.dim", input, [-1, -2], True) if size == [1, 1] else do("_adaptive_avg_pool2d", input, size)


# -- attention ------------------------------------------------------------------------------------------------------------------
@rule("scaled_dot_product_attention")
def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if attn_mask is not None and attn_mask.dtype is torch.bool:
        attn_mask = _added(attn_mask, query)
    plain = query.ndim == 4 and not dropout_p and query.shape[-1] == value.shape[-1] and (attn_mask is None or not attn_mask.requires_grad)
    if plain and query.device.type == "cpu":
        return do("_scaled_dot_product_flash_attention_for_cpu", query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale)[0]
    root = math.sqrt(1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    q = do("mul.Scalar", query, root)
    if enable_gqa:
        key, value = [_in_groups(x, query.shape[-3]) for x in (key, value)]
    if is_causal:
        ones = do("ones", [query.shape[-2], key.shape[-2]], dtype=torch.bool, layout=query.layout, device=query.device)
        attn_mask = _added(do("tril", ones), query)
    scores = _matmul(q, do("mul.Scalar", do("transpose.int", key, -2, -1), root))
    weights = do("_safe_softmax", scores if attn_mask is None else do("add.Tensor", scores, attn_mask), -1)
    if dropout_p:
        kept = do("bernoulli_.float", do("empty_like", weights), 1 - dropout_p)
        weights = do("mul.Tensor", weights, do("div_.Scalar", kept, 1 - dropout_p))
    return _matmul(weights, value)


def _in_groups(x, heads):
    """Keys or values, each for as many queries as share it."""
    count = heads // x.shape[-3]
    if count == 1:
        return x
    x = do("unsqueeze", x, x.ndim - 2)
    shape = list(x.shape)
    spread = do("expand", x, [*shape[:-3], count, *shape[-2:]])
    spread = do("clone", spread, memory_format=torch.contiguous_format)
    return do("view", spread, [*shape[:-4], heads, *shape[-2:]])


def _added(mask, like):
    """A mask of which places count, as what is added to scores."""
    out = do("scalar_tensor", -math.inf, dtype=like.dtype, device=like.device)
    return do("where.self", mask, do("scalar_tensor", 0.0, dtype=like.dtype, layout=like.layout, device=like.device), out)
