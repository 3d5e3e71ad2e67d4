"""torch.onnx.symbolic_opset11: importable, for modules that define exports of their own; there is no exporter that would call them."""
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__)
