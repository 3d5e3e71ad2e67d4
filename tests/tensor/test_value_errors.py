"""Protects errors that depend on values: they come also when the values are not computed yet. And refusals of writes where memory
overlaps, and devices of threads."""
import threading
import warnings

import numpy as np
import pytest

import torchshim as torch

F = torch.nn.functional


def late(data):
    return torch.tensor(data) + 0


@pytest.mark.parametrize("make", [torch.tensor, late])
@pytest.mark.parametrize("message, call", [
    ("ZeroDivisionError", lambda make: 7 // make([0, 2])),
    ("ZeroDivisionError", lambda make: 7 % make([0, 2])),
    ("ZeroDivisionError", lambda make: torch.tensor(7) // make([0, 2])),
    ("ZeroDivisionError", lambda make: torch.fmod(torch.tensor([7, 1]), make([0, 2]))),
    ("Class values must be smaller than num_classes.", lambda make: F.one_hot(make([5]), 3)),
    ("Class values must be non-negative.", lambda make: F.one_hot(make([-1]), 3)),
    ("target out of range", lambda make: F.multi_margin_loss(torch.zeros(1, 3), make([5]))),
    ("argument #2 'target' is out of range", lambda make: F.multilabel_margin_loss(torch.zeros(1, 3), make([[5, -1, -1]]))),
    ("argument #2 'target' is out of range", lambda make: F.multilabel_margin_loss(torch.zeros(1, 3), make([[0, -2, -1]]))),
    (r"quantile\(\) q values must be in the range \[0, 1\]", lambda make: torch.quantile(torch.arange(3.), make(2.0))),
    (r"nanquantile\(\) q values must be in the range \[0, 1\]", lambda make: torch.nanquantile(torch.arange(3.), make([0.5, -0.1]))),
])
def test_raises(make, message, call):
    with pytest.raises(RuntimeError, match=message):
        call(make).tolist()


def test_a_divisor_that_wraps_to_zero():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.tensor([1, 2], dtype=torch.uint8) // 256
    assert (torch.tensor([1, 2]) // 256).tolist() == [0, 0]
    assert (7 // torch.tensor([1, 2])).tolist() == [7, 3]
    assert (7 // torch.tensor([0.0])).tolist() == [float("inf")]


@pytest.mark.parametrize("value", [7.0, torch.ones(2), torch.tensor(7.0)])
def test_setitem_where_elements_coincide(value):
    base = torch.zeros(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        base.expand(2, 3)[:, 0] = value
    assert base.tolist() == [0, 0, 0]
    base.expand(2, 3)[0] = 7.0                 # no element twice
    assert base.tolist() == [7, 7, 7]


@pytest.mark.parametrize("call", [
    lambda x: torch.add(x[:-1], 1, out=x[1:]),
    lambda x: torch.add(x[:-1], x[1:], out=x[1:]),
    lambda x: torch.maximum(x[:3], x[1:4], out=x[2:5]),
    lambda x: torch.exp(x[:4].view(2, 2), out=x[:4].view(2, 2).t()),
])
def test_out_that_overlaps_an_operand_in_part(call):
    x = torch.arange(5.)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        call(x)
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_out_that_is_an_operand_or_is_resized():
    x = torch.arange(3.)
    assert torch.add(x, 1, out=x) is x and x.tolist() == [1, 2, 3]
    y = torch.empty(0)
    assert torch.mul(x, 2, out=y) is y and y.tolist() == [2, 4, 6]


def test_a_device_context_is_its_threads():
    seen, inside, looked = [], threading.Event(), threading.Event()

    def work():
        inside.wait(60)
        seen.append(torch.ones(1).device.type)
        looked.set()
    t = threading.Thread(target=work)
    t.start()
    d = torch.device("meta")
    with d:
        with d:
            inside.set()
            looked.wait(60)
        assert torch.ones(1).device.type == "meta"
    t.join()
    assert seen == ["cpu"] and torch.ones(1).device.type == "cpu"


def test_a_scalar_from_what_requires_grad_is_told_once():
    """`total += float(loss)` in a loop is told once, as torch does; `.item()` says nothing."""
    from torchshim.tensor.core import settings
    x = torch.ones(1, requires_grad=True)
    for convert in (float, complex, lambda t: torch.tensor([t.sum(), 1.0])):
        settings._said.clear()
        with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar") as told:
            convert(x)
            convert(x)
        assert len(told) == 1
    settings._said.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.item(), int(x), bool(x), float(x.detach())


def test_a_list_of_arrays_is_told_once():
    with pytest.warns(UserWarning, match="list of numpy.ndarrays is extremely slow") as told:
        torch.tensor([np.ones(2)])
        torch.as_tensor([np.ones(2)])
    assert len(told) == 1


def test_lists_of_plain_numbers_are_taken_whole():
    """The innermost lists go over at once where they hold Python numbers alone; what is mixed with arrays or tensors goes one by one."""
    assert torch.tensor([[1, 2], [3, 4]]).dtype is torch.int64
    assert torch.tensor([[True, False], [True, True]]).dtype is torch.bool
    assert torch.tensor([[1, 2], [3, 4.5]]).tolist() == [[1.0, 2.0], [3.0, 4.5]]
    assert torch.tensor([True, 2, 1j]).dtype is torch.complex64
    assert torch.tensor([1, np.float64(2.5), torch.tensor(3)]).tolist() == [1.0, 2.5, 3.0]
    assert torch.tensor(((1,), (2,)), dtype=torch.float16).shape == (2, 1)
    with pytest.raises(ValueError, match=r"expected sequence of length 2 at dim 1 \(got 3\)"):
        torch.tensor([[1, 2], [1, 2, 3]])
    with pytest.raises(TypeError, match="not a sequence"):
        torch.tensor([[1, 2], 3])
    with pytest.raises((TypeError, ValueError)):
        torch.tensor([1, [2, 3]])
