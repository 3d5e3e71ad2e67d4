"""What computes an operator that nobody has taken over: the public function of its name, or what stands here.

The gradients that torch computes with kernels of their own (`gelu_backward`) are those of the public functions.
"""
from __future__ import annotations

import math

import torchshim as torch

from .. import Tensor
from ..autograd import grad
from ..autograd.grad_mode import grad_mode
from ..engine import context
from ..nn import functional as F

_REDUCTIONS = ("none", "mean", "sum")


def compute(op, args, kwargs):
    """The result of an overload for tensors that are just tensors."""
    name, kwargs = op.name().removeprefix("aten::"), dict(kwargs)
    own = _KERNELS.get(name)
    if own is None:
        from .composites import KERNELS
        own = KERNELS.get(name)
    if own is not None:
        return own(*args, **kwargs)
    outs = [a.name for a in op._schema.arguments if a.mutated and a.kwarg_only] if op.namespace == "aten" and op._known is not None else ()
    if outs:
        made = [kwargs.pop(n) for n in outs]
        kwargs = {**kwargs, "out": made[0] if len(made) == 1 else tuple(made)}
    made = op._overloadpacket._kernel(*args, **kwargs)
    return tuple(made) if isinstance(made, tuple) and not isinstance(made, Tensor) else made


def known(name):
    """What computes `aten::name` here, for a name that no public function has; None where nothing does."""
    found = _KERNELS.get(name)
    if found is None:
        from . import assertions, functional_kernels, linear_kernels
        found = next((m.KERNELS[name] for m in (assertions, linear_kernels, functional_kernels) if name in m.KERNELS), None) or next(
            (f for n, f in _KERNELS.items() if n.partition(".")[0] == name), None)
    return found


def _pulled_back(f, g, inputs, mask=None):
    """The gradients of f at some tensors for the cotangent g; None where `mask` is false."""
    asked = [k for k, x in enumerate(inputs) if x is not None and (mask is None or mask[k])]
    if "transform" in context.modes:           # where examples of a batch can't be asked for gradients of their own
        among = lambda *xs: f(*[xs[asked.index(k)] if k in asked else x for k, x in enumerate(inputs)])
        found = iter(torch.func.vjp(among, *[inputs[k] for k in asked])[1](g) if asked else ())
        return tuple([next(found) if k in asked else None for k in range(len(inputs))])
    given = [None if x is None else x.detach().requires_grad_(k in asked) for k, x in enumerate(inputs)]
    with grad_mode(True):
        made = f(*given)
    found = iter(grad(made, [given[k] for k in asked], g) if asked else ())
    return tuple([next(found) if k in asked else None for k in range(len(inputs))])


def _back(f):
    """The kernel of the gradient of a function of one tensor and options."""
    def kernel(grad_output, self, *options, **named):
        return _pulled_back(lambda x: f(x, *options, **named), grad_output, (self,))[0]
    return kernel


def _reduced(f, option=None):
    """A loss's kernel: its reduction is a number."""
    def kernel(self, target, reduction=1, *rest):
        named = {option: rest[0]} if rest else {}
        return f(self, target, reduction=_REDUCTIONS[reduction], **named)

    def back(grad_output, self, target, reduction=1, *rest):
        return _pulled_back(lambda x: kernel(x, target, reduction, *rest), grad_output, (self,))[0]
    return kernel, back


def _binary_cross_entropy(self, target, weight=None, reduction=1):
    return F.binary_cross_entropy(self, target, weight, reduction=_REDUCTIONS[reduction])


def _with_logits(self, target, weight=None, pos_weight=None, reduction=1):
    return F.binary_cross_entropy_with_logits(self, target, weight, pos_weight=pos_weight, reduction=_REDUCTIONS[reduction])


def _nll_forward(self, target, weight, reduction, ignore_index):
    made = F.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction])
    if reduction == 0:
        return made, self.new_zeros(())
    counted = target != ignore_index
    total = counted.sum().to(self.dtype) if weight is None else torch.where(counted, weight[torch.where(counted, target, 0)], 0).sum()
    return made, total.to(self.dtype)


def _nll_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    f = lambda x: F.nll_loss(x, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction])
    return _pulled_back(f, grad_output, (self,))[0]


def _layer_norm(input, normalized_shape, weight, bias, eps):
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    wide = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
    mean = wide.mean(dims, keepdim=True)
    rstd = torch.rsqrt(wide.var(dims, correction=0, keepdim=True) + eps)
    return F.layer_norm(input, normalized_shape, weight, bias, eps), mean, rstd


