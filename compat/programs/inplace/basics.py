# In-place methods return self, keep identity and raise the version.
import torch

x = torch.tensor([1.0, 4.0, 9.0])
p = x.data_ptr()
print(x.add_(1) is x, x._version, x)
x.sqrt_().mul_(10).sub_(1, alpha=2).div_(3)
print(x, x._version, x.data_ptr() == p)
x += 1
x -= torch.ones(3)
x *= 2
x /= 4
x **= 2
print(x, x._version, x.data_ptr() == p)
y = torch.tensor([7, -7, 5])
y //= 2
y %= 3
y <<= 1
y |= 1
y &= 3
y ^= 2
print(y, y._version)
x.clamp_(0.1, 0.5)
x.zero_()
x.fill_(3)
x.copy_(torch.arange(3))
x[1] = 5
x[:2] = torch.tensor([8.0, 9.0])
print(x, x._version)
m = torch.zeros(2, 3)
m.t_()
print(m.shape, m.stride(), m._version)
m.unsqueeze_(0).squeeze_().transpose_(0, 1)
print(m.shape)
