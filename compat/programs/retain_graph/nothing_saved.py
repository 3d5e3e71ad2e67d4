# Ops that save nothing can be walked again without retain_graph; a product with a number cannot.
import torch

x = torch.ones(2, requires_grad=True)
y = (-(x + 1) + x.view(2) - x.t()).sum()
y.backward()
y.backward()
print(x.grad)
z = (x * 2).sum()
z.backward()
try:
    z.backward()
    print(x.grad)
except RuntimeError as e:
    print(str(e).split("(")[0])
