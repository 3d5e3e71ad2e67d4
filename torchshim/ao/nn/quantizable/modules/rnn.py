"""LSTM made of linear layers and operations that observers can watch."""
from __future__ import annotations

import numbers
import warnings

import torchshim as torch
from torchshim import nn

_GATES = ("input", "forget", "cell", "output")


def _functional():
    from ...quantized.modules.functional_modules import FloatFunctional
    return FloatFunctional()


class LSTMCell(nn.Module):
    """nn.LSTMCell of two linear layers. split_gates: of two for each gate."""
    _FLOAT_MODULE = nn.LSTMCell
    __constants__ = ["split_gates"]

    def __init__(self, input_dim, hidden_dim, bias=True, device=None, dtype=None, *, split_gates=False):
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self.split_gates = input_dim, hidden_dim, bias, split_gates
        options = dict(bias=bias, device=device, dtype=dtype)
        if not split_gates:
            self.igates, self.hgates = nn.Linear(input_dim, 4 * hidden_dim, **options), nn.Linear(hidden_dim, 4 * hidden_dim, **options)
            self.gates = _functional()
        else:
            self.igates, self.hgates, self.gates = nn.ModuleDict(), nn.ModuleDict(), nn.ModuleDict()
            for g in _GATES:
                self.igates[g], self.hgates[g] = nn.Linear(input_dim, hidden_dim, **options), nn.Linear(hidden_dim, hidden_dim, **options)
                self.gates[g] = _functional()
        self.input_gate, self.forget_gate, self.cell_gate, self.output_gate = nn.Sigmoid(), nn.Sigmoid(), nn.Tanh(), nn.Sigmoid()
        self.fgate_cx, self.igate_cgate, self.fgate_cx_igate_cgate, self.ogate_cy = [_functional() for _ in range(4)]
        self.initial_hidden_state_qparams = self.initial_cell_state_qparams = (1.0, 0)
        self.hidden_state_dtype = self.cell_state_dtype = torch.quint8

    def forward(self, x, hidden=None):
        if hidden is None or hidden[0] is None or hidden[1] is None:
            hidden = self.initialize_hidden(x.shape[0], x.is_quantized)
        hx, cx = hidden
        if self.split_gates:
            i, f, g, o = [self.gates[k].add(self.igates[k](x), self.hgates[k](hx)) for k in _GATES]
        else:
            i, f, g, o = self.gates.add(self.igates(x), self.hgates(hx)).chunk(4, 1)
        i, f, g, o = self.input_gate(i), self.forget_gate(f), self.cell_gate(g), self.output_gate(o)
        cy = self.fgate_cx_igate_cgate.add(self.fgate_cx.mul(f, cx), self.igate_cgate.mul(i, g))
        return self.ogate_cy.mul(o, torch.tanh(cy)), cy

    def initialize_hidden(self, batch_size, is_quantized=False):
        """States of zeros."""
        h, c = torch.zeros((batch_size, self.hidden_size)), torch.zeros((batch_size, self.hidden_size))
        if is_quantized:
            h = torch.quantize_per_tensor(h, *self.initial_hidden_state_qparams, self.hidden_state_dtype)
            c = torch.quantize_per_tensor(c, *self.initial_cell_state_qparams, self.cell_state_dtype)
        return h, c

    def _get_name(self):
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(cls, wi, wh, bi=None, bh=None, split_gates=False):
        """A cell with these weights and biases."""
        if (bi is None) != (bh is None):
            raise AssertionError("bi and bh must both be None or both have values")
        cell = cls(input_dim=wi.shape[1], hidden_dim=wh.shape[1], bias=bi is not None, split_gates=split_gates)
        for w, b, gates in ((wi, bi, cell.igates), (wh, bh, cell.hgates)):
            parts = [gates] if not split_gates else list(gates.values())
            for name, whole in (("weight", w), ("bias", b)):
                if whole is not None:
                    for gate, part in zip(parts, whole.chunk(4, dim=0) if split_gates else [whole]):
                        setattr(gate, name, nn.Parameter(part))
        return cell

    @classmethod
    def from_float(cls, other, use_precomputed_fake_quant=False, split_gates=False):
        """From an nn.LSTMCell with a configuration. AssertionError for others."""
        if type(other) is not cls._FLOAT_MODULE:
            raise AssertionError(f"Expected module type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig"):
            raise AssertionError("The float module must have 'qconfig'")
        made = cls.from_params(other.weight_ih, other.weight_hh, other.bias_ih, other.bias_hh, split_gates=split_gates)
        rest = [*made.igates.values(), *made.hgates.values()] if split_gates else []
        for m in (made, made.igates, made.hgates, *rest):
            m.qconfig = other.qconfig
        return made


class _LSTMSingleLayer(nn.Module):
    """A cell that goes through sequences."""

    def __init__(self, input_dim, hidden_dim, bias=True, device=None, dtype=None, *, split_gates=False):
        super().__init__()
        self.cell = LSTMCell(input_dim, hidden_dim, bias=bias, split_gates=split_gates, device=device, dtype=dtype)

    def forward(self, x, hidden=None):
        outs = []
        for k in range(x.shape[0]):
            hidden = self.cell(x[k], hidden)
            outs.append(hidden[0])
        return torch.stack(outs, 0), hidden

    @classmethod
    def from_params(cls, *args, **kwargs):
        """With a cell of these weights and biases."""
        cell = LSTMCell.from_params(*args, **kwargs)
        made = cls(cell.input_size, cell.hidden_size, cell.bias, split_gates=cell.split_gates)
        made.cell = cell
        return made


