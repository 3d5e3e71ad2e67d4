"""Pipes made of several."""
from __future__ import annotations

from collections.abc import Sized

from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]


class _Several(MapDataPipe):
    def __init__(self, *datapipes):
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all([isinstance(d, MapDataPipe) for d in datapipes]):
            raise TypeError("Expected all inputs to be `MapDataPipe`")
        if not all([isinstance(d, Sized) for d in datapipes]):
            raise TypeError("Expected all inputs to be `Sized`")
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(_Several):
    """Pipes one after the other, numbered from 0."""

    def __getitem__(self, index):
        start = 0
        for pipe in self.datapipes:
            if index - start < len(pipe):
                return pipe[index - start]
            start += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self):
        return sum([len(d) for d in self.datapipes])


@functional_datapipe("zip")
class ZipperMapDataPipe(_Several):
    """Tuples of the samples that several pipes have at a place."""

    def __getitem__(self, index):
        samples = []
        for pipe in self.datapipes:
            try:
                samples.append(pipe[index])
            except IndexError as e:
                raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes {pipe}.") from e
        return tuple(samples)

    def __len__(self):
        return min([len(d) for d in self.datapipes])
