"""torch.nn.attention: the choice of a kernel is kept for a block and changes nothing."""
import pickle

import pytest

import torchshim as torch
from torchshim.nn.attention import SDPBackend, _cur_sdpa_kernel_backends, sdpa_kernel


def test_sdpa_kernel():
    q = torch.ones(1, 1, 2, 2)
    before = _cur_sdpa_kernel_backends()
    with sdpa_kernel(SDPBackend.MATH):
        assert _cur_sdpa_kernel_backends() == [SDPBackend.MATH] and not torch.backends.cuda.flash_sdp_enabled()
        assert torch.nn.functional.scaled_dot_product_attention(q, q, q).tolist() == q.tolist()
    assert _cur_sdpa_kernel_backends() == before
    with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"):
        with sdpa_kernel("math"):
            pass


def test_the_kernels_are_one_enumeration():
    assert torch.backends.cuda.SDPBackend is SDPBackend
    assert int(SDPBackend.ERROR) == -1 and [int(b) for b in SDPBackend][1:] == [0, 1, 2, 3, 4]
    assert pickle.loads(pickle.dumps(SDPBackend.MATH)) is SDPBackend.MATH and repr(SDPBackend.MATH) == "<SDPBackend.MATH: 0>"
