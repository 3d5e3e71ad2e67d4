"""DataLoader: batches of a dataset, in this process or from worker processes, in torch's order and with torch's seeds."""
from __future__ import annotations

import functools
import itertools
import multiprocessing
import os
import pickle
import warnings
from multiprocessing.connection import wait
from typing import Any, Callable, Generic, TypeVar

from ... import accelerator
from ..._utils import ExceptionWrapper
from ...engine import warn
from . import _utils
from ._utils import worker as _worker
from ._utils.collate import default_collate, default_convert
from ._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher
from ._utils.worker import _IterableDatasetStopIteration, _ResumeIteration, get_worker_info
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .dataset import IterableDataset
from .graph_settings import apply_sharding, apply_shuffle_settings, seeded
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, drawn_seed

__all__ = ["DataLoader", "get_worker_info", "default_collate", "default_convert"]

_T_co = TypeVar("_T_co", covariant=True)
_T = TypeVar("_T")
_collate_fn_t, _worker_init_fn_t = Callable[[list[_T]], Any], Callable[[int], None]


class _DatasetKind:
    """How a dataset is read."""
    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        """What takes samples of a dataset of this kind."""
        made = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return made(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler):
    """The "indices" of an iterable dataset."""

    def __iter__(self):
        while True:
            yield None


def _sharding_worker_init_fn(worker_init_fn, world_size, rank_id, worker_id):
    """A worker_init_fn for pipes: the worker takes its part of the samples, then `worker_init_fn` is called."""
    info = get_worker_info()
    if info is None:
        raise AssertionError("Worker info is None in sharding worker init function")
    if not isinstance(info.dataset, (IterDataPipe, MapDataPipe)):
        raise AssertionError("datapipe must be an instance of IterDataPipe or MapDataPipe")
    apply_sharding(info.dataset, info.num_workers * world_size, worker_id * world_size + rank_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


class DataLoader(Generic[_T_co]):
    """Iterates over batches of a dataset.

    dataset: by number (`__getitem__`) or an IterableDataset. batch_size: samples in a batch; None yields samples. shuffle, sampler,
    batch_sampler: the order. num_workers: processes that fetch (0: this one). collate_fn: makes a batch of a list of samples.
    drop_last: leave out the last short batch. timeout: seconds to wait for workers (0: for ever). worker_init_fn(id): called in each
    worker. generator: the stream of shuffling and seeds. prefetch_factor: batches asked from each worker in advance (2).
    persistent_workers: keep the workers after a pass. in_order: False yields batches as they are ready. pin_memory is accepted; host
    memory has no pinned kind here.
    ValueError for arguments that exclude each other; an exception in a worker is raised here with its traceback, a worker that dies
    raises RuntimeError. Follows https://docs.pytorch.org/docs/stable/data.html.
    """
    _iterator = None
    __initialized = False

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                             "multiprocessing, otherwise set prefetch_factor to None.")
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if isinstance(dataset, IterDataPipe):
            apply_shuffle_settings(dataset, shuffle)       # a shuffler that it adds is not used: neither is it in torch
            shuffle = None
        self.dataset, self.num_workers, self.prefetch_factor = dataset, num_workers, prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout, self.worker_init_fn, self.in_order = timeout, worker_init_fn, in_order
        self.multiprocessing_context = multiprocessing_context
        iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        if iterable:
            for name, given, plain in (("shuffle", shuffle, (None, False)), ("sampler", sampler, (None,)),
                                       ("batch_sampler", batch_sampler, (None,))):
                if given not in plain:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={given}")
        else:
            shuffle = bool(shuffle)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            sampler = (_InfiniteConstantSampler() if iterable else RandomSampler(dataset, generator=generator) if shuffle
                       else SequentialSampler(dataset))
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.generator = batch_size, drop_last, generator
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._iterator = None
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self):
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            if self.num_workers == 0:
                raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                                 f"num_workers={self.num_workers}")
            if isinstance(context, str):
                known = multiprocessing.get_all_start_methods()
                if context not in known:
                    raise ValueError("multiprocessing_context option should specify a valid start method in "
                                     f"{known!r}, but got multiprocessing_context={context!r}")
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError("multiprocessing_context option should be a valid context object or a string specifying the start method, "
                                f"but got multiprocessing_context={context}")
        self.__multiprocessing_context = context

    def __setattr__(self, name, value):
        if self.__initialized and name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self):
        self.check_worker_number_rationality()                 # at each start, too: the loader may have been unpickled
        return _SingleProcessDataLoaderIter(self) if self.num_workers == 0 else _MultiProcessingDataLoaderIter(self)

    def __iter__(self):
        if self.persistent_workers and self.num_workers > 0:
            if self._iterator is None:
                self._iterator = self._get_iterator()
            else:
                self._iterator._reset(self)
            return self._iterator
        return self._get_iterator()

    def __len__(self):
        if self._dataset_kind == _DatasetKind.Iterable:
            n = self._IterableDataset_len_called = len(self.dataset)
            if self.batch_size is not None:
                n = n // self.batch_size if self.drop_last else -(-n // self.batch_size)
            return n
        return len(self._index_sampler)

    _IterableDataset_len_called = None                           # what an iterable dataset said of its length

    def check_worker_number_rationality(self):
        """Warn where more workers than processors are asked for."""
        if not self.num_workers:
            return
        there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if there is not None and self.num_workers > there:
            warnings.warn(f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of worker "
                          f"in current system is {there}, which is smaller than what this DataLoader is going to create. Please be aware "
                          "that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to "
                          "avoid potential slowness/freeze if necessary.", stacklevel=3)


