"""RNN, LSTM and GRU, and their single steps."""
from __future__ import annotations

import math
import numbers
import warnings

from ...tensor.api.bind import FUNCTIONS
from ...tensor.api.creation import empty, zeros
from ...tensor.core.tensor import Tensor
from .. import init
from ..functional import recurrent
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS = {name: FUNCTIONS[name.lower()] for name in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU")}     # these are what dispatch modes ask for


def apply_permutation(tensor, permutation, dim=1):
    """tensor.index_select(dim, permutation), by its old name."""
    warnings.warn("`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead", FutureWarning,
                  stacklevel=2)
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """The parameters and checks of recurrent networks.

    mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU"; batch_first: input is (batch, time, features); dropout: between layers;
    proj_size: an LSTM's outputs are projected to this size.
    """

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size"]

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_arguments(dropout)
        self._all_weights = []
        for layer in range(num_layers):
            for direction in range(1 + bool(bidirectional)):
                self._add_layer(layer, direction, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def _check_arguments(self, dropout):
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0 and self.num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater "
                          f"than 1, but got dropout={dropout} and num_layers={self.num_layers}", stacklevel=4)
        for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    def _add_layer(self, layer, direction, where):
        gates, out = _GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        shapes = {"weight_ih": (gates, out * (1 + bool(self.bidirectional)) if layer else self.input_size), "weight_hh": (gates, out)}
        if self.bias:
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = [f"{name}_l{layer}{'_reverse' if direction else ''}" for name in shapes]
        for name, shape in zip(names, shapes.values()):
            setattr(self, name, Parameter(empty(shape, **where)))
        self._all_weights.append(names)

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        given = self.__dict__.get("_flat_weights")
        return [getattr(self, name, None) for name in self._flat_weights_names] if given is None else given

    @_flat_weights.setter
    def _flat_weights(self, weights):
        """Libraries put tensors there with which to compute, instead of the parameters."""
        self.__dict__["_flat_weights"] = weights

    def __setattr__(self, name, value):
        given = self.__dict__.get("_flat_weights")
        if given is not None and name in (names := self._flat_weights_names) and names.index(name) < len(given):
            given[names.index(name)] = value
        super().__setattr__(name, value)

    def _apply(self, fn, recurse=True):
        self.__dict__.pop("_flat_weights", None)               # torch takes the parameters again
        return super()._apply(fn, recurse)

    @property
    def all_weights(self):
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self):
        """Nothing to do: cuDNN's memory layout is not used."""

    def reset_parameters(self):
        """U(±1/sqrt(hidden_size)) for everything."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input, batch_sizes):
        """Errors for an input of another dtype, rank or width."""
        dtype = getattr(self, self._all_weights[0][0]).dtype
        if input.dtype != dtype:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: input.to({dtype}), or "
                             f"convert model: model.to({input.dtype})")
        dims = 2 if batch_sizes is not None else 3
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def _state_size(self, input, batch_sizes, size):
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (1 + bool(self.bidirectional)), batch, size

    def get_expected_hidden_size(self, input, batch_sizes):
        """The shape that a state must have for this input."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """RuntimeError for a state of another shape."""
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes):
        """Errors for arguments that do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """The states in another order of the batch."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def extra_repr(self):
        s = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
                            ("bidirectional", False)):
            if getattr(self, name) != usual:
                s += f", {name}={getattr(self, name)}"
        return s

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)
        if "all_weights" in state:
            self._all_weights = state["all_weights"]
        for name in ("_flat_weights", "_flat_weights_names", "all_weights"):       # kept as attributes in files of PyTorch
            self.__dict__.pop(name, None)

    # -- forward ------------------------------------------------------------------------------------------------------
    def _weights(self):
        given = self.__dict__.get("_flat_weights")
        return [getattr(self, name) for names in self._all_weights for name in names] if given is None else given

    def _options(self):
        return self.bias, self.num_layers, self.dropout, self.training, self.bidirectional

    def _zero_state(self, input, batch):
        return zeros(self.num_layers * (1 + bool(self.bidirectional)), batch, self.hidden_size, dtype=input.dtype, device=input.device)

    def _dims_error(self, input):
        return ValueError(f"{'RNN' if self.mode.startswith('RNN') else self.mode}: Expected input to be 2D or 3D, got {input.dim()}D "
                          f"{'instead' if self.mode == 'LSTM' else 'tensor instead'}")

    def _check_state_dims(self, hx, batched):
        dims = 3 if batched else 2
        if hx.dim() != dims:
            raise RuntimeError(f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should also be {dims}-D but got "
                               f"{hx.dim()}-D tensor")

    def _initial(self, input, hx, batch, batched):
        """The state to begin with; for an input without a batch, with one."""
        if hx is None:
            return self._zero_state(input, batch)
        self._check_state_dims(hx, batched)
        return hx if batched else hx.unsqueeze(1)

    def _unbatched(self, hidden):
        return hidden.squeeze(1)

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            state = self._zero_state(data, int(batch_sizes[0])) if hx is None else self.permute_hidden(hx, order)
            self.check_forward_args(data, state, batch_sizes)
            out, hidden = self._result(_FUNCTIONS[self.mode](data, batch_sizes, state, self._weights(), *self._options()))
            return PackedSequence(out, batch_sizes, order, back), self.permute_hidden(hidden, back)
        if input.dim() not in (2, 3):
            raise self._dims_error(input)
        batched, at = input.dim() == 3, 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(at)
        state = self._initial(input, hx, input.size(at), batched)
        self.check_forward_args(input, state, None)
        out, hidden = self._result(_FUNCTIONS[self.mode](input, state, self._weights(), *self._options(), self.batch_first))
        return (out, hidden) if batched else (out.squeeze(at), self._unbatched(hidden))

    @staticmethod
    def _result(made):
        return made


class RNN(RNNBase):
    """h = tanh(W x + b + U h + c) over time (nonlinearity: "tanh" or "relu"), in num_layers layers. Returns (outputs, last states)."""

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory over time, in num_layers layers. Returns (outputs, (last states, last cell states))."""

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        """The shape that a cell state must have for this input."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes):
        """Errors for arguments that do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx, permutation):
        """Both states in another order of the batch."""
        return hx if permutation is None else tuple([t.index_select(1, permutation) for t in hx])

    def _zero_state(self, input, batch):
        layers = self.num_layers * (1 + bool(self.bidirectional))
        hidden = zeros(layers, batch, self.proj_size or self.hidden_size, dtype=input.dtype, device=input.device)
        return hidden, super()._zero_state(input, batch)

    def _check_state_dims(self, hx, batched):
        dims = 3 if batched else 2
        if hx[0].dim() != dims or hx[1].dim() != dims:
            raise RuntimeError(f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx and cx should also be {dims}-D but got "
                               f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors")

    def _initial(self, input, hx, batch, batched):
        if hx is None:
            return self._zero_state(input, batch)
        self._check_state_dims(hx, batched)
        return tuple(hx) if batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))

    def _unbatched(self, hidden):
        return hidden[0].squeeze(1), hidden[1].squeeze(1)

    @staticmethod
    def _result(made):
        return made[0], made[1:]


