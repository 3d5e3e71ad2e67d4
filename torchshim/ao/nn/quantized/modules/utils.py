"""What the quantized modules share: weights as levels, and how modules are shown."""
from __future__ import annotations

import abc

import torchshim as torch
from torchshim import nn

from ....quantization.utils import is_per_channel, is_per_tensor


class WeightedQuantizedModule(nn.Module, metaclass=abc.ABCMeta):
    """Base class of modules with a quantized weight."""

    @classmethod
    @abc.abstractmethod
    def from_reference(cls, ref_module, output_scale, output_zero_point):
        """From a module that computes with rounded numbers."""
        raise NotImplementedError


def _quantize_weight(float_wt, observer):
    """A weight as levels with what its observer has chosen, cut off at the levels that the observer allows."""
    scale, point = observer.calculate_qparams()
    scheme = observer.qscheme
    if is_per_tensor(scheme):
        made = torch.quantize_per_tensor(float_wt, float(scale), int(point), torch.qint8)
    elif scheme is torch.per_channel_affine_float_qparams:
        made = torch.quantize_per_channel(float_wt, scale.to(torch.float), point.to(torch.float), observer.ch_axis, observer.dtype)
    elif is_per_channel(scheme):
        made = torch.quantize_per_channel(float_wt, scale.to(torch.double), point.to(torch.int64), observer.ch_axis, torch.qint8)
    else:
        raise ValueError(f"Unexpected qscheme {scheme}")
    watcher = getattr(observer, "activation_post_process", observer)
    if made.dtype in (torch.qint8, torch.quint8, torch.qint32):
        limits = torch.iinfo(made.dtype)
        if watcher.quant_min > limits.min or watcher.quant_max < limits.max:
            ints = made.int_repr().clamp(watcher.quant_min, watcher.quant_max)
            if is_per_tensor(scheme):
                return torch._make_per_tensor_quantized_tensor(ints, scale.item(), point.item())
            return torch._make_per_channel_quantized_tensor(ints, scale, point, observer.ch_axis)
    return made


def chosen(watcher):
    """(scale, zero point) that an observer has chosen, as Python numbers."""
    scale, point = watcher.calculate_qparams()
    return float(scale), int(point)


def _hide_packed_params_repr(self, params):
    """A module's text without its submodules of the class `params`."""
    extra = self.extra_repr()
    lines = extra.split("\n") if extra else []
    inner = []
    for key, module in self._modules.items():
        if not isinstance(module, params):
            inner.append(f"({key}): " + repr(module).replace("\n", "\n  "))
    name = self._get_name()
    if not lines and not inner:
        return f"{name}()"
    if len(lines) == 1 and not inner:
        return f"{name}({lines[0]})"
    return f"{name}(\n  " + "\n  ".join(lines + inner) + "\n)"


__all__ = ["WeightedQuantizedModule"]