class _BaseDataLoaderIter:
    """One pass over a loader."""

    def __init__(self, loader):
        self._dataset, self._loader, self._dataset_kind = loader.dataset, loader, loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation, self._collate_fn, self._drop_last = loader._auto_collation, loader.collate_fn, loader.drop_last
        self._index_sampler, self._num_workers, self._timeout = loader._index_sampler, loader.num_workers, loader.timeout
        self._persistent_workers = loader.persistent_workers
        self._world_size, self._rank = 1, 0
        if loader.pin_memory and not accelerator.is_available():
            warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.")
        self._pin_memory, self._pin_memory_device = False, None        # batches are arrays of the host's one kind of memory
        self._shared_seed = None
        self._seed_pipes(loader)
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = drawn_seed(loader.generator)
        self._num_yielded = 0
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"

    def _reset(self, loader, first_iter=False):
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._seed_pipes(loader)

    def _seed_pipes(self, loader):
        """Draw the seed of a pass, and seed the pipes of the dataset by it."""
        if isinstance(loader.dataset, IterDataPipe):
            self._shared_seed = drawn_seed(loader.generator)
            seeded(loader.dataset, self._shared_seed)

    def _next_index(self):
        return next(self._sampler_iter)

    def _next_data(self):
        raise NotImplementedError

    def __iter__(self):
        return self

    def __next__(self):
        data = self._next_data()
        self._num_yielded += 1
        promised = self._IterableDataset_len_called
        if self._dataset_kind == _DatasetKind.Iterable and promised is not None and self._num_yielded > promised:
            several = ("For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at "
                       "each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples.")
            warnings.warn(f"Length of IterableDataset {self._dataset} was reported to be {promised}(when accessing len(dataloader)), but "
                          f"{self._num_yielded} samples have been fetched. {several if self._num_workers else ''}", stacklevel=2)
        return data

    def __len__(self):
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """In this process."""

    def __init__(self, loader):
        super().__init__(loader)
        if self._timeout:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if isinstance(loader.dataset, (IterDataPipe, MapDataPipe)):
            apply_sharding(loader.dataset, self._world_size, self._rank)
        self._dataset_fetcher = _DatasetKind.create_fetcher(self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn,
                                                            self._drop_last)

    def _next_data(self):
        return self._dataset_fetcher.fetch(self._next_index())


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """From worker processes. Index lists go out round robin; what comes back is put in order by its position."""

    def __init__(self, loader):
        super().__init__(loader)
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._shut = False
        self._done = context.Event()
        self._workers, self._indices, self._results = [], [], []
        piped = isinstance(loader.dataset, (IterDataPipe, MapDataPipe))
        init = loader.worker_init_fn
        if piped:
            init = functools.partial(_sharding_worker_init_fn, init, self._world_size, self._rank)
        for k in range(loader.num_workers):
            indices = context.Queue()
            indices.cancel_join_thread()
            receive, send = context.Pipe(duplex=False)
            w = context.Process(target=_worker._worker_loop, daemon=True, args=(
                self._dataset_kind, self._dataset, indices, _worker.Results(send), self._done, self._auto_collation, self._collate_fn,
                self._drop_last, self._base_seed, init, k, self._num_workers, self._persistent_workers, self._shared_seed))
            with warnings.catch_warnings():    # the child computes without JAX's threads: what they warn of does not happen
                warnings.filterwarnings("ignore", message=r".*os\.fork\(\).*|.*use of fork\(\) may lead to deadlocks.*")
                w.start()
            send.close()
            self._workers.append(w)
            self._indices.append(indices)
            self._results.append(receive)
        self._seed_pipes(loader)               # torch draws a second time here, of which the workers do not know
        self._start(loader)

    def _start(self, loader):
        """Ask for the first batches of a pass."""
        self._sent = self._received = 0                    # positions: next to send, next to yield
        self._ready, self._asked = {}, {}                  # position -> data; position -> worker
        self._live = [True] * len(self._workers)
        self._turn = itertools.cycle(range(len(self._workers)))
        for _ in range(loader.prefetch_factor * len(self._workers)):
            self._ask()

    def _reset(self, loader, first_iter=False):
        super()._reset(loader)
        waiting = set(range(len(self._workers)))
        for queue in self._indices:
            queue.put(_ResumeIteration(self._shared_seed))
        while waiting:                                     # what is left of the last pass comes before
            k, (what, _) = self._get()
            if isinstance(what, _ResumeIteration):
                waiting.discard(k)
        self._start(loader)

    def _ask(self):
        """Send the next index (list) to the next worker that still has samples."""
        for _ in self._workers:
            k = next(self._turn)
            if self._live[k]:
                break
        else:
            return
        try:
            index = self._next_index()
        except StopIteration:
            return
        self._indices[k].put((self._sent, index))
        self._asked[self._sent] = k
        self._sent += 1

    def _get(self):
        """The next message of any worker: (worker, (position, data)). RuntimeError when one died or none answers in time."""
        timeout = self._timeout or None
        connections = {r: k for k, r in enumerate(self._results) if r is not None}
        sentinels = {w.sentinel: k for k, w in enumerate(self._workers) if self._results[k] is not None}
        while True:
            there = wait([*connections, *sentinels], timeout)
            if not there:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
            for r in there:
                if r in connections:
                    try:
                        return connections[r], pickle.loads(r.recv_bytes())
                    except (EOFError, ConnectionResetError, OSError):
                        self._died([connections[r]])
            dead = [sentinels[s] for s in there if s in sentinels and not self._results[sentinels[s]].poll()]
            if dead:
                self._died(dead)

    def _died(self, numbers):
        workers = [self._workers[k] for k in numbers]
        for w in workers:
            w.join(1)
        pids = ", ".join(str(w.pid) for w in workers)
        code = workers[0].exitcode
        self._shutdown_workers()
        if code is not None and code < 0:
            import signal
            name = signal.strsignal(-code) or f"signal {-code}"
            raise RuntimeError(f"DataLoader worker (pid {pids}) is killed by signal: {name}. ")
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")

    def _next_data(self):
        while True:
            in_order = self._loader.in_order
            while in_order and self._received < self._sent and self._received not in self._ready and self._received not in self._asked:
                self._received += 1                        # a worker that had ended was asked for it
            if in_order and self._received in self._ready or not in_order and self._ready:
                at = self._received if in_order else min(self._ready)
                data = self._ready.pop(at)
                self._received = max(self._received, at + 1) if in_order else self._received
                self._ask()
                if isinstance(data, ExceptionWrapper):
                    data.reraise()
                return data
            if not self._asked:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if self._shut:
                raise RuntimeError("the DataLoader's workers are gone")
            k, (at, data) = self._get()
            if isinstance(data, _IterableDatasetStopIteration):
                self._live[k] = False
                if not self._persistent_workers:
                    self._indices[k].put(None)
                    self._results[k] = None
                for n in [n for n, who in self._asked.items() if who == k]:
                    del self._asked[n]
                self._ask()
            elif at in self._asked:
                del self._asked[at]
                self._ready[at] = data

    def _shutdown_workers(self):
        """End the workers; those that do not answer are killed."""
        if self._shut:
            return
        self._shut = True
        self._done.set()
        for queue in self._indices:
            queue.put(None)
            queue.close()
        for r in self._results:
            if r is not None:
                r.close()                                  # who is still sending gets a broken pipe
        for w in self._workers:
            w.join(timeout=_utils.MP_STATUS_CHECK_INTERVAL)
            if w.is_alive():
                w.terminate()

    def __del__(self):
        workers = getattr(self, "_workers", ())
        if os is None:                                                # Python ends; the workers went when its exit functions ran
            return
        if workers and workers[0]._parent_pid == os.getpid():      # not in a child that inherited this object
            self._shutdown_workers()
