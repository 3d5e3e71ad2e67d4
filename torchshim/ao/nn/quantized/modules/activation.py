"""Quantized activations."""
from __future__ import annotations

import torchshim as torch
from torchshim import nn

from ... import quantizable as _quantizable
from .utils import chosen


class ReLU6(nn.ReLU):
    """nn.ReLU6 of quantized tensors."""

    def forward(self, input):
        return torch.ops.quantized.relu6(input, self.inplace)

    def _get_name(self):
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod, use_precomputed_fake_quant=False):
        """The same of a float module."""
        return ReLU6(mod.inplace)


class Hardswish(nn.Hardswish):
    """nn.Hardswish of quantized tensors; results have the given scale and zero point."""

    def __init__(self, scale, zero_point, device=None, dtype=None):
        super().__init__()
        self.register_buffer("scale", torch.tensor(scale, device=device, dtype=dtype))
        self.register_buffer("zero_point", torch.tensor(zero_point, device=device, dtype=dtype))

    def forward(self, input):
        return torch.ops.quantized.hardswish(input, self.scale, self.zero_point)

    def _get_name(self):
        return "QuantizedHardswish"

    @staticmethod
    def from_float(mod, use_precomputed_fake_quant=False):
        """With what an observer has chosen."""
        return Hardswish(*chosen(mod.activation_post_process))

    @classmethod
    def from_reference(cls, mod, scale, zero_point):
        """With a scale and a zero point."""
        return cls(float(scale), int(zero_point))


class ELU(nn.ELU):
    """nn.ELU of quantized tensors; results have the given scale and zero point."""

    def __init__(self, scale, zero_point, alpha=1.0):
        super().__init__(alpha)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input):
        return torch.ops.quantized.elu(input, self.scale, self.zero_point, self.alpha)

    def _get_name(self):
        return "QuantizedELU"

    @staticmethod
    def from_float(mod, use_precomputed_fake_quant=False):
        """With what an observer has chosen."""
        return ELU(*chosen(mod.activation_post_process), mod.alpha)

    @classmethod
    def from_reference(cls, mod, scale, zero_point):
        """With a scale and a zero point."""
        return cls(float(scale), int(zero_point), mod.alpha)


class LeakyReLU(nn.LeakyReLU):
    """nn.LeakyReLU of quantized tensors; results have the given scale and zero point."""

    def __init__(self, scale, zero_point, negative_slope=1e-2, inplace=False, device=None, dtype=None):
        super().__init__(negative_slope, inplace)
        self.register_buffer("scale", torch.tensor(scale, device=device, dtype=dtype))
        self.register_buffer("zero_point", torch.tensor(zero_point, device=device, dtype=dtype))

    def forward(self, input):
        return torch.ops.quantized.leaky_relu(input, self.negative_slope, self.inplace, self.scale, self.zero_point)

    def _get_name(self):
        return "QuantizedLeakyReLU"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """With what an observer has chosen."""
        return cls(*chosen(mod.activation_post_process), mod.negative_slope, mod.inplace)

    @classmethod
    def from_reference(cls, mod, scale, zero_point):
        """With a scale and a zero point."""
        return cls(float(scale), int(zero_point), mod.negative_slope, mod.inplace)


class Sigmoid(nn.Sigmoid):
    """nn.Sigmoid of quantized tensors; results have the given scale and zero point."""

    def __init__(self, output_scale, output_zero_point):
        super().__init__()
        self.output_scale, self.output_zero_point = output_scale, output_zero_point

    def forward(self, input):
        return torch.ops.quantized.sigmoid(input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """With what an observer has chosen."""
        return cls(*chosen(mod.activation_post_process))


class Softmax(nn.Softmax):
    """nn.Softmax of quantized tensors; results have the given scale and zero point."""

    def __init__(self, dim=None, scale=1.0, zero_point=0):
        super().__init__()
        self.dim, self.scale, self.zero_point = dim, scale, zero_point

    def forward(self, input):
        dim = self.dim
        if dim is None:
            dim = nn.functional._get_softmax_dim("softmax", input.dim(), 3)
        return torch.ops.quantized.softmax(input, dim, self.scale, self.zero_point)

    def _get_name(self):
        return "QuantizedSoftmax"

    @staticmethod
    def from_float(mod, use_precomputed_fake_quant=False):
        """With what an observer has chosen."""
        return Softmax(mod.dim, *chosen(mod.activation_post_process))

    @classmethod
    def from_reference(cls, mod, scale, zero_point):
        """With a scale and a zero point."""
        return cls(mod.dim, float(scale), int(zero_point))


class MultiheadAttention(_quantizable.MultiheadAttention):
    """Attention whose linear layers are quantized; made of an observed one."""
    _FLOAT_MODULE = _quantizable.MultiheadAttention

    def _get_name(self):
        return "QuantizedMultiheadAttention"

    @classmethod
    def from_float(cls, other):
        """NotImplementedError: it is made of an observed module."""
        raise NotImplementedError("It looks like you are trying to convert a non-observed MHA module. Please, see the examples on "
                                  "quantizable MHAs.")

    @classmethod
    def from_observed(cls, other):
        """The observed module with its parts converted."""
        from ....quantization import convert
        made = convert(other, mapping=None, inplace=False, remove_qconfig=True, convert_custom_config_dict=None)
        made.__class__ = cls
        for name in ("bias_k", "bias_v"):
            kept = made._parameters.pop(name)
            if kept is None:
                setattr(made, name, None)
                continue
            scale, point = torch._choose_qparams_per_tensor(kept, False)
            setattr(made, name, torch.quantize_per_tensor(kept, scale, point, torch.quint8))
        del made.in_proj_weight
        del made.in_proj_bias
        return made


class PReLU(nn.Module):
    """nn.PReLU of quantized tensors; results have the given scale and zero point."""

    def __init__(self, output_scale, output_zero_point, num_parameters=1):
        super().__init__()
        self.num_parameters, self.scale, self.zero_point = num_parameters, output_scale, output_zero_point
        self.set_weight(torch.quantize_per_tensor(torch.randn(num_parameters, dtype=torch.float), scale=1.0, zero_point=0,
                                                  dtype=torch.quint8))

    def set_weight(self, w):
        """Take another slope."""
        self.weight = w

    def forward(self, input):
        return torch.ops.quantized.prelu(input, self.weight, self.scale, self.zero_point)

    def _get_name(self):
        return "QuantizedPReLU"

    @classmethod
    def _made(cls, mod, scale, point, watcher):
        made = cls(scale, point, mod.num_parameters)
        weight = mod.weight.detach().float()
        watcher(weight)
        made.set_weight(torch.quantize_per_tensor(weight, *chosen(watcher), torch.quint8))
        return made

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """With what the observers have chosen."""
        return cls._made(mod, *chosen(mod.activation_post_process), mod.qconfig.weight())

    @classmethod
    def from_reference(cls, mod, scale, zero_point):
        """With a scale and a zero point."""
        from ....quantization import default_weight_observer
        return cls._made(mod, float(scale), int(zero_point), default_weight_observer.with_args(dtype=torch.quint8)())


__all__ = ["ReLU6", "Hardswish", "ELU", "LeakyReLU", "Sigmoid", "Softmax", "MultiheadAttention", "PReLU"]
