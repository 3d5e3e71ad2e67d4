"""torch.nn.attention: the choice of a kernel is kept for a block and changes nothing but what is refused."""
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


def test_what_no_allowed_kernel_takes_is_refused():
    q = torch.ones(1, 1, 2, 2)
    attend = torch.nn.functional.scaled_dot_product_attention
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        assert attend(q, q, q).shape == q.shape
        for bad, kwargs, why in ((q[0], {}, "4 dimensional"), (q.long(), {}, "long int"), (q, {"dropout_p": 0.5}, "non-zero dropout")):
            with pytest.warns(UserWarning, match=why), pytest.raises(RuntimeError, match="No available kernel.  Aborting execution."):
                attend(bad, bad, bad, **kwargs)
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION), pytest.raises(RuntimeError, match="No viable backend"):
        attend(q, q, q)
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Long"):
        attend(q.long(), q.long(), q.long())
