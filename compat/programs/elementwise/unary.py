# Elementwise functions, their values and gradients.
import torch

x = torch.tensor([0.3, 0.7, 0.9], requires_grad=True)
names = ("abs acos asin atan ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac lgamma log log10 log1p log2 logit neg rad2deg reciprocal relu "
         "round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc acosh asinh atanh positive i0").split()
for name in names:
    x.grad = None
    f = getattr(torch, name)
    y = f(x + 1.0) if name == "acosh" else f(x)
    if y.requires_grad:
        y.sum().backward()
    print(name, y.detach(), x.grad, y.grad_fn.name() if y.grad_fn else None)
i = torch.tensor([-2, 0, 3])
print(i.abs(), i.neg(), i.sign(), i.square(), i.exp(), i.sqrt(), i.sigmoid(), i.sin().dtype, i.floor(), i.round(), i.reciprocal(), i.float().round(decimals=1), torch.tensor([1.25, -2.5, 0.5, 1.5]).round(), torch.tensor([1.234]).round(decimals=2))
