"""Protects torch.cond and torch.while_loop: Python's branches and loops, with gradients through what was taken."""
import pytest

import torchshim as torch


def test_cond_takes_one_branch():
    x = torch.tensor([2.0], requires_grad=True)
    y = torch.cond(x.sum() > 1, lambda x: x * 3, lambda x: x, (x,))
    y.backward()
    assert x.grad.item() == 3 and torch.cond(False, lambda: 1, lambda: 2) == 2
    with pytest.raises(RuntimeError, match="Expected pred to be bool or single-element tensor"):
        torch.cond(torch.tensor([True, False]), lambda: 1, lambda: 2)


def test_while_loop_carries_its_values():
    i, x = torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2)))
    assert i.item() == 3 and x.tolist() == [8, 8]
