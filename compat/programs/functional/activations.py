# Activations: values, gradients, inplace variants.
import torch
import torch.nn.functional as F

x = torch.tensor([-2.0, -0.5, 0.25, 1.5], requires_grad=True)
for name, f in {"relu": F.relu, "gelu": F.gelu, "gelu tanh": lambda t: F.gelu(t, approximate="tanh"), "sigmoid": F.sigmoid, "tanh": F.tanh, "silu": F.silu, "softplus": F.softplus, "elu": F.elu, "selu": F.selu, "celu": F.celu,
                "leaky_relu": lambda t: F.leaky_relu(t, 0.1), "hardtanh": F.hardtanh, "relu6": F.relu6, "softsign": F.softsign, "logsigmoid": F.logsigmoid, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "mish": F.mish, "softshrink": F.softshrink,
                "hardshrink": F.hardshrink, "tanhshrink": F.tanhshrink, "threshold": lambda t: F.threshold(t, 0.1, 20.0), "glu": F.glu, "prelu": lambda t: F.prelu(t, torch.tensor([0.3])), "softmin": lambda t: F.softmin(t, 0) * torch.arange(4.0)}.items():
    x.grad = None
    y = f(x)
    y.sum().backward()
    print(name, y.detach() + 0, x.grad + 0, y.grad_fn.name())
z = torch.tensor([-1.0, 2.0])
print(F.relu(z, inplace=True) is z, z, torch.relu_(torch.tensor([-3.0])), F.leaky_relu_(torch.tensor([-1.0])), torch.tensor([-1.0]).sigmoid_(), F.relu(torch.tensor([-1, 2])))
