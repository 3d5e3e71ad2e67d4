"""The gradients of dispatched operators of distances, samples, pooling and losses, and what computes their backward operators. See
`formulas`."""
from __future__ import annotations

import torchshim as torch

from ..nn import functional as F
from .decomposed import RULES, _matmul
from .formulas import FORMULAS, _add, _dims, _summed_to, _times, _unsqueezed
from .functional_kernels import KERNELS, _ctc, _resized
from .kernels import _nll_forward, _pulled_back
from .python import do


def _rows(g):
    return RULES["contiguous"](g)


# -- arithmetic -----------------------------------------------------------------------------------------------------------------
def _lerp_self(a):
    return do("mul.Tensor", a.g, do("sub_.Tensor", do("fill_.Scalar", do("empty_like", a.weight, memory_format=torch.preserve_format), 1),
                                    a.weight))


def _bounded(a, beyond):
    """The gradients beside a bound that is a tensor."""
    made, name = {}, "min" if beyond == "ge" else "max"
    bound = getattr(a, name)
    if a.needs.get("self"):
        zero = do("scalar_tensor", 0.0, dtype=a.g.dtype, layout=a.g.layout, device=a.g.device)
        made["self"] = do("where.self", do(f"{beyond}.Tensor", a.self, bound), a.g, zero)
    if a.needs.get(name):
        zero = do("scalar_tensor", 0.0, dtype=a.g.dtype, layout=a.g.layout, device=a.g.device)
        made[name] = do("where.self", do("lt.Tensor" if beyond == "ge" else "gt.Tensor", a.self, bound), a.g, zero)
        if made[name].shape != bound.shape:
            raise NotImplementedError("torchshim: the gradient of a bound that is broadcast, under __torch_dispatch__")
    return made


def _nansum(a):
    given = do("logical_not", do("isnan", a.self))
    g = a.g if a.dim is None else _unsqueezed(a.g, _dims(a.dim, a.self.ndim), a.keepdim, a.self.ndim, a.dim)
    return do("mul.Tensor", do("expand", g, list(a.self.shape)), given)


def _selected(a):
    shape = list(torch.broadcast_shapes(a.self.shape, a.mask.shape))
    zeros = do("zeros_like", do("expand", a.self, shape), memory_format=torch.preserve_format)
    made = do("masked_scatter", zeros, a.mask, a.g)
    return made if made.shape == a.self.shape else _summed_to(made, a.self.shape)


def _matrix_exp(a):
    """The upper right block of the exponential of [[A, g], [0, A]], A being turned."""
    n = a.self.shape[-1]
    turned = do("transpose.int", a.self, -2, -1)
    turned = do("_conj", turned) if turned.is_complex() else turned
    top = do("cat", [turned, a.g], -1)
    bottom = do("cat", [do("zeros_like", turned), turned], -1)
    made = do("linalg_matrix_exp", do("cat", [top, bottom], -2))
    return do("slice.Tensor", do("slice.Tensor", made, -2, 0, n), -1, n, 2 * n)


_add("lerp.Tensor", "LerpBackward1", self=_lerp_self, end=lambda a: _times(a.g, a.weight),
     weight=lambda a: _times(a.g, do("sub.Tensor", a.end, a.self)))
_add("lerp.Scalar", "LerpBackward0", self=lambda a: do("mul.Scalar", a.g, 1 - a.weight), end=lambda a: do("mul.Scalar", a.g, a.weight))
_add("clamp_min.Tensor", "ClampMinBackward1", lambda a: _bounded(a, "ge"))
_add("clamp_max.Tensor", "ClampMaxBackward1", lambda a: _bounded(a, "le"))
_add("nansum", "NansumBackward0", self=_nansum)
_add("linalg_cross", "LinalgCrossBackward0", self=lambda a: do("linalg_cross", a.other, a.g, dim=a.dim),
     other=lambda a: do("linalg_cross", a.g, a.self, dim=a.dim))
_add("linalg_matrix_exp", "LinalgMatrixExpBackward0", self=_matrix_exp)
_add("masked_select", "MaskedSelectBackward0", self=_selected)
_add("diag_embed", "DiagEmbedBackward0", self=lambda a: do("diagonal", a.g, a.offset, a.dim1, a.dim2))
_add("diagonal_copy", "DiagonalBackward0_copy",
     self=lambda a: do("diagonal_backward", a.g, list(a.self.shape), a.offset, a.dim1, a.dim2))


# -- distances, products ----------------------------------------------------------------------------------------------------------
def _far(a):
    """Of Euclidean distances; what is at no distance has none."""
    ratio = do("masked_fill_.Scalar", do("div.Tensor", a.g, a.y), do("eq.Scalar", a.y, 0), 0)
    made = {}                                  # torch makes both whatever is needed
    product = _matmul(ratio, a.x2)
    made["x1"] = do("sub.Tensor", do("mul.Tensor", a.x1, do("sum.dim_IntList", ratio, [-1], True)), product)
    product = _matmul(do("transpose.int", ratio, -2, -1), a.x1)
    made["x2"] = do("sub.Tensor", do("mul.Tensor", a.x2, do("unsqueeze", do("sum.dim_IntList", ratio, [-2]), -1)), product)
    return made


