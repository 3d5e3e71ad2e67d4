# Two losses share a trunk: the first backward frees it for the second.
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
trunk = x.exp()
one = (trunk * 2).sum()
two = (trunk ** 2).sum()
one.backward(retain_graph=True)
two.backward()
print(x.grad)

x.grad = None
trunk = x.exp()
one = (trunk * 2).sum()
two = (trunk ** 2).sum()
one.backward()
try:
    two.backward()
except RuntimeError as e:
    print(str(e).split("(")[0])
print(x.grad)
