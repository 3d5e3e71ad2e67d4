"""Layers and losses of integers: torch's kernels compute some in whole numbers, and refuse others."""
import pytest

import torchshim as torch

F = torch.nn.functional
ONES, SIGNS = torch.ones(3, dtype=torch.int8), torch.tensor([1, -1, 1], dtype=torch.int8)


@pytest.mark.parametrize("loss", [F.l1_loss, F.hinge_embedding_loss])
def test_sums_of_whole_losses_are_int64(loss):
    total = loss(torch.full((3,), 100, dtype=torch.int8), SIGNS if loss is F.hinge_embedding_loss else ONES * 0, reduction="sum")
    assert total.dtype == torch.int64 and total.item() == (300 if loss is F.l1_loss else 200)


def test_hinge_embedding_loss_keeps_the_dtype_of_its_input():
    """The margin too is brought to it, and what uint8 holds for -1 is -1."""
    x = torch.tensor([1.3, -2.7, 3, .2, -1])
    y = torch.tensor([1, -1, 0, 2, -1])
    made = F.hinge_embedding_loss(x.to(torch.int8), y.float(), margin=1.5, reduction="none")
    assert made.dtype == torch.int8 and made.tolist() == [1, 3, 3, 1, 2]
    assert F.hinge_embedding_loss(x, y.double()).dtype == torch.float32
    assert F.hinge_embedding_loss(ONES.to(torch.uint8), SIGNS.to(torch.uint8), reduction="none").tolist() == [1, 0, 1]
    with pytest.raises(RuntimeError, match="could not infer output dtype.*Got: Char"):
        F.hinge_embedding_loss(ONES, SIGNS)
    with pytest.raises(NotImplementedError, match="clamp is not supported for complex types"):
        F.hinge_embedding_loss(torch.tensor([1j]), torch.tensor([1]))


def test_local_response_norm_averages_whole_squares_in_whole_numbers():
    x = torch.tensor([[[1], [2], [4]]])
    assert F.local_response_norm(x, 2, alpha=1.0, beta=1.0).flatten().tolist() == pytest.approx([1.0, 2 / 3, 4 / 11])
    with pytest.raises(NotImplementedError, match='"avg_pool2d" not implemented for \'Char\''):
        F.local_response_norm(x.to(torch.int8), 2)


@pytest.mark.parametrize("made, error, text", [
    (lambda: F.soft_margin_loss(ONES, SIGNS), RuntimeError, "result type Float can't be cast to the desired output type Char"),
    (lambda: F.gaussian_nll_loss(ONES, ONES, ONES), RuntimeError, "can't be cast to the desired output type signed char"),
    (lambda: F.multilabel_soft_margin_loss(ONES[None], ONES[None]), NotImplementedError, "\"log_sigmoid_cpu\" not implemented for 'Char'"),
    (lambda: F.multilabel_soft_margin_loss(torch.ones(1, 3), ONES[None] > 0), RuntimeError, "with a bool tensor is not supported"),
    (lambda: F.conv_transpose2d(*[torch.ones(1, 1, 2, 2, dtype=torch.uint8)] * 2), NotImplementedError,
     "\"slow_conv_transpose2d_out_cpu\" not implemented for 'Byte'"),
    (lambda: ONES.bool().median(0), NotImplementedError, "\"median_out\" not implemented for 'Bool'"),
    (lambda: F.rrelu(None), TypeError, "argument 'input' .position 1. must be Tensor, not NoneType"),
])
def test_what_torch_has_no_kernel_for(made, error, text):
    with pytest.raises(error, match=text):
        made()


def test_true_as_an_index_casts_what_is_written():
    x = torch.zeros(2, 3)
    x[True] = torch.tensor([[1]])
    assert x.tolist() == [[1.0] * 3] * 2


def test_multilabel_soft_margin_loss_goes_in_steps_of_its_dtypes():
    """1 - target wraps around in uint8, and half numbers are rounded after each step."""
    ones = torch.ones(1, 3)
    assert F.multilabel_soft_margin_loss(ones, torch.tensor([[1, 255, 1]], dtype=torch.uint8)).item() == pytest.approx(27.7116, abs=1e-4)
    half = F.multilabel_soft_margin_loss(ones.half(), torch.tensor([[1.0, -1.0, 1.0]]).half())
    assert half.dtype == torch.float16 and half.item() == 0.98046875
