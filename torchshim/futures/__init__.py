"""torch.futures: results that are still to come."""
from __future__ import annotations

import threading
from typing import Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

_T = TypeVar("_T")


class Future(Generic[_T]):
    """A result that some thread sets and others wait for."""

    def __init__(self, *, devices=None):
        self._ready, self._lock = threading.Event(), threading.Lock()
        self._value = self._error = None
        self._callbacks = []

    def done(self):
        """Whether the result, or an error, is there."""
        return self._ready.is_set()

    def wait(self):
        """The result, once it is there; raises the error if there is one."""
        self._ready.wait()
        return self.value()

    def value(self):
        """The result, which must be there; raises the error if there is one."""
        if not self.done():
            raise RuntimeError("value() called on an incomplete Future")
        if self._error is not None:
            raise self._error
        return self._value

    def _finish(self, value, error):
        with self._lock:
            if self.done():
                raise RuntimeError("Future can only be marked completed once.")
            self._value, self._error = value, error
            self._ready.set()
            callbacks = self._callbacks
        for callback in callbacks:
            callback(self)

    def set_result(self, result):
        """Give the result; RuntimeError if there is one."""
        self._finish(result, None)

    def set_exception(self, result):
        """Give an error instead."""
        assert isinstance(result, Exception), f"{result} is of type {type(result)}, not an Exception."
        self._finish(None, result)

    def add_done_callback(self, callback):
        """Call callback(self) when the result is there, at once if it is."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback):
        """A Future of callback(self)."""
        after = Future()

        def run(future):
            try:
                after.set_result(callback(future))
            except Exception as error:
                after.set_exception(error)
        self.add_done_callback(run)
        return after


def collect_all(futures):
    """A Future of the list of futures, done when all are."""
    futures, out = list(futures), Future()
    left, lock = [len(futures)], threading.Lock()

    def count(_):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            out.set_result(futures)
    if not futures:
        out.set_result([])
    for f in futures:
        f.add_done_callback(count)
    return out


def wait_all(futures):
    """The list of results, once all are there."""
    return [f.wait() for f in collect_all(futures).wait()]