def _turned(x):
    return _rows(do("transpose.int", x, -2, -1))


def _to_second(a, y):
    return do("_cdist_backward", _turned(a.g), a.x2, a.x1, a.p, y)


_add("_cdist_forward", "CdistBackward0",
     x1=lambda a: do("_cdist_backward", _rows(a.g), a.x1, a.x2, a.p, a.y),
     x2=lambda a: _to_second(a, _turned(a.y)))
_add("_euclidean_dist", "EuclideanDistBackward0", _far)
_add("_pdist_forward", "PdistBackward0", self=lambda a: do("_pdist_backward", a.g, a.self, a.p, a.y))
_add("_trilinear", "TrilinearBackward0",
     i1=lambda a: do("_trilinear", a.g, a.i2, a.i3, a.sumdim, a.expand2, a.expand3, a.expand1),
     i2=lambda a: do("_trilinear", a.i1, a.g, a.i3, a.expand1, a.sumdim, a.expand3, a.expand2),
     i3=lambda a: do("_trilinear", a.i1, a.i2, a.g, a.expand1, a.expand2, a.sumdim, a.expand3))

# -- windows, samples, pooling ------------------------------------------------------------------------------------------------------
_add("im2col", "Im2ColBackward0", self=lambda a: do("col2im", a.g, list(a.self.shape[-2:]), a.kernel_size, a.dilation, a.padding, a.stride))
_add("col2im", "Col2ImBackward0", self=lambda a: do("im2col", a.g, a.kernel_size, a.dilation, a.padding, a.stride))
_add("avg_pool3d", "AvgPool3DBackward0", self=lambda a: do("avg_pool3d_backward", a.g, a.self, a.kernel_size, a.stride, a.padding,
                                                           a.ceil_mode, a.count_include_pad, a.divisor_override))
_add("max_pool3d_with_indices", "MaxPool3DWithIndicesBackward0", only=(0,), self=lambda a: do(
    "max_pool3d_with_indices_backward", a.gs[0], a.self, a.kernel_size, a.stride, a.padding, a.dilation, a.ceil_mode, a.results[1]))
_add("_adaptive_avg_pool3d", "AdaptiveAvgPool3DBackward0", self=lambda a: do("_adaptive_avg_pool3d_backward", a.g, a.self))
for _n in (2, 3):
    _add(f"grid_sampler_{_n}d", f"GridSampler{_n}DBackward0", lambda a, n=_n: dict(zip(("input", "grid"), do(
        f"grid_sampler_{n}d_backward", a.g, a.input, a.grid, a.interpolation_mode, a.padding_mode, a.align_corners,
        [a.needs.get("input", False), a.needs.get("grid", False)]))))
    _add(f"adaptive_max_pool{_n}d", f"AdaptiveMaxPool{_n}DBackward0", only=(0,),
         self=lambda a, n=_n: do(f"adaptive_max_pool{n}d_backward", a.gs[0], a.self, a.results[1]))
    _add(f"fractional_max_pool{_n}d", f"FractionalMaxPool{_n}DBackward0", only=(0,), self=lambda a, n=_n: do(
        f"fractional_max_pool{n}d_backward", a.gs[0], a.self, a.kernel_size, a.output_size, a.results[1]))
for _n in (1, 2, 3):
    for _kind, _node in (("reflection", "Reflection"), ("replication", "Replication")):
        _add(f"{_kind}_pad{_n}d", f"{_node}Pad{_n}DBackward0",
             self=lambda a, name=f"{_kind}_pad{_n}d_backward": do(name, a.g, a.self, a.padding))


def _scales(a, n):
    return (a.scales,) if n == 1 else tuple([getattr(a, f"scales_{d}") for d in "dhw"[3 - n:]])


def _resized_gradient(name, n, corners):
    def back(a):
        return do(f"{name}_backward", a.g, a.output_size, list(a.self.shape), *((a.align_corners,) if corners else ()), *_scales(a, n))
    return back


def _resized_kernel(n, mode):
    f = _resized(n, mode)
    return lambda g, size, shape, *rest: _pulled_back(lambda x: f(x, size, *rest), g, (g.new_zeros(shape),))[0]


for _name, _n, _mode in (("upsample_nearest1d", 1, "nearest"), ("upsample_linear1d", 1, "linear"), ("upsample_bicubic2d", 2, "bicubic"),
                         ("upsample_nearest3d", 3, "nearest"), ("upsample_trilinear3d", 3, "trilinear")):
    _smooth = _mode != "nearest"
    _node = _name.replace("upsample_", "Upsample_").title().replace("_", "").replace("d", "D")
    _add(_name, f"{_node}Backward0", self=_resized_gradient(_name, _n, _smooth))
    KERNELS[f"{_name}_backward"] = _resized_kernel(_n, _mode)

