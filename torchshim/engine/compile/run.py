"""Running traces: the tiers, compiled programs and their cache, and the immediate path for tracers.

A trace seen for the first time runs operator by operator (NumPy rules on CPU, cached jitted operators elsewhere);
when it comes again it is compiled to one XLA program. A program may compute more than is alive: it is reused
for every subset of its outputs.
"""
from __future__ import annotations

import collections
import sys

import jax
import numpy as np

from ..record import trace as _trace
from .options import compiler_options
from ..record.meta import Meta, meta_of

PROGRAM_CAP = 512
getrefcount = sys.getrefcount
UNHELD = (lambda only: getrefcount(only[0]))([object()])   # what getrefcount says of an object that one list holds
PASSED = "passed"              # mark of a Value whose NumPy array was an argument of a program once
Tracer = jax.core.Tracer
tier = "auto"              # "auto", "compiled" (every trace is compiled at once) or "operators" (none is)
_lru: collections.OrderedDict = collections.OrderedDict()


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


def _needed_steps(steps, wanted):
    """Those of `steps` that the slots in `wanted` depend on."""
    want, kept = set(wanted), []
    for s in reversed(steps):
        first = s[3]
        if any(first + k in want for k in range(len(s[0].out_metas))):
            kept.append(s)
            want.update(i for i in s[1] if i >= 0)
    return kept[::-1]


class Program:
    """One XLA program for a state: computes the slots in `live` from the inputs and packed numbers."""
    __slots__ = ("fn", "live", "mask", "where", "state", "inputs", "floats", "ints", "fidx", "iidx", "donate", "early", "device")

    def __init__(self, state, live, donate):
        self.state, self.live, self.donate = state, live, donate
        self.mask = _mask(live)
        self.where = {s: k for k, s in enumerate(live)}
        steps = _needed_steps(steps_of(state), live)
        self.inputs = sorted({~i for s in steps for i in s[1] if i < 0} | {~s for s in live if s < 0})
        position = {~i: k for k, i in enumerate(self.inputs)}
        self.fidx, self.iidx, place = [], [], {}
        for inst, _, n0, _, _ in steps:
            for k, kind in enumerate(inst.kinds):
                idx = self.fidx if kind == "f" else self.iidx
                place[n0 + k] = (kind, len(idx))
                idx.append(n0 + k)
        self.floats, self.ints = _Packed(), _Packed()

        def program(floats, ints, *inputs):
            made = {}
            for inst, slots, n0, first, _ in steps:
                args = [inputs[position[s]] if s < 0 else made[s] for s in slots]
                for k in range(len(inst.kinds)):
                    kind, at = place[n0 + k]
                    args.append((floats if kind == "f" else ints)[at])
                for k, r in enumerate(inst.call(*args)):
                    made[first + k] = r
            return [made[s] for s in live]
        metas = input_metas(state)
        avals = [jax.ShapeDtypeStruct(metas[k].shape, metas[k].dtype) for k in self.inputs]
        packed = [jax.ShapeDtypeStruct((len(idx),), dtype) if idx else None
                  for idx, dtype in ((self.fidx, np.float64), (self.iidx, np.int64))]
        kept = tuple(2 + k for k, i in enumerate(self.inputs) if i in donate)
        jitted = jax.jit(program, donate_argnums=kept)
        self.device = state_device(state)
        with jax.default_device(self.device):
            self.fn = jitted.lower(*packed, *avals).compile(compiler_options=compiler_options())

    def __call__(self, inputs, nums):
        f = self.floats.packed([nums[k] for k in self.fidx], np.float64, self.device) if self.fidx else None
        i = self.ints.packed([nums[k] for k in self.iidx], np.int64, self.device) if self.iidx else None
        for k in self.donate:
            if inputs[k].array.__class__ is np.ndarray:   # NumPy arrays may share memory: never let XLA write there
                inputs[k].array = jax.device_put(inputs[k].array.copy(), self.device)
        args = []
        for k in self.inputs:
            v = inputs[k]
            a = v.array
            if a.__class__ is np.ndarray:
                if v.extra is PASSED:                  # asked for again: worth a transfer of its own
                    a = v.array = jax.device_put(a, self.device)
                    v.extra = None
                else:
                    v.extra = PASSED
            args.append(a)
        return self.fn(f, i, *args)


class _Packed:
    """The packed numbers of one kind: kept on the device while they stay the same."""
    __slots__ = ("array", "bytes")

    def __init__(self):
        self.array = self.bytes = None

    def packed(self, numbers, dtype, device):
        a = np.array(numbers, dtype)
        b = a.tobytes()                        # compared as bytes: -0.0 is not 0.0
        if b != self.bytes:
            self.array, self.bytes = a, b      # a NumPy argument is cheaper than a transfer of its own
        elif self.array.__class__ is np.ndarray:
            self.array = jax.device_put(a, device)
        return self.array


