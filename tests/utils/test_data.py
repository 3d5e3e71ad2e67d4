"""Protects torch.utils.data: the order of samples, the seeds of workers, what collating makes, and what happens when a worker fails.

Numbers are PyTorch 2.13's.
"""
import os
import signal
import warnings
from collections import namedtuple

import numpy as np
import pytest
import torchshim as torch
from torchshim.utils.data import (BatchSampler, ConcatDataset, DataLoader, Dataset, DistributedSampler, IterableDataset, RandomSampler,
                                  SequentialSampler, StackDataset, Subset, SubsetRandomSampler, TensorDataset, WeightedRandomSampler,
                                  default_collate, default_convert, get_worker_info, random_split)


class Squares(Dataset):
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.tensor(i), i * 2.0


class Stream(IterableDataset):
    def __iter__(self):
        w = get_worker_info()
        return iter(range(6)) if w is None else iter(range(w.id, 6, w.num_workers))


class Fails(Squares):
    def __getitem__(self, i):
        if i == 4:
            raise KeyError("no sample 4")
        return i


class Dies(Squares):
    def __getitem__(self, i):
        if i == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return i


def firsts(loader):
    return [batch[0].tolist() for batch in loader]


def test_orders_are_pytorchs():
    torch.manual_seed(0)
    loader = DataLoader(Squares(), batch_size=3)
    assert len(loader) == 4 and firsts(loader) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    assert torch.rand(1).item() == pytest.approx(0.0885, abs=5e-5)         # a pass draws a seed
    assert firsts(DataLoader(Squares(), batch_size=3, shuffle=True)) == [[6, 9, 0], [2, 3, 7], [1, 8, 4], [5]]
    assert torch.rand(1).item() == pytest.approx(0.8964, abs=5e-5)
    g = torch.Generator().manual_seed(5)
    assert firsts(DataLoader(Squares(), batch_size=3, shuffle=True, generator=g)) == [[7, 4, 8], [1, 2, 3], [6, 5, 9], [0]]


def test_samplers_draw_pytorchs_streams():
    torch.manual_seed(3)
    assert list(RandomSampler(Squares())) == [7, 0, 9, 1, 6, 4, 5, 3, 2, 8]
    assert list(RandomSampler(Squares(), replacement=True)) == [6, 3, 8, 7, 2, 6, 8, 0, 2, 9]
    assert list(RandomSampler(Squares(), num_samples=25)) == [7, 5, 3, 1, 4, 2, 8, 9, 6, 0, 4, 1, 3, 0, 7, 9, 8, 5, 2, 6, 2, 9, 3, 1, 5]
    assert list(RandomSampler(Squares(100), replacement=True, num_samples=70))[:10] == [43, 16, 69, 12, 2, 27, 32, 83, 73, 95]
    assert list(WeightedRandomSampler([.1, .5, .9], 5)) == [2, 2, 1, 2, 2] and list(SubsetRandomSampler([3, 1, 5])) == [5, 1, 3]
    a, b = random_split(Squares(), [7, 3])
    assert (a.indices, b.indices) == ([6, 0, 9, 3, 4, 8, 7], [1, 5, 2])
    assert [s.indices for s in random_split(range(10), [.33, .33, .34])] == [[0, 7, 9, 5], [3, 2, 8], [4, 6, 1]]
    assert list(DistributedSampler(Squares(), 3, 1)) == [1, 3, 8, 4]
    assert list(DistributedSampler(Squares(), 3, 2, shuffle=False, drop_last=True)) == [2, 5, 8]
    assert list(BatchSampler(SequentialSampler(Squares(5)), 2, False)) == [[0, 1], [2, 3], [4]]


def test_datasets_of_datasets():
    c = ConcatDataset([Squares(2), Squares(3)])
    assert len(c) == 5 and c[-1][1] == 4.0 and c.cumulative_sizes == [2, 5]
    assert [x.tolist() for x in TensorDataset(torch.arange(4), torch.arange(4) * 2)[1:3]] == [[1, 2], [2, 4]]
    s = StackDataset(a=torch.arange(3), b=[1, 2, 3])
    assert s[0]["b"] == 1 and len(s) == 3 and s.__getitems__([0, 2])[1]["b"] == 3
    assert Subset(Squares(), [4, 2])[1][1] == 4.0 and [x[1] for x in Subset(Squares(), [4, 2]).__getitems__([0, 1])] == [8.0, 4.0]


Point = namedtuple("Point", "a b")


