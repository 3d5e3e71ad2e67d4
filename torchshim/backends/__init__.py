"""torch.backends: the libraries that PyTorch computes with. Here XLA and NumPy compute; switches are kept and read back."""
import sys as _sys

from ..dropin import missing_attribute as _missing_attribute
from . import cpu, cuda, cudnn, cusparselt, mha, miopen, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized
from .frozen import Backends as _Backends, allow_nonbracketed_mutation as __allow_nonbracketed_mutation, disable_global_flags, flags_frozen

fp32_precision = "none"
_SWITCHES = ("fp32_precision",)
_sys.modules[__name__].__class__ = _Backends

__getattr__ = _missing_attribute(__name__, lazy=("xeon",))