def _mask(slots):
    m = 0
    for s in slots:
        m |= 1 << s
    return m


def _find(state, mask, dead):
    programs = state.programs
    if not programs:
        return None
    for p in programs:
        if mask & ~p.mask == 0 and p.donate <= dead:
            return p
    return None


def run_trace(tr):
    """Compute what is alive in `tr` at its state. Returns the error of an operator that failed, after saving the rest."""
    state, values, inputs = tr.state, tr.values, tr.inputs
    live = [k for k in range(len(values)) if getrefcount(values[k]) > UNHELD and values[k].array is None]
    if not live:
        return
    mask = _mask(live)
    with jax.enable_x64(True):
        dead = _donatable(inputs)
        p = _find(state, mask, dead)
        try:
            if p is None:
                state.seen += 1
                early = tier == "auto" and state.seen == 1 and _promise(state)
                if tier == "operators" or tr.context.eager or (tier == "auto" and state.seen == 1 and not early):
                    _trace.counters["interpreted"] += 1
                    return run_operators(state, values, inputs, tr.nums, live)
                p = _compile(state, live, dead, values)
                p.early = early
                if early:
                    _credit[0] -= 1
            else:
                _trace.counters["hits"] += 1
                if p.early:
                    p.early = False
                    _credit[0] += 1
            with jax.ensure_compile_time_eval():       # the user may be tracing a function of their own
                arrays = p(inputs, tr.nums)
        except Exception as error:
            if p is not None:
                _drop(p)
            if any(getattr(v.array, "is_deleted", bool)() for v in inputs):
                raise
            return run_operators(state, values, inputs, tr.nums, live, cause=error)
    _lru.move_to_end(p)
    where = p.where
    for k in live:
        values[k].array = arrays[where[k]]


# A trace seen for the first time most of whose operators ran before is likely a loop that got into its stride, or the
# evaluation beside one: compiling it at once saves a round. Each guess costs a credit, given back when the program is
# used again, so that code that never repeats soon stops guessing. Very long traces wait: they take seconds to compile.
EARLY_FROM, EARLY_TO, EARLY_SHARE = 8, 1024, 0.5
_credit = [4]


def _promise(state):
    if _credit[0] <= 0 or not EARLY_FROM <= state.n_ops <= EARLY_TO:
        return False
    return sum([s[0].ran for s in steps_of(state)]) >= EARLY_SHARE * state.n_ops


DONATE_BYTES = 1 << 16


def _donatable(inputs):
    """Inputs that die with this trace: their buffers may be overwritten. Nobody else may hold the array."""
    out = set()
    for k in range(len(inputs)):
        if getrefcount(inputs[k]) <= UNHELD:
            v = inputs[k]
            if v.meta.numel * v.meta.dtype.itemsize >= DONATE_BYTES and v.extra is None and getrefcount(v.array) <= UNHELD:
                out.add(k)
    return frozenset(out)


def _compile(state, live, dead, values):
    known = state.programs or []
    slots = set(live)
    for p in known:
        slots.update(p.live)
    donate = _matching(state, sorted(slots), dead)
    for p in known:
        donate &= p.donate
    from . import report
    report.note_compile(state, live, known, values)
    p = Program(state, tuple(sorted(slots)), frozenset(donate))
    state.programs = known + [p]
    _lru[p] = None
    while len(_lru) > PROGRAM_CAP:
        _drop(next(iter(_lru)))
    _trace.counters["compiles"] += 1
    st = state
    while st is not None and not st.walked:
        st.walked = True
        st = st.parent
    return p


def _matching(state, live, dead):
    """Dead inputs whose buffer some output can take (XLA warns about the others)."""
    if not dead:
        return set()
    spare = collections.Counter()
    metas = {}
    for s in steps_of(state):
        for k, m in enumerate(s[0].out_metas):
            metas[s[3] + k] = m
    for s in live:
        spare[(metas[s].shape, metas[s].dtype)] += 1
    used = {~i for s in _needed_steps(steps_of(state), live) for i in s[1] if i < 0}
    out = set()
    for k, m in enumerate(input_metas(state)):
        if k in dead and k in used and spare[(m.shape, m.dtype)] > 0:
            spare[(m.shape, m.dtype)] -= 1
            out.add(k)
    return out


def _drop(p):
    _lru.pop(p, None)
    if p.state.programs:
        p.state.programs = [q for q in p.state.programs if q is not p]


def run_operators(state, values, inputs, nums, live, cause=None):
    """Operator by operator. A failing operator names the user's line; values that need it are lost, others are kept."""
    with jax.ensure_compile_time_eval():
        return _run_operators(state, values, inputs, nums, live, cause)


