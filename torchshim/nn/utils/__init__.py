"""torch.nn.utils: what is done to many parameters at once."""
from ...dropin import missing_attribute as _missing_attribute
from ...tensor.api import docs as _docs
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from . import rnn, stateless
from .init import skip_init

_docs.complete({"torch.nn.utils.": globals()})
__getattr__ = _missing_attribute(__name__)
