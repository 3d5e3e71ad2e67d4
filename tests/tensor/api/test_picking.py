"""Elements picked at once, from arrays that NumPy has at hand, are what the recorded operator picks."""
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine import context

X = torch.tensor(np.arange(60, dtype=np.float32).reshape(3, 4, 5))        # NumPy has it at hand, however often others did the like
I2, I1 = torch.tensor([[1, -1], [0, 2]]), torch.tensor([2, 0, -3])
MASK = torch.arange(60).reshape(3, 4, 5) % 7 == 2
CASES = {
    "rows": lambda x: x[I1],
    "rows of a table of indices": lambda x: x[I2],
    "two dimensions": lambda x: x[I1, I1],
    "broadcast": lambda x: x[I1[:, None], I1[None]],
    "all dimensions": lambda x: x[I1, I1, I1],
    "turned": lambda x: x.permute(2, 0, 1)[I1],
    "turned, all dimensions": lambda x: x.permute(2, 0, 1)[I1, I1, I1],
    "behind": lambda x: x[:, I1],
    "mask": lambda x: x[MASK],
    "mask of the first dimensions": lambda x: x[MASK[:, :, 0]],
    "mask of one dimension": lambda x: x[MASK[:, 2, 3]],
    "mask of what is turned": lambda x: x.permute(2, 0, 1)[MASK.permute(2, 0, 1)],
    "mask of a part of what is turned": lambda x: x.permute(2, 0, 1)[MASK.permute(2, 0, 1)[:, :, 0]],
    "no element": lambda x: x[MASK & False],
    "no row": lambda x: x[torch.zeros(0, dtype=torch.int64)],
    "index_select": lambda x: x.index_select(1, I1 % 4),
    "gather": lambda x: x.gather(1, (I2 % 4)[None]),
    "take": lambda x: x.take(I2),
    "masked_select": lambda x: x[0, 0].masked_select(MASK),
    "int32": lambda x: x[:, :, 1][I1.int()],
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_picked_at_once_is_what_the_operator_picks(name):
    f = CASES[name]
    X.tolist(), MASK.tolist(), f(X).tolist()   # what goes before is there: also what is read through views
    now, recorded = f(X), f(X.clone().requires_grad_())
    assert now.tolist() == recorded.tolist() and now.shape == recorded.shape and now.stride() == recorded.stride()
    assert recorded.grad_fn is not None and now.grad_fn is None and not now.requires_grad


def test_a_mask_leaves_no_record_behind():
    """Each of its results has another shape: a record would be another program."""
    torch.cpu.synchronize()
    MASK.tolist(), X.tolist()
    before = context.trace.state
    assert X[MASK].tolist() and X[I1].tolist() and context.trace.state is before


def test_what_is_picked_has_memory_of_its_own():
    x = torch.arange(4.0)
    x.tolist()
    y = x[torch.tensor([0, 1, 2, 3])]
    y += 1
    x[0] = 9
    assert y.tolist() == [1, 2, 3, 4] and x.tolist() == [9, 1, 2, 3]


@pytest.mark.parametrize("key, text", [
    (torch.tensor([3]), "index 3 is out of bounds for dimension 0 with size 3"),
    (torch.ones(2, dtype=torch.bool), r"The shape of the mask \[2\] at index 0 does not match the shape of the indexed tensor \[3, 4, 5\] "
                                      r"at index 0"),
])
def test_what_does_not_fit_is_refused(key, text):
    key.tolist()
    with pytest.raises(IndexError, match=text):
        X[key]


def test_under_vmap_nothing_is_picked_at_once():
    table = torch.arange(6.0).reshape(3, 2)
    table.tolist()
    assert torch.func.vmap(lambda i: table[i])(torch.tensor([[0, 1], [2, 2]])).tolist() == [[[0, 1], [2, 3]], [[4, 5], [4, 5]]]
    assert torch.func.vmap(lambda row: row[torch.tensor([1, 0])])(table).tolist() == [[1, 0], [3, 2], [5, 4]]


def test_indices_that_a_record_without_operands_makes_are_at_hand_too():
    X.tolist()
    at, before = torch.arange(2), context.trace.state
    assert X[at].shape == (2, 4, 5) and X.index_select(1, at).shape == (3, 2, 5) and context.trace.state is before
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        X[torch.arange(4)]


def test_memory_that_numpy_saw_once_is_at_hand_again():
    x = torch.tensor(np.arange(6, dtype=np.float32))
    a = x.numpy()
    a[0] = 9
    assert x[torch.tensor([0, 1])].tolist() == [9, 1] and x[x > 4].tolist() == [9, 5]
    a[1] = 8
    part = x[1:3]
    del a
    before = context.trace.state
    assert x[torch.tensor([0, 1])].tolist() == [9, 8] and context.trace.state is before and part.tolist() == [8, 2]
    x += 1
    assert part.tolist() == [9, 3]


def test_an_index_without_elements_may_have_other_dimensions():
    x = torch.arange(5)
    assert torch.gather(x, 0, torch.zeros(2, 0, dtype=torch.int64)).shape == (2, 0)
    assert x.gather(0, torch.zeros(0, 3, dtype=torch.uint8)).dtype == torch.int64


def test_indices_drawn_from_a_range_are_looked_at_where_that_is_too_wide():
    """What `randint` was asked for says that they are in range, or nothing; and nothing once they were written."""
    rows = torch.arange(12.0).reshape(4, 3)
    for change in (lambda i: i, lambda i: i.clamp_(max=3), lambda i: i.remainder_(4), lambda i: i - 5):
        i = change(torch.randint(0, 9, (30,), generator=torch.Generator().manual_seed(1)))
        inside = [k for k in i.tolist() if -4 <= k < 4]
        if len(inside) == 30:
            assert rows[i].tolist() == rows[inside].tolist()
        else:
            with pytest.raises(IndexError, match="out of bounds for dimension 0 with size 4"):
                rows[i]
    i = torch.randint(0, 4, (5,))
    i.numpy()[2] = 7
    with pytest.raises(IndexError, match="index 7"):
        rows[i]
    i = torch.randint(0, 4, (5,))
    i[1] = -5
    with pytest.raises(IndexError, match="index -5"):
        rows[i]
