"""Protects how results lie in memory: pools and convolutions of sequences, which are torch's kernels of images; transforms of what is
cast first; outputs that are made anew; empty tensors. The expectations are torch's."""
import pytest

import torchshim as torch
from torchshim.nn import functional as F


@pytest.mark.parametrize("pool, strides", [
    (lambda x: F.avg_pool1d(x, 2), (9, 1, 3)), (lambda x: F.adaptive_avg_pool1d(x, 2), (6, 1, 3)), (lambda x: F.adaptive_avg_pool1d(x, 1), (3, 1, 3)),
    (lambda x: F.adaptive_max_pool1d(x, 2), (6, 1, 3)), (lambda x: F.max_pool1d(x, 2), (9, 1, 3)),
    (lambda x: F.max_pool1d(x, 2, return_indices=True)[1], (9, 1, 3))])
def test_pools_of_transposed_sequences(pool, strides):
    x = torch.rand(2, 7, 3).mT.requires_grad_()
    y = pool(x)
    assert y.stride() == strides
    if y.requires_grad:
        assert torch.autograd.grad(y, x, torch.ones(y.shape))[0].shape == x.shape
    assert F.max_pool1d(x.detach(), 2).stride() == (9, 3, 1) and F.avg_pool1d(x.contiguous(), 2).stride() == (9, 3, 1)


def test_convolutions_lie_as_the_weight_says():
    x, w = torch.rand(2, 7, 3).mT, torch.rand(4, 2, 3).mT
    assert F.conv1d(x, w).stride() == F.conv1d(x.contiguous(), w).stride() == (24, 1, 4)
    assert F.conv1d(x, w.contiguous()).stride() == (24, 6, 1) and F.conv1d(x, torch.rand(4, 3, 1)).stride() == (28, 7, 1)
    assert F.conv1d(x[0], w).stride() == (1, 4)


def test_transforms_of_what_is_cast_and_outputs():
    x = torch.arange(12).reshape(1, 3, 4).expand(2, 3, 4)
    assert torch.fft.fft(x).stride() == torch.fft.ifftn(x).stride() == (12, 4, 1)
    y = torch.rand(2, 4, 3).mT + 0
    assert torch.fft.fft(y, dim=1).stride() == (12, 1, 3)
    assert torch.fft.fft(y, dim=1, out=torch.empty(0, dtype=torch.complex64)).stride() == (12, 4, 1)
    assert torch.quantile(y, torch.tensor([.1, .2]), 1, out=torch.empty(0)).stride() == (8, 4, 1)
    assert torch.linalg.matrix_power(torch.rand(3, 3).t(), 1).stride() == (3, 1)
    assert F.hinge_embedding_loss(torch.rand(2, 3, 4), y, reduction="none").stride() == (12, 1, 3)


def test_what_keeps_the_strides_of_little_or_nothing():
    x, e = torch.zeros(2)[::2], torch.zeros(0)[::2]
    assert torch.isreal(x).stride() == F.hardtanh(x).stride() == F.relu6(x).stride() == torch.isreal(e).stride() == (2,)
    e.requires_grad_()
    e.exp().sum().backward()
    assert e.grad.stride() == e.stride() == (2,)


def test_elementwise_results_without_elements():
    t, b = torch.zeros(2, 3, 0).mT, torch.zeros(2, 1, 1)
    assert (t * b).stride() == (t < 0.).stride() == (0, 1, 0) and (t + t).stride() == (3, 3, 1)
    assert (torch.zeros(2, 0, 3) + b).stride() == torch.zeros(2, 0, 3).isfinite().stride() == (3, 3, 1)
    assert t.long().isfinite().stride() == (3, 1, 1)
