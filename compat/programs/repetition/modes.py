# The same operations with and without gradient, dtypes and shapes changing in between.
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)


def f(t):
    return (t * w + 1).sum()


for mode in ("grad", "no_grad", "grad", "inference", "detached", "grad"):
    if mode == "no_grad":
        with torch.no_grad():
            y = f(torch.ones(2))
    elif mode == "inference":
        with torch.inference_mode():
            y = f(torch.ones(2))
    elif mode == "detached":
        y = f(torch.ones(2)).detach()
    else:
        y = f(torch.ones(2))
    print(mode, y.requires_grad, y.grad_fn is not None, y.item())
for t in (torch.ones(2), torch.ones(2, dtype=torch.float64), torch.ones(3, 2), torch.ones(1), torch.tensor(2.0), torch.ones(2, dtype=torch.int64), torch.ones(2), torch.tensor(2.0, dtype=torch.float64)):
    y = t * w
    w.grad = None
    y.sum().backward()
    print(y.dtype, y.shape, w.grad)
w.requires_grad_(False)
print(f(torch.ones(2)).requires_grad)
w.requires_grad_(True)
print(f(torch.ones(2)).requires_grad)
