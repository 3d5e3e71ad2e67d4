"""Protects datapipes: their methods, that a pipe has one valid iterator, and the order in which a DataLoader draws. Numbers are PyTorch 2.13's."""
import pickle

import pytest
import torchshim as torch
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
    with pytest.raises(AttributeError, match="has no attribute 'fork: torchshim lacks it"):
        d.fork(2)
    with pytest.raises(IndexError, match=r"exceeds the depth of the DataPipe\nThis exception is thrown by __iter__ of UnBatcherIterDataPipe"):
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
    with pytest.raises(NotImplementedError, match="persistent workers"):
        DataLoader(pipe, num_workers=1, persistent_workers=True)
