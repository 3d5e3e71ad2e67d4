"""Where torch 2.13 rounds when it sums half types by index: at each addition or once at the end, in every tier."""
import pytest

import torchshim as torch

N, SLOTS = 300, 3


def seeded(shape, dtype):
    g = torch.Generator().manual_seed(1)
    return torch.randn(shape, generator=g).to(dtype), torch.randint(0, SLOTS, (N,), generator=g)


def each(x, index):
    """The sums by Python's own additions, rounded to x's type at each."""
    sums = torch.zeros((SLOTS, *x.shape[1:]), dtype=x.dtype)
    for row, k in zip(x, index.tolist()):
        sums[k] = sums[k] + row
    return sums.tolist()


def once(x, index):
    return torch.zeros((SLOTS, *x.shape[1:])).index_add(0, index, x.float()).to(x.dtype).tolist()


def gradient(f, x):
    v = torch.zeros((SLOTS, *x.shape[1:]), dtype=x.dtype, requires_grad=True)
    f(v).backward(x)
    return v.grad


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("tail", [(), (5,)])
def test_sums_round_where_torchs_do(dtype, tail):
    x, i = seeded((N, *tail), dtype)
    full = i.reshape(N, *[1 for _ in tail]).expand_as(x)
    outer = once if tail else each             # torch leaves the sums of whole slices to scatter_add
    zeros = torch.zeros((SLOTS, *tail), dtype=dtype)
    for _ in range(3):                         # interpreted, then compiled
        assert zeros.scatter_add(0, full, x).tolist() == once(x, i)
        assert zeros.scatter_reduce(0, full, x, "sum").tolist() == once(x, i)
        assert zeros.index_add(0, i, x).tolist() == outer(x, i)
        assert zeros.index_add(0, i, x, alpha=2).tolist() == each(x * 2, i)
        assert zeros.index_put((i,), x, accumulate=True).tolist() == each(x, i)
        assert gradient(lambda v: v[i], x).tolist() == each(x, i)
        assert gradient(lambda v: v.index_select(0, i), x).tolist() == outer(x, i)
        assert gradient(lambda v: v.gather(0, full), x).tolist() == once(x, i)
        if tail:
            assert gradient(lambda v: torch.nn.functional.embedding(i, v), x).tolist() == each(x, i)


def test_inner_slices_are_summed_one_by_one():
    x, i = seeded((2, N, 4), torch.bfloat16)
    zeros = torch.zeros(2, SLOTS, 4, dtype=torch.bfloat16)
    for part, row in zip(zeros.index_add(1, i, x), x):
        assert part.tolist() == each(row, i)
