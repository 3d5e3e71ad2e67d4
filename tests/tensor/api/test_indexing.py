"""Protects tensor[index] and tensor[index] = value: forms, errors, gradients, and that loops over places do not recompile.

Expectations are PyTorch 2.13's, written down. `test_indexing_property` covers random mixtures.
"""

import numpy as np
import pytest

import torchshim as torch
from torchshim import engine
from torchshim.engine import counters

B = torch.tensor([True, False])


def grid():
    return torch.arange(24.0).reshape(2, 3, 4)


READS = [
    ("x[True]", (1, 2, 3, 4), (24, 12, 4, 1), [0, 1, 2]),
    ("x[False]", (0, 2, 3, 4), (24, 12, 4, 1), []),
    ("x[None, [0]]", (1, 1, 3, 4), (12, 12, 4, 1), [0, 1, 2]),
    ("x[:, :, None, [0]]", (2, 3, 1, 1), (3, 1, 1, 1), [0, 4, 8]),
    ("x[[0, 1], :, [0, 1]]", (2, 3), (3, 1), [0, 4, 8]),
    ("x[0, :, [0, 1]]", (3, 2), (2, 1), [0, 1, 4]),
    ("x[[[0, 1], [1, 0]]]", (2, 4), (4, 1), [4, 5, 6]),
    ("x[range(2)]", (2, 3, 4), (12, 4, 1), [0, 1, 2]),
    ("x[np.array([True, False])]", (1, 3, 4), (12, 4, 1), [0, 1, 2]),
    ("x[B, :, torch.tensor([0, 1])]", (2, 3), (3, 1), [0, 4, 8]),
    ("x[x % 5 == 0]", (5,), (1,), [0, 5, 10]),
    ("x[torch.tensor(1)]", (3, 4), (4, 1), [12, 13, 14]),
    ("x[torch.tensor(1, dtype=torch.uint8)]", (1, 2, 3, 4), (24, 12, 4, 1), [0, 1, 2]),
    ("x.permute(2, 0, 1)[:, [0, 1]]", (4, 2, 3), (1, 4, 8), [0, 4, 8]),
    ("x.permute(2, 1, 0)[:, [[0, 1], [1, 0]]]", (4, 2, 2, 2), (1, 8, 4, 16), [0, 12, 4]),
    ("x[[]]", (0, 3, 4), (12, 4, 1), []),
]


@pytest.mark.parametrize("text, shape, stride, first", READS, ids=[r[0] for r in READS])
def test_reads(text, shape, stride, first):
    y = eval(text, {"x": grid(), "torch": torch, "np": np, "B": B})
    assert (tuple(y.shape), y.stride(), y.flatten().tolist()[:3]) == (shape, stride, first)


