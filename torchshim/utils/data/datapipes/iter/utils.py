"""A stream of what an iterable holds."""
from __future__ import annotations

import copy
import warnings

from ..datapipe import IterDataPipe
from ..utils.common import length

__all__ = ["IterableWrapperIterDataPipe"]


class IterableWrapperIterDataPipe(IterDataPipe):
    """The elements of an iterable; of a copy of it for each pass unless `deepcopy` is False."""

    def __init__(self, iterable, deepcopy=True):
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self):
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warnings.warn("The input iterable can not be deepcopied, please be aware of in-place modification would affect source "
                              "data.", stacklevel=2)
        yield from source

    def __len__(self):
        return length(self, self.iterable)
