"""torch.ao.quantization.qconfig: which observers a model would be quantized with."""
from collections import namedtuple

from ...dropin import missing_attribute as _missing_attribute


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """How activations and weights would be observed: two factories of observers."""
    __slots__ = ()

    def __new__(cls, activation, weight):
        from ...nn import Module
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError("QConfig received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) to override "
                             "arguments to constructor if needed")
        return super().__new__(cls, activation, weight)


__getattr__ = _missing_attribute(__name__)
