"""Recurrent networks: one layer in one direction as a scan over time, single steps, and packed sequences."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from ...engine.interpret.recurrent import Lstm
from .. import promotion as P
from ..common import size_at, wide
from ..layout import broadcast_shapes, elementwise_strides
from ..loops import scan
from ..products import expandable, product, same_dtype
from ..registry import op, positions


def _affine(x, weight, bias):
    y = product(x, weight.T)
    return y if bias is None else y + bias


#: Exponent's and mantissa's bits of what torch rounds to after each of the operators that its cells consist of.
_BITS = {"bfloat16": (8, 7), "float16": (5, 10)}


def _rounding(dtype):
    bits = _BITS.get(dtype.name)
    return (lambda x: x) if bits is None else lambda x: jax.lax.reduce_precision(x, *bits)


def _lstm(from_input, h, c, w_hh, b_hh, w_hr, q, qs):
    i, f, g, o = jnp.split(q(from_input + q(_affine(h, w_hh, b_hh))), 4, -1)
    c = qs(qs(q(jax.nn.sigmoid(f)) * c) + q(q(jax.nn.sigmoid(i)) * q(jnp.tanh(g))))
    h = qs(q(jax.nn.sigmoid(o)) * qs(jnp.tanh(c)))
    return (h if w_hr is None else q(product(h, w_hr.T))), c


def _fused(from_input, h, c, w_hh, b_hh, w_hr, q, qs):
    """oneDNN's step: only what goes into the next product is rounded."""
    h, c = _lstm(from_input, h, c, w_hh, b_hh, w_hr, *2 * (lambda x: x,))
    return qs(h), c


def _gru(from_input, h, c, w_hh, b_hh, w_hr, q, qs):
    ir, iz, new = jnp.split(from_input, 3, -1)
    hr, hz, hn = jnp.split(q(_affine(q(h), w_hh, b_hh)), 3, -1)
    r, z = q(jax.nn.sigmoid(q(ir + hr))), q(jax.nn.sigmoid(q(iz + hz)))
    n = q(jnp.tanh(q(new + q(r * hn))))
    return qs(qs(qs(h - n) * z) + n), c


def _elman(activation):
    def step(from_input, h, c, w_hh, b_hh, w_hr, q, qs):
        return q(activation(q(from_input + q(_affine(h, w_hh, b_hh))))), c
    return step


@jax.custom_jvp
def _relu(x):
    return jnp.maximum(x, 0)


@_relu.defjvp
def _relu_jvp(primals, tangents):
    y = _relu(primals[0])
    return y, jnp.where(y > 0, tangents[0], 0)


_STEPS = {"LSTM": _lstm, "GRU": _gru, "RNN_TANH": _elman(jnp.tanh), "RNN_RELU": _elman(_relu)}


def _layer_name(inst):
    mkldnn = inst.layout[-2] == "LSTM" and inst.in_metas[0].dtype in (P.float32, P.bfloat16) and inst.layout[7] is None and inst.layout[8] is None
    return "MkldnnRnnLayerBackward0" if mkldnn else "StackBackward0"


def _lstm_of(inst, wants=()):
    """The layer in NumPy where it is a plain one of floats: with a cell state, both biases or none, without a projection or lengths."""
    x, h = inst.in_metas[:2]
    _, _, c, _, _, b_ih, b_hh, w_hr, lengths, mode, reverse = inst.layout
    if mode == "LSTM" and c is not None and b_ih == b_hh and w_hr is None and lengths is None and x.dtype in (P.float32, P.float64) \
            and h.ndim == 2 and x.numel and h.numel and all([m.dtype == x.dtype for m in inst.in_metas]):
        return Lstm(*x.shape, h.shape[1], x.dtype, b_ih is not None, reverse, wants)


def _layer_on_host(inst):
    layer = _lstm_of(inst)
    return layer and layer.forward


def _layer_back_on_host(inst, plan):
    layer = _lstm_of(inst, plan.needs)
    return layer.backward if layer and plan.args == tuple(range(len(inst.in_metas))) and not plan.outs and plan.cts == (0, 1, 2) else None


_CELL = ("input", "h", "hx", "c", "w_ih", "w_hh", "b_ih", "b_hh")
_WEIGHTS = ("w_ih", "w_hh")


def _copied(inst, wrt, several=True):
    """What torch's products keep none of: biases, and factors of what wants no gradient; `several`: one step follows another."""
    if inst.op.name == "rnn_layer" and _layer_name(inst).startswith("Mkldnn"):
        return ()
    names = positions(inst.op.params, inst.layout)
    wanted = {"h" if names[i] == "hx" else names[i] for i in wrt}
    several = several and inst.in_metas[0].shape[0] > 1
    kept = {name for name, other in (("input", "w_ih"), ("w_ih", "input"), ("h", "w_hh"), ("hx", "w_hh"), ("w_hh", "h")) if other in wanted}
    kept |= {"w_hh"} if several else set()
    kept |= {"c"} if several or wanted - {"c"} else set()
    return tuple([i for i, name in enumerate(names) if name in _CELL and name not in kept])


