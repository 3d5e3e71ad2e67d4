"""Streams of lists of samples, and of what such lists hold."""
from __future__ import annotations

import collections

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe
from ..utils.common import length, picklable

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe):
    """Lists of `batch_size` samples, made by `wrapper_class`; the last is shorter, or left out with drop_last."""

    def __init__(self, datapipe, batch_size, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __iter__(self):
        batch = []
        for x in self.datapipe:
            batch.append(x)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self):
        n = length(self, self.datapipe)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The elements of lists, `unbatch_level` deep (-1: all the way)."""

    def __init__(self, datapipe, unbatch_level=1):
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self):
        for element in self.datapipe:
            yield from self._flat(element, self.unbatch_level)

    def _flat(self, element, level):
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if level == 0 or level == -1 and not isinstance(element, (list, DataChunk)):
            yield element
        elif not isinstance(element, (list, DataChunk)):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        else:
            for item in element:
                yield from self._flat(item, level if level == -1 else level - 1)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Lists of samples for which group_key_fn is the same.

    A list is given when it has `group_size` samples; when `buffer_size` samples wait, the longest is given as it is, unless it has fewer
    than `guaranteed_group_size`: then it is dropped (drop_remaining) or RuntimeError is raised. What is left at the end is given.
    keep_key: pairs of the key and the list (of a list given because the buffer was full, the key of the sample that came last, as in
    PyTorch).
    """

    def __init__(self, datapipe, group_key_fn, *, keep_key=False, buffer_size=10000, group_size=None, guaranteed_group_size=None,
                 drop_remaining=False):
        picklable(group_key_fn)
        self.datapipe, self.group_key_fn, self.keep_key, self.max_buffer_size = datapipe, group_key_fn, keep_key, buffer_size
        self.buffer_elements, self.curr_buffer_size = collections.defaultdict(list), 0
        self.group_size, self.guaranteed_group_size = group_size, None
        if group_size is not None and buffer_size is not None:
            if not 0 < group_size <= buffer_size:
                raise AssertionError("group_size must be > 0 and <= buffer_size")
            self.guaranteed_group_size = group_size
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
            self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining, self.wrapper_class = drop_remaining, DataChunk

    def _remove_biggest_key(self):
        """Take the longest list out (the first of equals); None if it is too short to be given."""
        key = max(self.buffer_elements, key=lambda k: len(self.buffer_elements[k]))
        found, least = self.buffer_elements[key], self.guaranteed_group_size
        if least is not None and len(found) < least and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(found))
        self.curr_buffer_size -= len(found)
        del self.buffer_elements[key]
        return found if least is None or len(found) >= least else None

    def _given(self, key, samples):
        chunk = self.wrapper_class(samples)
        return (key, chunk) if self.keep_key else chunk

    def __iter__(self):
        waiting = self.buffer_elements
        for x in self.datapipe:
            key = self.group_key_fn(x)
            waiting[key].append(x)
            self.curr_buffer_size += 1
            if self.group_size is not None and self.group_size == len(waiting[key]):
                yield self._given(key, waiting[key])
                self.curr_buffer_size -= len(waiting[key])
                del waiting[key]
            if self.curr_buffer_size == self.max_buffer_size:
                found = self._remove_biggest_key()
                if found is not None:
                    yield self._given(key, found)
        for key in tuple(waiting):
            samples = waiting.pop(key)
            self.curr_buffer_size -= len(samples)
            yield self._given(key, samples)

    def reset(self):
        """Forget what waits."""
        self.curr_buffer_size, self.buffer_elements = 0, collections.defaultdict(list)
