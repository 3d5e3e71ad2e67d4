"""Protects views: which functions alias, with which strides, offsets, grad_fn names and errors.

Expectations are PyTorch 2.13's, written down.
"""

import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.compile import policy


def grid():
    return torch.arange(60.0).reshape(5, 4, 3)


VIEWS = [
    ("x[:]", (5, 4, 3), (12, 3, 1), 0, "SliceBackward0"),
    ("x[...]", (5, 4, 3), (12, 3, 1), 0, "AliasBackward0"),
    ("x[0, 1:]", (3, 3), (3, 1), 3, "SliceBackward0"),
    ("x[:, None, 0]", (5, 1, 3), (12, 12, 1), 0, "SelectBackward0"),
    ("x[0:3, ..., None]", (3, 4, 3, 1), (12, 3, 1, 1), 0, "UnsqueezeBackward0"),
    ("x[:, ::2, 1:].select(0, 2)", (2, 2), (6, 1), 25, "SelectBackward0"),
    ("x.view(-1)", (60,), (1,), 0, "ViewBackward0"),
    ("x.permute(2, 1, 0).reshape(60)", (60,), (1,), 0, "UnsafeViewBackward0"),
    ("x.permute(2, 1, 0).ravel()", (60,), (1,), 0, "ViewBackward0"),
    ("x.flatten(1)", (5, 12), (12, 1), 0, "ViewBackward0"),
    ("x.unflatten(1, (2, -1))", (5, 2, 2, 3), (12, 6, 3, 1), 0, "ViewBackward0"),
    ("x.permute(2, 1, 0).contiguous()", (3, 4, 5), (20, 5, 1), 0, "CloneBackward0"),
    ("x.squeeze(1)", (5, 4, 3), (12, 3, 1), 0, "SqueezeBackward1"),
    ("x.unsqueeze(0)", (1, 5, 4, 3), (60, 12, 3, 1), 0, "UnsqueezeBackward0"),
    ("x.mT", (5, 3, 4), (12, 1, 3), 0, "TransposeBackward0"),
    ("x[0].T", (3, 4), (1, 3), 0, "PermuteBackward0"),
    ("x[0].t()", (3, 4), (1, 3), 0, "TBackward0"),
    ("x.movedim(0, 1)", (4, 5, 3), (3, 12, 1), 0, "PermuteBackward0"),
    ("x.expand(2, 5, 4, 3)", (2, 5, 4, 3), (0, 12, 3, 1), 0, "ExpandBackward0"),
    ("x[0, 0].expand(1, 1, 3)", (1, 1, 3), (3, 3, 1), 0, "ExpandBackward0"),
    ("x.diagonal(1)", (3, 3), (1, 15), 3, "DiagonalBackward0"),
    ("x.unfold(0, 2, 1)", (4, 4, 3, 2), (12, 3, 1, 12), 0, "UnfoldBackward0"),
    ("x.as_strided((2, 2), (1, 1), 5)", (2, 2), (1, 1), 5, "AsStridedBackward0"),
    ("x.chunk(2)[1]", (2, 4, 3), (12, 3, 1), 36, "SplitBackward0"),
    ("x.split([2, 3])[1]", (3, 4, 3), (12, 3, 1), 24, "SplitWithSizesBackward0"),
    ("x.tensor_split(2)[1]", (2, 4, 3), (12, 3, 1), 36, "SliceBackward0"),
    ("x.unbind(1)[2]", (5, 3), (12, 1), 6, "UnbindBackward0"),
    ("x.clone()", (5, 4, 3), (12, 3, 1), 0, "CloneBackward0"),
    ("x.permute(2, 0, 1).clone()", (3, 5, 4), (1, 12, 3), 0, "CloneBackward0"),
]


@pytest.mark.parametrize("text, shape, stride, offset, name", VIEWS, ids=[v[0] for v in VIEWS])
def test_geometry(text, shape, stride, offset, name):
    y = eval(text, {"x": grid().requires_grad_()})
    assert (tuple(y.shape), y.stride(), y.storage_offset(), type(y.grad_fn).__name__) == (shape, stride, offset, name)
    flat = np.arange(60.0, dtype=np.float32)
    if "permute" not in text:  # the elements are where offset and strides say
        assert y.tolist() == np.lib.stride_tricks.as_strided(flat[offset:], shape, [4 * s for s in stride]).tolist()


def test_writes_through_nested_views():
    x = torch.zeros(4, 4)
    x[1:3, 1:3][0] = 5
    x[::2, ::2].add_(1)
    x.diagonal().mul_(3)
    x.t()[0].fill_(7)
    assert x.tolist() == [[7, 0, 1, 0], [7, 15, 5, 0], [7, 0, 3, 0], [7, 0, 0, 0]]


