"""What is no index, in torch's words, and in which order it is told."""
import numpy as np
import pytest

import torchshim as torch

WORDS = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "


@pytest.mark.parametrize("index, name", [(np.float64(1), "numpy.float64"), (np.bool_(True), "numpy.bool"), (1.0, "float")])
def test_a_number_of_numpys_is_named_with_its_module(index, name):
    x = torch.zeros(2, 3)
    for use in (lambda: x[index], lambda: x.__setitem__(index, 1.0)):
        with pytest.raises(IndexError) as e:
            use()
        assert str(e.value) == WORDS + name + ")"


@pytest.mark.parametrize("index", [5, False, 1.0, "a", slice(None, None, -1), (0, 0, 0, 0)])
def test_a_complex_number_that_does_not_fit_is_told_first(index):
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        torch.zeros(2, 3)[index] = 1 + 2j


@pytest.mark.parametrize("key", [..., slice(None), None])
def test_a_value_that_does_not_fit_is_told_before_what_may_not_be_written(key):
    for x in (torch.ones(3).expand(2, 3), torch.ones(3, requires_grad=True).expand(2, 3)):
        with pytest.raises(RuntimeError, match=r"The expanded size of the tensor \(3\) must match the existing size \(4\)"):
            x[key] = torch.ones(4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_what_lies_there_already_may_be_written_where_elements_share_a_place(dtype):
    x = torch.ones(2, 3, dtype=dtype)
    y = x.expand(2, 2, 3)
    y[...] = x
    y.copy_(y)
    y[None] = y
    assert y._version == 3
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        y[...] = x.clone()


def test_masks_that_see_a_part_of_what_is_filled_are_refused():
    def mask():
        return torch.tensor([True, False, True, True, False, False])
    words = "some elements of the input tensor and the written-to tensor refer to a single memory location"
    for value in (False, torch.tensor(False)):
        for f in (lambda x: x[1:].masked_fill_(x[:-1], value), lambda x: x.view(2, 3).masked_fill_(x.view(2, 3)[0], value),
                  lambda x: x[:4].view(2, 2).masked_fill_(x[:4].view(2, 2).t(), value)):
            with pytest.raises(RuntimeError, match=words):
                f(mask())
        x = mask()
        assert not x.masked_fill_(x, value).any()
        x = mask()
        assert x[:3].masked_fill_(x[3:], value).tolist() == [False, False, True]


def test_each_fill_of_an_expanded_tensor_warns():
    x = torch.ones(1).expand(6)
    for value in (0.0, torch.tensor(1.0)):
        with pytest.warns(UserWarning, match="Use of masked_fill_ on expanded tensors is deprecated"):
            assert x.masked_fill_(torch.tensor([True, False] * 3), value).tolist() == [float(value)] * 6
        with pytest.warns(UserWarning, match="Use of index_fill_ on expanded tensors is deprecated"):
            assert x.index_fill_(0, torch.tensor([0]), value + 1).tolist() == [float(value) + 1] * 6


def test_a_mask_of_bytes_warns_wherever_it_is_given():
    mask, x = torch.zeros(3, dtype=torch.uint8), torch.ones(3)
    for f in (lambda: x[mask], lambda: x.index_put_((mask,), torch.ones(0), accumulate=True), lambda: x.index_put((mask,), torch.ones(0))):
        with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead"):
            f()


@pytest.mark.parametrize("value, words", [
    ([], r"value tensor of shape \[0\] cannot be broadcast to indexing result of shape \[4\]"),
    ([1.0, 2.0], r"value tensor of shape \[2\] cannot be broadcast to indexing result of shape \[4\]"),
    ([1.0, 2.0, 3.0, 4.0], "the source and destination dtypes match, got Long for the destination and Float for the source")])
def test_what_does_not_fit_a_mask_is_refused_for_its_shape_before_its_dtype(value, words):
    x = torch.arange(4)
    with pytest.raises(RuntimeError, match=words):
        x[x > -1] = torch.tensor(value)


def test_memory_that_numpy_sees_does_not_grow():
    x = torch.zeros(3)
    seen = x.numpy()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        x.resize_(5)
    assert x.resize_(2).tolist() == [0, 0] and seen.shape == (3,)
