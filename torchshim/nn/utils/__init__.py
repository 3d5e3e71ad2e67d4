"""torch.nn.utils: what is done to many parameters at once."""
from ...dropin import missing_attribute as _missing_attribute
from ...tensor.api import docs as _docs
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from . import rnn, stateless
from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from .init import skip_init
from .memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

_docs.complete({"torch.nn.utils.": globals()})
__getattr__ = _missing_attribute(__name__, lazy=("_named_member_accessor", "parametrizations", "parametrize", "prune"))
