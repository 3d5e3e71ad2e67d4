"""Protects the pipes beyond the everyday ones: several outlets, groups, files, data frames, graphs. Results are PyTorch 2.13's."""
import functools
import io

import pytest
import torchshim as torch
from torchshim.utils import data
from torchshim.utils.data import graph, graph_settings
from torchshim.utils.data.datapipes import utils
from torchshim.utils.data.datapipes.iter import FileLister, IterableWrapper, Sampler, sharding
from torchshim.utils.data.datapipes.map import SequenceWrapper

pytestmark = pytest.mark.filterwarnings("ignore:.*is not supported by pickle")


def test_forks():
    a, b = IterableWrapper(range(5)).fork(2)
    first = iter(a)
    assert [next(first), next(first)] == [0, 1] and list(b) == list(range(5)) and list(first) == [2, 3, 4] and len(a) == 5
    again = iter(a)
    assert next(again) == 0
    with pytest.raises(RuntimeError, match="a new iterator has been created from one of the ChildDataPipes of _ForkerIterDataPipe"):
        next(iter(b)), iter(a), next(iter(a)), next(again)
    with pytest.raises(BufferError, match="ForkerIterDataPipe buffer overflow,buffer size 2 is insufficient."):
        list(IterableWrapper(range(5)).fork(2, buffer_size=2)[0])
    with pytest.raises(ValueError, match="Unknown copy method `x` requested"):
        IterableWrapper([]).fork(2, copy="x")


def test_demultiplexing_and_back():
    even, odd = IterableWrapper(range(7)).demux(2, lambda x: x % 2)
    assert list(zip(even, odd)) == [(0, 1), (2, 3), (4, 5)] and list(even.mux(odd)) == [0, 1, 2, 3, 4, 5]
    assert [list(p) for p in IterableWrapper(range(7)).demux(2, lambda x: None if x > 3 else x % 2, drop_none=True)] == [[0, 2], [1, 3]]
    with pytest.raises(BufferError, match="DemultiplexerIterDataPipe buffer overflow, buffer size 1 is insufficient."):
        list(IterableWrapper(range(7)).demux(2, lambda x: x % 2, buffer_size=1)[0])
    with pytest.raises(ValueError, match="should be between 0 and 1. None is returned."):
        list(IterableWrapper(range(7)).demux(2, lambda x: None)[0])


def test_groups():
    d = IterableWrapper(range(10))
    assert list(d.groupby(lambda x: x % 2, keep_key=True, group_size=3)) == [(0, [0, 2, 4]), (1, [1, 3, 5]), (0, [6, 8]), (1, [7, 9])]
    full = [(0, [0, 3]), (2, [1, 4]), (1, [2, 5]), (0, [6, 9]), (1, [7]), (2, [8])]
    assert list(d.groupby(lambda x: x % 3, keep_key=True, buffer_size=4)) == full
    with pytest.raises(RuntimeError, match="Failed to group items"):
        list(d.groupby(lambda x: x, buffer_size=4, group_size=3, guaranteed_group_size=2))
    assert list(d.groupby(lambda x: x, buffer_size=4, group_size=3, guaranteed_group_size=2, drop_remaining=True)) == [[7], [8], [9]]


def test_pipes_by_number():
    s = SequenceWrapper(range(5))
    assert list(s.concat(SequenceWrapper([7, 8]))) == [0, 1, 2, 3, 4, 7, 8] and s.zip(SequenceWrapper("ab"))[1] == (1, "b")
    assert list(s.batch(2)) == [[0, 1], [2, 3], [4]] and len(s.batch(2, drop_last=True)) == 2
    with pytest.raises(IndexError, match="Index 2 is out of bound."):
        s.batch(2, drop_last=True)[2]
    torch.manual_seed(3)
    assert list(SequenceWrapper(range(8)).shuffle()) == [0, 6, 5, 2, 7, 4, 1, 3]
    assert list(SequenceWrapper(range(8)).shuffle().set_seed(4)) == [1, 6, 5, 4, 7, 0, 2, 3]
    torch.manual_seed(0)
    drawn = Sampler(IterableWrapper(range(4)), sampler=data.RandomSampler, sampler_kwargs={"replacement": True, "num_samples": 6})
    assert list(drawn) == [2, 2, 0, 1, 1, 3]


def test_groups_that_divide():
    p = IterableWrapper(range(10)).sharding_filter()
    p.apply_sharding(2, 1, sharding_group=sharding.SHARDING_PRIORITIES.DISTRIBUTED)
    p.apply_sharding(3, 2, sharding_group=sharding.SHARDING_PRIORITIES.MULTIPROCESSING)
    assert (list(p), len(p), p.num_of_instances, p.instance_id) == ([5], 1, 6, 5)
    with pytest.raises(RuntimeError, match="ShardingFilter cannot mix DEFAULT and non DEFAULT groups"):
        p.apply_sharding(2, 1)


