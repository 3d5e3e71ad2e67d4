"""torch.masked.maskedtensor.creation: what makes one."""
from ..tensor import as_masked_tensor, masked_tensor

__all__ = ["as_masked_tensor", "masked_tensor"]
