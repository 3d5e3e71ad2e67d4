"""torch.masked.maskedtensor: the parts of masked tensors, in torch's files."""
from ...dropin import missing_attribute as _missing_attribute
from ..tensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

__getattr__ = _missing_attribute(__name__, lazy=("binary", "core", "creation", "passthrough", "reductions", "unary"))
