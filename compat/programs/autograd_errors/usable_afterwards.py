# After an error the tensors are as before.
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
try:
    y + torch.ones(5)
except RuntimeError as e:
    print(e)
try:
    y.backward()
except RuntimeError as e:
    print(e)
y.sum().backward()
print(x.grad)
z = x.clone()
try:
    z.add_(torch.ones(4))
except RuntimeError as e:
    print(e)
print(z, z._version)
try:
    z[5] = 1
except IndexError as e:
    print(e)
print(z, z._version)
(z * 2).sum().backward()
print(x.grad)
