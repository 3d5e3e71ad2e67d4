"""What checkpoints refuse (torch 2.13)."""
import pytest

import torchshim as torch
from torchshim.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential, set_checkpoint_early_stop


def test_a_second_run_to_the_end_that_saves_more():
    runs = []

    def f(x):
        runs.append(1)
        return x.sin() if len(runs) == 1 else x.sin().cos()
    with set_checkpoint_early_stop(False):
        y = checkpoint(f, torch.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(CheckpointError, match="trying to save more tensors during recomputation than during the original forward pass"):
        y.sum().backward()


def test_more_segments_than_functions():
    with pytest.raises(ValueError, match="must not be zero"):
        checkpoint_sequential([torch.sin, torch.cos], 3, torch.ones(2, requires_grad=True), use_reentrant=False)


def test_a_checkpoint_where_hooks_on_saved_tensors_are_refused():
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="^not here$"):
            checkpoint(torch.sin, torch.ones(2, requires_grad=True), use_reentrant=False)


@pytest.mark.parametrize("after", [lambda v: v.detach_(), lambda v: v.detach_().requires_grad_()])
def test_an_argument_that_was_cut_from_its_history_is_refused(after):
    for function in (torch.sin, lambda x: checkpoint(torch.sin, x.exp(), use_reentrant=False)):
        v = torch.ones(3, requires_grad=True) * 1
        y = checkpoint(function, v, use_reentrant=False)
        after(v)
        with pytest.raises(RuntimeError, match="Trying to use a saved tensor that has been detached in-place"):
            y.sum().backward()
