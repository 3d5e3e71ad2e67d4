"""torch.nn.attention: the choice of a kernel is kept for a block and changes nothing but what is refused."""
import pickle

import warnings

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


@pytest.mark.parametrize("causal, bits", [
    (False,
     [[-16474, -16872, -16706, -16804, -16534, 16264, -17075, 16178],
         [-16597, 16235, -16624, 15935, -16553, 16152, 15593, 16148],
         [-16717, 16318, -16599, 16078, -16553, 16059, 15686, 16133],
         [-16492, 15775, -16746, -17063, -16524, 16270, -17000, 16168]]),
    (True,
     [[-16622, 16236, 16270, 16293, -16451, 16420, -16654, 16044],
         [-16498, 15925, 16028, 16068, -16477, 16362, -16740, 16147],
         [-16671, 16203, 16068, 16201, -16599, 16319, 15744, 16056],
         [-16492, 15775, -16746, -17063, -16524, 16270, -17000, 16168]])])
def test_half_numbers_weigh_by_rounded_exponentials(causal, bits):
    """torch's kernel rounds the exponentials to bfloat16 before it multiplies the values by them, and not in their sum."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 1, 4, 8).bfloat16() for _ in range(3))
    mask = torch.ones(4, 4).tril().bool() if causal else None
    assert torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)[0, 0].view(torch.int16).tolist() == bits
    with sdpa_kernel(SDPBackend.MATH):         # the other kernel does not round them
        plain = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    wide = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), attn_mask=mask)
    assert torch.equal(plain, wide.bfloat16()) and plain[0, 0].view(torch.int16).tolist() != bits


def test_the_old_block_warns_and_switches():
    with pytest.warns(FutureWarning, match=r"^`torch.backends.cuda.sdp_kernel\(\)` is deprecated. In the future, this context manager will "
                                           r"be removed. Please see `torch.nn.attention.sdpa_kernel\(\)` for the new context manager"):
        with torch.backends.cuda.sdp_kernel(enable_flash=False):
            assert not torch.backends.cuda.flash_sdp_enabled() and torch.backends.cuda.math_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()


@pytest.mark.parametrize("q, k, v, gqa, why", [
    ((1, 4, 3, 8), (2, 4, 3, 8), (2, 4, 3, 8), False, "to have the same batch_size. Query.sizes(): [1, 4, 3, 8], Key.sizes(): [2, 4, 3, 8]"),
    ((2, 4, 3, 8), (2, 1, 3, 8), (2, 1, 3, 8), False, "to have the same num_heads. Query.sizes(): [2, 4, 3, 8], Key sizes(): [2, 1, 3, 8]"),
    ((2, 4, 3, 8), (2, 4, 3, 8), (2, 2, 3, 8), True, "require key and value to have the same num_heads and batch_size but got: Key sizes"),
    ((2, 3, 3, 8), (2, 2, 3, 8), (2, 2, 3, 8), True, "The number of heads in key/value must divide number of heads in query.Got input Key"),
    ((2, 4, 3, 8), (2, 2, 3, 8), (2, 2, 3, 8), True, None)])
def test_fused_kernels_do_not_broadcast(q, k, v, gqa, why):
    """Batches and heads have to be as many, or to be shared as enable_gqa says."""
    with warnings.catch_warnings(record=True) as told, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        warnings.simplefilter("always")
        call = lambda: torch.nn.functional.scaled_dot_product_attention(torch.ones(q), torch.ones(k), torch.ones(v), enable_gqa=gqa)
        if why is None:
            assert call().shape == q and not told
        else:
            with pytest.raises(RuntimeError, match="No available kernel"):
                call()
            assert why in str(told[-1].message)


def test_a_mask_beside_is_causal_and_masks_that_fit_no_scores():
    """torch's fused kernel takes a mask of two or four dimensions beside is_causal, and what matrices compute refuses it; a mask is added
    to the scores in place, so that it makes none."""
    attend = torch.nn.functional.scaled_dot_product_attention
    q, v = torch.zeros(1, 1, 3, 2), torch.tensor([[[[1.0], [2.0], [6.0]]]]).repeat(1, 1, 1, 2)
    mask = torch.tensor([[True, True, True], [False, True, True], [True, True, True]])
    assert attend(q, q, v, attn_mask=mask, is_causal=True)[0, 0, :, 0].tolist() == [1, 2, 3]
    for bad in (q[0], q):
        with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
            attend(bad, bad, bad, attn_mask=mask.expand(1, 3, 3), is_causal=True)
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(2\) at non-singleton dimension 3"):
        attend(q, q, q, attn_mask=torch.ones(2, 2).bool())
    with pytest.raises(RuntimeError, match=r"output with shape \[1, 1, 3, 3\] doesn't match the broadcast shape \[5, 1, 3, 3\]"):
        attend(q, q, q, attn_mask=torch.zeros(5, 1, 3, 3))
    with pytest.raises(IndexError, match=r"expected to be in range of \[-1, 0\], but got -2"):
        attend(q, q, q, attn_mask=torch.ones(3).bool())


def test_the_fused_kernel_takes_no_nested_tensors():
    """The strided ones, on the CPU: what matrices compute has to be allowed."""
    n = torch.nested.nested_tensor([torch.ones(2, 4, 8), torch.ones(2, 3, 8)])
    attend = torch.nn.functional.scaled_dot_product_attention
    with torch.nn.attention.sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        assert [x.shape for x in attend(n, n, n).unbind()] == [(2, 4, 8), (2, 3, 8)]
    with torch.nn.attention.sdpa_kernel(SDPBackend.FLASH_ATTENTION), pytest.raises(RuntimeError, match="No available kernel"):
        attend(n, n, n)
