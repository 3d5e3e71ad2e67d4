"""Protects what the differential fuzzer found about layouts and indices (compat/fuzz.py); all values are torch 2.13's."""
import re

import pytest

import torchshim as torch


def test_rsub_lies_as_what_is_subtracted_from():
    a = torch.arange(9.0).reshape(3, 3)
    b = a.t()
    assert torch.rsub(a, b).stride() == (1, 3) and torch.rsub(b, a).stride() == (3, 1) and torch.rsub(b, 2.0).stride() == (1, 3)
    assert torch.rsub(a[0], b).stride() == (1, 3) and torch.rsub(b, a[0]).stride() == (1, 3)


def test_a_tuple_of_another_class_is_a_tuple_as_an_index():
    class Place(tuple):
        pass

    x = torch.arange(125.0).reshape(5, 5, 5)
    assert (x[Place([[0, 0, 3], [1, 1, 3], [0, 0, 2]])].shape == (3,) and x[Place([0, 1])].shape == (5,)
            and x[Place([..., 0])].shape == (5, 5))
    x[Place([[0, 3], slice(None)])] = 3.0
    assert x[0].sum() == 75 == x[3].sum()


def test_softmax_asks_for_no_kernel_where_there_are_no_elements():
    for dtype in (torch.bool, torch.int64, torch.complex64):
        assert torch.zeros(2, 0, dtype=dtype).log_softmax(0).dtype is dtype and torch.zeros(0, dtype=dtype).softmax(-1).shape == (0,)


def test_argmax_looks_at_the_dtype_before_the_dimension():
    for x, kind in ((torch.ones(2) > 0, "bool"), (torch.ones(2, dtype=torch.complex64), "complex")):
        with pytest.raises(RuntimeError, match=f"does not support {kind} input"):
            x.argmax(5)


def test_a_number_between_two_has_no_part_in_the_strides():
    x = torch.ones(2, 1).t()
    assert x.lerp(x, 0.25).stride() == x.lerp(x, x).stride() == (2, 1) and x.nan_to_num().stride() == x.stride() == (1, 1)


def test_sums_of_one_element_begin_at_zero():
    x = torch.tensor([[-0.0, 0.0]])
    for y in (x.sum(0), x.t().sum(1), x.mean(0), x.sum_to_size(2)):
        assert (1 / y).tolist() == [float("inf")] * 2
    a = torch.ones(2, requires_grad=True)
    assert (1 / torch.autograd.grad(a * torch.tensor([[-1.0, -2.0]]), a, torch.zeros(1, 2))[0]).tolist() == [float("inf")] * 2


@pytest.mark.parametrize("part, dim, error, said", [
    (lambda x: x[4:], 0, RuntimeError, "setStorage: sizes [1, 3], strides [0, 1], storage offset 12, and itemsize 4 requiring a storage "
                                       "size of 60 are out of bounds for storage of size 48"),
    (lambda x: x[:, 3:], 1, RuntimeError, "setStorage: sizes [4, 1], strides [3, 0], storage offset 3, and itemsize 4 requiring a storage "
                                          "size of 52 are out of bounds for storage of size 48"),
    (lambda x: x[2:2], 0, IndexError, "index 0 is out of bounds for dimension 0 with size 0")])
def test_where_there_is_no_row_torch_looks_into_the_memory_for_one(part, dim, error, said):
    with pytest.raises(error, match=re.escape(said)):
        part(torch.ones(4, 3)).index_fill_(dim, torch.tensor([0]), 2.0)
