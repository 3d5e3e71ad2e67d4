"""The compiled program for a state of the trie: the operators on the way to it, together or in pieces."""
from __future__ import annotations

from operator import is_

import jax
import numpy as np

from ..device import default_device
from ..record.meta import Meta
from .lowering import zero_for
from .pieces import compiled, cut, expanded

OWN = "own"                # the mark of a Value whose array was made by a program and is the engine's alone
# An array of NumPy's is an argument of programs so often before it is sent to the device to stay there: for a small one that takes ten
# times as long as to be an argument once more, and many are wanted twice, by a forward and by its backward.
_PASSES, _PASSED_BYTES = 12, 1 << 15


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


class Program:
    """A state's operators as one XLA program, or several (see `pieces`): computes the slots in the list `live` from the inputs and numbers.

    Threads share it. It stays what it is, but for `event` (the report's) and `sent`, whose items are replaced whole.
    """
    __slots__ = ("live", "where", "state", "inputs", "packs", "sent", "donate", "event", "device", "zero", "pieces", "calls")

    def __init__(self, state, live, donate):
        self.state, self.live, self.device, self.packs = state, live, state_device(state), []
        self.zero = zero_for(self.device)
        steps = expanded(needed_steps(steps_of(state), live))
        for inst, *_ in steps:
            inst.jaxpr                         # traced before it is weighed
        pieces = cut(steps, live, donate)
        self.donate = frozenset([~piece.given[k] for piece in pieces for k in piece.overwrites])
        self.pieces = [compiled(piece, self.device) for piece in pieces]
        self.inputs = sorted({~s for piece in pieces for s in piece.given if s < 0})
        results = live
        if len(pieces) == 1:
            self.inputs, results = [~s for s in pieces[0].given], [pieces[0].made[k] for k in self.pieces[0].results]
        self.where = {s: i for i, s in enumerate(results)}
        self.calls = self._calls(pieces)
        self.sent = [(None, None, None)] * len(self.packs)

    def _numbers(self, piece, one):
        """The places in `packs` of the numbers that a piece gets: its floats, its integers, counted from 1; 0 where there are none."""
        places = []
        for idx, dtype in ((one.floats, np.float64), (one.ints, np.int64)):
            pack = [piece.firsts[n] + k for n, k in idx], dtype
            if idx and pack not in self.packs:
                self.packs.append(pack)
            places.append(1 + self.packs.index(pack) if idx else 0)
        return places

    def _calls(self, pieces):
        """Call after call: (function, places of its numbers, slots it reads, slots it makes, slots that are not needed any more)."""
        calls, needed = [], set(self.live)
        for piece, one in zip(reversed(pieces), reversed(self.pieces)):
            made = [piece.made[k] for k in one.results]
            last = tuple({*piece.given, *made} - needed)
            needed.update(piece.given)
            calls.append((one.fn, *self._numbers(piece, one), piece.given, made, last))
        return calls[::-1]

    def __call__(self, inputs, nums):
        """The arrays of the slots `where`, in that order."""
        packed = [None]
        for k, (idx, dtype) in enumerate(self.packs):
            given, known, array = self.sent[k]
            if given is None or array.__class__ is np.ndarray:
                break
            numbers = [nums[n] for n in idx]
            if not all(map(is_, numbers, given)):
                if np.array(numbers, dtype).tobytes() != known:
                    break
                self.sent[k] = numbers, known, array       # made anew for each step, and the same: nothing is to be sent
            packed.append(array)
        else:
            args = [inputs[k].array for k in self.inputs]
            if np.ndarray not in map(type, args):
                return self._run(packed, args)
            del args
        with jax.enable_x64(True):             # what is sent to the device stays as wide as it is
            return self._run(*self._sent(inputs, nums))

    def _sent(self, inputs, nums):
        """(the numbers' arrays, the inputs') where some of them have to be sent first."""
        packed = [None]
        for k, (idx, dtype) in enumerate(self.packs):
            array, self.sent[k] = _packed([nums[n] for n in idx], dtype, self.device, self.sent[k])
            packed.append(array)
        for k in self.donate:
            if inputs[k].array.__class__ is np.ndarray:   # NumPy arrays may share memory: never let XLA write there
                inputs[k].array = _transfer(inputs[k].array.copy(), self.device)
        args = []
        for k in self.inputs:
            v = inputs[k]
            a = v.array
            if a.__class__ is np.ndarray:
                passed = v.extra if v.extra.__class__ is int else 0        # how often it was an argument
                if passed >= (_PASSES if a.nbytes <= _PASSED_BYTES else 1):
                    a = v.array = _transfer(a, self.device)
                    v.extra = None
                else:
                    v.extra = passed + 1
            args.append(a)
        return packed, args

    def _run(self, packed, args):
        if len(self.calls) == 1:
            fn, floats, ints = self.calls[0][:3]
            return fn(self.zero, packed[floats], packed[ints], *args)
        known = {~k: a for k, a in zip(self.inputs, args)}
        del args
        for fn, floats, ints, given, made, last in self.calls:
            out = fn(self.zero, packed[floats], packed[ints], *[known[s] for s in given])
            known.update(zip(made, out))
            for s in last:
                del known[s]
        return [known[s] for s in self.live]


def _packed(numbers, dtype, device, sent):
    """`numbers` as one array, and what to remember of it: (the numbers, its bytes, the array).
    What stays the same is kept on the device."""
    given, known, array = sent
    if given is not None and all(map(is_, numbers, given)):
        if array.__class__ is np.ndarray:
            array = _transfer(array, device)
            sent = given, known, array
        return array, sent
    a = np.array(numbers, dtype)
    b = a.tobytes()                            # compared as bytes: -0.0 is not 0.0
    if b != known:
        return a, (numbers, b, a)              # a NumPy argument is cheaper than a transfer of its own
    if array.__class__ is np.ndarray:
        array = _transfer(array, device)
    return array, (numbers, b, array)


def _transfer(array, device):
    with jax.ensure_compile_time_eval():       # the user may be tracing a function of their own
        return jax.device_put(array, device)
