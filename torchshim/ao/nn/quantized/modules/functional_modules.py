"""Operations as modules, which observers can watch, and the same of quantized tensors."""
from __future__ import annotations

import torchshim as torch
from torchshim.nn import Identity, Module
from torchshim.nn.functional import relu


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


class QFunctional(Module):
    """Sums, products and concatenation of quantized tensors; results have its `scale` and `zero_point`."""

    def __init__(self):
        super().__init__()
        self.scale, self.zero_point = 1.0, 0
        self.activation_post_process = Identity()

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"], destination[prefix + "zero_point"] = torch.tensor(self.scale), torch.tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        self.scale, self.zero_point = float(state_dict.pop(prefix + "scale")), int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)

    def _get_name(self):
        return "QFunctional"

    def extra_repr(self):
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x):
        raise RuntimeError("Functional is not intended to use the 'forward'. Please use the corresponding operation")

    def _of(self, name, *args):
        return self.activation_post_process(getattr(torch.ops.quantized, name)(*args, self.scale, self.zero_point))

    def add(self, x, y):
        """x + y."""
        return self._of("add", x, y)

    def add_scalar(self, x, y):
        """x + y for a number y."""
        return torch.ops.quantized.add_scalar(x, y)

    def mul(self, x, y):
        """x * y."""
        return self._of("mul", x, y)

    def mul_scalar(self, x, y):
        """x * y for a number y."""
        return torch.ops.quantized.mul_scalar(x, y)

    def cat(self, x, dim=0):
        """torch.cat."""
        return self.activation_post_process(torch.ops.quantized.cat(x, scale=self.scale, zero_point=self.zero_point, dim=dim))

    def add_relu(self, x, y):
        """relu(x + y)."""
        return self._of("add_relu", x, y)

    def matmul(self, x, y):
        """torch.matmul."""
        return torch.ops.quantized.matmul(x, y, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """With what the observer of a FloatFunctional has chosen. AssertionError for other modules."""
        if type(mod) is not FloatFunctional:
            raise AssertionError("QFunctional.from_float expects an instance of FloatFunctional")
        scale, point = mod.activation_post_process.calculate_qparams()
        made = cls()
        made.scale, made.zero_point = float(scale), int(point)
        return made


__all__ = ["FloatFunctional", "FXFloatFunctional", "QFunctional"]
