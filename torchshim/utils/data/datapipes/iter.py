"""torch.utils.data.datapipes.iter: pipes that are streams. File readers and pipes with several outlets are missing."""
from __future__ import annotations

import copy
import functools
import random
import warnings
from collections.abc import Sized

from ....dropin import missing_attribute as _missing_attribute
from .._utils.collate import default_collate
from ..sampler import drawn_seed
from .datapipe import DataChunk, IterDataPipe, functional_datapipe

__all__ = ["Batcher", "Collator", "Concater", "Filter", "IterableWrapper", "Mapper", "ShardingFilter", "Shuffler", "UnBatcher", "Zipper"]


def length(pipe, source):
    """The length of what a pipe draws from; TypeError where it has none."""
    if isinstance(source, Sized):
        return len(source)
    raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


def picklable(fn):
    """Warn of a function that a worker process could not be sent."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    name = getattr(fn.func if isinstance(fn, functools.partial) else fn, "__qualname__", "")
    kind = "Local" if "<locals>" in name else "Lambda" if name == "<lambda>" else None
    if kind:
        warnings.warn(f"{kind} function is not supported by pickle, please use regular python function or functools.partial instead.",
                      stacklevel=3)


def called(fn, data, columns):
    """fn of a sample, or of some of its columns."""
    if columns is None:
        return fn(data)
    return fn(*[data[c] for c in columns]) if isinstance(columns, (list, tuple)) else fn(data[columns])


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
                warnings.warn("The input iterable can not be deepcopied, please be aware of in-place modification would affect source data.",
                              stacklevel=2)
        yield from source

    def __len__(self):
        return length(self, self.iterable)


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """fn of each sample, or of its columns `input_col`; put in their place, or in column `output_col` (-1: appended)."""

    def __init__(self, datapipe, fn, input_col=None, output_col=None):
        picklable(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
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


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches as tensors: `collate_fn`, or `conversion`, of each sample."""

    def __init__(self, datapipe, conversion=default_collate, collate_fn=None):
        if collate_fn is None and not callable(conversion):
            raise NotImplementedError("torchshim: collating the columns of data frames")
        super().__init__(datapipe, fn=collate_fn or conversion)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples for which filter_fn, of them or of their columns `input_col`, is True; ValueError where it is no bool."""

    def __init__(self, datapipe, filter_fn, input_col=None):
        picklable(filter_fn)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self):
        for data in self.datapipe:
            kept = called(self.filter_fn, data, self.input_col)
            if not isinstance(kept, bool):
                raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(kept))
            if kept:
                yield data


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


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe):
    """The samples in a random order: each drawn from the next `buffer_size`. The stream is Python's, its seed torch's or `set_seed`'s."""

    def __init__(self, datapipe, *, buffer_size=10000, unbatch_level=0):
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size, self._enabled, self._seed, self._rng, self._buffer = buffer_size, True, None, random.Random(), []

    def set_shuffle(self, shuffle=True):
        """Whether it shuffles; returns itself."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed):
        """The seed of the next pass; returns itself."""
        self._seed = seed
        return self

    def __iter__(self):
        if not self._enabled:
            yield from self.datapipe
            return
        buffer = self._buffer
        for x in self.datapipe:
            if len(buffer) == self.buffer_size:
                k = self._rng.randint(0, len(buffer) - 1)
                sample, buffer[k] = buffer[k], x
                yield sample
            else:
                buffer.append(x)
        while buffer:
            yield buffer.pop(self._rng.randint(0, len(buffer) - 1))

    def __len__(self):
        return length(self, self.datapipe)

    def reset(self):
        self._buffer = []
        if self._enabled:
            self._rng.seed(drawn_seed(None) if self._seed is None else self._seed)
            self._seed = None


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe):
    """Every n-th sample, from the one of this worker's number on: a DataLoader says which."""

    def __init__(self, source_datapipe, sharding_group_filter=None):
        if sharding_group_filter is not None:
            raise NotImplementedError("torchshim: sharding groups of datapipes")
        self.source_datapipe, self.num_of_instances, self.instance_id = source_datapipe, 1, 0

    def apply_sharding(self, num_of_instances, instance_id):
        """Which of how many parts this is."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self):
        for k, item in enumerate(self.source_datapipe):
            if k % self.num_of_instances == self.instance_id:
                yield item

    def __len__(self):
        n = length(self, self.source_datapipe)
        return n // self.num_of_instances + (self.instance_id < n % self.num_of_instances)


class _Several(IterDataPipe):
    def __init__(self, *datapipes):
        name = type(self).__name__.replace("IterDataPipe", "")
        if not datapipes and name == "Concater":
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all([isinstance(d, IterDataPipe) for d in datapipes]):
            raise TypeError("Expected all inputs to be `IterDataPipe`" if name == "Concater"
                            else "All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterIterDataPipe(_Several):
    """Streams one after the other."""

    def __iter__(self):
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self):
        return sum([length(self, pipe) for pipe in self.datapipes])


@functional_datapipe("zip")
class ZipperIterDataPipe(_Several):
    """Tuples of the samples of several streams, up to the end of the shortest."""

    def __iter__(self):
        yield from zip(*self.datapipes)

    def __len__(self):
        return min([length(self, pipe) for pipe in self.datapipes])


Batcher, Collator, Concater, Filter, IterableWrapper = (BatcherIterDataPipe, CollatorIterDataPipe, ConcaterIterDataPipe, FilterIterDataPipe,
                                                        IterableWrapperIterDataPipe)
Mapper, ShardingFilter, Shuffler, UnBatcher, Zipper = (MapperIterDataPipe, ShardingFilterIterDataPipe, ShufflerIterDataPipe,
                                                       UnBatcherIterDataPipe, ZipperIterDataPipe)
__getattr__ = _missing_attribute(__name__)