def _turned(inst):
    """torch multiplies with the transposed weights, and all steps' inputs at once."""
    layer = inst.op.name == "rnn_layer"
    if layer and _layer_name(inst).startswith("Mkldnn"):
        return {}
    seen = {i: m.shape[::-1] for i, (name, m) in enumerate(zip(positions(inst.op.params, inst.layout), inst.in_metas)) if name in _WEIGHTS}
    steps, *rest = inst.in_metas[0].shape
    return {0: (steps * rest[0], rest[1]), **seen} if layer and len(rest) == 2 else seen


def _copied_in_step(inst, wrt):
    return _copied(inst, wrt, False)


@op("rnn_layer(Tensor input, Tensor h, Tensor? c, Tensor w_ih, Tensor w_hh, Tensor? b_ih, Tensor? b_hh, Tensor? w_hr, Tensor? lengths, "
    "str mode, bool reverse) -> (Tensor, Tensor, Tensor)", grad=_layer_name, host=_layer_on_host, host_back=_layer_back_on_host,
    nondiff=("lengths",), function=False, method=False, copied=_copied, seen=_turned, plain_gradients=True)
def rnn_layer(input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, lengths, mode, reverse):
    """(states at all times, last state, last cell state) of one layer in one direction over input (time, batch, features).

    c: the cell state of an LSTM; w_hr: projects its output; lengths (batch,): each sequence's; reverse: from the last time on.
    The state may have another dtype than what products are made of.
    """
    dtype, q, qs = h.dtype, _rounding(w_hh.dtype), _rounding(h.dtype)
    step = _STEPS[mode]
    w_hh, b_ih, b_hh, w_hr = [None if a is None else wide(a) for a in (w_hh, b_ih, b_hh, w_hr)]
    if mode == "LSTM" and h.dtype == P.bfloat16 and w_hr is None and lengths is None:
        b_ih, b_hh, step, q = None if b_ih is None else q(b_ih + b_hh), None, _fused, lambda x: x
    from_input = q(_affine(wide(input), wide(w_ih), b_ih))
    state = (wide(h), wide(h if c is None else c))

    def body(state, now):
        x, t = now
        new = step(x, *state, w_hh, b_hh, w_hr, q, qs)
        if lengths is not None:
            alive = (t < lengths)[:, None]
            new = tuple(jnp.where(alive, a, b) for a, b in zip(new, state))
        return new, new[0]
    state, out = scan(body, state, (from_input, jnp.arange(input.shape[0])), reverse=reverse)
    return out.astype(dtype), state[0].astype(dtype), state[1].astype(dtype)


def _check_cell(gates):
    def check(input, h, *rest):
        w_ih, w_hh, b_ih, b_hh = rest[-4:]

        def weights():
            hidden = size_at(w_hh, 1)
            for name, w in (("weight_ih", w_ih), ("weight_hh", w_hh)):
                if size_at(w, 0) != gates * hidden:
                    raise RuntimeError(f"{name} first dim must be {gates} * hidden_size = {gates * hidden}, but got {w.shape[0]}")
        if gates == 1:
            weights()
        if gates == 4:
            size_at(w_hh, 1)
        expected = size_at(w_ih, 1)
        if size_at(input, 1) != expected:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[1]} expected {expected}")
        if gates == 4:
            weights()
        hidden = size_at(w_hh, 1)
        for n, state in enumerate([h, rest[0]] if gates == 4 else [h]):
            if size_at(state, 0) != input.shape[0]:
                raise RuntimeError(f"Input batch size {input.shape[0]} doesn't match hidden{n} batch size {state.shape[0]}")
            if size_at(state, 1) != hidden:
                raise RuntimeError(f"hidden{n} has inconsistent hidden_size: got {state.shape[1]}, expected {hidden}")
        if gates == 3:
            weights()
        for b, w in ((b_ih, w_ih), (b_hh, w_hh)):
            if b is not None:
                expandable(b.shape, (input.shape[0], w.shape[0]), b.dtype)
        for x, w in ((input, w_ih), (h, w_hh)):
            if rest[-1] is None:
                same_dtype(x, w)
            elif x.dtype != w.dtype:
                raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {P.c_name(x.dtype)} and {P.c_name(w.dtype)}")
        if input.dtype == P.bool_:
            raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
        if gates > 1 and P.kind_of(input.dtype) == 1:          # a sigmoid in place
            raise RuntimeError(f"result type Float can't be cast to the desired output type {P.c_name(input.dtype)}")
    return check


def _one_step(mode, input, h, c, w_ih, w_hh, b_ih, b_hh):
    q = _rounding(input.dtype)
    from_input = q(_affine(wide(input), wide(w_ih), None if b_ih is None else wide(b_ih)))
    h, c = _STEPS[mode](from_input, wide(h), None if c is None else wide(c), wide(w_hh), None if b_hh is None else wide(b_hh), None, q, q)
    return h.astype(input.dtype)


