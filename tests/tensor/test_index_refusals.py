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
