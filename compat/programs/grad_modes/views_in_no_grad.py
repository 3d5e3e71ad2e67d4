# A view made under no_grad and written later.
import torch

base = torch.ones(4, requires_grad=True) * 1
with torch.no_grad():
    v = base[:2]
print(v.requires_grad, v._is_view())
try:
    v.mul_(3)
    print(v)
except RuntimeError as e:
    print(e)

leaf = torch.ones(3, requires_grad=True)
with torch.no_grad():
    leaf[1:].mul_(5)
    leaf -= 1
print(leaf, leaf._version)
