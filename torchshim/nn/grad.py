"""torch.nn.grad: the gradients of convolutions as functions of what they depend on."""
from __future__ import annotations

from ..autograd import grad
from ..autograd.grad_mode import enable_grad
from ..tensor.api.creation import empty
from . import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _gradient(dims, shape, like, grad_output, arguments, by_input):
    """The gradient of conv<dims>d in its input, or its weight, of this shape; it does not depend on its value."""
    with enable_grad():
        x = empty(tuple(shape), dtype=like.dtype, device=like.device).requires_grad_()
        y = getattr(F, f"conv{dims}d")(*((x, like) if by_input else (like, x)), None, *arguments)
    return grad(y, x, grad_output, create_graph=like.requires_grad or grad_output.requires_grad)[0]


def _functions(dims):
    def input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return _gradient(dims, input_size, weight, grad_output, (stride, padding, dilation, groups), True)

    def weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return _gradient(dims, weight_size, input, grad_output, (stride, padding, dilation, groups), False)
    for f, of, other in ((input, "input", "weight"), (weight, "weight", "input")):
        f.__name__ = f.__qualname__ = f"conv{dims}d_{of}"
        f.__doc__ = f"The gradient of conv{dims}d with respect to its {of}, from the {of}'s size, the {other} and the output's gradient."
    return input, weight


conv1d_input, conv1d_weight = _functions(1)
conv2d_input, conv2d_weight = _functions(2)
conv3d_input, conv3d_weight = _functions(3)