def _layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    first = input.ndim - len(normalized_shape)
    over, rows = tuple(range(first, input.ndim)), tuple(range(first))
    centred = (input - mean) * rstd
    made = [None] * 3
    if output_mask[0]:
        g = grad_out if weight is None else grad_out * weight
        made[0] = rstd * (g - g.mean(over, keepdim=True) - centred * (g * centred).mean(over, keepdim=True))
    if output_mask[1]:
        made[1] = (grad_out * centred).sum(rows) if rows else grad_out * centred
    if output_mask[2]:
        made[2] = grad_out.sum(rows) if rows else grad_out.clone()
    return tuple(made)


def _group_norm(input, weight, bias, N, C, HxW, group, eps):
    grouped = input.reshape(N, group, -1)
    rstd = torch.rsqrt(grouped.var(2, correction=0) + eps)
    return F.group_norm(input, group, weight, bias, eps), grouped.mean(2), rstd


def _group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask):
    x, g = input.reshape(N, C, -1), grad_out.reshape(N, C, -1)
    centred = (x.view(N, group, -1) - mean.view(N, group, 1)) * rstd.view(N, group, 1)
    made = [None] * 3
    if output_mask[0]:
        h = (g if weight is None else g * weight.view(1, C, 1)).reshape(N, group, -1)
        made[0] = (rstd.view(N, group, 1) * (h - h.mean(2, keepdim=True) - centred * (h * centred).mean(2, keepdim=True))).view_as(input)
    if output_mask[1]:
        made[1] = (g * centred.view(N, C, -1)).sum((0, 2))
    if output_mask[2]:
        made[2] = g.sum((0, 2))
    return tuple(made)


def _resized(self, size, scales, mode, corners=None):
    if any([s is not None for s in scales]):   # places follow from the scales that were given, not from the sizes
        return F.interpolate(self, scale_factor=tuple(scales), mode=mode, align_corners=corners)
    return F.interpolate(self, size=tuple(size), mode=mode, align_corners=corners)


def _resized_back(g, size, shape, scales, mode, corners=None):
    return _pulled_back(lambda x: _resized(x, size, scales, mode, corners), g, (g.new_zeros(shape),))[0]


def _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    made = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return made, input.new_empty(0), input.new_empty(0)
    dims = [0, *range(2, input.ndim)]
    return made, input.mean(dims), torch.rsqrt(input.var(dims, correction=0) + eps)


def _batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask):
    bias = None if weight is None else torch.zeros_like(weight)
    f = lambda x, w, b: F.batch_norm(x, None if train else running_mean, None if train else running_var, w, b, train, 0.0, eps)
    return _pulled_back(f, grad_out, (input, weight, bias), output_mask)


def _convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
                          output_mask):
    bias = None if not output_mask[2] else weight.new_zeros(bias_sizes)
    f = lambda x, w, b: torch.convolution(x, w, b, stride, padding, dilation, transposed, output_padding, groups)
    return _pulled_back(f, grad_output, (input, weight, bias), output_mask)


def _max_pool2d(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    return F.max_pool2d(self, kernel_size, stride or None, padding, dilation, ceil_mode, return_indices=True)


def _max_pool2d_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    f = lambda x: F.max_pool2d(x, kernel_size, stride or None, padding, dilation, ceil_mode)
    return _pulled_back(f, grad_output, (self,))[0]


def _avg_pool2d(self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    return F.avg_pool2d(self, kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override)


def _flash(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    shared = query.shape[1] != key.shape[1]
    made = F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=shared)
    if shared:
        key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).tril().logical_not(), -math.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype is torch.bool else scores + attn_mask
    return made, scores.logsumexp(-1)


def _flash_backward(grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    f = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal, scale=scale,
                                                       enable_gqa=query.shape[1] != key.shape[1])
    return _pulled_back(f, grad_out, (query, key, value))


def _select_backward(grad_output, input_sizes, dim, index):
    made = grad_output.new_zeros(input_sizes)
    made.select(dim, index).copy_(grad_output)
    return made


def _slice_of(x, dim=0, start=None, end=None, step=1):
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def _slice_backward(grad_output, input_sizes, dim, start, end, step):
    made = grad_output.new_zeros(input_sizes)
    _slice_of(made, dim, start, end, step).copy_(grad_output)
    return made


def _diagonal_backward(grad_output, input_sizes, offset, dim1, dim2):
    made = grad_output.new_zeros(input_sizes)
    made.diagonal(offset, dim1, dim2).copy_(grad_output)
    return made


def _embedding_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    weight = grad_output.new_zeros((num_weights, grad_output.shape[-1]))
    f = lambda w: F.embedding(indices, w, None if padding_idx < 0 else padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    return _pulled_back(f, grad_output, (weight,))[0]


def _embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                   include_last_offset=False, padding_idx=-1):
    return torch.embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
                               None if padding_idx < 0 else padding_idx)


