"""torch.nn.functional: everything by its torch name."""
from ...dropin import missing_attribute as _missing_attribute
from ...tensor.api import docs as _docs
from ...tensor.api.bind import FUNCTIONS as _FUNCTIONS, NAMESPACES as _NAMESPACES
from . import activations as _activations
from .annotations import annotate as _annotate
from .attention import scaled_dot_product_attention
from .conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from .ctc import ctc_loss
from .distances import (cosine_embedding_loss, cosine_similarity, hinge_embedding_loss, margin_ranking_loss, multi_margin_loss,
                       multilabel_margin_loss, multilabel_soft_margin_loss, pairwise_distance, triplet_margin_loss,
                       triplet_margin_with_distance_loss)
from .dropouts import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from .embeddings import embedding, embedding_bag, one_hot
from .. import _reduction as _Reduction
from .grouped import ScalingType, SwizzleType, grouped_mm, scaled_grouped_mm, scaled_mm
from .linear_loss import linear_cross_entropy
from .losses import (binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy, gaussian_nll_loss, huber_loss, kl_div,
                   l1_loss, mse_loss, nll_loss, poisson_nll_loss, smooth_l1_loss, soft_margin_loss)
from .multihead import (_in_projection, _in_projection_packed, _mha_shape_check, canonical_mask as _canonical_mask,
                        multi_head_attention_forward, none_or_dtype as _none_or_dtype)
from .norms import batch_norm, group_norm, instance_norm, layer_norm, local_response_norm, normalize, rms_norm
from .padding import pad
from .pooling import (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d,
                      adaptive_max_pool1d_with_indices, adaptive_max_pool2d, adaptive_max_pool2d_with_indices, adaptive_max_pool3d,
                      adaptive_max_pool3d_with_indices, avg_pool1d, fractional_max_pool2d,
                      fractional_max_pool2d_with_indices, fractional_max_pool3d, fractional_max_pool3d_with_indices, lp_pool1d,
                      lp_pool2d, lp_pool3d, max_pool1d, max_pool1d_with_indices, max_pool2d, max_pool2d_with_indices, max_pool3d,
                      max_pool3d_with_indices, max_unpool1d, max_unpool2d, max_unpool3d)
from .resizing import affine_grid, fold, grid_sample, interpolate, unfold, upsample, upsample_bilinear, upsample_nearest
from .softmaxes import _get_softmax_dim, gumbel_softmax, log_softmax, softmax, softmin

from .signatures import NAMES as _names, guarded as _guarded

globals().update(_NAMESPACES.get("nn.functional", {}))
globals().update({_name: _guarded(_name, globals()[_name]) for _name in _names})
# bindings that torch has under both names: dispatch tables are keyed by the function
for _name in ("adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d "
              "conv_transpose2d conv_transpose3d cosine_similarity hardshrink native_channel_shuffle pairwise_distance pdist pixel_shuffle "
              "pixel_unshuffle prelu relu_ selu_ threshold_").split():
    _FUNCTIONS[_name] = globals()[_name]
    globals()[_name].__module__ = "torchshim"
_docs.complete({"torch.nn.functional.": globals()})
_annotate([f for _name, f in globals().items() if _name[0] != "_"])
_missing = _missing_attribute(__name__)


def __getattr__(name):
    if name == "grad":
        from .. import grad
        return grad
    if name in ("handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
        from ... import overrides
        return getattr(overrides, name)
    return _missing(name)
