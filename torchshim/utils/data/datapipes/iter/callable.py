"""Streams of what a function makes of each sample."""
from __future__ import annotations

import collections
import functools

from ..._utils.collate import default_collate
from .._decorator import functional_datapipe
from ..dataframe import dataframe_wrapper as frames
from ..datapipe import IterDataPipe
from ..utils.common import called, length, picklable, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """fn of each sample, or of its columns `input_col`; put in their place, or in column `output_col` (-1: appended).

    ValueError where fn does not take as many arguments as there are columns.
    """

    def __init__(self, datapipe, fn, input_col=None, output_col=None):
        picklable(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        validate_input_col(fn, input_col)
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col

    def __iter__(self):
        for data in self.datapipe:
            yield self._mapped(data)

    def _mapped(self, data):
        result = called(self.fn, data, self.input_col)
        if self.input_col is None:
            return result
        row = list(data) if isinstance(data, tuple) else data
        if self.output_col == -1:
            row.append(result)
        elif self.output_col is not None:
            row[self.output_col] = result
        elif isinstance(self.input_col, (list, tuple)):
            row[self.input_col[0]] = result
            for column in sorted(self.input_col[1:], reverse=True):
                del row[column]
        else:
            row[self.input_col] = result
        return tuple(row) if isinstance(data, tuple) else row

    def __len__(self):
        return length(self, self.datapipe)


def _columns(conversion, batch):
    """The columns of a batch that holds one data frame, each as its function in `conversion` gives it."""
    if len(batch.items) > 1:
        raise RuntimeError("Only supports one DataFrame per batch")
    frame = next(iter(batch.items))
    names = frames.get_columns(frame)
    if any([name not in names for name in conversion]):
        raise RuntimeError("Conversion keys mismatch")
    values = []
    for name in names:
        if name not in conversion:             # PyTorch asks torcharrow for a function there, which is no more
            raise RuntimeError("unable to import default collation function from the TorchArrow")
        if not callable(conversion[name]):
            raise RuntimeError("Collate (DF)DataPipe requires callable as dict values")
        values.append(conversion[name](frame[name]))
    return collections.namedtuple("CollateResult", map(str, names))(*values)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches as tensors: `collate_fn`, or `conversion`, of each sample; for a dict,
    of each column of a data frame the function of its name."""

    def __init__(self, datapipe, conversion=default_collate, collate_fn=None):
        if collate_fn is None:
            collate_fn = conversion if callable(conversion) else functools.partial(_columns, conversion)
        super().__init__(datapipe, fn=collate_fn)
