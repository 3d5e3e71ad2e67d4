# Tensors born in inference mode.
import torch

x = torch.ones(2, requires_grad=True)
with torch.inference_mode():
    y = x * 2
    print(y.requires_grad, y.is_inference(), torch.is_inference_mode_enabled())
    y.add_(1)
print(y, x.is_inference(), torch.is_inference_mode_enabled())
try:
    y._version
except RuntimeError as e:
    print(e)
try:
    (x * y).sum().backward()
except RuntimeError as e:
    print(e)
try:
    y.add_(1)
except RuntimeError as e:
    print(e)
z = y.clone()
z.add_(1)
print(z)


@torch.inference_mode()
def f(t):
    return t + 1


print(f(x).requires_grad)
with torch.inference_mode(False):
    print((x + 1).requires_grad)