# -- losses -----------------------------------------------------------------------------------------------------------------------
_add("nll_loss2d_forward", "NllLoss2DBackward0", only=(0,), self=lambda a: do(
    "nll_loss2d_backward", a.g, a.self, a.target, a.weight, a.reduction, a.ignore_index, a.results[1]))
_add("multi_margin_loss", "MultiMarginLossBackward0", self=lambda a: do(
    "multi_margin_loss_backward", a.g, a.self, a.target, a.p, a.margin, a.weight, a.reduction))
_add("multilabel_margin_loss_forward", "MultilabelMarginLossBackward0", only=(0,), self=lambda a: do(
    "multilabel_margin_loss_backward", a.g, a.self, a.target, a.reduction, a.results[1]))
_add("soft_margin_loss", "SoftMarginLossBackward0", self=lambda a: do("soft_margin_loss_backward", a.g, a.self, a.target, a.reduction))
_add("_ctc_loss _ctc_loss.Tensor", "CtcLossBackward0", only=(0,), log_probs=lambda a: do(
    "_ctc_loss_backward.Tensor" if isinstance(a.input_lengths, torch.Tensor) else "_ctc_loss_backward", a.g, a.log_probs, a.targets,
    a.input_lengths, a.target_lengths, a.results[0], a.results[1], a.blank, a.zero_infinity))
for _name in ("_ctc_loss", "_ctc_loss.Tensor"):
    FORMULAS[_name].first = (0,)


def _back(f):
    """The kernel of a gradient, from that of the function."""
    def kernel(g, self, *rest):
        return _pulled_back(lambda x: f(x, *rest), g, (self,))[0]
    return kernel


def _without_indices(f):
    """The same of a function with places, which its backward is told last."""
    def kernel(g, self, *rest):
        return _pulled_back(lambda x: f(x, *rest[:-1])[0], g, (self,))[0]
    return kernel


def _pooled_in(n):
    def kernel(g, self, *rest):
        lead = self.shape[:self.ndim - n]
        flat = g.new_zeros(*lead, torch.Size(self.shape[self.ndim - n:]).numel())
        return flat.scatter_add_(-1, rest[-1].reshape(*lead, -1), g.reshape(*lead, -1)).view_as(self)
    return kernel


def _sampled(n):
    f = getattr(torch, f"grid_sampler_{n}d")
    return lambda g, input, grid, mode, padding, corners, mask: _pulled_back(
        lambda x, at: f(x, at, mode, padding, corners), g, (input, grid), mask)


def _ctc_back(g, log_probs, targets, input_lengths, target_lengths, loss, alpha, blank, zero_infinity=False):
    return _pulled_back(lambda x: _ctc(x, targets, input_lengths, target_lengths, blank, zero_infinity)[0], g, (log_probs,))[0]


def _nll2d_back(g, self, target, weight, reduction, ignore_index, total_weight):
    return _pulled_back(lambda x: _nll_forward(x, target, weight, reduction, ignore_index)[0], g, (self,))[0]


KERNELS |= {
    "log_sigmoid_backward": lambda g, self, buffer: _pulled_back(F.logsigmoid, g, (self,))[0],
    "_cdist_backward": lambda g, x1, x2, p, cdist: _pulled_back(lambda x: KERNELS["_cdist_forward"](x, x2, p, None), g, (x1,))[0],
    "_pdist_backward": lambda g, self, p, pdist: _pulled_back(lambda x: F.pdist(x, p), g, (self,))[0],
    **{f"grid_sampler_{n}d_backward": _sampled(n) for n in (2, 3)},
    "avg_pool3d_backward": _back(KERNELS["avg_pool3d"]), "_adaptive_avg_pool3d_backward": lambda g, self: _pulled_back(
        lambda x: F.adaptive_avg_pool3d(x, g.shape[-3:]), g, (self,))[0],
    "max_pool3d_with_indices_backward": _pooled_in(3), "adaptive_max_pool2d_backward": _pooled_in(2),
    "adaptive_max_pool3d_backward": _pooled_in(3), "fractional_max_pool2d_backward": _pooled_in(2),
    "fractional_max_pool3d_backward": _pooled_in(3),
    **{f"{kind}_pad{n}d_backward": _back(KERNELS[f"{kind}_pad{n}d"]) for kind in ("reflection", "replication") for n in (1, 2, 3)},
    "nll_loss2d_backward": _nll2d_back, "multi_margin_loss_backward": _back(KERNELS["multi_margin_loss"]),
    "multilabel_margin_loss_backward": _without_indices(KERNELS["multilabel_margin_loss_forward"]),
    "soft_margin_loss_backward": _back(KERNELS["soft_margin_loss"]),
    "_ctc_loss_backward": _ctc_back, "_ctc_loss_backward.Tensor": _ctc_back,
}