class _LSTMLayer(nn.Module):
    """One layer, in one direction or both."""

    def __init__(self, input_dim, hidden_dim, bias=True, batch_first=False, bidirectional=False, device=None, dtype=None, *,
                 split_gates=False):
        super().__init__()
        self.batch_first, self.bidirectional = batch_first, bidirectional
        options = dict(bias=bias, split_gates=split_gates, device=device, dtype=dtype)
        self.layer_fw = _LSTMSingleLayer(input_dim, hidden_dim, **options)
        if bidirectional:
            self.layer_bw = _LSTMSingleLayer(input_dim, hidden_dim, **options)

    def forward(self, x, hidden=None):
        x = x.transpose(0, 1) if self.batch_first else x
        h, c = (None, None) if hidden is None else hidden
        if not self.bidirectional:
            out, (h, c) = self.layer_fw(x, None if h is None and c is None else (h, c))
        else:
            forth, back = [None if h is None or c is None else (h[k], c[k]) for k in (0, 1)]
            out, forth = self.layer_fw(x, forth)
            other, back = self.layer_bw(x.flip(0), back)
            out = torch.cat([out, other.flip(0)], out.dim() - 1)
            h, c = torch.stack([forth[0], back[0]], 0), torch.stack([forth[1], back[1]], 0)
        if self.batch_first:
            out.transpose_(0, 1)
        return out, (h, c)

    @classmethod
    def from_float(cls, other, layer_idx=0, qconfig=None, **kwargs):
        """From a layer of an nn.LSTM with a configuration."""
        if not hasattr(other, "qconfig") and qconfig is None:
            raise AssertionError("other must have qconfig or qconfig must be provided")
        sizes = [kwargs.get(n, getattr(other, n)) for n in ("input_size", "hidden_size", "bias", "batch_first", "bidirectional")]
        split = kwargs.get("split_gates", False)
        made = cls(*sizes, split_gates=split)
        made.qconfig = getattr(other, "qconfig", qconfig)
        for name, suffix in (("layer_fw", ""), ("layer_bw", "_reverse"))[:2 if other.bidirectional else 1]:
            parts = [getattr(other, f"{kind}_l{layer_idx}{suffix}", None) for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            setattr(made, name, _LSTMSingleLayer.from_params(*parts, split_gates=split))
        return made


class LSTM(nn.Module):
    """nn.LSTM of linear layers. ValueError for a dropout that is no probability; dropout is ignored, with a warning."""
    _FLOAT_MODULE = nn.LSTM

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, device=None,
                 dtype=None, *, split_gates=False):
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first = bias, batch_first
        self.dropout, self.bidirectional, self.training = float(dropout), bidirectional, False
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0:
            warnings.warn("dropout option for quantizable LSTM is ignored. If you are training, please, use nn.LSTM version followed by "
                          "`prepare` step.", stacklevel=2)
            if num_layers == 1:
                warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                              f"greater than 1, but got dropout={dropout} and num_layers={num_layers}", stacklevel=2)
        self.layers = nn.ModuleList([
            _LSTMLayer(hidden_size if k else input_size, hidden_size, bias, batch_first=False, bidirectional=bidirectional,
                       split_gates=split_gates, device=device, dtype=dtype) for k in range(num_layers)])

    def forward(self, x, hidden=None):
        x = x.transpose(0, 1) if self.batch_first else x
        batch, ways = x.size(1), 2 if self.bidirectional else 1
        if hidden is None:
            zeros = torch.zeros(ways, batch, self.hidden_size, dtype=torch.float, device=x.device)
            zeros.squeeze_(0)
            if x.is_quantized:
                zeros = torch.quantize_per_tensor(zeros, scale=1.0, zero_point=0, dtype=x.dtype)
            hidden = [(zeros, zeros)] * self.num_layers
        elif isinstance(hidden[0], torch.Tensor):
            h, c = [t.reshape(self.num_layers, ways, batch, self.hidden_size) for t in hidden]
            hidden = [(h[k].squeeze(0), c[k].squeeze(0)) for k in range(self.num_layers)]
        states = []
        for layer, state in zip(self.layers, hidden):
            x, state = layer(x, state)
            states.append(state)
        h, c = [torch.stack([s[k] for s in states]) for k in (0, 1)]
        h, c = [t.reshape(-1, t.shape[-2], t.shape[-1]) for t in (h, c)]
        return x.transpose(0, 1) if self.batch_first else x, (h, c)

    def _get_name(self):
        return "QuantizableLSTM"

    @classmethod
    def from_float(cls, other, qconfig=None, split_gates=False):
        """From an nn.LSTM with a configuration, with its observers. AssertionError for others."""
        from .... import quantization
        if not isinstance(other, cls._FLOAT_MODULE):
            raise AssertionError(f"Expected module type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig") and not qconfig:
            raise AssertionError("other must have qconfig or qconfig must be provided")
        made = cls(other.input_size, other.hidden_size, other.num_layers, other.bias, other.batch_first, other.dropout, other.bidirectional,
                   split_gates=split_gates)
        made.qconfig = getattr(other, "qconfig", qconfig)
        for k in range(other.num_layers):
            made.layers[k] = _LSTMLayer.from_float(other, k, qconfig, batch_first=False, split_gates=split_gates)
        if other.training:
            made.train()
            return quantization.prepare_qat(made, inplace=True)
        made.eval()
        return quantization.prepare(made, inplace=True)

    @classmethod
    def from_observed(cls, other):
        """NotImplementedError: this is what is observed."""
        raise NotImplementedError("It looks like you are trying to convert a non-quantizable LSTM module. Please, see the examples on "
                                  "quantizable LSTMs.")


__all__ = ["LSTMCell", "LSTM"]
