"""torch.ao.quantization.stubs: marks where numbers become quantized and cease to be."""
from torchshim.nn import Module


class _Stub(Module):
    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class QuantStub(_Stub):
    """Where numbers become quantized: gives back its argument until it is converted. qconfig: kept as an attribute."""


class DeQuantStub(_Stub):
    """Where numbers cease to be quantized: gives back its argument until it is converted. qconfig: kept as an attribute."""


class QuantWrapper(Module):
    """A module between a QuantStub and a DeQuantStub."""

    def __init__(self, module):
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X):
        return self.dequant(self.module(self.quant(X)))


__all__ = ["QuantStub", "DeQuantStub", "QuantWrapper"]