@pytest.mark.parametrize("fn, columns, said", [
    (lambda: 1, None, "takes 0 parameters, but 1 are required"), (lambda x, y: 1, None, "takes 2 positional parameters, but 1 are "
    "required"),
    (lambda x, *, y: 1, None, "takes 1 non-default keyword-only parameters"),
    (lambda x, y=1: 1, [0, 1, 2], "takes 2 parameters, but 3 are")])
def test_columns_fit_the_function(fn, columns, said):
    with pytest.raises(ValueError, match=said):
        IterableWrapper([]).map(fn, input_col=columns)


def test_files(tmp_path):
    (tmp_path / "sub").mkdir()
    for name, text in (("b.txt", "two"), ("a.id", "1"), ("sub/c.json", "[3]")):
        (tmp_path / name).write_text(text)
    root = str(tmp_path)

    def names(pipe):
        return [str(p)[len(root) + 1:] for p in pipe]
    assert names(FileLister(root)) == ["a.id", "b.txt"] and names(FileLister(root, ["*.json"], recursive=True)) == ["sub/c.json"]
    assert [t for _, t in FileLister(root).open_files("b").read_from_stream(2)] == [b"1", b"tw", b"o"]
    with pytest.warns(FutureWarning, match=r"its functional API `.routed_decode\(\)` are deprecated"):
        decoded = FileLister(root, recursive=True).open_files("b").routed_decode()
    assert [x for _, x in decoded] == [1, "two", [3]]
    with pytest.raises(ValueError, match="binary mode doesn't take an encoding argument"):
        FileLister(root).open_files("b", encoding="utf-8")
    whole = utils.common.StreamWrapper(io.StringIO("abc"))
    part = utils.common.StreamWrapper(io.StringIO("d"), whole, name="part")
    whole.autoclose()
    assert not whole.closed
    part.close()
    assert whole.closed


def _named(found):
    return {repr(pipe): _named(below) for pipe, below in found.values()}


def test_graphs():
    base = IterableWrapper(range(10)).shuffle()
    end = base.zip(base.batch(2).map(str))
    source = {"IterableWrapperIterDataPipe": {}}
    assert _named(graph.traverse_dps(end)) == {"ZipperIterDataPipe": {
        "ShufflerIterDataPipe": source, "MapperIterDataPipe": {"BatcherIterDataPipe": {"ShufflerIterDataPipe": source}}}}
    assert len(graph_settings.get_all_graph_pipes(graph.traverse_dps(end))) == 5
    with pytest.raises(RuntimeError, match="Expected `IterDataPipe` or `MapDataPipe`, but <class 'int'> is found"):
        graph.traverse_dps(3)
    with pytest.warns(FutureWarning, match="Please use `traverse_dps` instead. And, the behavior"):
        assert _named(graph.traverse(IterableWrapper([]).map(functools.partial(max)))) == {"MapperIterDataPipe": source}


def test_a_snapshot_is_restored():
    torch.manual_seed(1)
    pipe = IterableWrapper(range(6)).shuffle()
    list(pipe)
    g = torch.Generator()
    g.manual_seed(7)
    utils.snapshot._simple_graph_snapshot_restoration(pipe, 2, g)
    rest = list(pipe)
    g.manual_seed(7)
    assert list(graph_settings.apply_random_seed(pipe, g))[2:] == rest and pipe._number_of_samples_yielded == 6
    with pytest.raises(RuntimeError, match="exceeds the number of samples available"):
        utils.snapshot._simple_graph_snapshot_restoration(pipe, 9, g)


def test_operations_on_data_frames_are_noted():
    pytest.importorskip("pandas")
    pipe = IterableWrapper([(k, k % 3) for k in range(6)])
    frame = pipe._to_dataframes_pipe(columns=["i", "j"], dataframe_size=3)
    frame["k"] = frame["i"] + frame["j"] * 2
    assert [tuple(r) for r in frame] == [(0, 0, 0), (1, 1, 3), (2, 2, 6), (3, 0, 3), (4, 1, 6), (5, 2, 9)] and "k" in frame.columns
    assert [len(b) for b in frame.batch(4)] == [4, 2] and [r.i for r in frame.filter(lambda r: r.k > 5)] == [2, 4, 5]
    with pytest.raises(RuntimeError, match="Can't collate unbatched DataFrames stream"):
        frame.collate()


def test_pipes_are_sent_in_wrappers():
    """Libraries import these names, and look for them among the datasets of loaders."""
    import pickle

    from torchshim.utils.data.datapipes import iter as pipes, map as maps
    from torchshim.utils.data.datapipes.datapipe import _IterDataPipeSerializationWrapper, _MapDataPipeSerializationWrapper
    sent = pickle.loads(pickle.dumps(_IterDataPipeSerializationWrapper(pipes.IterableWrapper([1, 2, 3]))))
    assert len(sent) == 3 and list(sent) == [1, 2, 3] and list(sent) == [1, 2, 3]
    sent = pickle.loads(pickle.dumps(_MapDataPipeSerializationWrapper(maps.SequenceWrapper([4, 5]))))
    assert len(sent) == 2 and sent[1] == 5
