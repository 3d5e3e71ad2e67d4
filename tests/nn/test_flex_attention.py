"""Protects flex_attention: scores and masks given as functions, blocks of masks. The numbers are those of torch 2.13."""
import math

import pytest

import torchshim as torch
from torchshim.nn.attention.flex_attention import (AuxRequest, BlockMask, and_masks, create_block_mask, create_mask,
                                                   flex_attention, noop_mask, or_masks)

F = torch.nn.functional


def qkv(*shape):
    torch.manual_seed(0)
    return [torch.randn(*shape or (2, 4, 10, 8), requires_grad=True) for _ in range(3)]


def causal(b, h, q, kv):
    return q >= kv


def near(b, h, q, kv):
    return (q - kv).abs() <= 2


@pytest.mark.parametrize("blocks", [128, 4, (2, 5)])
def test_a_mask_is_that_of_plain_attention(blocks):
    q, k, v = qkv()
    mask = create_block_mask(causal, None, None, 10, 10, BLOCK_SIZE=blocks)
    out, want = flex_attention(q, k, v, block_mask=mask), F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(out, want)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), q)[0], torch.autograd.grad(want.sum(), q)[0])


def test_scores_can_be_changed():
    q, k, v = qkv()
    bias = torch.arange(10) - torch.arange(10)[:, None]
    slopes = torch.arange(1, 5) * 0.1

    def alibi(score, b, h, q, kv):
        return score + (kv - q) * slopes[h]
    out, lse = flex_attention(q, k, v, alibi, return_lse=True)
    scores = q @ k.mT / math.sqrt(8) + bias * slopes[:, None, None]
    torch.testing.assert_close(out, scores.softmax(-1) @ v)
    torch.testing.assert_close(lse, scores.logsumexp(-1))
    assert flex_attention(q, k, v, return_aux=AuxRequest(max_scores=True))[1].lse is None


def test_heads_that_share_keys_and_queries_that_see_nothing():
    q, k, v = qkv()
    with pytest.raises(ValueError, match="Expect query and key/value to have the same number of heads but got Hq=4 and Hkv=2"):
        flex_attention(q, k[:, :2], v[:, :2])
    out = flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True)
    torch.testing.assert_close(out, F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True))
    late = create_block_mask(lambda b, h, q, kv: q > 5, None, None, 10, 10)
    assert (flex_attention(q, k, v, block_mask=late)[:, :, :6] == 0).all()


def test_masks_and_blocks():
    assert torch.equal(create_mask(and_masks(causal, near), 1, 1, 5, 5)[0, 0], torch.ones(5, 5).tril().triu(-2).bool())
    assert create_mask(or_masks(causal, near), 1, 1, 5, 5).sum() == 15 + 7
    m = create_block_mask(causal, None, None, 40, 40, BLOCK_SIZE=16)
    assert m.shape == (1, 1, 40, 40) and m.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]] and f"{m.sparsity():.2f}" == "4.00"
    assert m.kv_num_blocks.tolist() == [[[1, 1, 3]]] and m.full_kv_num_blocks.tolist() == [[[0, 1, 0]]] and "mask_mod=causal" in repr(m)
    own = BlockMask.from_kv_blocks(torch.tensor([[[1, 2]]]), torch.tensor([[[[0, 1], [1, 0]]]]), BLOCK_SIZE=4)
    assert own.mask_mod is noop_mask and own.shape == (1, 1, 8, 8) and own.sparsity() == 25
    with pytest.raises(ValueError, match="block_mask was created for block_mask.shape"):
        flex_attention(*qkv(1, 1, 50, 8), block_mask=m)
