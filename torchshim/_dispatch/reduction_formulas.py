"""The gradients of dispatched norms, spreads, running sums and products, and Fourier transforms. See `formulas`."""
from __future__ import annotations

import math

import torchshim as torch

from ..nn import functional as F
from .functional_kernels import KERNELS
from .formulas import _add, _dims, _maybe, _neg, _unsqueezed, _var, _var_back
from .kernels import _pulled_back
from .python import do


# -- norms, spreads ---------------------------------------------------------------------------------------------------------------
def norm_back(a, p, y):
    """Of the p-norm y over some dimensions."""
    dims = _dims(a.dim, a.self.ndim)
    g, y = (a.g, y) if a.dim is None else [_unsqueezed(x, dims, a.keepdim, a.self.ndim, a.dim) for x in (a.g, y)]
    x = a.self
    if p == 0:
        return None
    if p == 1:
        return do("mul.Tensor", do("sgn", x), g)
    if p == 2:
        return do("mul.Tensor", g, do("masked_fill_.Scalar", do("div.Tensor", x, y), do("eq.Scalar", y, 0), 0))
    sizes = do("abs", x)
    if math.isinf(p):
        mask = do("logical_or", do("eq.Tensor", sizes, y), do("isnan", sizes))
        shared = do("mul.Tensor", do("div.Tensor", g, do("sum.dim_IntList", mask, [] if a.dim is None else a.dim, True)), mask)
        return do("mul.Tensor", do("sgn", x), shared)
    if p < 1:
        raise NotImplementedError(f"torchshim: the gradient of a norm of order {p} under __torch_dispatch__")
    sizes = do("pow_.Scalar", sizes, p - 1 if p < 2 else p - 2)
    scaled = do("mul.Tensor", do("sgn", x) if p < 2 else x, sizes)
    scale = do("div.Tensor", g, do("pow.Tensor_Scalar", y, p - 1))
    return do("mul.Tensor", scaled, do("masked_fill_.Scalar", scale, do("eq.Scalar", y, 0), 0))


def _distance(a):
    """Of the distance of two tensors, to the first."""
    if a.p != 2:
        raise NotImplementedError(f"torchshim: the gradient of aten.dist of order {a.p} under __torch_dispatch__")
    y = a.y
    made = do("masked_fill_.Scalar", do("div.Tensor", do("sub.Tensor", a.self, a.other), y), do("eq.Scalar", y, 0), 0)
    return do("mul.Tensor", a.g, made)


def _both(a, root):
    """Of a variance or its root, and of the mean beside it."""
    spread, mean = a.gs
    made = None
    if spread is not None:
        if root:
            y = a.results[0]
            spread = do("div.Tensor", spread, do("mul.Scalar", y, 2))
            spread = do("masked_fill_.Scalar", spread, do("eq.Scalar", y, 0), 0)
        made = _var_back(a, spread)
    if mean is not None:
        n = _var(a)[0]
        mean = _unsqueezed(mean, _dims(a.dim, a.self.ndim), a.keepdim, a.self.ndim, a.dim)
        mean = do("div.Scalar", do("expand", mean, list(a.self.shape)), n)
        made = mean if made is None else do("add.Tensor", made, mean)
    return made


_add("linalg_vector_norm", "LinalgVectorNormBackward0", self=lambda a: norm_back(a, a.ord, a.y))
_add("norm.ScalarOpt_dim", "NormBackward1", self=lambda a: norm_back(a, a.p, a.y))
_add("dist", "DistBackward0", self=_distance, other=lambda a: _neg(_distance(a)))
_add("var_mean.correction", "VarMeanBackward0", self=lambda a: _both(a, False))


# -- traces, products of matrices and vectors -----------------------------------------------------------------------------------------
def _trace(a):
    rows, columns = a.self.shape
    zeros = do("zeros", [rows * columns], dtype=a.g.dtype, layout=a.g.layout, device=a.g.device)
    at = do("arange.start_step", 0, min(rows, columns) * (columns + 1), columns + 1, dtype=torch.int64, layout=a.g.layout, device=a.g.device)
    return do("view", do("index_fill.int_Tensor", zeros, 0, at, a.g), [rows, columns])


_add("trace", "TraceBackward0", self=_trace)
_add("addmv", "AddmvBackward0", self=lambda a: _maybe(a.g, a.beta),
     mat=lambda a: _maybe(do("mul.Tensor", do("view", a.g, [a.g.shape[0], 1]), a.vec), a.alpha),
     vec=lambda a: _maybe(do("mv", do("t", a.mat), a.g), a.alpha))


