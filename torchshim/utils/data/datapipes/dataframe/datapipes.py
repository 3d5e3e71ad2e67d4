"""Streams of data frames."""
from __future__ import annotations

import random

from .._decorator import functional_datapipe
from ..datapipe import DFIterDataPipe, IterDataPipe
from . import dataframe_wrapper as frames

__all__ = ["ConcatDataFramesPipe", "DataFramesAsTuplesPipe", "ExampleAggregateAsDataFrames", "FilterDataFramesPipe", "PerRowDataFramesPipe",
           "ShuffleDataFramesPipe"]


def _chunks(items, size):
    """Lists of `size` of them; the last is shorter. No size: one list of all."""
    chunk = []
    for x in items:
        chunk.append(x)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


@functional_datapipe("_dataframes_as_tuples")
class DataFramesAsTuplesPipe(IterDataPipe):
    """The rows of frames."""

    def __init__(self, source_datapipe):
        self.source_datapipe = source_datapipe

    def __iter__(self):
        for frame in self.source_datapipe:
            yield from frames.iterate(frame)


@functional_datapipe("_dataframes_per_row", enable_df_api_tracing=True)
class PerRowDataFramesPipe(DFIterDataPipe):
    """Frames of one row each."""

    def __init__(self, source_datapipe):
        self.source_datapipe = source_datapipe

    def __iter__(self):
        for frame in self.source_datapipe:
            for k in range(len(frame)):
                yield frame[k:k + 1]


@functional_datapipe("_dataframes_concat", enable_df_api_tracing=True)
class ConcatDataFramesPipe(DFIterDataPipe):
    """`batch` frames below one another."""

    def __init__(self, source_datapipe, batch=3):
        self.source_datapipe, self.n_batch = source_datapipe, batch

    def __iter__(self):
        for chunk in _chunks(self.source_datapipe, self.n_batch):
            yield frames.concat(chunk)


@functional_datapipe("_dataframes_shuffle", enable_df_api_tracing=True)
class ShuffleDataFramesPipe(DFIterDataPipe):
    """The rows of all frames in an order that Python's `random` draws, in frames as long as the first."""

    def __init__(self, source_datapipe):
        self.source_datapipe = source_datapipe

    def __iter__(self):
        size, rows = None, []
        for frame in self.source_datapipe:
            n = frames.get_len(frame)
            size = n if size is None else size
            rows += [frames.get_item(frame, k) for k in range(n)]
        random.shuffle(rows)
        for chunk in _chunks(rows, size):
            yield frames.concat(chunk)


@functional_datapipe("_dataframes_filter", enable_df_api_tracing=True)
class FilterDataFramesPipe(DFIterDataPipe):
    """The rows for which filter_fn is true, in frames as long as the first."""

    def __init__(self, source_datapipe, filter_fn):
        self.source_datapipe, self.filter_fn = source_datapipe, filter_fn

    def __iter__(self):
        size, rows = None, []
        for frame in self.source_datapipe:
            n = len(frame.index)
            size = n if size is None else size
            rows += [frame[k:k + 1] for k in range(n) if self.filter_fn(frame.iloc[k])]
        for chunk in _chunks(rows, size):
            yield frames.concat(chunk)


@functional_datapipe("_to_dataframes_pipe", enable_df_api_tracing=True)
class ExampleAggregateAsDataFrames(DFIterDataPipe):
    """Frames of `dataframe_size` samples, each a row."""

    def __init__(self, source_datapipe, dataframe_size=10, columns=None):
        self.source_datapipe, self.columns, self.dataframe_size = source_datapipe, columns, dataframe_size

    def __iter__(self):
        for chunk in _chunks(map(_row, self.source_datapipe), self.dataframe_size):
            yield frames.create_dataframe(chunk, columns=self.columns)


def _row(item):
    try:
        return list(item)
    except Exception:
        return [item]
