"""What a mask leaves out has no part in a reduction. Expectations are PyTorch 2.13's."""
import math

import pytest

import torchshim as torch

X = torch.tensor([[1., 2., 4.], [3., 1., 0.]])
M = torch.tensor([[True, False, True], [False, False, False]])


@pytest.mark.parametrize("name, expected", [
    ("sum", [5, 0]), ("prod", [4, 1]), ("amax", [4, -math.inf]), ("amin", [1, math.inf]), ("mean", [2.5, math.nan]),
    ("var", [4.5, math.nan]), ("argmax", [2, 0]), ("median", [1, math.nan]), ("norm", [math.sqrt(17), 0]),
    ("logsumexp", [4.048587, -math.inf])])
def test_reductions(name, expected):
    f = getattr(torch.masked, name)
    made = f(X, dim=1, mask=M)
    assert made.tolist() == pytest.approx(expected, nan_ok=True) and made.dtype == X.dtype


def test_along():
    assert torch.masked.cumsum(X, 1, mask=M).tolist() == [[1, 1, 5], [0, 0, 0]]
    assert torch.masked.softmax(X, 1, mask=M[0]).tolist()[0] == pytest.approx([.047426, 0, .952574], abs=1e-5)
    x = X.clone().requires_grad_()
    torch.masked.mean(x, mask=M).backward()
    assert x.grad.tolist() == [[.5, 0, .5], [0, 0, 0]]
    assert torch.masked.sum(X.long()).dtype == torch.int64


def test_they_are_found_in_torchs_file_too():
    assert torch.masked._ops.amax is torch.masked.amax and torch._C._get_default_device() == "cpu"