def _embedding_bag_backward(grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, sparse,
                            per_sample_weights, padding_idx=-1):
    weight = grad.new_zeros((num_weights, grad.shape[-1]))
    f = lambda w: torch.embedding_bag(w, indices, offsets, scale_grad_by_freq, mode, False, per_sample_weights, False,
                                      None if padding_idx < 0 else padding_idx)[0]
    return _pulled_back(f, grad, (weight,))[0]


def _unfold_backward(grad_in, input_sizes, dim, size, step):
    return _pulled_back(lambda x: x.unfold(dim, size, step), grad_in, (grad_in.new_zeros(input_sizes),))[0]


def _from_result(f):
    """A gradient computed from the function's result."""
    return lambda grad_output, output: f(grad_output, output)


def _softmax_backward(grad_output, output, dim, input_dtype):
    made = grad_output * output
    return (made - output * made.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward(grad_output, output, dim, input_dtype):
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def _elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    return torch.where(x > 0, x * scale, torch.expm1(x * input_scale) * (alpha * scale)) if (scale, input_scale) != (1, 1) else F.elu(x,
                                                                                                                                      alpha)


def _elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    x = self_or_result
    if is_result:
        return torch.where(x <= 0, grad_output * input_scale * (x + alpha * scale), grad_output * scale)
    return torch.where(x <= 0, grad_output * input_scale * alpha * scale * torch.exp(x * input_scale), grad_output * scale)


def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    options = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(device=device, dtype=dtype, non_blocking=non_blocking, copy=True, **options)


def _new_empty_strided(self, size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
    return torch.empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device)


_mse, _mse_back = _reduced(F.mse_loss)
_smooth, _smooth_back = _reduced(F.smooth_l1_loss, "beta")
_huber, _huber_back = _reduced(F.huber_loss, "delta")
_LIKE = lambda f: lambda *args, pin_memory=None, layout=None, **named: f(*args, **named)

_KERNELS = {
    "_to_copy": _to_copy, "lift_fresh": lambda self: self, "lift_fresh_copy": lambda self: self.clone(), "slice.Tensor": _slice_of,
    "split.Tensor": lambda self, size, dim=0: list(torch.split(self, size, dim)),
    "_unsafe_view": lambda self, size: self.view(size).detach(),
    "split_with_sizes": lambda self, sizes, dim=0: list(torch.split(self, sizes, dim)),
    "unbind.int": lambda self, dim=0: list(torch.unbind(self, dim)),
    "index.Tensor": lambda self, indices: self[tuple([slice(None) if i is None else i for i in indices])],
    "alias": lambda self: self.view_as(self), "view": lambda self, size: self.view(size),
    "copy": lambda self, src, non_blocking=False: src.expand_as(self).to(self),
    "_softmax": lambda self, dim, half_to_float: torch.softmax(self, dim, torch.float32 if half_to_float else None),
    "_log_softmax": lambda self, dim, half_to_float: torch.log_softmax(self, dim, torch.float32 if half_to_float else None),
    "_safe_softmax": lambda self, dim, dtype=None: torch.nan_to_num(torch.softmax(self, dim, dtype), 0.0),
    "_softmax_backward_data": _softmax_backward, "_log_softmax_backward_data": _log_softmax_backward,
    "nll_loss_forward": _nll_forward, "nll_loss_backward": _nll_backward, "mse_loss": _mse, "mse_loss_backward": _mse_back,
    "smooth_l1_loss": _smooth, "smooth_l1_loss_backward": _smooth_back, "huber_loss": _huber, "huber_loss_backward": _huber_back,
    "binary_cross_entropy": _binary_cross_entropy, "binary_cross_entropy_with_logits": _with_logits,
    "binary_cross_entropy_backward": lambda g, self, *rest: _pulled_back(lambda x: _binary_cross_entropy(x, *rest), g, (self,))[0],
    "native_layer_norm": _layer_norm, "native_layer_norm_backward": _layer_norm_backward, "native_group_norm": _group_norm,
    "native_batch_norm": _batch_norm, "native_batch_norm_backward": _batch_norm_backward, "convolution_backward": _convolution_backward,
    "max_pool2d_with_indices": _max_pool2d, "max_pool2d_with_indices_backward": _max_pool2d_backward, "avg_pool2d": _avg_pool2d,
    "avg_pool2d_backward": _back(_avg_pool2d), "_adaptive_avg_pool2d": F.adaptive_avg_pool2d,
    "_adaptive_avg_pool2d_backward": lambda g, self: _pulled_back(lambda x: F.adaptive_avg_pool2d(x, g.shape[-2:]), g, (self,))[0],
    "constant_pad_nd": lambda self, pad, value=0: F.pad(self, pad, value=value),
    "_scaled_dot_product_flash_attention_for_cpu": _flash, "_scaled_dot_product_flash_attention_for_cpu_backward": _flash_backward,
    "select_backward": _select_backward, "slice_backward": _slice_backward, "diagonal_backward": _diagonal_backward,
    "embedding": lambda weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False: F.embedding(
        indices, weight, None if padding_idx < 0 else padding_idx, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse),
    "embedding_dense_backward": _embedding_backward, "_embedding_bag_backward": _embedding_bag_backward,
    "_embedding_bag": _embedding_bag, "_embedding_bag_forward_only": _embedding_bag,
    "threshold_backward": lambda g, self, threshold: torch.where(self <= threshold, torch.zeros_like(g), g),
    "gelu": lambda self, approximate="none": F.gelu(self, approximate=approximate), "gelu_backward": _back(F.gelu),
    "silu_backward": _back(F.silu), "mish_backward": _back(F.mish),
    "leaky_relu_backward": lambda g, self, slope, is_result: _back(F.leaky_relu)(g, self, slope),
    "softplus_backward": _back(F.softplus), "hardtanh_backward": _back(F.hardtanh), "hardswish_backward": _back(F.hardswish),
    "hardsigmoid_backward": _back(F.hardsigmoid), "glu_backward": _back(F.glu), "elu": _elu, "elu_backward": _elu_backward,
    "log_sigmoid_forward": lambda self: (F.logsigmoid(self), self.new_empty(0)),
    "sigmoid_backward": _from_result(lambda g, y: g * (1 - y) * y), "tanh_backward": _from_result(lambda g, y: g * (1 - y * y)),
    "new_empty_strided": _new_empty_strided, "_prelu_kernel": lambda self, weight: F.prelu(self, weight.reshape(-1)),
    "upsample_nearest2d": lambda self, size, *scales: _resized(self, size, scales, "nearest"),
    "upsample_nearest2d_backward": lambda g, size, shape, *scales: _resized_back(g, size, shape, scales, "nearest"),
    "upsample_bilinear2d_backward": lambda g, size, shape, corners, *scales: _resized_back(g, size, shape, scales, "bilinear", corners),
    "native_group_norm_backward": _group_norm_backward,
    "upsample_bilinear2d": lambda self, size, corners, *scales: _resized(self, size, scales, "bilinear", corners),
    "_fft_r2c": lambda self, dim, normalization, onesided: (torch.fft.rfftn if onesided else torch.fft.fftn)(
        self, dim=tuple(dim), norm=("backward", "ortho", "forward")[normalization]),
    "_fft_c2c": lambda self, dim, normalization, forward: torch.fft.fftn(
        self, dim=tuple(dim), norm=("backward", "ortho", "forward")[normalization]) if forward else torch.fft.ifftn(
            self, dim=tuple(dim), norm=("forward", "ortho", "backward")[normalization]),
    "_fft_c2r": lambda self, dim, normalization, last: torch.fft.irfftn(
        self, s=[*[self.shape[d] for d in dim[:-1]], last], dim=tuple(dim), norm=("forward", "ortho", "backward")[normalization]),
    "reflection_pad1d": lambda self, padding: F.pad(self, padding, "reflect"), "unfold_backward": _unfold_backward,
    "fft_fftfreq": lambda n, d=1.0, *, pin_memory=None, layout=None, **named: torch.fft.fftfreq(n, d, **named),
    "block_diag": lambda tensors: torch.block_diag(*tensors),
    "_int_mm": lambda self, mat2: (self.int() @ mat2.int()),
    **{name: _LIKE(getattr(torch, name)) for name in "zeros_like ones_like empty_like full_like rand_like randn_like randint_like".split()},
    **{name: _LIKE(getattr(torch, name.partition(".")[0])) for name in
       "zeros ones full arange arange.start arange.start_step linspace eye eye.m rand randn randint randint.low randperm scalar_tensor"
       " empty.memory_format empty_strided normal.float_float".split()},
    **{name: _LIKE(getattr(Tensor, name)) for name in "new_zeros new_ones new_empty new_full".split()},
}
