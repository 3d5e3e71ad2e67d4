"""What runs in a DataLoader's worker process, and what passes between it and the main process.

Results are pickled by the worker itself, tensors as their numbers, and come back through a pipe of the worker's own: a worker that is
killed in the middle of a message can hold nobody else up.
"""
from __future__ import annotations

import io
import pickle
import queue
import random
from multiprocessing.reduction import ForkingPickler

import numpy as np

from .... import Tensor, from_numpy, int16, manual_seed, uint8
from ...._utils import ExceptionWrapper
from .collate import default_convert

MP_STATUS_CHECK_INTERVAL = 5.0
_worker_info = None


class WorkerInfo:
    """What a worker process knows of itself: `id`, `num_workers`, `seed`, and its copy of the `dataset`."""

    def __init__(self, **fields):
        self.__dict__.update(fields)
        self.__dict__["_fixed"] = True

    def __setattr__(self, name, value):
        raise RuntimeError(f"Cannot assign attributes to {type(self).__name__} objects")

    def __repr__(self):
        shown = ", ".join(f"{k}={v}" for k, v in self.__dict__.items() if k != "_fixed")
        return f"{type(self).__name__}({shown})"


def get_worker_info():
    """The `WorkerInfo` of this worker process; None in the main process."""
    return _worker_info


class Ended:
    """A worker's iterable dataset has no more samples."""


class Resume:
    """Begin a new pass (to a persistent worker), or: it has begun."""

    def __init__(self, seed=None):
        self.seed = seed


def fetcher(dataset, iterable, auto_collation, collate_fn, drop_last):
    """A function from an index (or a list of them) to what one step of the loader yields; StopIteration at the end."""
    if not iterable:
        def fetch(index):
            if not auto_collation:
                return collate_fn(dataset[index])
            if callable(getattr(dataset, "__getitems__", None)):
                return collate_fn(dataset.__getitems__(index))
            return collate_fn([dataset[i] for i in index])
        return fetch
    samples, ended = iter(dataset), False

    def fetch_next(index):
        nonlocal ended
        if not auto_collation:
            return collate_fn(next(samples))
        if ended:
            raise StopIteration
        batch = []
        for _ in index:
            try:
                batch.append(next(samples))
            except StopIteration:
                ended = True
                break
        if not batch or drop_last and len(batch) < len(index):
            raise StopIteration
        return collate_fn(batch)
    return fetch_next


def convert_one(sample):
    """The collate function of a loader without batches."""
    return default_convert(sample)


class _Pickler(ForkingPickler):
    """Pickles tensors as arrays: no more than numbers has to cross."""

    def reducer_override(self, obj):
        if isinstance(obj, Tensor) and not obj.requires_grad and obj.device.type == "cpu":
            own = dict(obj.__dict__)
            a = obj.resolve_conj().detach()
            bits = a.dtype.np.kind == "V" or a.dtype.np.isbuiltin != 1
            return _received, (type(obj), a.view(_BITS[a.dtype.itemsize]).numpy() if bits else a.numpy(), a.dtype if bits else None, own)
        return NotImplemented


_BITS = {1: uint8, 2: int16}


def _received(cls, array, dtype, own):
    t = from_numpy(np.asarray(array))
    if dtype is not None:
        t = t.view(dtype)
    if type(t) is not cls:
        t.__class__ = cls
    t.__dict__.update(own)
    return t


def dumps(obj):
    """A message as bytes."""
    out = io.BytesIO()
    _Pickler(out, pickle.HIGHEST_PROTOCOL).dump(obj)
    return out.getbuffer()


def _generate_state(base_seed, worker_id):
    """The state that torch gives NumPy in a worker: four words of a SeedSequence of the worker and the seed."""
    return np.random.SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4).tolist()


def worker_loop(iterable, dataset, indices, results, done, auto_collation, collate_fn, drop_last, base_seed, init_fn, worker_id, num_workers,
                persistent):
    """Answer the indices that come until None does: (position, data or what went wrong)."""
    global _worker_info
    from .. import graph_settings              # it asks this module for the worker's number
    try:
        seed = base_seed + worker_id
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(_generate_state(base_seed, worker_id))
        _worker_info = WorkerInfo(id=worker_id, num_workers=num_workers, seed=seed, dataset=dataset)
        start_error = fetch = None
        try:
            if init_fn is not None:
                init_fn(worker_id)
            fetch = fetcher(dataset, iterable, auto_collation, collate_fn, drop_last)
        except Exception:
            start_error = ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
        ended = False
        while True:
            try:
                task = indices.get(timeout=MP_STATUS_CHECK_INTERVAL)
            except queue.Empty:
                if done.is_set() or not _parent_lives():
                    return
                continue
            if task is None:
                return
            if isinstance(task, Resume):
                ended = False
                if start_error is None:
                    try:
                        if task.seed is not None:
                            graph_settings.seeded(dataset, task.seed)
                        fetch = fetcher(dataset, iterable, auto_collation, collate_fn, drop_last)
                    except Exception:
                        start_error = ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
                results.send_bytes(dumps((None, task)))
                continue
            if done.is_set() or ended:
                continue
            at, index = task
            if start_error is not None:
                data, start_error = start_error, None
            else:
                try:
                    data = fetch(index)
                except Exception as error:
                    if isinstance(error, StopIteration) and iterable:
                        data, ended = Ended(), True
                    else:
                        data = ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
            try:
                message = dumps((at, data))
            except Exception:
                message = dumps((at, ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")))
            results.send_bytes(message)
    except (KeyboardInterrupt, BrokenPipeError, EOFError, ConnectionResetError):
        pass                                   # the main process shows the interrupt, or has gone


def _parent_lives():
    import multiprocessing
    parent = multiprocessing.parent_process()
    return parent is None or parent.is_alive()
