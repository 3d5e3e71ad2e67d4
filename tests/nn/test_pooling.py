"""Pooling: places that backward saved, layouts, empty dimensions. Expectations are PyTorch 2.13's."""
import math

import pytest

import torchshim as torch
import torchshim.nn.functional as F


@pytest.mark.parametrize("pool", [lambda x: F.max_pool2d(x, 2, return_indices=True),
                                  lambda x: F.adaptive_max_pool2d(x, 2, return_indices=True),
                                  lambda x: F.fractional_max_pool2d(x, 2, 2, return_indices=True)])
def test_places_are_saved_for_backward(pool):
    x = torch.rand(1, 1, 4, 4, requires_grad=True)
    value, place = pool(x)
    value.sum().backward(retain_graph=True)
    assert torch.equal(x.grad.flatten().nonzero().flatten(), place.flatten().sort().values)
    place.zero_()
    with pytest.raises(RuntimeError, match=r"\[torch.LongTensor \[1, 1, 2, 2\]\] is at version 1; expected version 0"):
        value.sum().backward()


def test_volumes_keep_channels_last():
    x = torch.rand(1, 3, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)
    assert F.max_pool3d(x, 2).stride() == (24, 1, 12, 6, 3) and F.max_pool3d(x[0], 2).stride() == (1, 12, 6, 3)
    assert F.avg_pool3d(x, 2).stride() == (24, 8, 4, 2, 1)


@pytest.mark.parametrize("pool, shape", [(lambda x: F.adaptive_max_pool1d(x, 3), (1, 0, 5)),
                                         (lambda x: F.adaptive_avg_pool3d(x, 3), (1, 0, 5, 5, 5)),
                                         (lambda x: F.fractional_max_pool2d(x, 3, 2), (1, 0, 5, 5)),
                                         (lambda x: F.max_unpool2d(x, x.long(), 2), (1, 2, 0, 2))])
def test_empty_dimensions_are_refused(pool, shape):
    with pytest.raises(RuntimeError, match="Expected input to have non-zero size for non-batch dimensions"):
        pool(torch.zeros(shape))
    pool(torch.zeros(0, *[max(n, 2) for n in shape[1:]]))


def test_windows_over_padding_alone_have_no_maximum():
    x = torch.arange(6.).reshape(1, 1, 3, 2).requires_grad_()
    value, place = F.max_pool2d(x, 2, 1, 1, 3, return_indices=True)        # taps at rows -1 and 2, columns -1 and 2
    assert value.tolist() == [[[[-math.inf], [-math.inf]]]] and place.tolist() == [[[[6], [2]]]]      # as torch has them
    assert torch.equal(F.max_pool2d(x, 2, 1, 1, 3), value)
    value.exp().sum().backward()
    assert x.grad.tolist() == [[[[0, 0]] * 3]]


def test_samples_of_fractional_pools_fit_the_input():
    x = torch.arange(98.0).reshape(1, 2, 7, 7)
    for shape, text in (((0, 2, 2), r"size\(0\) no less then input batch size"), ((1, 3, 2), r"size\(1\) equals to input channel size"),
                        ((1, 2, 3), r"size\(2\) equals to 2; got 3"), ((2, 2), "to have 3 dimensions, got 2")):
        with pytest.raises(RuntimeError, match="Expect _random_samples.*" + text):
            F.fractional_max_pool2d(x, 2, output_size=3, _random_samples=torch.rand(shape))
    samples = torch.rand(3, 2, 2)
    made = F.fractional_max_pool2d(x, 2, output_size=3, _random_samples=samples)
    assert made.shape == (1, 2, 3, 3) and torch.equal(made, F.fractional_max_pool2d(x, 2, output_size=3, _random_samples=samples[:1]))


@pytest.mark.parametrize("call, error, text", [
    (lambda: F.max_unpool3d(torch.ones(1, 3, 1, 1, 1), torch.zeros(1, 3, 1, 1, 1, dtype=torch.int64), [1, 1]), RuntimeError,
     r"There should be exactly three elements \(depth, height, width\) in output_size, but got 2 elements."),
    (lambda: F.max_unpool2d(torch.ones(1, 1, 1, 2), torch.tensor([[[[0, 1]]]]), [1]), RuntimeError,
     r"There should be exactly two elements \(height, width\) in output_size, but got 1 elements."),
    (lambda: F.max_unpool1d(torch.ones(1, 1, 2), torch.tensor([[[0, 1]]]), [2, 2]), IndexError, "tuple index out of range"),
    (lambda: F.unfold(torch.ones(1, 1, 4, 4), (2,)), RuntimeError, "It is expected kernel_size equals to 2, but got size 1"),
    (lambda: F.lp_pool2d(torch.ones(1, 1, 4, 4), 2, [2, 2, 2]), ValueError, "too many values to unpack"),
    (lambda: F.adaptive_avg_pool2d(torch.ones(1, 1, 4, 4), (2, 2, 2, 2)), ValueError, "Input dimension should be at least 5")])
def test_sizes_of_another_number(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_pools_over_one_dimension_are_views_of_those_over_two():
    """torch pools over two dimensions, the first of which is 1; a result that is written in place so writes its base."""
    F, x = torch.nn.functional, torch.arange(12.0).reshape(2, 6).requires_grad_()
    pools = [(lambda x: F.max_pool1d(x, 2), "MaxPool2DWithIndicesBackward0"), (lambda x: F.avg_pool1d(x, 2), "AvgPool2DBackward0"),
             (lambda x: F.adaptive_avg_pool1d(x, 2), "AdaptiveAvgPool2DBackward0"),
             (lambda x: F.adaptive_max_pool1d(x, 2), "AdaptiveMaxPool2DBackward0"),
             (lambda x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2), "MaxUnpool2DBackward0")]
    for pool, name in pools:
        y = pool(x)
        assert y._is_view() and y.grad_fn.name() == "SqueezeBackward1" and y._base.grad_fn.name() == name and y._base.ndim == 3
        y.mul_(2)
        assert y.grad_fn.name() == "AsStridedBackward0" and y._base.grad_fn.name() == "torch::autograd::CopySlices"
        expected = torch.autograd.grad(pool(x).sum() * 2, x)[0]
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == expected.tolist()
    assert not F.max_pool1d(x.detach(), 2)._is_view() and F.max_pool1d(x.detach(), 2, return_indices=True)[1]._is_view()
