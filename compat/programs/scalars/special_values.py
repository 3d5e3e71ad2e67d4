# inf and nan through arithmetic, comparisons, reductions.
import torch

inf, nan = float("inf"), float("nan")
x = torch.tensor([inf, -inf, nan, 0.0, -0.0, 1.0])
print(x, x + 1, x * 0, 1 / x, x.isnan(), x.isinf(), x.isfinite(), x.isposinf(), x == x, x.nan_to_num(), x.nan_to_num(7.0, 8.0, 9.0))
print(x.max(), x.min(), x.sum(), x.nansum(), x.nanmean(), x.argmax(), x.sort().values, x.clamp(-1, 1), x.sign(), x.abs())
print(torch.maximum(x, torch.zeros(6)), torch.fmax(x, torch.zeros(6)), x.sqrt(), x.log(), x.exp(), x.bool(), x.signbit())
print(torch.equal(x, x), torch.allclose(x, x), torch.allclose(x, x, equal_nan=True), torch.isclose(x, x))
y = torch.tensor([0.0, 4.0], requires_grad=True)
y.sqrt().sum().backward()
print(y.grad)
y.grad = None
torch.where(y > 0, y.log(), torch.zeros(2)).sum().backward()
print(y.grad)
y.grad = None
(y.abs() + y.relu() + y.sign()).sum().backward()
print(y.grad)
y.grad = None
(y ** 0.5).sum().backward()
print(y.grad)
y.grad = None
(0.0 ** y).sum().backward()
print(y.grad)
