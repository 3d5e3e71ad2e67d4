"""Batch norms with a ReLU, quantized."""
from ....quantized import BatchNorm2d, BatchNorm3d


class BNReLU2d(BatchNorm2d):
    """A batch norm and a ReLU."""
    _relu = "_relu"

    def _get_name(self):
        return "QuantizedBNReLU2d"


class BNReLU3d(BatchNorm3d):
    """A batch norm and a ReLU."""
    _relu = "_relu"

    def _get_name(self):
        return "QuantizedBNReLU3d"


__all__ = ["BNReLU2d", "BNReLU3d"]
