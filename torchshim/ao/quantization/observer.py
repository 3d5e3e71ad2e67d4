"""torch.ao.quantization.observer: names for configurations; making an observer raises NotImplementedError."""
from __future__ import annotations

import functools

from ...dropin import missing_attribute as _missing_attribute
from . import ObserverBase


class _Partial:
    """A class with some of its arguments: called, it makes an instance."""

    def __init__(self, made):
        self.p = made

    def with_args(self, **kwargs):
        """The same with more of them."""
        return _Partial(functools.partial(self.p, **kwargs))

    def __call__(self, *args, **kwargs):
        return self.p(*args, **kwargs)

    def __repr__(self):
        return self.p.__repr__()


def _observer(name):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.ao.quantization.observer.{name}; there are no quantized tensors")
    return type(name, (ObserverBase,), {"__init__": __init__, "__module__": __name__, "__doc__": "NotImplementedError.", "with_args": classmethod(
        lambda cls, **kwargs: _Partial(functools.partial(cls, **kwargs)))})


(HistogramObserver, MinMaxObserver, MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver, NoopObserver, PerChannelMinMaxObserver,
 PlaceholderObserver) = map(_observer, (
     "HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "NoopObserver",
     "PerChannelMinMaxObserver", "PlaceholderObserver"))
__getattr__ = _missing_attribute(__name__)
