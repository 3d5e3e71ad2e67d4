"""Recurrent layers with rounded weights."""
from __future__ import annotations

import torchshim as torch
from torchshim import nn
from torchshim.nn.utils import stateless

from .utils import _CHANNELS, _quantize_weight, _tensor

_DEFAULT = {"qscheme": torch.per_tensor_affine, "dtype": torch.quint8, "scale": 1.0, "zero_point": 0}


def get_quantized_weight(module, wn):
    """A module's weight of this name, quantized by what its buffers say; None without a bias of that name."""
    if not hasattr(module, wn):
        return None
    said = [getattr(module, f"{wn}_{part}") for part in ("qscheme", "dtype", "scale", "zero_point", "axis_int")]
    return _quantize_weight(getattr(module, wn), *said)


class _Rounded:
    """Weights that are rounded by what the buffers named after them say."""

    def _remember(self, qparams, device=None):
        for name in self._weights():
            said = _DEFAULT if qparams is None else qparams[name]
            setattr(self, f"{name}_qscheme", said["qscheme"])
            setattr(self, f"{name}_dtype", said["dtype"])
            axis = said["axis"] if said["qscheme"] in _CHANNELS else 0
            for part, x, dtype in (("scale", said.get("scale", 1.0), torch.float), ("zero_point", said.get("zero_point", 0), torch.int),
                                   ("axis", axis, torch.int)):
                self.register_buffer(f"{name}_{part}", _tensor(x, dtype, device))
            setattr(self, f"{name}_axis_int", getattr(self, f"{name}_axis").item())
        self.is_decomposed = False

    def _weights(self):
        return [name for name, _ in self.named_parameters(recurse=False) if name.startswith("weight")]

    def _numbers(self, name):
        if getattr(self, f"{name}_qscheme") is None:
            return getattr(self, name)
        return get_quantized_weight(self, name).dequantize()

    def forward(self, *args, **kwargs):
        with stateless._reparametrize_module(self, {n: self._numbers(n) for n in self._weights()}):
            return super().forward(*args, **kwargs)

    def _get_name(self):
        return f"Quantized{type(self).__name__}(Reference)"


class RNNCellBase(_Rounded, nn.RNNCellBase):
    """What the cells share."""

    def get_quantized_weight_ih(self):
        """The input's weight, quantized."""
        return get_quantized_weight(self, "weight_ih")

    def get_quantized_weight_hh(self):
        """The state's weight, quantized."""
        return get_quantized_weight(self, "weight_hh")

    def get_weight_ih(self):
        """The input's weight, rounded."""
        return self._numbers("weight_ih")

    def get_weight_hh(self):
        """The state's weight, rounded."""
        return self._numbers("weight_hh")

    @classmethod
    def from_float(cls, mod, weight_qparams_dict):
        """From a cell and what its weights are rounded by."""
        rest = {"nonlinearity": mod.nonlinearity} if hasattr(mod, "nonlinearity") else {}
        made = cls(mod.input_size, mod.hidden_size, mod.bias, device=mod.weight_ih.device, dtype=mod.weight_ih.dtype,
                   weight_qparams_dict=weight_qparams_dict, **rest)
        for name, p in mod.named_parameters():
            setattr(made, name, p)
        return made


class RNNCell(RNNCellBase, nn.RNNCell):
    """nn.RNNCell with rounded weights."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None, weight_qparams_dict=None):
        nn.RNNCell.__init__(self, input_size, hidden_size, bias, nonlinearity, device=device, dtype=dtype)
        self._remember(weight_qparams_dict, device)


class LSTMCell(RNNCellBase, nn.LSTMCell):
    """nn.LSTMCell with rounded weights."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None, weight_qparams_dict=None):
        nn.LSTMCell.__init__(self, input_size, hidden_size, bias, device=device, dtype=dtype)
        self._remember(weight_qparams_dict, device)


class GRUCell(RNNCellBase, nn.GRUCell):
    """nn.GRUCell with rounded weights."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None, weight_qparams_dict=None):
        nn.GRUCell.__init__(self, input_size, hidden_size, bias, device=device, dtype=dtype)
        self._remember(weight_qparams_dict, device)


class RNNBase(_Rounded, nn.RNNBase):
    """What LSTM and GRU share."""

    def get_quantized_weight_bias_dict(self):
        """{name: weight, quantized, or bias}."""
        return {name: get_quantized_weight(self, name) if name.startswith("weight") else p
                for name, p in self.named_parameters(recurse=False)}

    @classmethod
    def from_float(cls, mod, weight_qparams_dict):
        """From a layer and what its weights are rounded by."""
        made = cls(mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout, mod.bidirectional,
                   weight_qparams_dict=weight_qparams_dict)
        for name, p in mod.named_parameters():
            setattr(made, name, p)
        return made


class LSTM(RNNBase, nn.LSTM):
    """nn.LSTM with rounded weights."""

    def __init__(self, *args, weight_qparams_dict=None, **kwargs):
        nn.LSTM.__init__(self, *args, **kwargs)
        self._remember(weight_qparams_dict)


class GRU(RNNBase, nn.GRU):
    """nn.GRU with rounded weights."""

    def __init__(self, *args, weight_qparams_dict=None, **kwargs):
        nn.GRU.__init__(self, *args, **kwargs)
        self._remember(weight_qparams_dict)


__all__ = ["RNNCellBase", "RNNCell", "LSTMCell", "GRUCell", "RNNBase", "LSTM", "GRU", "get_quantized_weight"]
