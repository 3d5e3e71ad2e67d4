# A write through a detached alias is noticed by the version check.
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
y.detach().zero_()
try:
    y.sum().backward()
except RuntimeError as e:
    print(e)
print(y, y._version)

z = torch.tensor([1.0, 2.0], requires_grad=True)
w = z.exp()
w.data.zero_()
w.sum().backward()
print(z.grad, w._version)
