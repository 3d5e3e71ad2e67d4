"""torch.ao.nn.quantized: operations as modules, which observers can watch before a model is quantized. Quantised layers are not there."""
import torchshim as torch

from ...dropin import missing_attribute as _missing_attribute
from ...nn.modules import Identity, Module
from ...nn.functional import relu

__all__ = ["FloatFunctional", "FXFloatFunctional"]


class FloatFunctional(Module):
    """Sums, products and concatenation, each followed by `activation_post_process`, an observer's place."""

    def __init__(self):
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x):
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the corresponding operation")

    def add(self, x, y):
        """x + y."""
        return self.activation_post_process(torch.add(x, y))

    def add_scalar(self, x, y):
        """x + y for a number y; nobody observes it."""
        return torch.add(x, y)

    def mul(self, x, y):
        """x * y."""
        return self.activation_post_process(torch.mul(x, y))

    def mul_scalar(self, x, y):
        """x * y for a number y; nobody observes it."""
        return torch.mul(x, y)

    def cat(self, x, dim=0):
        """torch.cat."""
        return self.activation_post_process(torch.cat(x, dim=dim))

    def add_relu(self, x, y):
        """relu(x + y)."""
        return self.activation_post_process(relu(torch.add(x, y)))

    def matmul(self, x, y):
        """torch.matmul."""
        return self.activation_post_process(torch.matmul(x, y))


class FXFloatFunctional(Module):
    """The same where nobody observes."""

    def forward(self, x):
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the corresponding operation")

    add = staticmethod(torch.add)
    add_scalar = staticmethod(torch.add)
    mul = staticmethod(torch.mul)
    mul_scalar = staticmethod(torch.mul)
    matmul = staticmethod(torch.matmul)

    def cat(self, x, dim=0):
        """torch.cat."""
        return torch.cat(x, dim=dim)

    def add_relu(self, x, y):
        """relu(x + y)."""
        return relu(torch.add(x, y))


__getattr__ = _missing_attribute(__name__)
