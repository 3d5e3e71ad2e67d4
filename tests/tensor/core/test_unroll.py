"""Protects the one way to record: the unrolled forms are what their template says."""
import pathlib

import pytest

import torchshim as torch
from torchshim.tensor.core import unroll


@pytest.mark.parametrize("name", unroll.FILES)
def test_the_unrolled_forms_are_up_to_date(name):
    source = pathlib.Path(unroll.__file__).with_name(name).read_text(encoding="utf-8")
    assert unroll.written(name, source) == source, "run python -m torchshim.tensor.core.unroll"


def test_scaled_updates_and_plain_losses():
    """`add(..., alpha=)` in place and not, and a backward from a single number, have ways of their own through what is recorded."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(4):
        loss = (w * torch.tensor([3.0, -1.0])).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        assert w.grad.tolist() == [6.0, -2.0]
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            loss.backward()
        with torch.no_grad():
            version = w._version
            assert w.add_(w.grad, alpha=-0.5) is w and w._version == version + 1
            w.sub_(w.grad, alpha=-0.5)
        w.grad = None
        assert w.tolist() == [1.0, 2.0]
    out = torch.add(w, torch.ones(2), alpha=0.25)
    assert out.tolist() == [1.25, 2.25] and out.grad_fn.name() == "AddBackward0" and torch.rsub(w, w, alpha=2.5).tolist() == [-1.5, -3.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        w.add_(torch.ones(2), alpha=0.5)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        torch.ones(()).backward()
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (w * 2).backward()
    v = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory location"):
        v[1:].add_(v[:-1], alpha=0.5)
    v[2:].add_(v[:2], alpha=0.5)
    assert v.tolist() == [0.0, 1.0, 2.0, 3.5] and v._version == 1
