"""What computes the operators that torch makes of others (`layer_norm`, `to.dtype`), where no public function takes their arguments: public
functions, which are dispatched themselves where somebody wants to see operators."""
from __future__ import annotations

import torchshim as torch

from .. import Tensor
from ..nn import functional as F
from ..nn.functional.toplevel import native_dropout
from . import assertions, functional_kernels, linear_kernels

_REDUCTIONS = ("none", "mean", "sum")
_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _loss(f, places):
    """A loss whose reduction is a number; places: the names of the arguments after the tensors, "reduction" among them."""
    names = places.split()

    def kernel(*args, **named):
        first = next((k for k, x in enumerate(args) if not isinstance(x, Tensor)), len(args))
        given = dict(zip(names, args[first:])) | named
        given["reduction"] = _REDUCTIONS[given.get("reduction", 1)]
        return f(*args[:first], **given)
    return kernel


def _cross_entropy(self, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    return F.cross_entropy(self, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction],
                           label_smoothing=label_smoothing)


def _nll_loss(self, target, weight=None, reduction=1, ignore_index=-100):
    return F.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction])


def _max_pool(n):
    f = getattr(F, f"max_pool{n}d")
    return lambda self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False: f(
        self, kernel_size if isinstance(kernel_size, int) else tuple(kernel_size), stride or None, padding, dilation, ceil_mode)


def _avg_pool1d(self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True):
    return F.avg_pool1d(self, kernel_size, stride or None, padding, ceil_mode, count_include_pad)


def _upsampling(mode):
    linear = mode in ("linear", "bilinear", "trilinear", "bicubic")

    def kernel(input, output_size, *rest):
        scales, corners = rest[-1], rest[0] if linear else None
        return F.interpolate(input, None if output_size is None else tuple(output_size), None if scales is None else tuple(scales), mode,
                             align_corners=corners)
    return kernel


def _dropout(f):
    return lambda input, p, train: f(input, p, train)


def _spread(name):
    f = getattr(torch, name)
    return (lambda self, unbiased=True: f(self, unbiased=unbiased),
            lambda self, dim, unbiased=True, keepdim=False: f(self, None if dim is None else tuple(dim), unbiased=unbiased,
                                                              keepdim=keepdim))


def _batch_norm_functional(input, weight, bias, running_mean, running_var, training, momentum, eps):
    mean, var = running_mean.clone(), running_var.clone()
    made = F.batch_norm(input, mean, var, weight, bias, training, momentum, eps)
    dims = [0, *range(2, input.ndim)]
    return made, input.mean(dims), torch.rsqrt(input.var(dims, correction=0) + eps), mean, var


def _batch_norm_of_batch(input, weight, bias, training, momentum, eps):
    dims = [0, *range(2, input.ndim)]
    return F.batch_norm(input, None, None, weight, bias, training, momentum, eps), input.mean(dims), torch.rsqrt(
        input.var(dims, correction=0) + eps)


def _to_device(self, device, dtype, non_blocking=False, copy=False, memory_format=None):
    return _to(self, device=device, dtype=dtype, non_blocking=non_blocking, copy=copy,
               **({} if memory_format is None else {"memory_format": memory_format}))


def _to(self, *args, **named):
    if named.get("dtype") is None and "dtype" in named:
        named.pop("dtype")
    named.pop("layout", None)
    named.pop("pin_memory", None)
    return self.to(*args, **named)


