"""Losses, norms, dropout and attention with arguments that programs seldom give. Expectations are PyTorch 2.13's."""
import math

import pytest

import torchshim as torch
import torchshim.nn.functional as F

nan = math.nan


def t(*shape):
    return (torch.arange(torch.Size(shape).numel()) * 7 % 11).reshape(shape) * 0.75


def test_a_reduction_may_be_a_tensor():
    x = t(3, 4)
    for loss in (torch.kl_div, lambda a, b, r: torch.hinge_embedding_loss(a, b, 0.5, r),
                 lambda a, b, r: torch.poisson_nll_loss(a, b, False, False, 0.5, r)):
        assert loss(x, x, torch.tensor(1)).equal(loss(x, x, 1)) and loss(x, x, torch.tensor(2)).equal(loss(x, x, 2))


def test_soft_margin_loss_has_the_dtype_of_its_input():
    assert F.soft_margin_loss(t(3, 4), t(3, 4).double()).dtype == torch.float32
    assert F.soft_margin_loss(t(3, 4).bfloat16(), t(3, 4)).item() == 0.162109375
    for x, y, told in ((t(3).long(), t(3), "Float can't be cast to the desired output type Long"),
                       (t(3), t(3).to(torch.complex64), "ComplexFloat can't be cast to the desired output type Float")):
        with pytest.raises(RuntimeError, match=f"result type {told}"):
            F.soft_margin_loss(x, y)


def test_statistics_beside_native_norms_have_the_weights_dtype():
    x, w = t(3, 4).half(), torch.ones(4)
    assert [m.dtype for m in torch.native_batch_norm(x, w, w, w, w, False, 0.5, 0.5)[1:]] == [torch.float32] * 2
    assert [m.dtype for m in torch.native_batch_norm(x, w, w, w, w, True, 0.5, 0.5)[1:]] == [torch.float32] * 2
    assert [m.dtype for m in torch.native_group_norm(x, w, w, 3, 4, 1, 2, 0.5)[1:]] == [torch.float32] * 2
    mean, scale = torch.native_layer_norm(x, [3, 4], None, None, 2.0)[1:]
    assert mean.dtype == scale.dtype == torch.float16 and scale.item() == 0.3486328125


def test_no_probability_at_all():
    for f in (F.dropout, torch.dropout, F.alpha_dropout, F.dropout1d):
        with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1, but got nan"):
            f(t(4, 4), nan, True)
    x = t(4, 4)
    for p in (nan, -1.):
        assert F.scaled_dot_product_attention(x, x, x, None, p).equal(F.scaled_dot_product_attention(x, x, x))
        with pytest.raises(RuntimeError, match="scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0"):
            F.scaled_dot_product_attention(*[t(1, 1, 4, 4)] * 3, None, p)


def test_bool_weights_of_positives():
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"):
        F.binary_cross_entropy_with_logits(t(3), t(3), pos_weight=torch.tensor([True, False, True]))


def test_rows_renormed_by_how_many_are_not_zero():
    made = torch.embedding_renorm_(t(3, 4), torch.tensor([1, 0]), 0.5, 0)
    torch.testing.assert_close(made[0], torch.tensor([0., 0.875, 0.375, 1.25]))
    torch.testing.assert_close(torch.embedding_renorm_(t(3, 4), torch.tensor([1, 0]), 9., 0), t(3, 4))
