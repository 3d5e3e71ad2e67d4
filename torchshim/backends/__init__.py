"""torch.backends: the libraries that PyTorch computes with. Here XLA and NumPy compute; switches are kept and read back."""
from ..dropin import missing_attribute as _missing_attribute
from . import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized

fp32_precision = "none"

__getattr__ = _missing_attribute(__name__)
