"""Single elements that are written where NumPy has the memory at hand: as in torch, and without a record."""
import pytest

import torchshim as torch
from torchshim.engine import context, writers


@pytest.fixture(autouse=True)
def one_writer(monkeypatch):
    """A thread that an earlier test left would make every write a general one."""
    monkeypatch.setattr(writers, "several", False)


def at_hand(t):
    t.tolist()
    return t


def test_a_table_is_counted_in_without_records():
    n = at_hand(torch.tensor([[0] * 5] * 5))
    before = context.trace.state
    for k in range(50):
        n[k % 4, (k * 3) % 4] += 1
    assert context.trace.state is before and n._version == 100 and n.sum().item() == 50


def test_who_else_sees_the_memory_sees_the_write_and_who_read_it_before_does_not():
    n = at_hand(torch.zeros(4, 4) + 1)
    row, one, other = n[1], n[1, 1], n.detach()
    doubled = n * 2
    n[1, 1] += 5
    assert row.tolist() == [1, 6, 1, 1] and one.item() == 6 and other[1, 1].item() == 6 and doubled[1, 1].item() == 2
    one += 1
    one.mul_(2)
    assert n[1].tolist() == [1, 14, 1, 1] and n._version == one._version == 4
    held = at_hand(n)._ts_st.value
    n[0, 0] += 1                               # the Value is held: it is not the one that changes
    assert held.array[0, 0] == 1 and n[0, 0].item() == 2
    a = n.numpy()
    n[0, 1] += 1
    a[0, 2] = 77
    n[0, 2] += 1
    assert a[0].tolist() == n[0].tolist() == [2, 2, 78, 1]


@pytest.mark.parametrize("dtype, change, want", [
    (torch.int32, lambda x: x.__imul__(3), 6), (torch.uint8, lambda x: x.__iadd__(255), 1),
    (torch.bfloat16, lambda x: x.__itruediv__(3), 0.66796875), (torch.float32, lambda x: x.__isub__(0.1), 1.899999976158142),
    (torch.bool, lambda x: x.__iand__(False), False), (torch.int64, lambda x: x.__iadd__(2 ** 64 - 1), 1),
])
def test_numbers_are_those_of_the_operator(dtype, change, want):
    x = at_hand(torch.full((9,), 2).to(dtype))
    change(x[3])
    assert x[3].item() == want and x[2].item() == (True if dtype == torch.bool else 2)


def test_numbers_beyond_int64_wrap_beside_other_threads(monkeypatch):
    monkeypatch.setattr(writers, "several", True)
    monkeypatch.setattr(writers, "threads", True)
    x = torch.tensor([2] * 9)
    x[3] += 2 ** 64 - 1
    x -= 2 ** 64 - 2
    assert x.tolist() == [4, 4, 4, 3, 4, 4, 4, 4, 4]


def test_memory_that_lies_in_another_order():
    t = at_hand(torch.arange(12.0).reshape(3, 4)).t()
    t[1, 2] += 100
    s = at_hand(torch.arange(12.0))[2:]
    s[1] += 50
    assert t[1].tolist() == [1, 5, 109] and s[1].item() == 53


def test_errors_and_gradients_are_torchs():
    x = at_hand(torch.zeros(3, 3, dtype=torch.int32))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Int"):
        x[0, 0] += 1.5
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 1 with size 3"):
        x[0, 3] += 1
    w = at_hand(torch.ones(3, 3)).requires_grad_()
    with torch.no_grad():
        w[0, 0] += 1
    assert w._version == 2
    z = (w * w).sum()
    with torch.no_grad():
        w[0, 0] += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        w[0, 0] += 1
    with torch.inference_mode():
        q = at_hand(torch.zeros(9))
        q[2] += 1
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        q[2] += 1


def test_what_a_transform_follows_is_not_done_at_once():
    def f(x):
        y = x.clone()
        y[1] += 2
        return (y * y)[1]
    x = at_hand(torch.arange(9.0))
    assert torch.func.grad(f)(x).tolist() == [0, 6] + [0] * 7
    assert torch.func.vmap(f)(at_hand(torch.arange(18.0).reshape(2, 9))).tolist() == [9, 144]
