"""Normalisation of nothing, and of what has no channels, as torch has it."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F


def test_nothing_is_normalised_without_statistics_and_keeps_a_history():
    x = torch.ones(0, 3, requires_grad=True)
    for training in (False, True):
        assert F.batch_norm(x, None, None, training=training).shape == (0, 3)
    mean = torch.zeros(3)
    out = F.batch_norm(torch.ones(2, 0, 3), mean, torch.ones(3), training=True)
    assert out.shape == (2, 0, 3) and mean.tolist() == [0.] * 3
    weight = torch.full((3,), 2., requires_grad=True)
    F.batch_norm(x, None, None, weight, weight, training=True).sum().backward()
    assert x.grad.shape == (0, 3) and weight.grad.tolist() == [0.] * 3


def test_what_has_no_channels_is_refused_in_torchs_words():
    with pytest.raises(IndexError, match="Dimension out of range .expected to be in range of .-1, 0., but got 1."):
        F.batch_norm(torch.ones(3), None, None, training=True)
    with pytest.raises(RuntimeError, match="running_mean should contain 0 elements not 3"):
        F.batch_norm(torch.ones(3), torch.ones(3), torch.ones(3), training=True)
    with pytest.raises(ValueError, match="Expected more than 1 spatial element when training, got input size torch.Size..3.."):
        F.instance_norm(torch.ones(3))
    with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
        F.instance_norm(torch.tensor(1.), torch.ones(3), torch.ones(3), use_input_stats=False)
