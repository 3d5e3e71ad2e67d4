# 0-d tensors and Python numbers.
import math
import torch

x = torch.tensor(3.5)
print(x.item(), float(x), int(x), bool(x), complex(x), round(float(x)), x.shape, x.dim(), x.numel(), x.size(), len(x.shape))
print(x + 1, 1 + x, 2 - x, 2 / x, 2 ** x, x // 2, 7 // x, x % 2, 7 % x, -x, +x, abs(-x), divmod(7, 2))
print(x == 3.5, x > 2, x.tolist(), x.sum(), x.mean(), x.max(), x.argmax(), x.view(1), x.reshape(1, 1), x[None], x[...], x.unsqueeze(0), x.expand(3))
print(torch.tensor(5) // 2, torch.tensor(-5) // 2, torch.tensor(5).item(), type(torch.tensor(True).item()), type(torch.tensor(2).item()))
print(torch.tensor(2) * torch.tensor([1.5]), torch.tensor(2.5) * torch.tensor([1, 2]), torch.scalar_tensor(3), torch.tensor([[7]]).item())
print(max(torch.tensor(1), torch.tensor(2)), sum([torch.tensor(1.0), torch.tensor(2.0)]), sorted([torch.tensor(2), torch.tensor(1)]))
i = torch.tensor(2)
print(list(range(i)), [0, 1, 2][i], "abc"[i], i.__index__(), [1] * i, torch.zeros(i), torch.zeros(3)[i])
x += 1
print(x, x ** 0, x ** -1, x.pow(2), torch.pow(2, x), pow(x, 2), x.clamp(max=2), x.sign(), x.frac(), x.trunc(), x.round())
print(math.sqrt(x), torch.tensor(1e400), torch.tensor(float("nan")), torch.tensor(-0.0), 0.0 * torch.tensor(-1.0))
