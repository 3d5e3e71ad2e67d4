"""Fake quantization: values, gradients, learned scales, running ranges."""
import torch

g = torch.Generator().manual_seed(0)
x = torch.randn(4, 3, generator=g, requires_grad=True)
w = torch.randn(4, 3, generator=g)
for least, most in ((0, 15), (-128, 127)):
    for factor in (1.0, 0.5):
        s, z = torch.tensor([0.1], requires_grad=True), torch.tensor([3.3], requires_grad=True)
        y = torch._fake_quantize_learnable_per_tensor_affine(x, s, z, least, most, factor)
        (y * w).sum().backward()
        print(y, x.grad, s.grad, z.grad)
        s = torch.tensor([0.1, .2, .3, .4], requires_grad=True)
        z = torch.tensor([3., 1, 2, 3.6], requires_grad=True)
        y = torch._fake_quantize_learnable_per_channel_affine(x, s, z, 0, least, most, factor)
        (y * w).sum().backward()
        print(y, x.grad, s.grad, z.grad)
        x.grad = None
on, off = torch.tensor([1]), torch.tensor([0])
for symmetric in (False, True):
    for rows in (False, True):
        low = torch.tensor([]) if rows else torch.tensor(float("inf"))
        high = torch.tensor([]) if rows else torch.tensor(float("-inf"))
        scale, point = torch.tensor([1.]), torch.tensor([0], dtype=torch.int32)
        for k, (watch, fake) in enumerate(((on, on), (on, on), (off, on), (on, off))):
            y = torch.fused_moving_avg_obs_fake_quant(x * (k + 1), watch, fake, low, high, scale, point, 0.1, -128, 127, 0, rows, symmetric)
            print(y, low, high, scale, point)
            (y * w).sum().backward()
            print(x.grad)
for y in (torch.zeros(3), torch.rand(5, generator=g) * 1e-7, -torch.rand(5, generator=g) * 1e-7, (torch.rand(5, generator=g) - .5) * 1e-7):
    low, high, scale, point = torch.tensor(float("inf")), torch.tensor(float("-inf")), torch.tensor([1.]), torch.tensor([0], dtype=torch.int32)
    print(torch.fused_moving_avg_obs_fake_quant(y, on, on, low, high, scale, point, 0.1, 0, 255, 0), scale, point)