KERNELS = {
    **assertions.KERNELS, **functional_kernels.KERNELS, **linear_kernels.KERNELS,
    "layer_norm": lambda input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True: F.layer_norm(
        input, tuple(normalized_shape), weight, bias, eps),
    "group_norm": lambda input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True: F.group_norm(
        input, num_groups, weight, bias, eps),
    "batch_norm": lambda input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled: F.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps),
    "instance_norm": lambda input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled: F.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps),
    "_native_batch_norm_legit_functional": _batch_norm_functional, "_native_batch_norm_legit.no_stats": _batch_norm_of_batch,
    "_native_batch_norm_legit_no_training": lambda input, weight, bias, running_mean, running_var, momentum, eps: (
        F.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps), input.new_empty(0), input.new_empty(0)),
    "native_dropout": native_dropout,
    "rms_norm": lambda input, normalized_shape, weight=None, eps=None: F.rms_norm(input, tuple(normalized_shape), weight, eps),
    "dropout": _dropout(F.dropout), "alpha_dropout": _dropout(F.alpha_dropout),
    "dropout_": lambda self, p, train: F.dropout(self, p, train, True),
    "feature_dropout": lambda input, p, train: {2: F.dropout1d, 3: F.dropout1d, 4: F.dropout2d,
                                                5: F.dropout3d}[input.ndim](input, p, train),
    "feature_alpha_dropout": _dropout(F.feature_alpha_dropout),
    "softmax.int": lambda self, dim, dtype=None: torch.softmax(self, dim, dtype=dtype),
    "log_softmax.int": lambda self, dim, dtype=None: torch.log_softmax(self, dim, dtype=dtype), "log_sigmoid": F.logsigmoid,
    "cross_entropy_loss": _cross_entropy, "nll_loss_nd": _nll_loss, "nll_loss": _nll_loss, "nll_loss2d": _nll_loss,
    "l1_loss": _loss(F.l1_loss, "reduction"), "kl_div": _loss(F.kl_div, "reduction log_target"),
    "cosine_embedding_loss": _loss(F.cosine_embedding_loss, "margin reduction"),
    "margin_ranking_loss": _loss(F.margin_ranking_loss, "margin reduction"),
    "hinge_embedding_loss": _loss(F.hinge_embedding_loss, "margin reduction"),
    "triplet_margin_loss": _loss(F.triplet_margin_loss, "margin p eps swap reduction"),
    "poisson_nll_loss": _loss(F.poisson_nll_loss, "log_input full eps reduction"),
    "soft_margin_loss": _loss(F.soft_margin_loss, "reduction"),
    "multi_margin_loss": lambda self, target, p=1, margin=1, weight=None, reduction=1: F.multi_margin_loss(
        self, target, p, margin, weight, reduction=_REDUCTIONS[reduction]),
    "multilabel_margin_loss": _loss(F.multilabel_margin_loss, "reduction"),
    "max_pool1d": _max_pool(1), "max_pool2d": _max_pool(2), "max_pool3d": _max_pool(3), "avg_pool1d": _avg_pool1d,
    "avg_pool3d": lambda self, kernel_size, stride=(), *rest: F.avg_pool3d(self, kernel_size, stride or None, *rest),
    "adaptive_avg_pool1d": F.adaptive_avg_pool1d, "adaptive_avg_pool2d": F.adaptive_avg_pool2d,
    "adaptive_avg_pool3d": F.adaptive_avg_pool3d,
    **{f"adaptive_max_pool{n}d": lambda self, output_size, f=getattr(F, f"adaptive_max_pool{n}d"): f(self, output_size, return_indices=True)
       for n in (1, 2, 3)},
    **{f"upsample_{mode}{n}d.vec": _upsampling(mode) for mode, n in (("nearest", 1), ("nearest", 2), ("nearest", 3), ("linear", 1),
                                                                      ("bilinear", 2), ("trilinear", 3), ("bicubic", 2))},
    "_upsample_nearest_exact2d.vec": _upsampling("nearest-exact"), "_upsample_nearest_exact1d.vec": _upsampling("nearest-exact"),
    "grid_sampler": lambda input, grid, mode, padding, corners: F.grid_sample(input, grid, _MODES[mode], _PADDINGS[padding], corners),
    "affine_grid_generator": lambda theta, size, align_corners: F.affine_grid(theta, list(size), align_corners),
    "im2col": lambda self, kernel_size, dilation, padding, stride: F.unfold(self, kernel_size, dilation, padding, stride),
    "col2im": lambda self, output_size, kernel_size, dilation, padding, stride: F.fold(self, output_size, kernel_size, dilation, padding,
                                                                                      stride),
    "max_unpool2d": lambda self, indices, output_size: F.max_unpool2d(self, indices, [n // m for n, m in zip(output_size, self.shape[-2:])],
                                                                      output_size=tuple(output_size)),
    "pad": lambda self, pad, mode="constant", value=None: F.pad(self, list(pad), mode, value),
    "to.dtype": _to, "to.device": _to_device, "to.dtype_layout": _to, "to.other": _to,
    "numpy_T": lambda self: self.T, "mT": lambda self: self.mT, "mH": lambda self: self.mH, "matrix_H": lambda self: self.H,
    "real": lambda self: self.real, "imag": lambda self: self.imag, "item": lambda self: self.item(),
    "where": lambda condition: list(torch.where(condition)),
    "einsum": lambda equation, tensors, path=None: torch.einsum(equation, *tensors),
    "tensordot": lambda self, other, dims_self, dims_other: torch.tensordot(self, other, dims=(list(dims_self), list(dims_other))),
    "broadcast_tensors": lambda tensors: list(torch.broadcast_tensors(*tensors)),
    "meshgrid": lambda tensors: list(torch.meshgrid(*tensors)),
    "meshgrid.indexing": lambda tensors, indexing: list(torch.meshgrid(*tensors, indexing=indexing)),
    "block_diag": lambda tensors: torch.block_diag(*tensors), "cartesian_prod": lambda tensors: torch.cartesian_prod(*tensors),
    **{name: lambda tensors, f=getattr(torch, name): f(tensors) for name in ("hstack", "vstack", "dstack", "column_stack")},
    "split.sizes": lambda self, sizes, dim=0: list(torch.split(self, list(sizes), dim)),
    "one_hot": F.one_hot,
    **{f"{name}{form}": f for name in ("var", "std", "var_mean", "std_mean") for form, f in zip(("", ".dim"), _spread(name))},
    "__and__.Tensor": lambda a, b: a & b, "__and__.Scalar": lambda a, b: a & b, "__or__.Tensor": lambda a, b: a | b,
    "__or__.Scalar": lambda a, b: a | b, "__xor__.Tensor": lambda a, b: a ^ b, "__xor__.Scalar": lambda a, b: a ^ b,
    "max.other": torch.maximum, "min.other": torch.minimum,
    **{name: lambda *args, pin_memory=None, layout=None, f=name, **named: getattr(torch, f)(*args, **named) for name in (
        "tril_indices", "triu_indices", "hann_window", "hamming_window")},
    "prelu": F.prelu, "relu6": F.relu6, "selu": F.selu, "bilinear": F.bilinear,
    "scaled_dot_product_attention": F.scaled_dot_product_attention,
    "chunk": lambda self, chunks, dim=0: list(torch.chunk(self, chunks, dim)),
    **{name: lambda *args, f=name: list(getattr(torch, f.partition(".")[0])(*args)) for name in (
        "tensor_split.sections", "tensor_split.indices", "hsplit.int", "hsplit.array", "vsplit.int", "vsplit.array", "dsplit.int",
        "dsplit.array")},
}