def test_gradient_through_views_written_in_place():
    leaf = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = leaf * 1
    y.diagonal().mul_(5)
    y[:, ::2].mul_(2)
    y.t()[1].zero_()
    y.view(-1)[3:].add_(leaf.view(-1)[:3])
    y.sum().backward()
    assert y.tolist() == [[0, 0, 4], [6, 1, 12]]
    assert leaf.grad.tolist() == [[11, 1, 3], [2, 0, 2]]
    assert type(y.grad_fn).__name__ == "CopySlices"


def test_the_same_memory_as_another_dtype():
    x = torch.arange(6.0).reshape(2, 3)
    x.view(torch.int32)[0, 0] = 1065353216
    assert x[0].tolist() == [1, 1, 2]
    z = torch.view_as_complex(torch.tensor([[0.0, 1], [2, 3]]))
    z.real = 5
    z.imag.mul_(2)
    assert z.tolist() == [5 + 2j, 5 + 6j]
    z.conj()[0] = 1 + 2j
    assert z.tolist() == [1 - 2j, 5 + 6j]
    with pytest.raises(RuntimeError, match=r"self.size\(-1\) must be divisible by 2 to view Float as Double"):
        x.view(torch.float64)


def test_the_tensor_itself_seen_otherwise():
    leaf = torch.arange(6.0).reshape(2, 3).requires_grad_()
    x = leaf * 1
    x.unsqueeze_(0)
    x.transpose_(0, 2)
    x.squeeze_()
    x.mul_(2)
    x.backward(torch.arange(6.0).reshape(3, 2))
    assert x.stride() == (1, 3) and x._version == 4
    assert leaf.grad.tolist() == [[0, 4, 8], [2, 6, 10]]
    y = torch.zeros(2)
    base = torch.arange(6.0)
    y.set_(base, 1, (2,), (2,))
    y[0] = 7
    assert base.tolist() == [0, 7, 2, 3, 4, 5]
    base.resize_(2)
    assert base.tolist() == [0, 7]


SPLIT = ("This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
         "modified inplace. You should replace the inplace operation by an out-of-place one.")


def test_refusals_of_writes():
    leaf = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = leaf * 1
    with pytest.raises(RuntimeError) as e:
        y.split(1)[1].mul_(2)
    assert str(e.value) == "Output 1 of Split is a view and is being modified inplace. " + SPLIT
    part = y.chunk(2)[0]
    y.mul_(2)
    with pytest.raises(RuntimeError) as e:
        part.grad_fn
    assert str(e.value) == "Output 0 of Split is a view and its base or another view of its base has been modified inplace. " + SPLIT
    with torch.no_grad():
        v = y[0]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode enabled."):
        v.mul_(2)
    with pytest.raises(RuntimeError, match="^a view of a leaf Variable that requires grad is being used in an in-place operation.$"):
        leaf[0].zero_()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        torch.zeros(3).expand(2, 3).add_(1)
    x = torch.arange(5.0)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory"):
        x[1:].add_(x[:-1])


ERRORS = [
    ("x.view(-1, -1)", RuntimeError, "only one dimension can be inferred"),
    ("x.view(7, 2)", RuntimeError, "shape '[7, 2]' is invalid for input of size 60"),
    ("x.mT.view(-1)", RuntimeError, "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
     "two contiguous subspaces). Use .reshape(...) instead."),
    ("x.transpose(0, 3)", IndexError, "Dimension out of range (expected to be in range of [-3, 2], but got 3)"),
    ("x.t()", RuntimeError, "t() expects a tensor with <= 2 dimensions, but self is 3D"),
    ("x.expand(4, 3)", RuntimeError, "expand(torch.FloatTensor{[5, 4, 3]}, size=[4, 3]): the number of sizes provided (2) must be greater "
                                     "or "
     "equal to the number of dimensions in the tensor (3)"),
    ("x.narrow(0, 4, 2)", RuntimeError, "start (4) + length (2) exceeds dimension size (5)."),
    ("x.split([1, 1], 1)", RuntimeError, "split_with_sizes expects split_sizes to sum exactly to 4 (input tensor's size at dimension 1), "
                                         "but "
     "got split_sizes=[1, 1]"),
    ("x.permute(0, 0, 1)", RuntimeError, "permute(): duplicate dims are not allowed."),
    ("x.unfold(0, 9, 1)", RuntimeError, "maximum size for tensor at dimension 0 is 5 but size is 9"),
    ("x.as_strided((99,), (1,))", RuntimeError, "setStorage: sizes [99], strides [1], storage offset 0, and itemsize 4 requiring a storage "
     "size of 396 are out of bounds for storage of size 240"),
]


