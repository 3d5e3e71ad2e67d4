"""torch.utils.data.datapipes.map: pipes that are asked for samples by number. Batching and shuffling by number are missing."""
from __future__ import annotations

import copy
import warnings

from ....dropin import missing_attribute as _missing_attribute
from .datapipe import MapDataPipe, functional_datapipe
from .iter import picklable

__all__ = ["Mapper", "SequenceWrapper"]


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The elements of a sequence or mapping; of a copy of it unless `deepcopy` is False."""

    def __init__(self, sequence, deepcopy=True):
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn("The input sequence can not be deepcopied, please be aware of in-place modification would affect source data",
                              stacklevel=2)

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self):
        return len(self.sequence)


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """fn of each sample."""

    def __init__(self, datapipe, fn=lambda x: x):
        picklable(fn)
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index):
        return self.fn(self.datapipe[index])

    def __len__(self):
        return len(self.datapipe)


SequenceWrapper, Mapper = SequenceWrapperMapDataPipe, MapperMapDataPipe
__getattr__ = _missing_attribute(__name__)
