"""torch.ao.quantization.quant_type: when scales are chosen."""
import enum


class QuantType(enum.IntEnum):
    """When the scales of activations are chosen: for each one anew, beforehand, in training, never."""
    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3


def _get_quant_type_to_str(quant_type):
    """"dynamic", "static", "qat" or "weight_only"."""
    return quant_type.name.lower()


def _quant_type_from_str(name):
    """The QuantType of such a name; ValueError for any other."""
    for quant_type in QuantType:
        if quant_type.name.lower() == name:
            return quant_type
    raise ValueError(f"Unknown QuantType name '{name}'")


__all__ = ["QuantType"]
