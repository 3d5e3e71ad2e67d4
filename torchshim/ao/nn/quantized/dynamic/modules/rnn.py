"""Recurrent layers with quantized weights, whose inputs choose their own scales."""
from __future__ import annotations

import numbers
import warnings

import torchshim as torch
from torchshim import nn
from torchshim.nn.utils.rnn import PackedSequence

from torchshim.ao._kernels.recurrent import gru_step, lstm_step, run
from ...modules.utils import _hide_packed_params_repr, _quantize_weight


def apply_permutation(tensor, permutation, dim=1):
    """The entries of a dimension in another order."""
    return tensor.index_select(dim, permutation)


_apply_permutation = apply_permutation


def pack_weight_bias(qweight, bias, dtype):
    """A weight, quantized or to be float16, with its bias."""
    if dtype is torch.qint8:
        return torch.ops.quantized.linear_prepack(qweight, bias)
    return torch.ops.quantized.linear_prepack_fp16(qweight, bias)


def _cell(ih, hh, b_ih, b_hh, dtype, version):
    if dtype is not torch.qint8:
        return torch.ops.quantized.make_quantized_cell_params_fp16(ih, hh)
    return torch.ops.quantized.make_quantized_cell_params_dynamic(ih, hh, b_ih, b_hh, not (version is None or version < 2))


def _observed(mod, what, classes):
    """(factory of observers of weights, their dtype) of a module's configuration, with torch's errors."""
    from .....quantization.qconfig import default_dynamic_qconfig
    if type(mod) not in classes:
        raise AssertionError(what)
    if not hasattr(mod, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    said = mod.qconfig is not None and mod.qconfig.weight is not None
    factory = (mod.qconfig if said else default_dynamic_qconfig).weight
    dtype = factory().dtype
    if dtype not in (torch.qint8, torch.float16):
        raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {dtype}")
    if not mod.bias:
        raise AssertionError("mod.bias must be True")
    return factory, dtype


def _rounded(weight, factory, dtype):
    if dtype is not torch.qint8:
        return weight.float()
    watcher = factory()
    watcher(weight)
    return _quantize_weight(weight.float(), watcher)


class PackedParameter(nn.Module):
    """A cell's packed weights as a module, which a state_dict shows as `param`."""

    def __init__(self, param):
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        self.param = state_dict[prefix + "param"]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)