# -- running sums and products --------------------------------------------------------------------------------------------------------
def _from_the_end(x, dim, name):
    return do("flip", do(name, do("flip", x, [dim]), dim), [dim])


def _running_log(a):
    """Of the logarithm of a running sum of exponentials: of the positive parts of the cotangent and of the negative ones."""
    y, g, d = a.y, a.g, a.dim
    least = do("scalar_tensor", torch.finfo(g.dtype).min, dtype=g.dtype, layout=g.layout, device=g.device)
    logs, parts = do("log", do("abs", g)), []
    for sign in ("gt", "lt"):
        parts.append(do("where.self", do(f"{sign}.Scalar", g, 0), logs, least))
    made = []
    for part in parts:
        made.append(do("exp", do("add.Tensor", _from_the_end(do("sub.Tensor", part, y), d, "logcumsumexp"), a.self)))
    return do("sub.Tensor", *made)


_add("logcumsumexp", "LogcumsumexpBackward0", self=_running_log)


# -- Fourier transforms -----------------------------------------------------------------------------------------------------------------
def _real(x):
    return do("select.int", do("view_as_real", x), x.ndim, 0)


def _of_reals(a):
    g, d = a.g, a.dim[-1]
    if a.onesided and g.shape[d] != a.self.shape[d]:
        whole = do("new_zeros", g, [*g.shape[:d], a.self.shape[d], *g.shape[d + 1:]])
        do("copy_", do("slice.Tensor", whole, d, 0, g.shape[d]), g)
        g = whole
    return _real(do("_fft_c2c", g, a.dim, a.normalization, False))


def _to_reals(a):
    d = a.dim[-1]
    made = do("_fft_r2c", a.g, a.dim, a.normalization, True)
    twice = a.g.shape[d] - made.shape[d]
    if twice > 0:
        do("mul_.Scalar", do("slice.Tensor", made, d, 1, 1 + twice), 2)
    return made


_add("_conj", "ConjBackward0", self=lambda a: do("_conj", a.g) if a.g.is_complex() else a.g)
_add("_fft_r2c", "FftR2CBackward0", self=_of_reals)
_add("_fft_c2c", "FftC2CBackward0", self=lambda a: do("_fft_c2c", a.g, a.dim, a.normalization, not a.forward))
_add("_fft_c2r", "FftC2RBackward0", self=_to_reals)


# -- places, slopes -----------------------------------------------------------------------------------------------------------------------
def _scattered(a):
    if a.needs.get("source"):
        raise NotImplementedError("torchshim: the gradient of aten.masked_scatter to its source under __torch_dispatch__")
    return {"self": do("masked_fill.Scalar", a.g, a.mask, 0)}


def _unpooled(a):
    lead = list(a.self.shape[:-2])
    at = do("view", a.indices, [*lead, -1])
    g = a.g if a.g.is_contiguous() else do("clone", a.g, memory_format=torch.contiguous_format)
    return do("view", do("gather", do("view", g, [*lead, -1]), -1, at), list(a.self.shape))


def _prelu(a):
    return dict(zip(("self", "weight"), do("_prelu_kernel_backward", a.g, a.self, a.weight)))


def _prelu_back(g, self, weight):
    return (torch.where(self > 0, g, weight * g), torch.where(self > 0, torch.zeros_like(g), self * g))


_add("masked_scatter", "MaskedScatterBackward0", _scattered)
_add("max_unpool2d", "MaxUnpool2DBackward0", self=_unpooled)
_add("_prelu_kernel", "PreluKernelBackward0", _prelu)
_add("rrelu_with_noise", "RreluWithNoiseBackward0",
     self=lambda a: do("rrelu_with_noise_backward", a.g, a.self, a.noise, a.lower, a.upper, a.training, False))


def _rrelu_back(g, self, noise, lower, upper, training, is_result):
    if training:
        raise NotImplementedError("torchshim: the gradient of aten.rrelu_with_noise in training under __torch_dispatch__")
    return _pulled_back(lambda x: F.rrelu(x, lower, upper), g, (self,))[0]


KERNELS |= {"_prelu_kernel_backward": _prelu_back, "rrelu_with_noise_backward": _rrelu_back}
