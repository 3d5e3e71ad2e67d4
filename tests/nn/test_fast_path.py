"""The fast path of attention modules in evaluation without gradients: its masks hide or do not,
and padded sequences go as nested tensors."""
from unittest import mock

import pytest

import torchshim as torch
from torchshim import nn


def layer(**options):
    torch.manual_seed(0)
    return nn.TransformerEncoderLayer(16, 4, 24, batch_first=True, **options).eval(), torch.randn(2, 5, 16)


def test_any_number_but_zero_hides():
    """A mask of biases is one of what is hidden; the numbers are PyTorch 2.13's, from the same seed."""
    m, x = layer()
    bias = -(torch.arange(5)[:, None] - torch.arange(5)).abs() * 0.5
    with torch.no_grad():
        torch.testing.assert_close(m(x, src_mask=bias)[0, :, 0], torch.tensor([1.3643, -0.3156, 0.6652, -0.4711, -1.1203]),
                                   atol=5e-5, rtol=0)
        padding = torch.zeros(2, 5)
        padding[0, 3:] = -2.0
        torch.testing.assert_close(m(x, src_key_padding_mask=padding), m(x, src_key_padding_mask=padding != 0))
    torch.testing.assert_close(m(x, src_mask=bias)[0, :, 0].detach(), torch.tensor([1.5255, -0.2532, 0.7362, -0.9089, -1.0011]),
                               atol=5e-5, rtol=0)


def test_a_query_that_sees_nothing():
    torch.manual_seed(0)
    m, x = nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.randn(1, 3, 8)
    hidden = torch.tensor([[False, False, False], [True, True, True], [False, True, False]])
    with torch.no_grad():
        y, weights = m(x, x, x, attn_mask=hidden)
    assert y.isnan().any(-1).tolist() == [[False, True, False]] and weights.isnan().any(-1).tolist() == [[False, True, False]]
    assert not m(x, x, x, attn_mask=hidden, need_weights=False)[0].isnan().any()        # the slow path, with gradients


def test_who_takes_it():
    """The operator is looked up in `torch` for each call, and an encoder whose padding is at the end hands it nested tensors."""
    m, x = layer()
    encoder = nn.TransformerEncoder(m, 2).eval()
    at_end, inside = torch.tensor([[False, False, True, True, True], [False] * 5]), torch.tensor([[False, True, False, False, False]] * 2)
    for grad, padding, called, nested in ((False, None, True, False), (False, at_end, True, True), (False, inside, True, False),
                                          (True, None, False, False)):
        with torch.set_grad_enabled(grad), mock.patch("torchshim._transformer_encoder_layer_fwd") as fast:
            fast.side_effect = lambda src, *args: src
            encoder(x, src_key_padding_mask=padding)
        assert fast.called is called and {call.args[0].is_nested for call in fast.call_args_list} == ({nested} if called else set())
    for change in (lambda: m.train(), lambda: m.register_forward_hook(lambda *args: None),
                   lambda: torch.backends.mha.set_fastpath_enabled(False)):
        m, x = layer()
        change()
        try:
            with torch.no_grad(), mock.patch("torchshim._transformer_encoder_layer_fwd") as fast:
                m(x)
            assert not fast.called
        finally:
            torch.backends.mha.set_fastpath_enabled(True)


def test_a_causal_mask_of_another_dtype_is_taken_for_what_it_is():
    for batch_first in (True, False):
        body = torch.nn.Transformer(4, 1, 1, 1, 4, 0.0, batch_first=batch_first).eval()
        x = torch.randn(5, 5, 4)
        mask = body.generate_square_subsequent_mask(5)
        expected = body(x, x, src_mask=mask, tgt_mask=mask)
        assert torch.allclose(body(x, x, src_mask=mask.double(), tgt_mask=mask.double()), expected)
        with pytest.raises(RuntimeError, match="^Expected attn_mask dtype to be bool or float or to match query dtype"):
            body(x, x, tgt_mask=mask.double(), tgt_is_causal=False)