def test_collate():
    assert default_collate([1, 2]).dtype == torch.int64 and default_collate([1.5, 2]).dtype == torch.float64
    assert default_collate(["a", "b"]) == ["a", "b"]
    made = default_collate([Point({"x": np.float32(1)}, (1, "u")), Point({"x": np.float32(2)}, (2, "v"))])
    assert type(made) is Point and made.a["x"].tolist() == [1, 2] and made.b[1] == ("u", "v")
    assert default_collate([np.ones(2), np.zeros(2)]).shape == (2, 2)
    converted = default_convert([np.ones(2), "a", (1, np.float32(3))])
    assert converted[0].dtype == torch.float64 and converted[2][1].item() == 3
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors"):
        default_collate([object()])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        default_collate([[1], [1, 2]])


class _Doubled(TensorDataset):
    def __getitem__(self, i):
        return tuple(2 * t for t in super().__getitem__(i))


def test_rows_of_tensors_are_taken_as_their_samples_are():
    x, y = torch.arange(24.).reshape(6, 2, 2), torch.arange(6)
    rows = Subset(Subset(TensorDataset(x, y), [5, 4, 3, -6]), [0, 3, 1])
    for data in (rows, [rows[i] for i in range(3)]):
        batch, = DataLoader(data, batch_size=4)
        assert batch.__class__ is list and batch[0].is_contiguous() and batch[1].tolist() == [5, 0, 4]
        assert batch[0].tolist() == [x[5].tolist(), x[0].tolist(), x[4].tolist()]
        batch[0].zero_()                       # it is not the data's memory
    assert x[5, 0, 0] == 20
    assert next(iter(DataLoader(_Doubled(x, y), batch_size=6)))[1].tolist() == [0, 2, 4, 6, 8, 10]
    batch, = DataLoader(TensorDataset(x.requires_grad_()), batch_size=6)
    assert "StackBackward0" in str(batch[0].grad_fn)
    wide = torch.arange(48.).reshape(2, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    batch, = DataLoader(TensorDataset(wide), batch_size=2)
    assert batch[0].stride() == torch.stack([wide[0], wide[1]]).stride()
    with pytest.raises(IndexError):
        next(iter(DataLoader(TensorDataset(y), batch_sampler=[[0, 6]])))


def test_rows_are_taken_at_once_after_a_backward_too(monkeypatch):
    """What a backward left of its modes kept every loader of a training program from it."""
    torch.ones(2, requires_grad=True).sum().backward()
    monkeypatch.setattr(TensorDataset, "__getitem__", None)
    assert firsts(DataLoader(TensorDataset(torch.arange(6)), batch_size=4)) == [[0, 1, 2, 3], [4, 5]]


def test_workers_keep_the_order():
    plain = DataLoader(Squares(), batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(5))
    want = firsts(plain)
    for options in (dict(num_workers=1), dict(num_workers=2), dict(num_workers=2, prefetch_factor=5),
                    dict(num_workers=2, persistent_workers=True)):
        loader = DataLoader(Squares(), batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(5), **options)
        assert firsts(loader) == want
        assert sorted(sum(firsts(loader), [])) == list(range(10))          # again, with the same workers where they persist
    assert sorted(x for b in DataLoader(Squares(), 2, num_workers=2, in_order=False) for x in b[0].tolist()) == list(range(10))


def test_iterable_datasets():
    assert [b.tolist() for b in DataLoader(Stream(), batch_size=4)] == [[0, 1, 2, 3], [4, 5]]
    for _ in range(2):
        loader = DataLoader(Stream(), batch_size=2, num_workers=2, persistent_workers=True)
        assert [b.tolist() for b in loader] == [[0, 2], [1, 3], [4], [5]]
        assert [b.tolist() for b in loader] == [[0, 2], [1, 3], [4], [5]]


def _streams(i):
    import random
    Seeded.drawn = [torch.initial_seed(), torch.rand(1).item(), random.random(), np.random.rand()]


class Seeded(Squares):
    drawn = None

    def __getitem__(self, i):
        return self.drawn


def test_workers_get_pytorchs_seeds():
    torch.manual_seed(11)
    seed, a, b, c = next(iter(DataLoader(Seeded(2), batch_size=None, num_workers=1, worker_init_fn=_streams)))
    assert seed == 3325388913236545215
    assert (a, b, c) == (pytest.approx(0.5997255444526672, abs=1e-9), 0.10437156952704962, 0.7784028814550128)


def test_what_a_worker_raises_is_raised_here():
    with pytest.raises(KeyError) as error:
        list(DataLoader(Fails(), num_workers=2))
    assert "Caught KeyError in DataLoader worker process 0." in str(error.value) and "no sample 4" in str(error.value)
    assert "__getitem__" in str(error.value)


def test_a_worker_that_dies_is_reported():
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid \d+\) is killed by signal: Killed"):
        list(DataLoader(Dies(), num_workers=2))
    assert len(list(DataLoader(Squares(4), num_workers=2))) == 4


def test_abandoned_iterators_end_their_workers():
    it = iter(DataLoader(Squares(1000), num_workers=2))
    next(it)
    workers = it._workers
    del it
    for w in workers:
        w.join(10)
        assert not w.is_alive()


