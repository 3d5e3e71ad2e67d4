"""Protects datapipes: their methods, that a pipe has one valid iterator, and the order in which a DataLoader draws.
Numbers are PyTorch 2.13's."""
import pickle

import pytest
import torchshim as torch
from torchshim.utils import data
from torchshim.utils.data import DataLoader, IterableDataset, IterDataPipe, functional_datapipe
from torchshim.utils.data.datapipes.iter import IterableWrapper
from torchshim.utils.data.datapipes.map import SequenceWrapper

pytestmark = pytest.mark.filterwarnings("ignore:.*is not supported by pickle")


def test_methods_make_pipes():
    d = IterableWrapper(range(10))
    assert isinstance(d, IterableDataset) and repr(d) == "IterableWrapperIterDataPipe" and len(d.batch(3)) == 4
    assert list(d.map(lambda x: x + 1).filter(lambda x: x % 2 == 0).batch(2)) == [[2, 4], [6, 8], [10]]
    assert list(d.batch(2).batch(2).unbatch(2)) == list(range(10))
    assert [b.tolist() for b in d.batch(5).collate()] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert list(IterableWrapper([(1, 2, 3)]).map(lambda a, c: a + c, input_col=[0, 2])) == [(4, 2)]
    assert SequenceWrapper([3, 1]).map(lambda x: x * 2)[0] == 6
    with pytest.raises(AttributeError, match="'IterableWrapperIterDataPipe' object has no attribute 'nope$"):
        d.nope
    with pytest.raises(IndexError, match=r"exceeds the depth of the DataPipe\nThis exception is thrown by __iter__ of "
                                         r"UnBatcherIterDataPipe"):
        list(d.unbatch())


def test_a_method_of_ones_own():
    @functional_datapipe("test_twice")
    class Twice(IterDataPipe):
        def __init__(self, source):
            self.source, self.resets = source, 0

        def __iter__(self):
            for x in self.source:
                yield from (x, x)

        def reset(self):
            self.resets += 1
    try:
        pipe = IterableWrapper([1, 2]).test_twice()
        assert list(pipe) == list(pipe) == [1, 1, 2, 2] and pipe.resets == 2
        with pytest.raises(Exception, match="Unable to add DataPipe function name test_twice as it is already taken"):
            functional_datapipe("test_twice")(Twice)
    finally:
        del IterDataPipe.functions["test_twice"]


@pytest.mark.parametrize("pipe", [IterableWrapper(range(3)), IterableWrapper(range(3)).map(str)])
def test_one_valid_iterator(pipe):
    first = iter(pipe)
    next(first)
    second = iter(pipe)
    next(second)
    with pytest.raises(RuntimeError, match="This iterator has been invalidated"):
        next(first)


def test_shuffling():
    torch.manual_seed(0)
    assert list(IterableWrapper(range(10)).shuffle(buffer_size=3)) == [0, 1, 3, 5, 2, 4, 6, 8, 9, 7]
    s = IterableWrapper(range(10)).shuffle().set_seed(3)
    want = [3, 9, 2, 4, 7, 6, 0, 8, 1, 5]
    assert list(pickle.loads(pickle.dumps(s))) == want == list(s)
    assert list(s.set_shuffle(False)) == list(range(10))


def test_a_loader_seeds_and_divides():
    torch.manual_seed(0)
    list(IterableWrapper(range(10)).shuffle(buffer_size=3))
    pipe = IterableWrapper(range(10)).shuffle().sharding_filter()
    assert [x.tolist() for x in DataLoader(pipe, batch_size=4)] == [[8, 2, 6, 9], [3, 0, 1, 7], [4, 5]]
    assert [x.tolist() for x in DataLoader(pipe, batch_size=4, num_workers=2)] == [[0, 8, 9, 5], [3, 2, 6, 1], [7], [4]]
    assert [x.tolist() for x in DataLoader(pipe, batch_size=5, shuffle=False)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    torch.manual_seed(5)
    loader = DataLoader(IterableWrapper(range(12)).shuffle().sharding_filter(), num_workers=2, batch_size=3, persistent_workers=True)
    assert [[x.tolist() for x in loader] for _ in range(2)] == [[[1, 2, 8], [5, 10, 7], [0, 11, 3], [6, 9, 4]],
                                                                [[5, 9, 0], [10, 1, 6], [11, 4, 7], [3, 2, 8]]]
    with pytest.raises(RuntimeError, match="Sharding twice on a single pipeline"):
        list(DataLoader(pipe.map(str).sharding_filter()))


def test_pipes_that_differ_in_each_run():
    @data.non_deterministic
    class Always(data.IterDataPipe):
        def __iter__(self):
            yield 1

    @data.non_deterministic(lambda n: n > 1)
    class Sometimes(data.IterDataPipe):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            yield self.n

    with data.guaranteed_datapipes_determinism():
        assert list(Sometimes(1)) == [1]
        for make, said in ((Always, "Always is non-deterministic, but you set"),
                           (lambda: Sometimes(2), "Sometimes is non-deterministic with the inputs")):
            with pytest.raises(TypeError, match=said):
                make()
    assert list(Always()) == [1] and list(Sometimes(2)) == [2]
    with pytest.raises(TypeError, match="Only `IterDataPipe` can be decorated with `non_deterministic`, but int is found"):
        data.non_deterministic(int)


def test_hooks_of_pickling_and_text():
    pipe = IterableWrapper([1, 2])
    data.IterDataPipe.set_getstate_hook(lambda state: {**state, "hooked": True})
    try:
        with pytest.raises(RuntimeError, match="Attempt to override existing getstate_hook"):
            data.IterDataPipe.set_getstate_hook(vars)
        assert pickle.loads(pickle.dumps(pipe)).hooked and data.MapDataPipe.getstate_hook is None
    finally:
        data.IterDataPipe.set_getstate_hook(None)
    data.IterDataPipe.set_reduce_ex_hook(lambda p: (list, ([7],)))
    try:
        assert pickle.loads(pickle.dumps(pipe)) == [7]
    finally:
        data.IterDataPipe.set_reduce_ex_hook(None)
    assert list(pickle.loads(pickle.dumps(pipe))) == [1, 2] and str(pipe) == "IterableWrapperIterDataPipe"
