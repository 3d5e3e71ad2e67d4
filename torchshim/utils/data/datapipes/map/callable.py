"""What a function makes of each sample."""
from __future__ import annotations

from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe
from ..utils.common import picklable

__all__ = ["MapperMapDataPipe", "default_fn"]


def default_fn(data):
    """The sample itself."""
    return data


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """fn of each sample."""

    def __init__(self, datapipe, fn=default_fn):
        picklable(fn)
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index):
        return self.fn(self.datapipe[index])

    def __len__(self):
        return len(self.datapipe)
