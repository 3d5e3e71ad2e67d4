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
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        F.soft_margin_loss(t(2).long(), t(3))


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


@pytest.mark.parametrize("f, told", [(F.dropout, "dropout"), (F.alpha_dropout, "alpha_dropout"), (F.dropout1d, "feature_dropout"),
                                     (F.feature_alpha_dropout, "feature_alpha_dropout")])
def test_whether_it_trains_is_a_bool(f, told):
    for given in (1, None, "yes"):
        with pytest.raises(TypeError, match=rf"^{told}\(\): argument 'train' \(position 3\) must be bool, not {type(given).__name__}$"):
            f(t(3, 4), 0.5, given)


REFUSED = [
    (lambda: F.dropout(t(3).to(torch.complex64), 0.5), NotImplementedError, "\"bernoulli_scalar_cpu_\" not implemented for 'ComplexFloat'"),
    (lambda: torch.embedding_renorm_(t(3, 4), torch.tensor([0, 7]), 0.5, 0.5), IndexError,
     "select(): index 7 out of range for tensor of size [3, 4] at dimension 0"),
    (lambda: F.group_norm(t(3, 4), 1, t(4), t(3)), RuntimeError, "Expected bias to be a vector of size equal to the number of channels in "
     "input, but got bias of shape [4] and input of shape [3, 4]"),
    (lambda: torch.norm_except_dim(t(3, 4), 1, -3), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got -3)"),
    (lambda: torch.isclose(t(3), t(3), nan), RuntimeError, "rtol must be greater than or equal to zero, but got nan"),
    (lambda: torch.repeat_interleave(t(3, 4), 2, 0, output_size=0), RuntimeError,
     "repeat_interleave: Invalid output_size, expected 6 but got 0"),
    (lambda: t(5).split_with_sizes([2, 2], -1), RuntimeError, "split_with_sizes expects split_sizes to sum exactly to 5 (input tensor's size "
     "at dimension -1), but got split_sizes=[2, 2]"),
    (lambda: torch.nanquantile(t(3), t(2, 2)), RuntimeError, "quantile() q must be a scalar or 1D tensor"),
    (lambda: torch.arccos(t(3), out=t(3).requires_grad_()), RuntimeError, "acos(): functions with out=... arguments don't support automatic "
     "differentiation, but one of the arguments requires grad."),
    (lambda: torch.special.expit(t(3), out=t(3).requires_grad_()), RuntimeError, "sigmoid(): functions with out=... arguments don't support "
     "automatic differentiation, but one of the arguments requires grad."),
    (lambda: torch.bitwise_and(t(3).long(), 2, out=t(3).requires_grad_()), RuntimeError, "aten::bitwise_and(): functions with out=... "
     "arguments don't support automatic differentiation, but one of the arguments requires grad."),
]


@pytest.mark.parametrize("call, kind, told", REFUSED, ids=[told[:40] for _, _, told in REFUSED])
def test_refusals(call, kind, told):
    with pytest.raises(kind) as error:
        call()
    assert type(error.value) is kind and str(error.value).split("\n")[0] == told


def test_name_of_the_last_sum_of_poisson_nll_loss():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    names = [type(torch.nn.functional.poisson_nll_loss(x, y, full=full, reduction="none").grad_fn).__name__ for full in (False, True)]
    assert names == ["SubBackward0", "AddBackward0"]