@op("lstm_cell_state(Tensor input, Tensor h, Tensor c, Tensor w_ih, Tensor w_hh, Tensor? b_ih, Tensor? b_hh) -> (Tensor, Tensor)",
    grad="AddBackward0", check=_check_cell(4), multiple=4, function=False, method=False, copied=_copied_in_step, seen=_turned)
def lstm_cell_state(input, h, c, w_ih, w_hh, b_ih, b_hh):
    """(new cell state, output gate) of one step of an LSTM."""
    q = _rounding(input.dtype)
    gates = q(_affine(wide(input), wide(w_ih), None if b_ih is None else wide(b_ih)))
    i, f, g, o = jnp.split(q(gates + q(_affine(wide(h), wide(w_hh), None if b_hh is None else wide(b_hh)))), 4, -1)
    c = q(q(jax.nn.sigmoid(f)) * wide(c)) + q(q(jax.nn.sigmoid(i)) * q(jnp.tanh(g)))
    return c.astype(input.dtype), jax.nn.sigmoid(o).astype(input.dtype)


@op("gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", grad="AddBackward0",
    check=_check_cell(3), multiple=3, method=False, copied=_copied_in_step, seen=_turned,
    strides=lambda inst, input, hx, *rest: elementwise_strides((hx,), hx.shape))
def gru_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """One step of a GRU for input (batch, features) and state (batch, hidden)."""
    return _one_step("GRU", input, hx, None, w_ih, w_hh, b_ih, b_hh)


@op("rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
    grad="TanhBackward0", check=_check_cell(1), method=False, copied=_copied_in_step, seen=_turned)
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """tanh(input w_ih^T + b_ih + hx w_hh^T + b_hh)."""
    if P.kind_of(input.dtype) == 1:            # whole numbers up to the tangent
        return jnp.tanh((_affine(input, w_ih, b_ih) + _affine(hx, w_hh, b_hh)).astype(P.default_float))
    return _one_step("RNN_TANH", input, hx, None, w_ih, w_hh, b_ih, b_hh)


@op("rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
    grad="ReluBackward0", check=_check_cell(1), method=False, copied=_copied_in_step, seen=_turned)
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """relu(input w_ih^T + b_ih + hx w_hh^T + b_hh)."""
    return _one_step("RNN_RELU", input, hx, None, w_ih, w_hh, b_ih, b_hh)


# -- packed sequences -------------------------------------------------------------------------------------------------
@op("pack_rows(Tensor self, Tensor rows, str name) -> Tensor", grad=lambda inst: inst.layout[-1], nondiff=("rows",), function=False,
    method=False)
def pack_rows(self, rows, name):
    """The rows of (time, batch, ...) that belong to sequences, time by time; each of them is named once."""
    return self.reshape(self.shape[0] * self.shape[1], *self.shape[2:]).at[rows].get(mode="clip", unique_indices=True)


@op("unpack_rows(Tensor self, Tensor rows, Scalar value, int times, int batch) -> Tensor", grad="CopySlices", nondiff=("rows",),
    function=False, method=False)
def unpack_rows(self, rows, value, times, batch):
    """(times, batch, ...) with the packed rows at their places and `value` elsewhere."""
    made = jnp.broadcast_to(jnp.asarray(value).astype(self.dtype), (times * batch, *self.shape[1:]))
    return made.at[rows].set(self, mode="clip", unique_indices=True).reshape(times, batch, *self.shape[1:])


def _check_pad(sequences, batch_first, padding_value, padding_side):
    for s in sequences:
        if not s.ndim:
            raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
        rows = (s.shape[0], *sequences[0].shape[1:])
        shape = broadcast_shapes([rows, s.shape])
        if shape != rows:
            raise RuntimeError(f"output with shape {list(rows)} doesn't match the broadcast shape {list(shape)}")


@op("pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side='right') -> Tensor",
    grad="CopySlices", check=_check_pad, function=False, method=False)
def pad_sequence(sequences, batch_first, padding_value, padding_side):
    """Sequences (length, ...) side by side, filled up to the longest: (longest, number, ...), or its transpose with batch_first.

    They are expanded to the first one's further dimensions, as what is copied into its rows of the result.
    """
    lengths = [s.shape[0] for s in sequences]
    longest, tail = max(lengths), sequences[0].shape[1:]
    dtype = sequences[0].dtype
    value = jnp.asarray(padding_value).astype(dtype)
    made = []
    for n, s in zip(lengths, sequences):
        s = jnp.broadcast_to(s, (n, *tail))
        fill = jnp.broadcast_to(value, (longest - n, *tail))
        made.append(jnp.concatenate([fill, s.astype(dtype)] if padding_side == "left" else [s.astype(dtype), fill]))
    return jnp.stack(made, 0 if batch_first else 1)
