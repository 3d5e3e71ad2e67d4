"""Batches of data frames."""
from __future__ import annotations

from ..datapipe import DataChunk
from . import dataframe_wrapper as frames

__all__ = ["DataChunkDF"]


class DataChunkDF(DataChunk):
    """A batch of frames: their rows."""

    def __iter__(self):
        for frame in self.items:
            yield from frames.iterate(frame)

    def __len__(self):
        return sum([frames.get_len(frame) for frame in self.items])
