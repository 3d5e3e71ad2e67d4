"""torch.fft: discrete Fourier transforms; see `torchshim.tensor.api.fft`."""
from ..dropin import missing_attribute as _missing_attribute
from ..tensor.api import fft as _fft
from ..tensor.api.bind import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["fft"])
__all__ = sorted(_NAMESPACES["fft"])
__getattr__ = _missing_attribute(__name__)
