"""Protects joins of many small tensors that are there: no record tells which of them are the same, and what is refused is refused as ever."""
import random

import pytest

import torchshim as torch
from torchshim.engine.record.trie import counters


@pytest.mark.parametrize("join", [torch.cat, torch.stack, lambda xs: torch.cat(xs, -1), lambda xs: torch.stack(xs, -1)])
def test_samples_of_a_buffer_grow_no_records(join):
    buffer, draw = [torch.tensor([[float(i), 0.]]) for i in range(30)], random.Random(0)
    for _ in range(5):
        xs, before = draw.choices(buffer, k=12), counters["states"]
        made = join(xs)
        assert counters["states"] == before
        assert made.sum().item() == sum([x[0, 0].item() for x in xs]) and made.is_contiguous()


def test_what_is_joined_is_a_copy():
    a = torch.zeros(2)
    made = torch.cat([a] * 9)
    a.add_(1)
    assert made.sum() == 0 and torch.cat([a] * 9).sum() == 18


def test_gradients_tangents_and_examples_go_through():
    p = torch.ones(3, requires_grad=True)
    torch.cat([p] * 9).sum().backward()
    assert p.grad.tolist() == [9., 9., 9.]
    assert torch.func.jvp(lambda v: torch.stack([v] * 9).sum(), (torch.ones(2),), (torch.ones(2),))[1] == 18
    assert torch.func.vmap(lambda v: torch.cat([v] * 9))(torch.arange(6.).view(2, 3)).shape == (2, 27)


@pytest.mark.parametrize("call, says", [
    (lambda: torch.cat([torch.tensor(1.)] * 9), r"zero-dimensional tensor \(at position 0\) cannot be concatenated"),
    (lambda: torch.cat([torch.ones(2, 3)] * 8 + [torch.ones(2, 4)]), "Sizes of tensors must match except in dimension 0"),
    (lambda: torch.stack([torch.ones(2, 3)] * 8 + [torch.ones(2, 4)]), "stack expects each tensor to be equal size"),
    (lambda: torch.stack([torch.ones(2, 3)] * 8, 3), r"Dimension out of range \(expected to be in range of \[-3, 2\], but got 3\)")])
def test_what_does_not_fit_is_refused(call, says):
    with pytest.raises((RuntimeError, IndexError), match=says):
        call()


def test_dtypes_are_promoted_and_layouts_kept():
    assert torch.cat([torch.ones(2, dtype=torch.int8)] * 8 + [torch.ones(1)]).dtype == torch.float32
    assert torch.cat([torch.ones(2, dtype=torch.bfloat16)] * 9).dtype == torch.bfloat16
    assert torch.cat([torch.zeros(0)] + [torch.ones(2, 3)] * 8).shape == (16, 3)
    assert torch.cat([torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last)] * 9).stride() == (18, 1, 6, 2)
