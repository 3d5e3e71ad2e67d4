"""What layers answer at the edges: sizes that are cut away, arguments that do not fit, and the grad_fn of each result, as PyTorch's."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F
from torchshim import nn


def refused(kind, words, f, *args, **kwargs):
    with pytest.raises(kind) as error:
        f(*args, **kwargs)
    assert words in str(error.value)


def test_padding_of_volumes_does_not_count_against_the_window():
    refused(RuntimeError, "input image (T: 4 H: 4 W: 1) smaller than kernel size (kT: 3 kH: 3 kW: 3)", F.avg_pool3d,
            torch.ones(1, 1, 4, 4, 1), 3, 1, 1)


def test_edges_cut_beyond_the_last_element():
    x = torch.ones(1, 4)
    refused(RuntimeError, "input (W: 4) is too small. Calculated output W: -2", F.pad, x, (-3, -3), "reflect")
    refused(RuntimeError, "input (W: 4) is too small. Calculated output W: 0", F.pad, x, (-2, -2), "replicate")
    refused(RuntimeError, "Trying to create tensor with negative dimension -2: [1, 4, -2, 4]", F.pad, torch.ones(1, 4, 4, 4),
            (0, 0, -3, -3), "replicate")
    assert F.pad(x, (-5, 1), "circular").shape == (1, 0)


def test_a_fraction_of_nothing_is_empty():
    y, at = F.fractional_max_pool2d(torch.ones(2, 3, 7, 1), 2, output_ratio=0.5, return_indices=True)
    assert y.shape == at.shape == (2, 3, 3, 0) and at.dtype == torch.int64


def test_grad_fn_names_of_losses():
    x = torch.randn(2, 3, 2, requires_grad=True)
    target = torch.tensor([[0, 1], [1, 2]])
    for f in (F.nll_loss, F.cross_entropy):
        assert f(x, target, reduction="none").grad_fn.name() == "ViewBackward0"       # torch computes such losses as of a plane
        assert f(x, target).grad_fn.name() == "NllLoss2DBackward0"
    logp = torch.randn(4, 1, 3).log_softmax(2).requires_grad_()
    ctc = [F.ctc_loss(logp, torch.tensor([[1]]), (4,), (1,), reduction="none", zero_infinity=z) for z in (True, False)]
    assert [y.grad_fn.name() for y in ctc] == ["WhereBackward0", "CtcLossBackward0"]
    assert nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2]).log_prob(torch.ones(1, 4)).grad_fn.name() == "torch::autograd::CopySlices"


def test_weights_that_do_not_fit():
    p = torch.full((3, 2), 0.5)
    refused(RuntimeError, "Mismatching argument at index 1 had torch.Size([3]); but expected shape should be broadcastable to [3, 2]",
            F.binary_cross_entropy, p, p, weight=torch.ones(3))
    refused(RuntimeError, "The size of tensor a (3) must match the size of tensor b (2)", F.binary_cross_entropy_with_logits, p, p,
            pos_weight=torch.ones(3))
    refused(RuntimeError, "Got: 2", F.cross_entropy, p, p, label_smoothing=2.0)


def test_an_lstm_cell_takes_its_two_states_apart():
    cell, h = nn.LSTMCell(4, 4), torch.ones(2, 4)
    refused(TypeError, "must be tuple of Tensors, not Tensor", cell, h, h)            # a tensor of two rows would unpack
    refused(RuntimeError, "lstm_cell expects two hidden states", cell, h, (h,))


def test_unflatten_without_dimensions_looks_at_its_arguments_first():
    refused(IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 1)", torch.tensor(1.).unflatten, 1, (1, 1))
    refused(RuntimeError, "unflatten: sizes must be non-empty", torch.tensor(1.).unflatten, 1, ())


def test_what_scripting_reads_of_layers():
    assert nn.Embedding.__constants__[0] == nn.EmbeddingBag.__constants__[0] == "num_embeddings"
    refused(ValueError, "in1_features must be > 0, but got (in1_features=0)", nn.Bilinear, 0, 1, 1)
