"""torch.masked.maskedtensor.core: the class."""
from ..tensor import MaskedTensor, is_masked_tensor        # noqa: F401

__all__ = ["MaskedTensor", "is_masked_tensor"]
