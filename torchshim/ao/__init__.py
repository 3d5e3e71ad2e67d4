"""torch.ao: of its parts there is `quantization`, so far as models that could be quantized are built and run."""
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("quantization", "nn"))
