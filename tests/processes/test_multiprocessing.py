"""Processes share tensors' memory; spawn tells of what went wrong; Hogwild training trains the model that is shared."""
import sys

import pytest

import torchshim as torch
from torchshim import multiprocessing as mp
from torchshim.tensor.core import inplace

from tests.processes import process_programs as programs

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs memfd_create")


def test_arguments_share_memory():
    t = torch.zeros(2, 3)
    view = t[1]
    assert not t.is_shared() and t.share_memory_() is t and view.is_shared()
    mp.spawn(programs.add, (t, view), nprocs=1)
    assert t.tolist() == [[1, 1, 1], [11, 1, 1]] and view.tolist() == [11, 1, 1]


def test_sharing_one_tensor_leaves_the_fast_way_of_writing_to_others(monkeypatch):
    """A program whose DataLoader has workers holds shared memory all along."""
    shared, other = torch.zeros(3).share_memory_(), torch.zeros(3)
    general, went = inplace.apply_inplace, []
    monkeypatch.setattr(inplace, "apply_inplace", lambda *a: went.append(a[1][0]) or general(*a))
    for t in (other, shared):
        t.add_(1)
        t.add_(t)
        t.neg_()
        assert t.tolist() == [-2, -2, -2]
    assert len(went) >= 3 and all([t is shared for t in went])


def test_queues_and_the_default_way_to_start():
    context = mp.get_context("spawn")
    questions, answers, t = context.Queue(), context.Queue(), torch.arange(3.)
    p = context.Process(target=programs.answer, args=(questions, answers))
    p.start()
    questions.put(t)
    assert answers.get(timeout=60) == "done"
    p.join()
    assert t.tolist() == [0, 2, 4]
    with pytest.raises(RuntimeError, match="Cowardly refusing"):
        mp.reductions.reduce_tensor(torch.ones(1, requires_grad=True) * 2)


def test_errors():
    with pytest.raises(mp.ProcessRaisedException, match="-- Process 1 terminated with the following error:\n(.|\n)*ValueError: on purpose"):
        mp.spawn(programs.fail, nprocs=2)
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3"):
        mp.spawn(programs.leave)


def test_hogwild():
    """Between the look at a parameter and its new value others may write: no process loses what another one adds."""
    torch.manual_seed(0)
    model, numbers, trained = torch.nn.Linear(3, 2), [torch.zeros(4) for _ in range(6)], torch.nn.Linear(2, 1)
    for p in model.parameters():
        torch.nn.init.zeros_(p)
    for m in (model, trained):
        m.share_memory()
    for t in numbers:
        t.share_memory_()
    mp.spawn(programs.count, (mp.get_context("spawn").Barrier(2), model, numbers, trained), nprocs=2)
    assert model.weight.tolist() == [[200] * 3] * 2 and model.bias.tolist() == [200] * 2
    assert [t.tolist() for t in numbers] == [[200] * 4] * 6
    assert abs(trained(torch.ones(1, 2)).item() - 3) < 0.05
