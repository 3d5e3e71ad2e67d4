"""Streams made of several, and several made of one."""
from __future__ import annotations

import copy as _copy
import warnings
from collections import deque
from collections.abc import Sized

from .._decorator import functional_datapipe
from .._hook_iterator import _SnapshotState
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, picklable

__all__ = ["ConcaterIterDataPipe", "DemultiplexerIterDataPipe", "ForkerIterDataPipe", "MultiplexerIterDataPipe", "ZipperIterDataPipe"]


def _lengths(pipe, datapipes):
    """The lengths of the streams; TypeError where one has none."""
    if all([isinstance(d, Sized) for d in datapipes]):
        return [len(d) for d in datapipes]
    raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """Streams one after the other."""

    def __init__(self, *datapipes):
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all([isinstance(d, IterDataPipe) for d in datapipes]):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def __iter__(self):
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self):
        return sum(_lengths(self, self.datapipes))


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """Tuples of the samples of several streams, up to the end of the shortest."""

    def __init__(self, *datapipes):
        if not all([isinstance(d, IterDataPipe) for d in datapipes]):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        self.datapipes = datapipes

    def __iter__(self):
        yield from zip(*[iter(pipe) for pipe in self.datapipes])

    def __len__(self):
        return min(_lengths(self, self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """A sample of each stream in turn, as long as every stream has one."""

    def __init__(self, *datapipes):
        self.datapipes, self.buffer = datapipes, []

    def __iter__(self):
        iterators = [iter(pipe) for pipe in self.datapipes]
        while iterators:
            self.buffer = []
            for iterator in iterators:
                try:
                    self.buffer.append(next(iterator))
                except StopIteration:
                    self.buffer = []
                    return
            yield from self.buffer

    def __len__(self):
        return min(_lengths(self, self.datapipes)) * len(self.datapipes)

    def reset(self):
        """Forget what waits."""
        self.buffer = []


class _Shared(IterDataPipe):
    """One stream that several read. Its iterator begins when the first of them begins and ends when all have ended."""

    def __init__(self, datapipe, num_instances, buffer_size, name):
        if buffer_size < 0:
            warnings.warn(f"Unlimited buffer size is set for `{name}`, please be aware of OOM at random places", UserWarning, stacklevel=3)
        self.main_datapipe, self.num_instances, self.buffer_size = datapipe, num_instances, buffer_size
        self.reset()

    def reset(self):
        """Forget what waits, and begin anew at the next sample asked for."""
        self._datapipe_iterator = None
        self._child_stop = [True] * self.num_instances
        self._begin()

    def __getstate__(self):
        kept = {k: v for k, v in vars(self).items() if k not in self._passing}
        return kept if IterDataPipe.getstate_hook is None else IterDataPipe.getstate_hook(kept)

    def __setstate__(self, state):
        vars(self).update(state)
        self._datapipe_iterator, self._child_stop = None, [True] * self.num_instances
        self._begin()

    def _open(self, instance_id):
        """Begin the stream, if this instance is the first that asks."""
        if self._datapipe_iterator is None and self._child_stop[instance_id]:
            self._datapipe_iterator = iter(self.main_datapipe)
            self._snapshot_state = _SnapshotState.Iterating
            self._child_stop = [False] * self.num_instances
            return True
        return False

    def get_length_by_instance(self, instance_id):
        """How many samples one of the readers gets."""
        return len(self.main_datapipe)

    def __del__(self):
        if "num_instances" in vars(self):
            self._cleanup()


class _ForkerIterDataPipe(_Shared):
    _passing = {"_datapipe_iterator", "_child_stop", "buffer", "child_pointers", "slowest_ptr", "leading_ptr", "end_ptr"}

    def __init__(self, datapipe, num_instances, buffer_size=1000, copy=None):
        ways = {None: _same, "shallow": _copy.copy, "deep": _copy.deepcopy}
        super().__init__(datapipe, num_instances, buffer_size, "fork")
        if copy not in ways:
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        self.copy_fn = ways[copy]

    def _begin(self):
        # what some have read and others not; how much each has read
        self.buffer, self.child_pointers = deque(), [0] * self.num_instances
        self.slowest_ptr, self.leading_ptr, self.end_ptr = 0, 0, None

    def __len__(self):
        return len(self.main_datapipe)

    def get_next_element_by_instance(self, instance_id):
        """The samples, for one of the readers."""
        self._open(instance_id)
        try:
            while not self._child_stop[instance_id]:
                self.child_pointers[instance_id] += 1
                at = self.child_pointers[instance_id]
                if at == self.end_ptr:
                    self._child_stop[instance_id] = True
                    break
                if self.buffer and at <= self.leading_ptr:
                    sample = self.buffer[at - self.slowest_ptr - 1]
                else:
                    self.leading_ptr = at
                    try:
                        sample = next(self._datapipe_iterator)
                    except StopIteration:
                        self._child_stop[instance_id], self._datapipe_iterator, self.end_ptr = True, None, at
                        continue
                    self.buffer.append(sample)
                if at == self.slowest_ptr + 1 and min(self.child_pointers) > self.slowest_ptr:
                    self.slowest_ptr = min(self.child_pointers)
                    self.buffer.popleft()
                if 0 <= self.buffer_size < self.leading_ptr - self.slowest_ptr:
                    raise BufferError(f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is insufficient.")
                yield self.copy_fn(sample)
        finally:
            self._child_stop[instance_id] = True
            if all(self._child_stop):
                self._datapipe_iterator = None
                self._cleanup()

    def is_every_instance_exhausted(self):
        """Whether all have read all."""
        return self.end_ptr is not None and all(self._child_stop)

    def _cleanup(self):
        while self.buffer:
            StreamWrapper.close_streams(self.buffer.popleft())


class _DemultiplexerIterDataPipe(_Shared):
    _passing = {"_datapipe_iterator", "_child_stop", "child_buffers", "current_buffer_usage", "main_datapipe_exhausted"}

    def __init__(self, datapipe, num_instances, classifier_fn, drop_none, buffer_size):
        super().__init__(datapipe, num_instances, buffer_size, "demux")
        self.classifier_fn, self.drop_none = classifier_fn, drop_none

    def _begin(self):
        self.child_buffers, self.current_buffer_usage = [deque() for _ in range(self.num_instances)], 0
        self.main_datapipe_exhausted = False

    def _find_next(self, instance_id):
        """The next sample of one of the readers, putting by those of the others; StopIteration at the end."""
        while True:
            if self.main_datapipe_exhausted or self._child_stop[instance_id]:
                raise StopIteration
            if self._datapipe_iterator is None:
                raise ValueError("_datapipe_iterator has not been set, likely because this private method is called directly without "
                                 "invoking get_next_element_by_instance() first.")
            sample = next(self._datapipe_iterator)
            k = self.classifier_fn(sample)
            if k is None and self.drop_none:
                StreamWrapper.close_streams(sample)
                continue
            if k is None or k >= self.num_instances or k < 0:
                raise ValueError(f"Output of the classification fn should be between 0 and {self.num_instances - 1}. {k} is returned.")
            if k == instance_id:
                return sample
            self.child_buffers[k].append(sample)
            self.current_buffer_usage += 1
            if 0 <= self.buffer_size < self.current_buffer_usage:
                raise BufferError(f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient.")

    def get_next_element_by_instance(self, instance_id):
        """The samples of one of the readers."""
        if self._open(instance_id):
            self.main_datapipe_exhausted = False
        try:
            while not self._child_stop[instance_id]:
                if self.child_buffers[instance_id]:
                    self.current_buffer_usage -= 1
                    yield self.child_buffers[instance_id].popleft()
                    continue
                try:
                    yield self._find_next(instance_id)
                except StopIteration:
                    self._child_stop[instance_id], self.main_datapipe_exhausted, self._datapipe_iterator = True, True, None
        finally:
            self._child_stop[instance_id] = True
            if all(self._child_stop):
                self._datapipe_iterator = None
            self._cleanup(instance_id)

    def is_every_instance_exhausted(self):
        """Whether all have read all."""
        return self.main_datapipe_exhausted and all(self._child_stop)

    def get_length_by_instance(self, instance_id):
        """Only the samples tell who gets how many."""
        raise TypeError

    def _cleanup(self, instance_id=None):
        for waiting in self.child_buffers if instance_id is None else [self.child_buffers[instance_id]]:
            while waiting:
                StreamWrapper.close_streams(waiting.popleft())


def _same(x):
    return x


class _ChildDataPipe(IterDataPipe):
    """One of the readers of a shared stream. A second iterator of one of them begins the stream anew for all."""
    _is_child_datapipe = True

    def __init__(self, main_datapipe, instance_id):
        if not isinstance(main_datapipe, _Shared):
            raise AssertionError("main_datapipe must implement _ContainerTemplate")
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def __iter__(self):
        return self.main_datapipe.get_next_element_by_instance(self.instance_id)

    def __len__(self):
        return self.main_datapipe.get_length_by_instance(self.instance_id)

    def _set_main_datapipe_valid_iterator_id(self):
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._valid_iterator_id = 0
        elif main._valid_iterator_id == self._valid_iterator_id:
            main._valid_iterator_id += 1
            if not main.is_every_instance_exhausted():
                warnings.warn("Some child DataPipes are not exhausted when __iter__ is called. We are resetting the buffer and each child "
                              "DataPipe will read from the start again.", UserWarning, stacklevel=2)
            main.reset()
        self._valid_iterator_id = main._valid_iterator_id
        return self._valid_iterator_id

    def _check_valid_iterator_id(self, iterator_id):
        return iterator_id == self._valid_iterator_id == self.main_datapipe._valid_iterator_id


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """A list of `num_instances` streams that each give all the samples; the fastest may be `buffer_size` ahead of the slowest (-1: as far
    as it likes), else BufferError. copy: "shallow" or "deep" copies of the samples, or (None) themselves. Of one instance the stream
    itself."""

    def __new__(cls, datapipe, num_instances, buffer_size=1000, copy=None):
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        if num_instances == 1:
            return datapipe
        shared = _ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy)
        return [_ChildDataPipe(shared, k) for k in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """A list of `num_instances` streams; classifier_fn says by its number which of them gets a sample (None: none of them, with drop_none).

    buffer_size: how many samples may wait for the others (-1: any number), else BufferError. ValueError for a number that there is not.
    """

    def __new__(cls, datapipe, num_instances, classifier_fn, drop_none=False, buffer_size=1000):
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        picklable(classifier_fn)
        shared = _DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size)
        return [_ChildDataPipe(shared, k) for k in range(num_instances)]
