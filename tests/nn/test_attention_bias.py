"""Causal masks by name: the same attention as with the mask written out."""
import pytest

import torchshim as torch
from torchshim.nn import functional as F
from torchshim.nn.attention.bias import causal_lower_right, causal_upper_left


@pytest.mark.parametrize("make, offset", [(causal_upper_left, 0), (causal_lower_right, 2)])
def test_causal_bias_is_its_mask(make, offset):
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 2, 8), torch.randn(1, 4, 8), torch.randn(1, 4, 8)
    bias, mask = make(2, 4), torch.ones(2, 4, dtype=torch.bool).tril(offset)
    assert repr(bias) == repr(mask)
    out, expected = [F.scaled_dot_product_attention(q, k, v, attn_mask=m) for m in (bias, mask)]
    assert torch.allclose(out, expected, atol=1e-6)
    with pytest.raises(ValueError, match="should not be used with causal=True"):
        F.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=True)


def test_causal_bias_tells_of_rows_without_keys():
    with pytest.warns(UserWarning, match="will produce NaNs"):
        causal_lower_right(4, 2)
    with pytest.raises(AssertionError, match="only supports 2D"):
        causal_upper_left(2)
