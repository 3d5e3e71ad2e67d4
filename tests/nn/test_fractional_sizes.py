"""Protects the words for sizes of fractional pooling that are of no window. All are torch 2.13's."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("dims, ints", [(2, "Ints"), (3, "three Ints")])
def test_as_many_numbers_as_dimensions(dims, ints):
    x, name = torch.randn(2, *[7] * dims), f"fractional_max_pool{dims}d"
    pool = getattr(torch.nn.functional, name)

    def refused(kernel, target):
        with pytest.raises(RuntimeError) as raised:
            pool(x, kernel, output_size=target, _random_samples=torch.rand(1, 2, dims))
        return str(raised.value)
    for wrong in ((), (1,), (2,) * (5 - dims)):
        for target in ((3,), (3,) * dims, 3):
            assert refused(wrong, target) == f"{name}: kernel_size must either be a single Int or tuple of {ints}"
        assert refused(2, wrong) == f"{name}: output_size must either be a single Int or tuple of {ints}"
    assert refused((2,) * dims, (9,) + (3,) * (dims - 1)).endswith("pool height 2 too large relative to input height 7" if dims == 2 else
                                                                  "pool time 2 too large relative to input time 7")
    assert pool(x, 2, output_size=3).shape == (2, *[3] * dims)