@pytest.mark.parametrize("text, kind, message", ERRORS, ids=[e[0] for e in ERRORS])
def test_errors(text, kind, message):
    with pytest.raises(kind) as e:
        eval(text, {"x": grid()})
    assert str(e.value) == message


def test_a_view_keeps_no_memory_of_its_own():
    x = torch.ones(4, 4) * 2
    v = x[1]
    x.sum().item()
    assert v._ts_view.ref() is None  # forgotten at the flush, read again when asked for
    assert v.tolist() == [2, 2, 2, 2]


def test_negative_views_share_memory():
    x = torch.tensor([1.0, -2.0])
    y = x._neg_view()
    assert y.is_neg() and y.tolist() == [-1.0, 2.0] and y.data_ptr() == x.data_ptr()
    y.fill_(3)
    assert x.tolist() == [-3.0, -3.0] and not x.is_neg()


@pytest.mark.parametrize("tier", ["operators", "compiled"])
def test_as_strided_of_a_detached_strided_leaf(tier, monkeypatch):
    """A window on places that are the leaf's own, though its memory has gaps; expected values are PyTorch's."""
    monkeypatch.setattr(policy, "tier", tier)
    memory = torch.arange(24.).reshape(6, 4)
    x = memory[::2, ::2].detach().requires_grad_(True)
    w = x.as_strided((2, 2), (8, 2), 8)
    assert w.tolist() == [[8, 10], [16, 18]] and w.stride() == (8, 2)
    (w * w).sum().backward()
    assert x.grad.tolist() == [[0, 0], [16, 20], [32, 36]]
    y = memory[:, 1].detach().requires_grad_(True)
    (torch.as_strided(y, (), ()) * 3).backward()
    assert y.grad.tolist() == [3, 0, 0, 0, 0, 0]
    z = memory[:, 1].detach().requires_grad_(True) * 1
    z.as_strided((2,), (2,), 1).mul_(10)
    assert z.tolist() == [1, 50, 9, 130, 17, 21]


def test_a_slice_with_a_start_is_a_view_even_of_all():
    for key, name in ((slice(-3, None), "CopySlices"), (slice(0, None), "FillBackward3"), (slice(None, 9), "FillBackward3")):
        x = torch.zeros(3, requires_grad=True) * 1
        x[key] = 0
        assert type(x.grad_fn).__name__ == name


def test_bytes_of_larger_numbers_read_as_bool_one_by_one():
    x = torch.tensor([1.5, 0., -2.])
    assert x.view(torch.bool).tolist() == [b != 0 for b in x.view(torch.uint8).tolist()]
    assert x.to(torch.complex64).view(torch.bool).shape == (24,)
    y = torch.tensor([0, 1, 2, 255], dtype=torch.uint8)
    y.view(torch.bool)[0] = True
    assert y.bool().all()
    with pytest.raises(RuntimeError, match="as bool"):           # the other bits of its bytes are not kept
        x.view(torch.bool).fill_(True)
        x.tolist()


def test_an_empty_window_reaches_nowhere():
    """Wherever it begins: no element of it lies in memory."""
    x = torch.zeros(21)
    y = x.as_strided((0, 10), (42, 2), 22)
    assert (y.shape, y.stride(), y.storage_offset(), y.tolist()) == ((0, 10), (42, 2), 22, [])
    assert torch.zeros(0).as_strided((0,), (1,), 5).shape == (0,)
    assert torch.zeros(0).set_(x.untyped_storage(), 30, (0, 3)).storage_offset() == 30


@pytest.mark.parametrize("x, strides", [
    (torch.ones(3, 1).expand(3, 4), (4, 1)), (torch.ones(2, 3, 4)[:, ::2], (8, 4, 1)), (torch.ones(4, 3).t(), (1, 3)),
    (torch.ones(2, 3, 4, 5).permute(1, 0, 3, 2)[:, :, ::2], (12, 36, 1, 3))])
def test_a_copy_on_another_device_is_dense(x, strides):
    assert x.to("meta").stride() == strides


def test_elements_that_are_one_in_memory_share_the_gradient_of_a_window():
    v = torch.tensor([-0.5, 1.0], requires_grad=True)
    for make, expected in ((lambda x: x.expand(2, 2), [[0.5, 1.0], [0.5, 1.0]]), (lambda x: x.expand(4, 2).t(), [[0.25] * 4, [0.5] * 4])):
        w = make(v)
        w.retain_grad()
        (w.as_strided((2,), (1,)) * torch.tensor([1.0, 2.0])).sum().backward()
        assert w.grad.tolist() == expected
    assert v.grad.tolist() == [2.0, 4.0]
