# autograd.Function: saved tensors, needs_input_grad, non-tensor arguments, errors.
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x ** 3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        print(ctx.needs_input_grad)
        return grad * 3 * ctx.scale * x ** 2, None


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = Cube.apply(x, 2.0)
print(y, y.grad_fn.name(), type(y.grad_fn).__name__)
y.sum().backward()
print(x.grad)
try:
    y.sum().backward()
except RuntimeError as e:
    print(str(e).split("(")[0])


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


x.grad = None
(Straight.apply(x * 1.3) * 5).sum().backward()
print(x.grad)
print(torch.autograd.gradcheck(lambda t: t.sin() * t, (torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True),)))