def _run_operators(state, values, inputs, nums, live, cause):
    steps = _needed_steps(steps_of(state), live)
    numpy = state_device(state).platform == "cpu" and cause is None
    made, uses = {}, collections.Counter(i for s in steps for i in s[1] if i >= 0)
    for k in live:
        uses[k] += 1
    failed = None
    with np.errstate(all="ignore"):
        for inst, slots, n0, first, site in steps:
            try:
                args = [inputs[~s].array if s < 0 else made[s] for s in slots]
            except KeyError:
                continue                           # an operand was lost
            for k, kind in enumerate(inst.kinds):
                args.append(np.array(nums[n0 + k], np.float64 if kind == "f" else np.int64))
            try:
                out = inst.interpreted()(*args) if numpy else inst.jitted()(*args)
            except Exception as error:
                failed = failed or (error, inst, site)
                continue
            inst.ran = True
            for k, a in enumerate(out):
                made[first + k] = a
            for s in slots:
                if s >= 0:
                    uses[s] -= 1
                    if not uses[s]:
                        made.pop(s, None)
    message = None
    if failed:
        error, inst, site = failed
        place = f'  File "{site[0]}", line {site[1]}, in {site[2]}' if site else "  (unknown line)"
        message = f"{inst.op.name} failed: {str(error).strip()}\nThe operator was called at\n{place}"
    for k in live:
        if k in made:
            values[k].array = made[k]
        else:
            values[k].trace, values[k].extra = None, message
    if failed:
        failure = RuntimeError(message)
        failure.__cause__ = failed[0]
        return failure
    return None


def state_device(state):
    while state.parent is not None:
        inst = state.inst
        if inst.__class__ is Meta:
            return inst.device
        return inst.out_metas[0].device
    return _trace.default_device()


def run_prefix(tr):
    """Compute what another thread's trace has recorded so far, without moving it."""
    state = tr.state
    values, inputs, nums = tr.values[:state.n_values], tr.inputs[:state.n_inputs], tr.nums[:state.n_nums]
    live = [k for k, v in enumerate(values) if v.array is None]
    with jax.enable_x64(True):
        run_operators(state, values, inputs, nums, live)


def immediate(context, op, layout, vals, nums, kinds):
    """Apply `op` now: some operand is a tracer, has no data, or lives on another device."""
    _trace.counters["immediate"] += 1
    devices = {v.meta.device for v in vals}
    if "meta" in devices:
        # what has data must not lose it to an in-place operator whose operand has none
        if len(devices) > 1 and (getattr(op, "elementwise", False) or op.name.endswith("_") and vals[0].meta.device != "meta"):
            _refuse_mixed(vals)
        inst = op.resolve(layout, tuple([_with_device(v.meta, "meta") for v in vals]), kinds)
        out = [_trace.value_of(None, m) for m in inst.out_metas]
        return (out[0] if inst.out.__class__ is Meta else out), inst
    traced = any(v.extra is _trace.TRACED for v in vals)
    if not traced:
        return _elsewhere(context, op, layout, vals, nums, kinds)
    inst = op.resolve(layout, tuple([v.meta for v in vals]), kinds)
    arrays = [_trace.array_of(v) for v in vals]
    with jax.enable_x64(True):
        numbers = [np.array(n, np.float64 if k == "f" else np.int64) for n, k in zip(nums, kinds)]
        out = inst.call(*arrays, *numbers)
    out = [wrap(a, m) for a, m in zip(out, inst.out_metas)]
    return (out[0] if inst.out.__class__ is Meta else out), inst


def wrap(array, meta):
    """A Value around an operator's result, marked when it is a tracer."""
    v = _trace.value_of(array, meta)
    if isinstance(array, Tracer):
        v.extra = _trace.TRACED
    return v


def _refuse_mixed(vals):
    """Operands with dimensions must be where the first of them is."""
    expected = next((v.meta.device for v in vals if v.meta.ndim), "meta")
    for v in vals:
        if v.meta.ndim and v.meta.device != expected:
            raise RuntimeError(f"Tensor on device {device_name(v.meta.device)} is not on the expected device {device_name(expected)}!")


def _with_device(m, device):
    return m if m.device == device else meta_of(m.shape, m.dtype, device, m.strides)


def _elsewhere(context, op, layout, vals, nums, kinds):
    """The operands live on a device other than the current trace's: go there, or say that they disagree."""
    devices = {v.meta.device for v in vals if v.meta.ndim} or {v.meta.device for v in vals}
    if len(devices) > 1:
        names = sorted(device_name(d) for d in devices)
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                           f"{' and '.join(names)}!")
    device = devices.pop()
    moved = []
    for v in vals:
        if v.meta.device is not device:
            v = _trace.value_of(jax.device_put(_trace.array_of(v), device), _with_device(v.meta, device))
        moved.append(v)
    if context.trace.device is not device:
        context.trace.flush()
        context.trace = _trace.Trace(context, device)
    return _trace.record(context, op, layout, moved, nums, kinds)


def device_name(d):
    if d == "meta":
        return "meta"
    platform = {"gpu": "cuda", "METAL": "mps"}.get(d.platform, d.platform)
    return "cpu" if platform == "cpu" else f"{platform}:{d.id}"