ERRORS = [
    ("x[5]", IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    ("x[0, 0, 0, 0]", IndexError, "too many indices for tensor of dimension 3"),
    ("x[0.5]", IndexError, "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got float)"),
    ("x[::-1]", ValueError, "step must be greater than zero"),
    ("x[:, B]", IndexError, "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [2, 3, 4] at index 1"),
    ("x[torch.tensor([0.0])]", IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    ("x[:, torch.tensor([7])]", IndexError, "index 7 is out of bounds for dimension 0 with size 3"),
    ("x[[0, 1], [0, 1, 2]]", IndexError, "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]"),
    ("torch.tensor(3)[0]", IndexError, "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
     "convert a 0-dim tensor to a number"),
]


@pytest.mark.parametrize("text, kind, message", ERRORS, ids=[e[0] for e in ERRORS])
def test_read_errors(text, kind, message):
    with pytest.raises(kind) as e:
        eval(text, {"x": grid(), "torch": torch, "B": B})
    assert str(e.value) == message


WRITE_ERRORS = [
    (0, torch.zeros(3), RuntimeError, "The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension 1.  "
     "Target sizes: [3, 4].  Tensor sizes: [3]"),
    (0, [1, 2], TypeError, "can't assign a list to a torch.FloatTensor"),
    (0, np.zeros(4), TypeError, "can't assign a numpy.ndarray to a torch.FloatTensor"),
    (0, 1j, RuntimeError, "value cannot be converted to type float without overflow"),
    ([0, 1], torch.zeros(4, dtype=torch.double), RuntimeError, "Index put requires the source and destination dtypes match, got Float for "
                                                               "the "
     "destination and Double for the source."),
    ([0, 1], torch.zeros(3), RuntimeError, "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape "
     "[2, 3, 4]"),
    (B, torch.zeros(2, 3, 4), RuntimeError, "shape mismatch: value tensor of shape [2, 3, 4] cannot be broadcast to indexing result of "
                                            "shape "
     "[1, 3, 4]"),
    (torch.tensor([1, 0], dtype=torch.uint8), 1.0, RuntimeError,
     "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"),
    (torch.tensor([1, 0, 1], dtype=torch.uint8), 1.0, IndexError,
     "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [2, 3, 4] at index 0"),
    (B, torch.tensor(1j), RuntimeError, "value cannot be converted to type float without overflow"),
]


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
@pytest.mark.parametrize("key, value, kind, message", WRITE_ERRORS)
def test_write_errors(key, value, kind, message):
    with pytest.raises(kind) as e:
        grid()[key] = value
    assert str(e.value) == message


def test_writes():
    x = torch.arange(6.0).reshape(2, 3)
    x[x > 2] += 10
    x[[0, 1], [0, 1]] *= 2
    x[:, -1] -= 1
    x[0, 0] = True
    x[1:, None, ::2] = torch.tensor([7, 8], dtype=torch.int32)
    assert x.tolist() == [[1, 1, 1], [7, 28, 8]]
    whole = torch.zeros(2, 3, dtype=torch.int)
    whole[0] = 2.9
    assert whole.tolist() == [[2, 2, 2], [0, 0, 0]]


def test_a_mask_that_one_value_is_written_to_is_not_looked_at():
    x = torch.arange(6.0).reshape(2, 3)
    before = counters["flushes"]
    x[x * 2 > 6] = 9
    x[x == 1] = torch.tensor(7.0)
    x[:, torch.tensor([False, False, True]) | (x[0] > 8)] = torch.tensor([[5.0], [6.0]])
    assert counters["flushes"] == before
    assert x.tolist() == [[0, 7, 5], [3, 9, 6]]


def test_a_mask_takes_rows():
    x = torch.arange(6.0).reshape(2, 3)
    x[(x * 2) > 4] = torch.arange(3.0)
    assert x.tolist() == [[0, 1, 2], [0, 1, 2]]
    with pytest.raises(RuntimeError, match=r"value tensor of shape \[4\] cannot be broadcast to indexing result of shape \[2\]"):
        x[x > 1] = torch.arange(4.0)


def test_gradients():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    v = torch.ones(3, 3, requires_grad=True)
    y = x * 1
    y[torch.tensor([0, 0, 1])] = v
    y.backward(torch.arange(6.0).reshape(2, 3))
    assert x.grad.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert v.grad.tolist() == [[0, 1, 2], [0, 1, 2], [3, 4, 5]]
    x.grad = None
    x[torch.tensor([0, 0, 1])].backward(torch.arange(9.0).reshape(3, 3))
    assert x.grad.tolist() == [[3, 5, 7], [6, 7, 8]]
    x.grad = None
    y = x * 1
    y[y > 2] = y[y > 2] * 3
    y[0] = y[1]
    y.sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [6, 6, 6]]
    plain = torch.zeros(3, 4)
    w = torch.ones(4, requires_grad=True)
    plain[0] = w
    assert plain.requires_grad and type(plain.grad_fn).__name__ == "CopySlices"


def test_an_index_that_is_not_known_yet_is_checked_at_the_next_look():
    x = torch.arange(6000.0).reshape(2, 3000)  # small ones are looked at in the call
    i = (x * 0).long()[0] + 5
    y = x[i]
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 2") as e:
        y.sum().item()
    assert "test_indexing.py" in e.value.__notes__[0]


def test_slicing_at_changing_places_is_one_program(free_compiles):
    data, out = torch.randn(200, 4), torch.zeros(20)
    for start in range(0, 40, 10):
        out[start // 10] = data[start : start + 10].sum().item()
    for round in range(2):
        before = counters["compiles"], counters["interpreted"]
        for start in range(0, 200, 10):
            out[start // 10] = (data[start : start + 10] * 2).sum()
            out.sum().item()
    assert counters["compiles"] - before[0] <= 1 and counters["interpreted"] == before[1]
    assert torch.allclose(out, data.view(20, -1).sum(1) * 2, atol=1e-4)


def test_looking_at_parts_of_known_memory_computes_nothing():
    x = torch.tensor(np.arange(100.0).reshape(10, 10))
    pending = x * 2
    before = counters["flushes"]
    assert [x[i, i].item() for i in range(10)] == [11.0 * i for i in range(10)]
    assert counters["flushes"] == before
    assert pending[1, 1].item() == 22


def test_writes_between_parts_of_a_tensor():
    """Few records, what torch writes, and as many writes as it counts."""
    u = torch.arange(12.0).reshape(3, 4).clone()
    engine.flush()
    engine.context.trace.limit = 10 ** 9
    before = engine.context.trace.state.n_ops
    u[1:, 1:] += 10.0                          # the part, the sum, the whole
    assert engine.context.trace.state.n_ops == before + 3
    u[0] = u[1]                                # the part, the whole
    u[:, 0] = u[:, 3]
    assert engine.context.trace.state.n_ops == before + 7
    assert u.tolist() == [[17, 15, 16, 17], [17, 15, 16, 17], [21, 19, 20, 21]] and u._version == 4
    v = torch.arange(6.0)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        v[1:] = v[:-1]
    c = torch.tensor([1 + 2j, 3 - 1j])
    c[:] = c.conj()                            # the same place, but not the same numbers
    assert c.tolist() == [1 - 2j, 3 + 1j]


def test_a_tuple_of_another_class_is_a_tuple():
    class Place(tuple):
        pass
    x = grid()
    assert x[Place((0, [1, 2]))].tolist() == x[0, [1, 2]].tolist() and x[Place((1, slice(None), 0))].tolist() == [12, 16, 20]
    x[Place((0, 0))] = 5
    assert x[0, 0].tolist() == [5] * 4


def test_filling_at_an_index_where_elements_lie_in_one_place():
    """All elements of a place get the one value, as torch's kernel writes it again and again."""
    x = torch.zeros(3, 1).expand(3, 4)
    with pytest.warns(UserWarning, match="expanded tensors"):
        assert x.index_fill_(1, torch.tensor([1, 0]), 2) is x and x.tolist() == [[2.0] * 4] * 3
    base = torch.zeros(4)
    with pytest.warns(UserWarning, match="expanded tensors"):
        base.expand(3, 4).index_fill_(1, torch.tensor([1, 0]), torch.tensor(3.0))
    assert base.tolist() == [3, 3, 0, 0]