@pytest.mark.parametrize("options, text", [
    (dict(num_workers=-1), "num_workers option should be non-negative"), (dict(prefetch_factor=2), "prefetch_factor option could only"),
    (dict(persistent_workers=True), "needs num_workers > 0"), (dict(batch_size=None, drop_last=True), "mutually exclusive with drop_last"),
    (dict(batch_size=0), "batch_size should be a positive integer"),
    (dict(batch_sampler=[[1]], batch_size=2), "batch_sampler option is mutually"),
    (dict(sampler=[1], shuffle=True), "sampler option is mutually exclusive with shuffle")])
def test_arguments_that_do_not_fit(options, text):
    with pytest.raises(ValueError, match=text):
        DataLoader(Squares(), **options)


def test_pinned_memory_without_an_accelerator_is_told():
    """Each pass says that pin_memory does nothing here, as torch's does."""
    if torch.accelerator.is_available():
        pytest.skip("there is one")
    loader = DataLoader([1, 2], pin_memory=True)
    for _ in range(2):
        with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
            list(loader)


def test_sparse_tensors_and_a_timeout_without_workers_are_refused():
    with pytest.raises(RuntimeError, match="Batches of sparse tensors are not currently supported by the default collate_fn"):
        default_collate([torch.eye(2).to_sparse()] * 2)
    with pytest.raises(AssertionError, match="requires timeout == 0"):
        list(DataLoader([1, 2], timeout=3))


def test_what_loaders_of_other_libraries_ask_for():
    """A loader made of torch's parts: its iterator's base class, its fetchers and its workers' loop, with queues of its own."""
    import multiprocessing
    from torchshim.utils.data import _DatasetKind, _utils, dataloader
    dataset = torch.utils.data.TensorDataset(torch.arange(5))
    loader = DataLoader(dataset, batch_size=2)

    class Iterator(dataloader._BaseDataLoaderIter):
        def __init__(self, loader):
            super().__init__(loader)
            self._dataset_fetcher = _DatasetKind.create_fetcher(self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn,
                                                                self._drop_last)

        def _next_data(self):
            return self._dataset_fetcher.fetch(self._next_index())
    assert [b.tolist() for b, in Iterator(loader)] == [[0, 1], [2, 3], [4]]
    fetcher = _DatasetKind.create_fetcher(_DatasetKind.Iterable, range(3), True, list, True)
    assert fetcher.fetch([None] * 2) == [0, 1] and not fetcher.ended
    with pytest.raises(StopIteration):
        fetcher.fetch([None] * 2)
    assert fetcher.ended and _utils.HAS_NUMPY and not _utils.python_exit_status and _utils.worker.ManagerWatchdog().is_alive()

    context = multiprocessing.get_context("fork")
    indices, results, done = context.Queue(), context.Queue(), context.Event()
    for task in ((0, [1, 0]), (1, [7]), _utils.worker._ResumeIteration(3), (2, [4])):
        indices.put(task)
    w = context.Process(target=_utils.worker._worker_loop, daemon=True, args=(
        _DatasetKind.Map, dataset, indices, results, done, True, _tolist, False, 5, None, 0, 1, False, None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")        # of threads that the child does not use
        w.start()
    got = [results.get(timeout=60) for _ in range(4)]
    done.set()
    indices.put(None)
    w.join(60)
    assert w.exitcode == 0
    assert got[0] == (0, [1, 0]) and got[2] == (_utils.worker._ResumeIteration(seed=3), None) and got[3] == (2, [4])
    assert got[1][0] == 1 and got[1][1].exc_type is IndexError


def _tolist(batch):
    return [x.item() for x, in batch]


def test_watched_workers_that_fail_are_told_of():
    import os
    import subprocess
    import sys
    from torchshim.utils.data._utils import signal_handling
    for key, (code, text) in enumerate((("import os; os._exit(3)", "exited unexpectedly with exit code 3. Details are lost due to multiprocessing"),
                                        ("import os; os.kill(os.getpid(), 9)", "is killed by signal: Killed. "), ("pass", None))):
        child = subprocess.Popen([sys.executable, "-c", code])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        signal_handling._set_worker_pids(key, (child.pid,))
        if text is None:
            signal_handling._error_if_any_worker_fails()
        else:
            with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid {child.pid}\) {text}"):
                signal_handling._error_if_any_worker_fails()
            signal_handling._error_if_any_worker_fails()       # each is told of once
        signal_handling._remove_worker_pids(key)
        child.wait()
    with pytest.raises(TypeError, match="expects a tuple for child_pids, but got list"):
        signal_handling._set_worker_pids(1, [2])
    with pytest.raises(ValueError, match="Cannot find worker information for _BaseDataLoaderIter with id 7"):
        signal_handling._remove_worker_pids(7)
