"""What every `__iter__` of a pipe does beside its own work: it resets the pipe, ends the life of the iterator before, counts samples."""
from __future__ import annotations

import enum
import functools
import inspect


class _SnapshotState(enum.Enum):
    NotStarted, Restored, Iterating = 0, 1, 2


def _shown(pipe):
    """The call that makes a pipe, as far as its attributes tell."""
    names = [n for n in sorted(inspect.signature(type(pipe)).parameters) if hasattr(pipe, n)]
    values = [getattr(pipe, n) for n in names]
    return f"{type(pipe).__name__}({', '.join([f'{n}={v.__name__ if inspect.isfunction(v) else repr(v)}' for n, v in zip(names, values)])})"


def _is_child(pipe):
    return getattr(pipe, "_is_child_datapipe", False) is True


def started(pipe):
    """The number of a new iterator of a pipe, which makes those before it invalid."""
    if _is_child(pipe):
        return pipe._set_main_datapipe_valid_iterator_id()
    pipe._valid_iterator_id = 0 if pipe._valid_iterator_id is None else pipe._valid_iterator_id + 1
    pipe.reset()
    return pipe._valid_iterator_id


def check(pipe, number):
    """RuntimeError unless the iterator of this number is the pipe's last."""
    feedback = ("\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free to comment on this issue: "
                "https://github.com/pytorch/data/issues/45.")
    if _is_child(pipe):
        if not pipe._check_valid_iterator_id(number):
            raise RuntimeError("This iterator has been invalidated, because a new iterator has been created from one of the ChildDataPipes "
                               f"of {_shown(pipe.main_datapipe)}.{feedback}")
    elif pipe._valid_iterator_id != number:
        raise RuntimeError("This iterator has been invalidated because another iterator has been created from the same IterDataPipe: "
                           f"{_shown(pipe)}\nThis may be caused by multiple references to the same IterDataPipe. We recommend using "
                           f"`.fork()` if that is necessary.{feedback}")


class _Iterator:
    """An iterator of a pipe whose `__iter__` is no generator function, while it is the pipe's last."""

    def __init__(self, iterator, pipe, number):
        self.iterator, self.pipe, self.number = iterator, pipe, number
        self.counts_itself = iterator is pipe and "__next__" in dir(type(pipe))

    def __iter__(self):
        return self

    def __next__(self):
        check(self.pipe, self.number)
        sample = next(self.iterator)
        if not self.counts_itself:
            self.pipe._number_of_samples_yielded += 1
        return sample

    def __getattr__(self, name):
        return getattr(self.iterator, name)


def _forwarded(pipe):
    """The iterator that a restored snapshot left behind, once; None otherwise."""
    iterator, pipe._fast_forward_iterator = pipe._fast_forward_iterator, None
    if iterator is not None:
        pipe._snapshot_state = _SnapshotState.Iterating
    return iterator


def single(method):
    """An `__iter__` that resets the pipe, and ends the life of the iterator before."""
    if not inspect.isgeneratorfunction(method):
        @functools.wraps(method)
        def iterator(self):
            found = method(self)
            restored, self._snapshot_state = _forwarded(self), _SnapshotState.Iterating
            return _Iterator(found, self, started(self)) if restored is None else restored
        return iterator

    @functools.wraps(method)
    def iterate(self):
        restored = _forwarded(self)
        if restored is not None:
            yield from restored
            return
        number = started(self)
        try:
            for sample in method(self):
                self._number_of_samples_yielded += 1
                yield sample
                check(self, number)
        except Exception as e:
            said = e.args[0] if e.args and isinstance(e.args[0], str) else None
            if said is None:
                e.args = (f"\nThis exception is thrown by __iter__ of {_shown(self)}",)
            elif "thrown by __iter__ of" not in said and "single iterator per IterDataPipe constraint" not in said:
                e.args = (f"{said}\nThis exception is thrown by __iter__ of {_shown(self)}", *e.args[1:])
            raise
    return iterate


def counted(method):
    """A `__next__` that counts."""
    @functools.wraps(method)
    def step(self):
        sample = method(self)
        self._number_of_samples_yielded += 1
        return sample
    return step


def conditional(method):
    """A `reset` that leaves a pipe alone whose snapshot was just restored."""
    @functools.wraps(method)
    def reset(self, *args, **kwargs):
        if self._snapshot_state is not _SnapshotState.Restored:
            self._number_of_samples_yielded, self._fast_forward_iterator = 0, None
            method(self, *args, **kwargs)
        self._snapshot_state = _SnapshotState.Iterating
    return reset
