"""Sequences of different lengths: padded, and packed time by time without the padding."""
from __future__ import annotations

import operator
from collections import namedtuple
from collections.abc import Iterable

import numpy as np

from ...ops.nn import rnn as ops
from ...tensor.api.bind import FUNCTIONS, call
from ...tensor.core.tensor import Tensor, tensor_from
from ..functional.recurrent import Packing

PackedSequence_ = namedtuple("PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])
PackedSequence_.__annotations__ = dict.fromkeys(PackedSequence_._fields, Tensor)


def _maybe(t, f):
    return None if t is None else f(t)


class PackedSequence(PackedSequence_):
    """Sequences whose elements lie time by time: `batch_sizes[t]` of them are at time t. Made by pack_padded_sequence and pack_sequence.

    sorted_indices and unsorted_indices lead from the user's order to that of falling lengths, and back.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They "
                             "should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
                             "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def __repr__(self):
        return "PackedSequence(" + ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self)) + ")"

    def _with(self, data):
        if data is self.data:
            return self
        return type(self)(data, self.batch_sizes, *[_maybe(t, lambda t: t.to(data.device)) for t in self[2:]])

    def to(self, *args, **kwargs):
        """The data moved or cast; the indices follow to its device."""
        return self._with(self.data.to(*args, **kwargs))

    def cuda(self, *args, **kwargs):
        """The data on a GPU."""
        return self._with(self.data.cuda(*args, **kwargs))

    def cpu(self, *args, **kwargs):
        """The data on the CPU."""
        return self._with(self.data.cpu(*args, **kwargs))

    def pin_memory(self):
        """The data in pinned memory."""
        return self._with(self.data.pin_memory())

    def is_pinned(self):
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self):
        """Whether the data is on a GPU."""
        return self.data.is_cuda


def _cast(name):
    def cast(self):
        return self._with(operator.methodcaller(name)(self.data))
    cast.__name__, cast.__qualname__, cast.__doc__ = name, f"PackedSequence.{name}", f"The data cast by `{name}`."
    return cast


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    setattr(PackedSequence, _name, _cast(_name))


def invert_permutation(permutation):
    """The permutation that undoes `permutation`; None for None."""
    if permutation is None:
        return None
    return FUNCTIONS["empty_like"](permutation).scatter_(0, permutation,
                                                         FUNCTIONS["arange"](permutation.numel(), device=permutation.device))


def _not_lengths(x):
    return RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {x.dim()}D {x.device} Long tensor")


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack (time, batch, ...), or (batch, time, ...) with batch_first, whose sequences have these lengths (looks at them).

    enforce_sorted: the lengths must fall already; else the sequences are brought in that order.
    """
    lengths = lengths.long() if isinstance(lengths, Tensor) else tensor_from(np.array([int(n) for n in lengths], np.int64))
    if not lengths.is_cpu:
        raise _not_lengths(lengths)
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.dim() != 1:
        raise _not_lengths(lengths)
    if batch_first:
        input = input.transpose(0, 1)
    if input.shape[1] != lengths.shape[0]:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.shape[0]} (batch_size={input.shape[1]})")
    n = lengths.detach().cpu().numpy()
    if not n.size:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if (n[:-1] < n[1:]).any():
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                           "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
                           "need ONNX exportability.")
    if n[-1] <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    sizes = (n > np.arange(n[0])[:, None]).sum(1)
    there = sizes[:input.shape[0]]                       # (of a length beyond the input, torch packs what there is)
    return PackedSequence(Packing(there).packed(input, "PackPaddedSequenceBackward0"), tensor_from(sizes), order, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """(padded, lengths): the inverse of pack_padded_sequence. total_length: how long the padded one is at least to be."""
    times = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < times:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                             f"total_length={total_length} and max sequence length being {times}")
        times = total_length
    packing = Packing(sequence.batch_sizes)
    padded, lengths = packing.padded(sequence.data, padding_value, times), packing.lengths
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, sequence.unsorted_indices), lengths[sequence.unsorted_indices.cpu()]


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences (length, ...) side by side, filled up with padding_value on the "right" or "left": (longest, number, ...).

    batch_first: (number, longest, ...).
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if sequences[0].ndim and not all([s.ndim for s in sequences]):
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return call(ops.pad_sequence, (sequences, batch_first, float(padding_value), padding_side))


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The list of sequences that pad_sequence was given."""
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    at = FUNCTIONS["arange"](padded_sequences.shape[1], device=lengths.device)
    return [s[at < n] for s, n in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences, enforce_sorted=True):
    """pack_padded_sequence of a list of sequences (length, ...)."""
    lengths = tensor_from(np.array([s.size(0) for s in sequences]))
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The list of sequences that pack_sequence was given."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
