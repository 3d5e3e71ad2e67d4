"""torch.signal.windows: windows with `sym`, as SciPy has them."""
from ...dropin import missing_attribute as _missing_attribute
from .windows import (bartlett, blackman, cosine, exponential, gaussian, general_cosine, general_hamming, hamming, hann, kaiser,
                      nuttall)

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser",
           "nuttall"]
__getattr__ = _missing_attribute(__name__)
