"""Streams of some of the samples."""
from __future__ import annotations

from .._decorator import functional_datapipe
from ..dataframe import dataframe_wrapper as frames
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, called, picklable, validate_input_col

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples for which filter_fn, of them or of their columns `input_col`, is True; ValueError where it is no bool.

    Of a data frame the rows for which the column that filter_fn gives is true. Streams in samples that are left out are closed.
    """

    def __init__(self, datapipe, filter_fn, input_col=None):
        picklable(filter_fn)
        validate_input_col(filter_fn, input_col)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self):
        for data in self.datapipe:
            kept = called(self.filter_fn, data, self.input_col)
            if frames.is_column(kept):
                rows = [frames.get_item(data, k) for k, keep in enumerate(frames.iterate(kept)) if keep]
                kept, selected = bool(rows), frames.concat(rows) if rows else None
            elif not isinstance(kept, bool):
                raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(kept))
            else:
                selected = data
            if kept:
                yield selected
            else:
                StreamWrapper.close_streams(data)
