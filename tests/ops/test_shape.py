"""Protects joining, repeating, mirroring and copying: values, layouts and errors.

Expectations are PyTorch 2.13's, written down.
"""

import pytest

import torchshim as torch


def grid():
    return torch.arange(6.0).reshape(2, 3)


def test_joining():
    a = grid()
    assert torch.cat([a, a.int()], -1).dtype == torch.float32
    assert torch.cat([a, torch.zeros(0)]).tolist() == a.tolist()
    last = torch.zeros(1, 2, 3, 3).to(memory_format=torch.channels_last)
    assert torch.cat([last, last]).stride() == (18, 1, 6, 2)
    assert torch.stack([a, a.double()], -1).shape == (2, 3, 2)
    assert torch.hstack([a[0], a[1]]).tolist() == [0, 1, 2, 3, 4, 5]
    assert torch.column_stack([a[0], a[1]]).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert torch.block_diag(a, torch.tensor(1.0)).shape == (3, 4)
    x, y = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="xy")
    assert x.tolist() == [[0, 1]] * 3 and y.stride() == (1, 0)


def test_repeating_and_mirroring():
    a = grid()
    assert a.repeat(2, 1, 2).shape == (2, 2, 6)
    assert a.repeat_interleave(torch.tensor([0, 2]), 0).tolist() == [[3, 4, 5], [3, 4, 5]]
    assert a.t().flip(0).stride() == (1, 3)
    assert a.roll((1, 2), (0, 1)).tolist() == [[4, 5, 3], [1, 2, 0]]
    assert a.rot90().tolist() == [[2, 5], [1, 4], [0, 3]]
    assert torch.diag_embed(a, 1, 0, -1).stride() == (8, 4, 1)
    assert torch.zeros(4, 2).fill_diagonal_(1, wrap=True).tolist() == [[1, 0], [0, 1], [0, 0], [1, 0]]
    assert torch.zeros(7, 4, 3)[:, 1].fill_diagonal_(1, wrap=True).nonzero()[:, 0].tolist() == [0, 1, 2, 4, 5, 6]


def test_copies_and_their_gradients():
    w = torch.ones(3, requires_grad=True)
    x = torch.zeros(2, 3)
    x.copy_(w)
    x.backward(grid())
    assert type(x.grad_fn).__name__ == "CopyBackwards" and w.grad.tolist() == [3, 5, 7]
    y = w * 2
    y.zero_()
    assert type(y.grad_fn).__name__ == "ZeroBackward0" and y._version == 1
    assert type((w * 2).fill_(1).grad_fn).__name__ == "FillBackward2"
    assert torch.zeros(2, dtype=torch.int).fill_(2.7).tolist() == [2, 2]
    assert torch.zeros(3, 4)[:, 1:2].clone().stride() == (1, 1)


ERRORS = [
    ("torch.cat([])", ValueError, "torch.cat(): expected a non-empty list of Tensors"),
    ("torch.cat([a, torch.zeros(2, 4)])", RuntimeError, "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 "
                                                        "for "
     "tensor number 1 in the list."),
    ("torch.cat([a, torch.tensor(1.0)])", RuntimeError, "zero-dimensional tensor (at position 1) cannot be concatenated"),
    ("torch.stack([a, a[0]])", RuntimeError, "stack expects each tensor to be equal size, but got [2, 3] at entry 0 and [3] at entry 1"),
    ("a.copy_(torch.zeros(4, 3))", RuntimeError, "The size of tensor a (2) must match the size of tensor b (4) at non-singleton dimension "
                                                 "0"),
    ("a.repeat(2)", RuntimeError, "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"),
    ("a.roll((1, 2))", RuntimeError, "shifts and dimensions must align. shifts: 2, dims:0"),
    ("a[0].tril()", RuntimeError, "tril: input tensor must have at least 2 dimensions"),
    ("a.fill_(torch.zeros(2))", RuntimeError, "fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions."),
]


@pytest.mark.parametrize("text, kind, message", ERRORS, ids=[e[0] for e in ERRORS])
def test_errors(text, kind, message):
    with pytest.raises(kind) as e:
        eval(text, {"a": grid(), "torch": torch})
    assert str(e.value) == message


def test_roll_along_none_one_and_several_dimensions():
    x = torch.arange(6).view(2, 3)
    assert torch.roll(x, 1, None).tolist() == torch.roll(x, 1).tolist() == [[5, 0, 1], [2, 3, 4]]
    assert torch.roll(x, (1, 1), (0, 1)).tolist() == [[5, 3, 4], [2, 0, 1]]
    y = torch.rand(2, 3, 4, 2).contiguous(memory_format=torch.channels_last)
    assert torch.roll(y, 1, 2).stride() == torch.roll(y, (1, 1), (2, 3)).stride() == y.stride() and torch.roll(y, 1).is_contiguous()
