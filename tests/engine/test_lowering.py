"""Programs for CPUs say differently what XLA gets wrong or does slowly; both tiers give the same."""
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.compile import policy


@pytest.fixture(params=policy.TIERS[1:])
def tier(request):
    policy.pin(request.param)
    yield
    policy.pin(None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_extremes_of_many_elements_are_nan_where_one_is(tier, dtype):
    """XLA's vectorised loop, for 4096 elements and more, loses a NaN."""
    x = torch.arange(61 * 83).reshape(61, 83).to(dtype)
    x[60, 5] = torch.nan
    y = x * 1
    assert y.max().isnan() and y.amin().isnan() and torch.linalg.vector_norm(y, torch.inf).isnan()
    assert y.amax(1).isnan().nonzero().tolist() == [[60]] and y.amin(0).isnan().nonzero().tolist() == [[5]]
    assert (y[:60] + 0).max() == y[59, 82]


@pytest.mark.parametrize("k", [0, 1, 5, 40, 50])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_takes_the_first_of_equals(tier, k, largest):
    x = torch.tensor([[float(7 * i % 13 - j) for i in range(50)] for j in range(3)])
    x[1, 7] = x[1, 30] = torch.nan
    x[2, 3], x[2, 4] = 0.0, -0.0
    values, index = x.topk(k, largest=largest)
    for row, got, at in zip(x.numpy(), values.numpy(), index.tolist()):
        key = np.where(np.isnan(row), np.inf, row)
        assert at == sorted(range(50), key=lambda i: (-key[i] if largest else key[i], i))[:k]
        np.testing.assert_array_equal(got, row[at])


def test_selection_from_many_elements_keeps_every_bit(tier):
    """NumPy's own selection branches for each element; ours blends bits."""
    which = torch.arange(6000) % 3 == 0
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int8, torch.bool, torch.complex64, torch.complex128):
        a, b = torch.arange(6000).to(dtype), torch.tensor(1).to(dtype)
        expected = np.where(which.numpy(), a.to(torch.complex128).numpy(), 1)
        np.testing.assert_array_equal(torch.where(which, a * b, b).to(torch.complex128).numpy(), expected)
    nan = torch.where(which, torch.full((6000,), torch.nan), torch.tensor(-0.0))
    assert nan.isnan().equal(which) and nan.signbit()[1]


def test_erf_reaches_one_and_keeps_zeros_and_nan(tier):
    x = torch.tensor([0.0, -0.0, 1e-30, 0.5, -1.0, 3.0, 3.95, 20.0, torch.inf, -torch.inf, torch.nan])
    y = torch.erf(x * 1)
    np.testing.assert_allclose(y[:6], [0, -0.0, 1.1283791671e-30, 0.5204998778, -0.8427007929, 0.9999779095], rtol=5e-7)
    assert y[6:10].tolist() == [1, 1, 1, -1] and y[10].isnan() and y[:2].signbit().tolist() == [False, True]
