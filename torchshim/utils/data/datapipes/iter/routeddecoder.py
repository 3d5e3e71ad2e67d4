"""A stream of files as what their names say they hold."""
from __future__ import annotations

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import _deprecation_warning, length
from ..utils.decoder import Decoder, basichandlers, extension_extract_fn, imagehandler

__all__ = ["RoutedDecoderIterDataPipe"]


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe):
    """Pairs of a path and its file's content, decoded by the first of `handlers` that does not return None. Deprecated, as in PyTorch.

    handlers: functions of (what key_fn makes of the path, the bytes); texts, numbers, json, pickles and images by default. Pickles run
    code.
    """

    def __init__(self, datapipe, *handlers, key_fn=extension_extract_fn):
        self.datapipe = datapipe
        self.decoder = Decoder(*(handlers or (basichandlers, imagehandler("torch"))), key_fn=key_fn)
        _deprecation_warning(type(self).__name__, deprecation_version="1.12", removal_version="1.13", old_functional_name="routed_decode")

    def add_handler(self, *handler):
        """Ask these first."""
        self.decoder.add_handler(*handler)

    def __iter__(self):
        for data in self.datapipe:
            yield data[0], self.decoder(data)[data[0]]

    def __len__(self):
        return length(self, self.datapipe)
