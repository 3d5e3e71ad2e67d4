# torch.func: grad, vmap, jacrev, jacfwd, hessian, vjp, jvp.
import torch
from torch.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

x = torch.tensor([0.5, 1.0, 1.5])
print(grad(lambda t: (t ** 3).sum())(x), grad_and_value(lambda t: t.exp().sum())(x))
print(vmap(torch.dot)(torch.ones(2, 3), torch.arange(6.0).reshape(2, 3)), vmap(lambda t: t * t.sum(), in_dims=1, out_dims=1)(torch.arange(6.0).reshape(2, 3)))
print(jacrev(torch.sin)(x), jacfwd(lambda t: t ** 2)(x), hessian(lambda t: t.prod())(x))
out, pull = vjp(lambda t: t * 2, x)
print(out, pull(torch.ones(3)), jvp(lambda t: t ** 2, (x,), (torch.ones(3),)))
print(vmap(grad(lambda w, t: (w * t).sum().sin()), in_dims=(None, 0))(x, torch.eye(3)), grad(grad(lambda t: t ** 4))(torch.tensor(2.0)))
