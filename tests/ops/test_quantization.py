"""Protects fake quantization: levels, what is cut off, and that the gradient passes within the range only (torch 2.13's numbers)."""
import pytest

import torchshim as torch


def test_numbers_become_those_of_the_nearest_levels():
    x = torch.tensor([0.1, 0.5, -3.0, 100.0, float("nan"), float("inf")], requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)
    assert torch.allclose(y, torch.tensor([0.1, 0.5, -0.3, 25.2, -0.3, 25.2]))
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [1, 1, 0, 0, 0, 0]
    t = torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.1), torch.tensor(3, dtype=torch.int32), 0, 255)
    assert torch.equal(t, y) and type(t.grad_fn).__name__ == "FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0"


def test_channels_have_scales_of_their_own():
    x = torch.tensor([[0.1, 0.52], [-3.0, 100.0]])
    y = torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.2]), torch.tensor([3, 1], dtype=torch.int32), 0, 0, 255)
    assert torch.allclose(y, torch.tensor([[0.1, 0.5], [-0.2, 50.8]]))


def test_refusals():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="`zero_point` must be between"):
        torch.fake_quantize_per_tensor_affine(x, 0.1, 300, 0, 255)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch.fake_quantize_per_tensor_affine(x.long(), 0.1, 3, 0, 255)
