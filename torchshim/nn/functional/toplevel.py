"""The names of this family that `torch` itself has, with their own signatures (reductions are 0 none, 1 mean, 2 sum;
by default none, unlike in the operators' schemas: torch's binding does not read what these say)."""
from __future__ import annotations

from ...autograd.grad_mode import no_grad
from ...engine import context
from ...ops import promotion as P
from ...ops.nn import dropout as drop_ops
from ...ops.nn import embedding as embedding_ops
from ...ops.nn import norm as norm_ops
from ...ops.nn import resize as resize_ops
from ...ops.nn import softmax as softmax_ops
from ...ops.registry import SF, T
from ...tensor.api.bind import FUNCTIONS, NAMESPACES, call, function, make, type_name
from ...tensor.api.picking import in_range
from ...tensor.api.undefined import together
from ...tensor.core.dispatch import apply
from ...tensor.core.handle import TensorBase, tangent_of
from . import ctc, distances as distance, dropouts as D, embeddings as E, losses as L, norms as N
from .grouped import ScalingType, grouped_mm, scaled_mm

def _reduction(number):
    """What a number stands for: 1 the mean, 2 the sum, any other nothing."""
    return {1: "mean", 2: "sum"}.get(int(number), "none")


FUNCTIONS["rms_norm"] = N.rms_norm
for _name in ("softmax", "log_softmax"):
    NAMESPACES.setdefault("special", {})[_name] = make(_name, getattr(softmax_ops, _name), "input")


def _moments(x, dims, eps, weight, keepdim=False):
    """(mean, 1 / standard deviation) in the dtype of the weight, or of x, rounded once. Nothing has the mean 0."""
    made = FUNCTIONS["var_mean"](x.float() if P.compute_dtype(x._ts_meta.dtype) != x._ts_meta.dtype else x, dims, correction=0,
                                 keepdim=keepdim)
    to = (x if weight is None else weight).dtype
    return (made[1] if x.numel() else made[1].zero_()).to(to), (made[0] + eps).rsqrt().to(to)


def _sampler(dims):
    def f(input, grid, interpolation_mode, padding_mode, align_corners):
        if input.ndim != dims + 2:
            raise RuntimeError(f"grid_sampler_{dims}d(): expected {dims + 2}D input and grid with same number of dimensions, but got input "
                               f"with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}")
        return call(resize_ops.grid_sampler, (input, grid, interpolation_mode, padding_mode, align_corners))
    f.__doc__ = f"grid_sample of {dims} dimensions, with the modes as numbers."
    return function(f"grid_sampler_{dims}d", method=False)(f)


grid_sampler_2d, grid_sampler_3d = _sampler(2), _sampler(3)


@function(method=False)
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    """As nn.functional.layer_norm."""
    return N.layer_norm(input, normalized_shape, weight, bias, eps)


@function(method=False)
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """nn.functional.group_norm, which refuses groups of one number besides."""
    return call(norm_ops.group_norm, (input, num_groups, weight, bias, float(eps)))


@function(method=False)
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """As nn.functional.batch_norm."""
    return N._by_channels(input, running_mean, running_var, weight, bias, training, momentum, eps)


@function(method=False)
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """As nn.functional.instance_norm."""
    return N.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@function(method=False)
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """weight[indices]; see nn.functional.embedding."""
    known = 0 <= padding_idx < (weight.shape[0] if weight.ndim else 0)         # another row is none here
    return E.embedding(indices, weight, padding_idx if known else None, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


@function(method=False)
def embedding_renorm_(input, indices, max_norm, norm_type):
    """Scale down, in place, the rows that `indices` name and that are longer than max_norm."""
    if "forward AD" in context.modes and tangent_of(input) is not None:
        raise NotImplementedError("Trying to use forward AD with embedding_renorm_ that does not support it because it has not been "
                                  "implemented yet.")
    d = input._ts_meta.dtype
    if P.kind_of(d) < 2:
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {P.c_name(d)} instead.")
    if not isinstance(indices, TensorBase):
        raise TypeError(f"embedding_renorm_(): argument 'indices' (position 2) must be Tensor, not {type_name(indices)}")
    if indices._ts_meta.dtype.kind == "i":
        shape = list(input.shape)
        in_range(indices, -shape[0], shape[0], lambda i: IndexError(f"select(): index {i} out of range for tensor of size {shape} at dimension 0"))
    return input.copy_(call(embedding_ops.renormed_rows, (input, indices, float(max_norm), float(norm_type))))


@function(method=False)
def dropout(input, p, train):
    """As nn.functional.dropout."""
    D.probability(p)
    return D.dropout(input, p, train)


@function(method=False)
def dropout_(input, p, train):
    """In-place dropout."""
    D.probability(p)
    return D.dropout(input, p, train, inplace=True)


@function(method=False)
def alpha_dropout(input, p, train):
    """As nn.functional.alpha_dropout."""
    D.probability(p)
    return D.alpha_dropout(input, p, train)


@function(method=False)
def alpha_dropout_(input, p, train):
    """In-place alpha_dropout."""
    D.probability(p)
    return D.alpha_dropout(input, p, train, True)


@function(method=False)
def feature_dropout(input, p, train):
    """Dropout of whole channels."""
    D.probability(p)
    return D.whole_channels(input, p, train)


@function(method=False)
def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None):
    """(nn.functional.embedding_bag, the bag of each index, the sizes of the bags, for a maximum the rows that it comes from, else the
    sizes).

    mode: 0 sum, 1 mean, 2 maximum. As in torch a sum without padding_idx does not count: its second result is empty, the others zeros."""
    out = E.embedding_bag(indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq, mode=("sum", "mean", "max")[mode], sparse=sparse,
                          per_sample_weights=per_sample_weights, include_last_offset=include_last_offset, padding_idx=padding_idx)
    return (out, *E.bags(weight, indices, offsets, mode, include_last_offset, padding_idx))


