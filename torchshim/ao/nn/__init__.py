"""torch.ao.nn: of its parts there is `quantized`, with what models use before they are quantized."""
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("quantized",))
