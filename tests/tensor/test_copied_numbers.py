"""`copy_` of a Python number casts it as a tensor's elements are cast, where `fill_` refuses what does not fit."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("dtype, number, expected", [
    (torch.uint8, 300, 44), (torch.uint8, -1, 255), (torch.int32, 2 ** 40, 0), (torch.float16, 1e9, float("inf")), (torch.int64, 2 + 3j, 2),
    (torch.float32, 1j, 0.0), (torch.bool, 1j, True), (torch.complex64, 2 + 3j, 2 + 3j), (torch.int32, 2.7, 2), (torch.float32, 3, 3.0)])
def test_it_is_cast(dtype, number, expected):
    assert torch.zeros(2, dtype=dtype).copy_(number).tolist() == [expected] * 2


def test_integers_end_at_sixty_four_bits():
    with pytest.raises(OverflowError, match="int too big to convert"):
        torch.zeros(2).copy_(2 ** 70)
