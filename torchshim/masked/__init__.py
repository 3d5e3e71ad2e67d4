"""torch.masked: reductions and normalizations over the elements where a mask is true."""
from ..dropin import missing_attribute as _missing_attribute
from ._ops import (amax, amin, argmax, argmin, cumprod, cumsum, log_softmax, logaddexp, logsumexp, mean, median, norm, normalize, prod,
                   softmax, softmin, std, sum, var)
from .tensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

__all__ = ["amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor", "log_softmax", "logaddexp",
           "logsumexp", "masked_tensor", "MaskedTensor", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
           "var"]


__getattr__ = _missing_attribute(__name__, lazy=("maskedtensor",))