class GRU(RNNBase):
    """Gated recurrent units over time, in num_layers layers. Returns (outputs, last states)."""

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def _dims_error(self, input):
        return ValueError(f"GRU: Expected input to be 2D or 3D, got {input.dim()}D instead")


class RNNCellBase(Module):
    """The parameters of one step."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        where, rows = {"device": device, "dtype": dtype}, num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), **where))
        self.weight_hh = Parameter(empty((rows, hidden_size), **where))
        if bias:
            self.bias_ih, self.bias_hh = Parameter(empty(rows, **where)), Parameter(empty(rows, **where))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    reset_parameters = RNNBase.reset_parameters

    def extra_repr(self):
        s = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            s += f", bias={self.bias}"
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            s += f", nonlinearity={self.nonlinearity}"
        return s

    def _check_dims(self, input, **states):
        name = type(self).__name__
        for what, t in (("input", input), *states.items()):
            if t is not None and t.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {t.dim()}D instead")

    def _step(self, function, input, hx):
        self._check_dims(input, hidden=hx)
        batched = input.dim() == 2
        if not batched:
            input, hx = input.unsqueeze(0), None if hx is None else hx.unsqueeze(0)
        if hx is None:
            hx = zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
        y = function(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return y if batched else y.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of an RNN for (batch, features) or (features,)."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(FUNCTIONS[f"rnn_{self.nonlinearity}_cell"], input, hx)


class LSTMCell(RNNCellBase):
    """One step of an LSTM for (batch, features) or (features,), from and to (h, c)."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        self._check_dims(input, **{} if hx is None else {f"hx[{k}]": t for k, t in enumerate(hx)})
        batched = input.dim() == 2
        if not batched:
            input, hx = input.unsqueeze(0), None if hx is None else (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        if hx is None:
            hx = (zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device),) * 2
        if isinstance(hx, Tensor):                          # which unpacks into rows
            raise TypeError("lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor")
        if len(hx) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
        h, c = recurrent.lstm_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a GRU for (batch, features) or (features,)."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._step(FUNCTIONS["gru_cell"], input, hx)
