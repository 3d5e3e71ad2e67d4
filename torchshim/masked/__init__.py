"""torch.masked: reductions and normalizations over the elements where a mask is true."""
from ..dropin import missing_attribute as _missing_attribute
from .ops import (amax, amin, argmax, argmin, cumprod, cumsum, log_softmax, logaddexp, logsumexp, mean, median, norm, normalize, prod,
                  softmax, softmin, std, sum, var)

__all__ = ["amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor", "log_softmax", "logaddexp",
           "logsumexp", "masked_tensor", "MaskedTensor", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
           "var"]


class MaskedTensor:
    """Not implemented: a tensor with its own mask."""
    __unimplemented__ = True

    def __init__(self, data, mask, requires_grad=False):
        raise NotImplementedError("torchshim: torch.masked.MaskedTensor")


def masked_tensor(data, mask, requires_grad=False):
    """Not implemented: a MaskedTensor."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data, mask):
    """Not implemented: a MaskedTensor."""
    return MaskedTensor(data, mask)


masked_tensor.__unimplemented__ = as_masked_tensor.__unimplemented__ = True


def is_masked_tensor(obj, /):
    """Whether obj is a MaskedTensor: there are none."""
    return isinstance(obj, MaskedTensor)


__getattr__ = _missing_attribute(__name__)
