"""Antialiased resizing has kernels for whole floats and bytes; what keeps its size is a copy of any dtype."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F


@pytest.mark.parametrize("dtype,name", [(torch.bfloat16, "BFloat16"), (torch.float16, "Half"), (torch.int64, "Long"), (torch.bool, "Bool")])
def test_halves_and_integers_are_refused(dtype, name):
    x = torch.ones(1, 2, 4, 5).to(dtype)
    for mode in ("bilinear", "bicubic"):
        with pytest.raises(NotImplementedError, match=f"\"compute_index_ranges_weights\" not implemented for '{name}'"):
            F.interpolate(x, size=(4, 7), mode=mode, antialias=True)
    same = F.interpolate(x, size=(4, 5), mode="bilinear", antialias=True)
    assert same.dtype is dtype and same.tolist() == x.tolist()
