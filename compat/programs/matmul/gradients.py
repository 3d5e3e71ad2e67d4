# Gradients of the matmul family, names of their nodes.
import torch

a = torch.arange(6.0).reshape(2, 3).requires_grad_()
b = torch.arange(12.0).reshape(3, 4).requires_grad_()
v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
t = torch.arange(12.0).reshape(2, 2, 3).requires_grad_()
bias = torch.ones(4, requires_grad=True)
for name, f in {"mm": lambda: a @ b, "mv": lambda: a @ v, "vm": lambda: v @ b, "dot": lambda: v @ v, "bmm": lambda: torch.bmm(t, t.mT), "3d2d": lambda: t @ b, "2d3d": lambda: a @ t.mT, "3d1d": lambda: t @ v,
                "addmm": lambda: torch.addmm(bias, a, b, alpha=2), "linear": lambda: torch.nn.functional.linear(a, b.t(), bias), "linear3": lambda: torch.nn.functional.linear(t, b.t(), bias), "outer": lambda: torch.outer(v, v),
                "einsum": lambda: torch.einsum("ij,jk->ik", a, b), "broadcast": lambda: t.unsqueeze(1) @ b}.items():
    for p in (a, b, v, t, bias):
        p.grad = None
    y = f()
    (y * torch.arange(float(y.numel())).reshape(y.shape)).sum().backward()
    print(name, y.grad_fn.name(), tuple(y.shape), [None if p.grad is None else p.grad.flatten().tolist() for p in (a, b, v, t, bias)])
