"""One XLA program for a state of the trie: the operators on the way to it, compiled together."""
from __future__ import annotations

import jax
import numpy as np

from ..device import default_device
from ..record.meta import Meta
from .lowering import fence_of, zero_for
from .options import compiler_options

# Marks of a Value: its NumPy array was an argument of a program once; its array was made by a program and is the engine's alone.
PASSED, OWN = "passed", "own"


def steps_of(state):
    """The operators on the path to `state`, in order: (inst, input slots, first number, first output slot, site)."""
    if state.steps is None:
        out, st = [], state
        while st.parent is not None:
            if st.inst.__class__ is not Meta:
                out.append((st.inst, st.slots, st.nums_before, st.parent.n_values, st.site))
            st = st.parent
        state.steps = out[::-1]
    return state.steps


def input_metas(state):
    """The Metas of the inputs met on the path to `state`, in order."""
    out = []
    while state.parent is not None:
        if state.inst.__class__ is Meta:
            out.append(state.inst)
        state = state.parent
    return out[::-1]


def needed_steps(steps, wanted):
    """Those of `steps` that the slots in `wanted` depend on."""
    want, kept = set(wanted), []
    for s in reversed(steps):
        first = s[3]
        if any(first + k in want for k in range(len(s[0].out_metas))):
            kept.append(s)
            want.update(i for i in s[1] if i >= 0)
    return kept[::-1]


def state_device(state):
    while state.parent is not None:
        inst = state.inst
        if inst.__class__ is Meta:
            return inst.device
        return inst.out_metas[0].device
    return default_device()


def _in_place(steps, live, donated, metas):
    """The slots `live` in an order in which JAX gives a donated input's buffer to what comes in that input's place: it takes the first result
    of the input's shape and dtype that is still without one. A gradient in its parameter's buffer would cost a copy of the parameter.

    An operator's results come in the place of the operands it reads, in order, of those that are alike; the last one counts.
    """
    heirs, made = {~k: k for k in donated}, {}
    for inst, slots, _, first, _ in steps if donated else ():
        for m, s in zip(inst.out_metas, range(first, first + len(inst.out_metas))):
            made[s] = m
        for operands, results in [part[1:] for part in inst.op.parts(inst)] or [(range(len(slots)), range(len(inst.out_metas)))]:
            given = [heirs[slots[i]] for i in operands if slots[i] in heirs]
            for s in [first + k for k in results]:
                k = next((k for k in given if _alike(metas[k], made[s])), None)
                if k is not None:
                    given.remove(k)
                    heirs[s] = k
    last = {heirs[s]: s for s in live if heirs.get(s) is not None}
    order = [last.get(k) for k in donated]
    rest = [s for s in live if s not in order]
    for i, k in enumerate(donated):
        if order[i] is None:                   # some other result takes its buffer
            order[i] = next((s for s in rest if s >= 0 and _alike(made[s], metas[k])), None)
            if order[i] is not None:
                rest.remove(order[i])
    return [s for s in order if s is not None] + rest


def _alike(a, b):
    return a.shape == b.shape and a.dtype == b.dtype


class Program:
    """One XLA program for a state: computes the slots in the list `live` from the inputs and packed numbers.

    Threads share it. It stays what it is, but for `event` (the report's) and two memos that are replaced whole.
    """
    __slots__ = ("fn", "live", "where", "state", "inputs", "sent_floats", "sent_ints", "fidx", "iidx", "donate", "event", "device", "zero")

    def __init__(self, state, live, donate):
        self.state, self.live, self.donate = state, live, donate
        metas, steps = input_metas(state), needed_steps(steps_of(state), live)
        results = _in_place(steps, live, sorted(donate), metas)
        self.where = {s: k for k, s in enumerate(results)}
        self.inputs = sorted({~i for s in steps for i in s[1] if i < 0} | {~s for s in live if s < 0})
        position = {~i: k for k, i in enumerate(self.inputs)}
        self.fidx, self.iidx, place = [], [], {}
        for inst, _, n0, _, _ in steps:
            for k, kind in enumerate(inst.kinds):
                idx = self.fidx if kind == "f" else self.iidx
                place[n0 + k] = (kind, len(idx))
                idx.append(n0 + k)
        self.sent_floats = self.sent_ints = None, None
        self.device = device = state_device(state)
        self.zero = zero_for(device)

        def program(zero, floats, ints, *inputs):
            made, fence = {}, fence_of(zero)
            for inst, slots, n0, first, _ in steps:
                args = [inputs[position[s]] if s < 0 else made[s] for s in slots]
                for k in range(len(inst.kinds)):
                    kind, at = place[n0 + k]
                    args.append((floats if kind == "f" else ints)[at])
                for k, r in enumerate(inst.lowered(fence, *args)):
                    made[first + k] = r
            return [made[s] for s in results]
        avals = [jax.ShapeDtypeStruct(metas[k].shape, metas[k].dtype) for k in self.inputs]
        packed = [jax.ShapeDtypeStruct((len(idx),), dtype) if idx else None
                  for idx, dtype in ((self.fidx, np.float64), (self.iidx, np.int64))]
        kept = tuple(3 + k for k, i in enumerate(self.inputs) if i in donate)
        jitted = jax.jit(program, donate_argnums=kept)
        with jax.default_device(device):
            self.fn = jitted.lower(self.zero, *packed, *avals).compile(compiler_options=compiler_options())

    def __call__(self, inputs, nums):
        f = i = None
        if self.fidx:
            f, self.sent_floats = _packed([nums[k] for k in self.fidx], np.float64, self.device, self.sent_floats)
        if self.iidx:
            i, self.sent_ints = _packed([nums[k] for k in self.iidx], np.int64, self.device, self.sent_ints)
        for k in self.donate:
            if inputs[k].array.__class__ is np.ndarray:   # NumPy arrays may share memory: never let XLA write there
                inputs[k].array = _transfer(inputs[k].array.copy(), self.device)
        args = []
        for k in self.inputs:
            v = inputs[k]
            a = v.array
            if a.__class__ is np.ndarray:
                if v.extra is PASSED:                  # asked for again: worth a transfer of its own
                    a = v.array = _transfer(a, self.device)
                    v.extra = None
                else:
                    v.extra = PASSED
            args.append(a)
        return self.fn(self.zero, f, i, *args)


def _packed(numbers, dtype, device, sent):
    """`numbers` as one array, and what to remember of it: (its bytes, the array). What stays the same is kept on the device."""
    a = np.array(numbers, dtype)
    b = a.tobytes()                            # compared as bytes: -0.0 is not 0.0
    known, array = sent
    if b != known:
        return a, (b, a)                       # a NumPy argument is cheaper than a transfer of its own
    if array.__class__ is np.ndarray:
        array = _transfer(array, device)
        sent = b, array
    return array, sent


def _transfer(array, device):
    with jax.ensure_compile_time_eval():       # the user may be tracing a function of their own
        return jax.device_put(array, device)
