"""Half types are computed in float32, except where torch rounds between the steps."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("dtype, a, b, floor, trunc", [
    (torch.bfloat16, 636.0, -7.0, -92.0, -91.0), (torch.float16, 11648.0, 7.27734375, 1599.0, 1601.0)])
def test_rounded_quotients(dtype, a, b, floor, trunc):
    a, b = torch.tensor([a], dtype=dtype), torch.tensor([b], dtype=dtype)
    assert torch.div(a, b, rounding_mode="floor").item() == torch.floor_divide(a, b).item() == floor
    assert torch.div(a, b, rounding_mode="trunc").item() == trunc


def test_numbers_are_as_wide_as_torch_takes_them():
    assert torch.lerp(torch.zeros(1).half(), torch.full((1,), 0.1).half(), 70000).item() == 7000
    assert torch.nn.functional.hardshrink(torch.tensor([0.3, 0.31], dtype=torch.bfloat16), 0.3)[0].item() == 0
