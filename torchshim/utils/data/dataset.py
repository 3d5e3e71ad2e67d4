"""Datasets: what a DataLoader draws samples from, and datasets made of others."""
from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from ... import default_generator, randperm, strided, tensor
from ...engine import context
from ...tensor.core.tensor import Tensor

__all__ = ["Dataset", "IterableDataset", "TensorDataset", "StackDataset", "ConcatDataset", "ChainDataset", "Subset", "random_split"]

_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """Samples by number. A subclass has `__getitem__`, most have `__len__`; `__getitems__(indices)` may fetch a batch at once."""

    def __getitem__(self, index) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: "Dataset[_T_co]") -> "ConcatDataset[_T_co]":
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """Samples in the order that `__iter__` gives them. In worker processes `get_worker_info` tells which part is whose."""

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Rows of tensors that have the same first dimension: sample i is the tuple of the i-th rows."""

    def __init__(self, *tensors: Tensor) -> None:
        if any(t.size(0) != tensors[0].size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Several datasets of one length side by side: a tuple of their samples, or a dict when they are given by name."""

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError("Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both types "
                             "are given.")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        parts = list(args or kwargs.values())
        self._length = len(parts[0])
        if any(len(d) != self._length for d in parts):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {k: d[index] for k, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices):
        """The samples at several places, fetched from each dataset at once where it can."""
        def fetched(d):
            if not callable(getattr(d, "__getitems__", None)):
                return [d[i] for i in indices]
            items = d.__getitems__(indices)
            if len(items) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
            return items
        if isinstance(self.datasets, dict):
            columns = {k: fetched(d) for k, d in self.datasets.items()}
            return [{k: c[n] for k, c in columns.items()} for n in range(len(indices))]
        return list(zip(*[fetched(d) for d in self.datasets]))

    def __len__(self):
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """Datasets one after the other."""

    @staticmethod
    def cumsum(sequence):
        """Where each part ends."""
        return list(itertools.accumulate(len(e) for e in sequence))

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[part][idx - self.cumulative_sizes[part - 1] if part else idx]

    @property
    def cummulative_sizes(self):
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = datasets

    def __iter__(self):
        for d in self._parts():
            yield from d

    def __len__(self):
        return sum(len(d) for d in self._parts())

    def _parts(self):
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield d


class Subset(Dataset[_T_co]):
    """The samples of a dataset at `indices`."""

    def __init__(self, dataset: Dataset[_T_co], indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        """The samples at several places."""
        places = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(places)
        return [self.dataset[i] for i in places]

    def __len__(self):
        return len(self.indices)


def gathered(dataset, indices):
    """The batch that `default_collate` makes of the samples at `indices`, where they are rows of plain tensors: they are taken from each
    tensor at once, which two calls for each sample would do too. None where a sample, or taking it, might be something else."""
    while type(dataset) is Subset:
        dataset, indices = dataset.dataset, [dataset.indices[i] for i in indices]
    if type(dataset) is not TensorDataset or not indices or context.watched or any(context.modes.values()):
        return None
    n = len(dataset)
    for t in dataset.tensors:
        if type(t) is not Tensor or t.layout is not strided or t.requires_grad or not t.is_cpu or not t.is_contiguous():
            return None
    if any([i.__class__ is not int or not -n <= i < n for i in indices]):
        return None
    places = tensor([i if i >= 0 else i + n for i in indices])
    return [t.index_select(0, places) for t in dataset.tensors]


def random_split(dataset, lengths, generator=None):
    """Split a dataset into random parts that do not overlap.

    lengths: the parts' sizes, or fractions that sum to 1 (what rounding leaves over goes to the first parts, one each).
    generator: the stream of the permutation (default: torch's own). ValueError when the lengths do not fit.
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        sizes = [math.floor(len(dataset) * fraction) for fraction in lengths]
        for k in range(len(dataset) - sum(sizes)):
            sizes[k % len(sizes)] += 1
        lengths = sizes
        for i, n in enumerate(lengths):
            if n == 0:
                warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(sum(lengths), generator=default_generator if generator is None else generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - n:end]) for end, n in zip(ends, lengths)]
