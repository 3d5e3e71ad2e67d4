"""torch.ao: quantization of models, and the modules of quantized ones."""
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("nn", "quantization"))
