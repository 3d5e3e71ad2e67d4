"""The dtype of an out tensor makes no mean of integers, and what it refuses says Float, whatever is summed, as in torch."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
def test_integers_have_no_mean(dtype):
    with pytest.raises(RuntimeError, match=r"mean\(\): could not infer output dtype. Input dtype must be either a floating point or complex"):
        torch.mean(torch.ones(2, dtype=dtype), 0, out=torch.empty(0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.complex64])
def test_into_integers(dtype):
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Int"):
        torch.mean(torch.ones(2, dtype=dtype), 0, out=torch.empty(0, dtype=torch.int32))


def test_into_other_floats():
    assert torch.mean(torch.ones(2, dtype=torch.float64), 0, out=torch.empty(0)).dtype == torch.float32