@function(method=False)
def _grouped_mm(self, mat2, offs=None, bias=None, out_dtype=None):
    """As nn.functional.grouped_mm."""
    return grouped_mm(self, mat2, offs=offs, bias=bias, out_dtype=out_dtype)


@function(method=False)
def _scaled_mm(self, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    """As nn.functional.scaled_mm, with scales of one element for all or of one for each row of self and column of mat2."""
    for t in (self, mat2):
        if t.dim() != 2:
            raise RuntimeError(f"mat{1 if t is self else 2} must be a matrix")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})".format(*self.shape, *mat2.shape))
    kinds = [ScalingType.TensorWise if s.numel() == 1 else ScalingType.RowWise for s in (scale_a, scale_b)]
    return scaled_mm(self, mat2, scale_a, kinds[0], scale_b, kinds[1], bias=bias, output_dtype=out_dtype or self.dtype)


@function(method=False)
def feature_dropout_(input, p, train):
    """In-place feature_dropout."""
    D.probability(p)
    return D.whole_channels(input, p, train, True)


@function(method=False)
def feature_alpha_dropout(input, p, train):
    """As nn.functional.feature_alpha_dropout."""
    D.probability(p)
    return D.feature_alpha_dropout(input, p, train)


@function(method=False)
def feature_alpha_dropout_(input, p, train):
    """In-place feature_alpha_dropout."""
    D.probability(p)
    return D.feature_alpha_dropout(input, p, train, True)


@function(method=False)
def native_dropout(input, p, train):
    """(dropout of input, the mask of what was kept)."""
    if not input._ts_meta.numel:
        return input.clone(), FUNCTIONS["empty_like"](input.detach())
    if train is False:
        from ...tensor.api.creation import ones_like
        return input.clone(), ones_like(input.detach(), dtype=FUNCTIONS["tensor"](True).dtype)
    keep = D.kept(input._ts_meta.shape, p, input)
    return apply(drop_ops.native_dropout, (input, keep), (T, T, SF), (float(p),), "f"), keep


@function(method=False)
def kl_div(input, target, reduction=0, *, log_target=False):
    """As nn.functional.kl_div."""
    if input.is_complex() or target.is_complex():
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    return call(L.ops.kl_div, (input, target, _reduction(reduction), log_target))


@function(method=False)
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """As nn.functional.binary_cross_entropy_with_logits."""
    return L.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=_reduction(reduction))


@function(method=False)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """As nn.functional.ctc_loss."""
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)


@function(method=False)
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """As nn.functional.poisson_nll_loss."""
    return L.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_reduction(reduction))


@function(method=False)
def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """As nn.functional.hinge_embedding_loss."""
    return distance.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


@function(method=False)
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """As nn.functional.margin_ranking_loss."""
    return distance.ranking_loss(input1, input2, target, margin, _reduction(reduction))


@function(method=False)
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """As nn.functional.cosine_embedding_loss."""
    return distance.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


@function(method=False)
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, reduction=0):
    """As nn.functional.triplet_margin_loss."""
    return distance.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))


# -- norms with the statistics that they used ------------------------------------------------------------------------------------------
@function(method=False)
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """(layer_norm, mean, 1 / standard deviation)."""
    out = N.layer_norm(input, normalized_shape, weight, bias, eps)
    return out, *_moments(input.detach(), tuple(range(-len(normalized_shape), 0)), eps, weight, True)


@function(method=False)
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """(group_norm, mean, 1 / standard deviation), the last two for each of the N x group groups."""
    out = group_norm(input, group, weight, bias, eps)
    return out, *together(_moments(input.reshape(N, group, C // group * HxW), 2, eps, weight), "NativeGroupNormBackward0")


@function(method=False, out=True)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """(batch_norm, mean, 1 / standard deviation) of the batch; the last two are empty when the running statistics are used."""
    if training and not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    out = N._by_channels(input, running_mean, running_var, weight, bias, training, momentum, eps)
    x = input.detach()
    if not training:
        x = x if weight is None else weight.detach()
        return out, x.new_empty(0), x.new_empty(0)
    return out, *_moments(x, [d for d in range(x.ndim) if d != 1], eps, weight)


@function(method=False)
def batch_norm_update_stats(input, running_mean, running_var, momentum):
    """(mean, variance) of each channel; the running ones, where there are any, move towards them, in place."""
    with no_grad():
        dims = [d for d in range(input.ndim) if d != 1]
        var, mean = FUNCTIONS["var_mean"](input, dims, correction=0)
        n = input.numel() // max(input.shape[1], 1)
        for running, new in ((running_mean, mean), (running_var, var * n / max(n - 1, 1))):
            if running is not None:
                running.copy_(momentum * new + (1 - momentum) * running)
    return mean, var
