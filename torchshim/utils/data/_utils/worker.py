"""What runs in a DataLoader's worker process, and what passes between it and the main process.

Results are pickled by the worker itself, tensors as their numbers, and come back through a pipe of the worker's own: a worker that is
killed in the middle of a message can hold nobody else up.
"""
from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import queue
import random
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler

import numpy as np

from . import MP_STATUS_CHECK_INTERVAL, signal_handling
from .... import Tensor, from_numpy, int16, manual_seed, set_num_threads, strided, uint8
from ...._utils import ExceptionWrapper
from ....multiprocessing.reductions import refuse_history
from ..datapipes.datapipe import IterDataPipe

_worker_info = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker process knows of itself: `id`, `num_workers`, `seed`, and its copy of the `dataset`."""
    id: int
    num_workers: int
    seed: int
    dataset: object
    rng: object = None
    worker_method: str | None = "multiprocessing"


def get_worker_info():
    """The `WorkerInfo` of this worker process; None in the main process."""
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """A worker's iterable dataset has no more samples."""
    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Begin a new pass (to a persistent worker), or: it has begun."""
    seed: int | None = None


class ManagerWatchdog:
    """Tells a worker whether the process that started it is still there."""

    def __init__(self):
        self.manager_pid, self.manager_dead, self._process = os.getppid(), False, multiprocessing.parent_process()

    def is_alive(self):
        if not self.manager_dead:
            self.manager_dead = os.getppid() != self.manager_pid or self._process is not None and not self._process.is_alive()
        return not self.manager_dead


class _Pickler(ForkingPickler):
    """Pickles tensors as arrays: no more than numbers has to cross."""

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            refuse_history(obj)
        if (isinstance(obj, Tensor) and not obj.requires_grad and obj.device.type == "cpu" and obj.layout is strided
                and not (obj.is_nested or obj.is_quantized)):
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


class Results:
    """A worker's end of a pipe, as the queue that it puts its messages in."""

    def __init__(self, connection):
        self.connection = connection

    def put(self, message):
        self.connection.send_bytes(dumps(message))

    def cancel_join_thread(self):
        """Nothing: what was put is gone already."""

    def close(self):
        self.connection.close()


def _generate_state(base_seed, worker_id):
    """The state that torch gives NumPy in a worker: four words of a SeedSequence of the worker and the seed."""
    return np.random.SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4).tolist()


def _worker_loop(dataset_kind, dataset, index_queue, data_queue, done_event, auto_collation, collate_fn, drop_last, base_seed,
                 init_fn, worker_id, num_workers, persistent_workers, shared_seed):
    """Answer the indices that come until None does: (position, data or what went wrong). dataset_kind: a `_DatasetKind`."""
    global _worker_info
    from .. import graph_settings              # it asks this module for the worker's number
    from ..dataloader import _DatasetKind

    def failed():
        return ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")

    def begun(seed):
        if isinstance(dataset, IterDataPipe):
            graph_settings.seeded(dataset, seed)
        return _DatasetKind.create_fetcher(dataset_kind, dataset, auto_collation, collate_fn, drop_last)

    try:
        signal_handling._set_worker_signal_handlers()
        set_num_threads(1)
        seed = base_seed + worker_id
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(_generate_state(base_seed, worker_id))
        if isinstance(dataset, IterDataPipe) and shared_seed is None:
            raise AssertionError("shared_seed must be provided for IterDataPipe workers")
        _worker_info = WorkerInfo(id=worker_id, num_workers=num_workers, seed=seed, dataset=dataset)
        start_error = fetcher = None
        try:
            if init_fn is not None:
                init_fn(worker_id)
            fetcher = begun(shared_seed)
        except Exception:
            start_error = failed()
        ended, watchdog = False, ManagerWatchdog()
        while watchdog.is_alive():
            try:
                task = index_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
            except queue.Empty:
                if done_event.is_set():
                    break
                continue
            if task is None:
                break
            if isinstance(task, _ResumeIteration):
                ended = False
                data_queue.put((task, None))
                if start_error is None:
                    try:
                        fetcher = begun(task.seed)
                    except Exception:
                        start_error = failed()
                continue
            if done_event.is_set() or ended:
                continue
            at, index = task
            if start_error is not None:
                data, start_error = start_error, None
            else:
                try:
                    data = fetcher.fetch(index)
                except Exception as error:
                    ended = isinstance(error, StopIteration) and dataset_kind == _DatasetKind.Iterable
                    data = _IterableDatasetStopIteration(worker_id) if ended else failed()
            try:
                data_queue.put((at, data))
            except Exception as error:
                if isinstance(error, OSError):
                    raise
                data_queue.put((at, failed()))
            del data, task, index
    except (KeyboardInterrupt, BrokenPipeError, EOFError, ConnectionResetError):
        pass                                   # the main process shows the interrupt, or has gone
    if done_event.is_set():
        data_queue.cancel_join_thread()
        data_queue.close()
