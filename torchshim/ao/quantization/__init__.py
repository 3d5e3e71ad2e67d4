"""torch.ao.quantization: the stubs that mark where a model would be quantized. Quantizing raises NotImplementedError."""
from abc import ABC

from ...dropin import missing_attribute as _missing_attribute
from ...nn import Module


class _Stub(Module):
    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class QuantStub(_Stub):
    """Marks where values would become quantized: gives back its argument. qconfig: kept as an attribute."""


class DeQuantStub(_Stub):
    """Marks where values would cease to be quantized: gives back its argument. qconfig: kept as an attribute."""


class ObserverBase(ABC, Module):
    """Base class of modules that watch values to choose a quantization; nothing here is one."""


class FakeQuantizeBase(ABC, Module):
    """Base class of modules that round values as a quantization would; nothing here is one."""


def _no_quantization(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.ao.quantization.{name}; there are no quantized tensors")
    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = "NotImplementedError: there are no quantized tensors."
    return missing


(convert, fuse_modules, fuse_modules_qat, get_default_qat_qconfig, get_default_qconfig, prepare, prepare_qat, quantize,
 quantize_dynamic, quantize_qat) = map(_no_quantization, (
    "convert", "fuse_modules", "fuse_modules_qat", "get_default_qat_qconfig", "get_default_qconfig", "prepare", "prepare_qat", "quantize",
    "quantize_dynamic", "quantize_qat"))

_OBSERVERS = """HistogramObserver MinMaxObserver MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver NoopObserver
    PerChannelMinMaxObserver PlaceholderObserver""".split()
__getattr__ = _missing_attribute(__name__, lazy=("observer", "qconfig"), elsewhere={**dict.fromkeys(_OBSERVERS, "observer"), "QConfig": "qconfig"})