class RNNBase(nn.Module):
    """What LSTM and GRU share. ValueError for a dropout that is no probability and for other modes."""
    _FLOAT_MODULE, _version = nn.RNNBase, 2
    _step, _states = None, 1

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 dtype=torch.qint8):
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers, self.bias = mode, input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.dtype = batch_first, float(dropout), bidirectional, dtype
        self.version, self.training = 2, False
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0 and num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater "
                          f"than 1, but got dropout={dropout} and num_layers={num_layers}", stacklevel=2)
        if mode not in ("LSTM", "GRU"):
            raise ValueError("Unrecognized RNN mode: " + mode)
        gates, ways, cells = {"LSTM": 4, "GRU": 3}[mode] * hidden_size, 2 if bidirectional else 1, []
        for layer in range(num_layers):
            for _ in range(ways):
                w_ih, w_hh = torch.randn(gates, input_size if layer == 0 else hidden_size * ways), torch.randn(gates, hidden_size)
                b_ih, b_hh = torch.randn(gates), torch.randn(gates)
                if dtype is torch.qint8:
                    w_ih, w_hh = [torch.quantize_per_tensor(w, scale=0.1, zero_point=0, dtype=torch.qint8) for w in (w_ih, w_hh)]
                cells.append(self._packed(w_ih, w_hh, b_ih, b_hh, dtype))
        self._all_weight_values = nn.ModuleList(cells)

    def _packed(self, w_ih, w_hh, b_ih, b_hh, dtype):
        return PackedParameter(_cell(pack_weight_bias(w_ih, b_ih, dtype), pack_weight_bias(w_hh, b_hh, dtype), b_ih, b_hh, dtype,
                                     self.version))

    def _get_name(self):
        return "DynamicQuantizedRNN"

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0), ("bidirectional", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text

    def __repr__(self):
        return _hide_packed_params_repr(self, (PackedParameter, nn.ModuleList))

    def check_input(self, input, batch_sizes):
        """RuntimeError where an input does not fit."""
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def get_expected_hidden_size(self, input, batch_sizes):
        """The shape of a state."""
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, self.hidden_size

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """RuntimeError where a state does not fit."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes):
        """RuntimeError where an input or its states do not fit."""
        self.check_input(input, batch_sizes)
        wanted, several = self.get_expected_hidden_size(input, batch_sizes), self._states > 1
        for k, h in enumerate(hidden if several else (hidden,)):
            self.check_hidden_size(h, wanted, f"Expected hidden{f'[{k}]' if several else ' size'}{' size' if several else ''} {{}}, got "
                                              f"{{}}")

    def permute_hidden(self, hx, permutation):
        """States in another order of sequences."""
        if permutation is None:
            return hx
        return tuple([apply_permutation(h, permutation) for h in hx]) if self._states > 1 else apply_permutation(hx, permutation)

    def forward(self, input, hx=None):
        """(output, states): as the layer that it was made of."""
        packed = isinstance(input, PackedSequence)
        data, batch_sizes, order, back = input if packed else (input, None, None, None)
        if hx is None:
            zeros = torch.zeros(*self.get_expected_hidden_size(data, batch_sizes), dtype=data.dtype, device=data.device)
            hx = (zeros,) * self._states if self._states > 1 else zeros
        else:
            hx = self.permute_hidden(hx, order)
        self.check_forward_args(data, hx, batch_sizes)
        out, *states = run(data, hx if self._states > 1 else (hx,), [m.param for m in self._all_weight_values], self.num_layers,
                           self.bidirectional, self.batch_first, batch_sizes, type(self)._step, self.dropout, self.training)
        states = tuple(states) if self._states > 1 else states[0]
        return PackedSequence(out, batch_sizes, order, back) if packed else out, self.permute_hidden(states, back)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        self.version = local_metadata.get("version")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)

    def _places(self):
        return [f"l{layer}{suffix}" for layer in range(self.num_layers) for suffix in ("", "_reverse")[:2 if self.bidirectional else 1]]

    def set_weight_bias(self, weight_bias_dict):
        """Take other weights and biases: {"weight_ih_l0": ...}."""
        cells = []
        for place in self._places():
            parts = [weight_bias_dict[f"{kind}_{place}"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            cells.append(self._packed(*parts, torch.qint8 if parts[0].dtype is torch.qint8 else torch.float16))
        self._all_weight_values = nn.ModuleList(cells)

    def _weight_bias(self):
        found = {"weight": {}, "bias": {}}
        for place, m in zip(self._places(), self._all_weight_values):
            for kind in ("ih", "hh"):
                w, b = getattr(m.param, kind).unpack()
                found["weight"][f"weight_{kind}_{place}"], found["bias"][f"bias_{kind}_{place}"] = w, b
        return found

    def get_weight(self):
        """{"weight_ih_l0": ...}."""
        return self._weight_bias()["weight"]

    def get_bias(self):
        """{"bias_ih_l0": ...}."""
        return self._weight_bias()["bias"]

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From an nn.LSTM or nn.GRU with a configuration. AssertionError for others and for those without a bias."""
        factory, dtype = _observed(mod, "nn.quantized.dynamic.RNNBase.from_float only works for nn.LSTM and nn.GRU", (nn.LSTM, nn.GRU))
        made = {"LSTM": LSTM, "GRU": GRU}[mod.mode](mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout,
                                                    mod.bidirectional, dtype)
        cells = []
        for place in made._places():
            w_ih, w_hh, b_ih, b_hh = [getattr(mod, f"{kind}_{place}") for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            cells.append(made._packed(_rounded(w_ih, factory, dtype), _rounded(w_hh, factory, dtype), b_ih, b_hh, dtype))
        made._all_weight_values = nn.ModuleList(cells)
        return made

    @classmethod
    def from_reference(cls, ref_mod):
        """From a reference module."""
        if not hasattr(ref_mod, "weight_ih_l0_dtype"):
            raise AssertionError(f"We are assuming weight_ih_l0 exists in {cls.__name__}, may need to relax the assumption to support the "
                                 "use case")
        made = cls(ref_mod.input_size, ref_mod.hidden_size, ref_mod.num_layers, ref_mod.bias, ref_mod.batch_first, ref_mod.dropout,
                   ref_mod.bidirectional, ref_mod.weight_ih_l0_dtype)
        made.set_weight_bias(ref_mod.get_quantized_weight_bias_dict())
        return made


class LSTM(RNNBase):
    """nn.LSTM with quantized weights."""
    _FLOAT_MODULE, _step, _states = nn.LSTM, staticmethod(lstm_step), 2

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def _get_name(self):
        return "DynamicQuantizedLSTM"


class GRU(RNNBase):
    """nn.GRU with quantized weights."""
    _FLOAT_MODULE, _step = nn.GRU, staticmethod(gru_step)

    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)

    def _get_name(self):
        return "DynamicQuantizedGRU"


class RNNCellBase(nn.Module):
    """What the cells share."""
    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias=True, num_chunks=4, dtype=torch.qint8):
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self.weight_dtype = input_size, hidden_size, bias, dtype
        gates = num_chunks * hidden_size
        if bias:
            self.bias_ih, self.bias_hh = torch.randn(gates), torch.randn(gates)
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        weights = torch.randn(gates, input_size), torch.randn(gates, hidden_size)
        if dtype is torch.qint8:
            weights = [torch.quantize_per_tensor(w, scale=1, zero_point=0, dtype=torch.qint8) for w in weights]
        self._packed_weight_ih, self._packed_weight_hh = [pack_weight_bias(w, b, dtype)
                                                          for w, b in zip(weights, (self.bias_ih, self.bias_hh))]

    def _get_name(self):
        return "DynamicQuantizedRNNBase"

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", bias={self.bias}" if self.bias is not True else ""
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text + (f", nonlinearity={nonlinearity}" if nonlinearity != "tanh" else "")

    def check_forward_input(self, input):
        """RuntimeError where an input does not fit."""
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)}, expected {self.input_size}")

    def check_forward_hidden(self, input, hx, hidden_label=""):
        """RuntimeError where a state does not fit."""
        if input.size(0) != hx.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{hidden_label} batch size {hx.size(0)}")
        if hx.size(1) != self.hidden_size:
            raise RuntimeError(f"hidden{hidden_label} has inconsistent hidden_size: got {hx.size(1)}, expected {self.hidden_size}")

    def _zeros(self, input):
        return torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)

    def _stepped(self, kernel, input, hx):
        return getattr(torch.ops.quantized, f"quantized_{kernel}_cell_dynamic")(input, hx, self._packed_weight_ih, self._packed_weight_hh,
                                                                                self.bias_ih, self.bias_hh)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From a cell with a configuration. AssertionError for others and for those without a bias."""
        factory, dtype = _observed(mod, "nn.quantized.dynamic.RNNCellBase.from_float only works for nn.LSTMCell, nn.GRUCell and nn.RNNCell",
                                   (nn.LSTMCell, nn.GRUCell, nn.RNNCell))
        rest = {"nonlinearity": mod.nonlinearity} if type(mod) is nn.RNNCell else {}
        made = {nn.LSTMCell: LSTMCell, nn.GRUCell: GRUCell, nn.RNNCell: RNNCell}[type(mod)](
            mod.input_size, mod.hidden_size, bias=mod.bias, dtype=dtype, **rest)
        made._packed_weight_ih = pack_weight_bias(_rounded(mod.weight_ih, factory, dtype), mod.bias_ih, dtype)
        made._packed_weight_hh = pack_weight_bias(_rounded(mod.weight_hh, factory, dtype), mod.bias_hh, dtype)
        return made

    @classmethod
    def from_reference(cls, ref_mod):
        """From a reference module."""
        if not hasattr(ref_mod, "weight_ih_dtype"):
            raise AssertionError("We are assuming weight_ih exists in reference module, may need to relax the assumption to support the "
                                 "use case")
        rest = {"nonlinearity": ref_mod.nonlinearity} if hasattr(ref_mod, "nonlinearity") else {}
        made = cls(ref_mod.input_size, ref_mod.hidden_size, ref_mod.bias, dtype=ref_mod.weight_ih_dtype, **rest)
        made.set_weight_bias({"weight": {"weight_ih": ref_mod.get_quantized_weight_ih(), "weight_hh": ref_mod.get_quantized_weight_hh()},
                              "bias": {"bias_ih": ref_mod.bias_ih, "bias_hh": ref_mod.bias_hh}})
        return made

    def _weight_bias(self):
        (w1, b1), (w2, b2) = self._packed_weight_ih.unpack(), self._packed_weight_hh.unpack()
        return {"weight": {"weight_ih": w1, "weight_hh": w2}, "bias": {"bias_ih": b1, "bias_hh": b2}}

    def get_weight(self):
        """{"weight_ih": ..., "weight_hh": ...}."""
        return self._weight_bias()["weight"]

    def get_bias(self):
        """{"bias_ih": ..., "bias_hh": ...}."""
        return self._weight_bias()["bias"]

    def set_weight_bias(self, weight_bias_dict):
        """Take other weights and biases, as `_weight_bias` gives them."""
        weights, biases = weight_bias_dict["weight"], weight_bias_dict["bias"]
        self._packed_weight_ih = pack_weight_bias(weights["weight_ih"], biases["bias_ih"], self.weight_dtype)
        self._packed_weight_hh = pack_weight_bias(weights["weight_hh"], biases["bias_hh"], self.weight_dtype)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_weight_ih"] = self._packed_weight_ih
        destination[prefix + "_packed_weight_hh"] = self._packed_weight_hh

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        self._packed_weight_ih = state_dict.pop(prefix + "_packed_weight_ih")
        self._packed_weight_hh = state_dict.pop(prefix + "_packed_weight_hh")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)


class RNNCell(RNNCellBase):
    """nn.RNNCell with quantized weights."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", dtype=torch.qint8):
        super().__init__(input_size, hidden_size, bias, num_chunks=1, dtype=dtype)
        self.nonlinearity = nonlinearity

    def _get_name(self):
        return "DynamicQuantizedRNNCell"

    def forward(self, input, hx=None):
        self.check_forward_input(input)
        hx = self._zeros(input) if hx is None else hx
        self.check_forward_hidden(input, hx, "")
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._stepped(f"rnn_{self.nonlinearity}", input, hx)


class LSTMCell(RNNCellBase):
    """nn.LSTMCell with quantized weights."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, num_chunks=4, **kwargs)

    def _get_name(self):
        return "DynamicQuantizedLSTMCell"

    def forward(self, input, hx=None):
        self.check_forward_input(input)
        hx = (self._zeros(input),) * 2 if hx is None else hx
        self.check_forward_hidden(input, hx[0], "[0]")
        self.check_forward_hidden(input, hx[1], "[1]")
        return self._stepped("lstm", input, hx)


class GRUCell(RNNCellBase):
    """nn.GRUCell with quantized weights."""

    def __init__(self, input_size, hidden_size, bias=True, dtype=torch.qint8):
        super().__init__(input_size, hidden_size, bias, num_chunks=3, dtype=dtype)

    def _get_name(self):
        return "DynamicQuantizedGRUCell"

    def forward(self, input, hx=None):
        self.check_forward_input(input)
        hx = self._zeros(input) if hx is None else hx
        self.check_forward_hidden(input, hx, "")
        return self._stepped("gru", input, hx)


__all__ = ["pack_weight_bias", "PackedParameter", "RNNBase", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell",
           "apply_permutation"]
