# Two-operand functions: values, gradients for both, broadcasting.
import torch

a = torch.tensor([[1.5], [-2.0]], requires_grad=True)
b = torch.tensor([2.0, 0.5, 3.0], requires_grad=True)
for name in ("add sub mul div atan2 fmod remainder maximum minimum fmax fmin hypot copysign logaddexp xlogy floor_divide true_divide ldexp nextafter logaddexp2").split():
    a.grad = b.grad = None
    y = getattr(torch, name)(a, b)
    if y.requires_grad:
        try:
            y.sum().backward()
        except RuntimeError as e:
            print(name, e)
    print(name, y.detach(), a.grad, b.grad, y.grad_fn.name() if y.grad_fn else None)
p = torch.tensor([2.0, 3.0], requires_grad=True)
for e in ("p ** 2", "p ** 3", "p ** 0.5", "p ** -1", "p ** 0", "2 ** p", "p ** p", "p ** torch.tensor([1.0, 2.0])", "1 / p", "5 - p", "p / 2", "p * p * p", "torch.pow(p, 2.5)", "torch.lerp(p, p * 2, 0.5)",
          "torch.addcmul(p, p, p, value=2)", "torch.addcdiv(p, p, p + 1)", "torch.add(p, p, alpha=3)", "torch.sub(p, 1, alpha=2)", "torch.rsub(p, 1)", "torch.dist(p, p + 1)", "torch.where(p > 2, p * 2, p * 3)", "p.clamp(2.5, 2.75)", "torch.div(p, 2, rounding_mode='floor')"):
    p.grad = None
    y = eval(e)
    y.sum().backward()
    print(e, y.detach(), p.grad, y.grad_fn.name())
