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


def test_map_stacks_what_comes_of_slices():
    from torchshim._higher_order_ops.map import map
    from torchshim._higher_order_ops.while_loop import while_loop
    from torchshim.functorch.experimental import control_flow
    assert control_flow.map is map and control_flow.cond is torch.cond and while_loop is torch.while_loop
    x = torch.arange(4.0).view(2, 2).requires_grad_()
    total, (more,) = map(lambda s, k: (s["x"].sum(), [s["x"] * k]), {"x": x}, 3)
    assert total.tolist() == [1, 5] and more.tolist() == [[0, 3], [6, 9]]
    (total.sum() + more.sum()).backward()
    assert x.grad.tolist() == [[4, 4], [4, 4]]


@pytest.mark.parametrize("xs, text", [
    (torch.ones(0, 2), "Leading dimensions of mapped xs cannot be 0"),
    ((torch.ones(2), torch.ones(3)), "must be consistent. Got shapes"),
    (3, r"Mapped xs can only consist of tensors. Got xs \[3\]")])
def test_what_map_refuses(xs, text):
    with pytest.raises(RuntimeError, match=text):
        torch._higher_order_ops.map(lambda x: x, xs)
