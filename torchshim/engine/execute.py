"""Running traces: the tiers, and the immediate path for tracers.

A trace runs operator by operator (NumPy rules on CPU, cached jitted operators elsewhere) until its repetitions have cost
what compiling it to one XLA program costs. A program may compute more than is alive: it is reused
for every subset of its outputs.
"""
from __future__ import annotations

import sys
from bisect import bisect_right
from operator import itemgetter

import jax
import numpy as np

from . import device, direct, unread
from .blas import one_thread, restore
from .compile import policy
from .compile.batch import for_examples
from .compile.program import OWN, needed_steps, state_device, steps_of
from .device import device_name, is_host, need_xla
from .direct import granted        # noqa: F401  (the executor's, see record/context.py)
from .record.checks import withhold
from .record.meta import Meta, meta_of
from .record.trace import record
from .record.trie import counters
from .record.value import TRACED, array_of, value_of
from .schedule import Schedule, computed, once

getrefcount = sys.getrefcount
UNHELD = [getrefcount(v) for _, v in enumerate([object()])][0]          # of what one list holds, looked at as below
Tracer = jax.core.Tracer
watch = None                      # a profile's: gets a schedule's steps and gives those that run instead of them


def run_trace(tr):
    """Compute what is alive in `tr` at its state. Returns the error of an operator that failed, after saving the rest."""
    state, values, inputs = tr.end, tr.values, tr.inputs
    live = [k for k, v in enumerate(values) if v.array is None and getrefcount(v) > UNHELD]
    if not live:
        direct.unread_after(tr)
        return
    tier = "operators" if device.forked else policy.tier
    dead = policy.donatable(inputs, state) if state.programs and tier != "operators" else None
    early, wanted = _early(tr, state) if tr.checks and tier != "operators" else None, live
    if early:
        wanted = [k for k in live if k not in early.made]
    plan = unread.plan_of(state, wanted) if state.variants and tier != "operators" else None
    if plan is not None:
        wanted = [k for k in wanted if k not in plan.slots]
        dead = dead and dead - plan.inputs
    p = policy.find(state, wanted, dead) if dead is not None else None
    try:
        pays = p is not None or policy.due(state, "operators" if tr.context.eager else tier, wanted, direct.repeated(tr.context, state))
    except Exception as error:                 # an operator that cannot be traced, which its price would be told by
        return run_operators(state, values, inputs, tr.nums, live, tr, cause=error)
    if not pays:
        counters["interpreted"] += 1
        if state.seen == unread.WATCHED and tier == "auto" and not tr.context.eager:
            return unread.watched(state, tr, live, lambda made: run_operators(state, made, inputs, tr.nums, live, tr))
        return run_operators(state, values, inputs, tr.nums, live, tr)
    direct.disturbed(tr.context)
    try:
        if p is None:
            if dead is None:
                dead = policy.donatable(inputs, state) - (plan.inputs if plan is not None else set())
            with jax.enable_x64(True):
                p = policy.compiled(state, wanted, dead, values)
        else:
            counters["hits"] += 1
        if early:
            failure = _run_steps(early, state, values, inputs, tr.nums, early.made, None)
            if failure is not None:
                raise failure
        arrays = p(inputs, tr.nums)
    except Exception as error:
        if p is not None:
            policy.drop(p)
        if any(getattr(v.array, "is_deleted", bool)() for v in inputs):
            raise
        return run_operators(state, values, inputs, tr.nums, live, tr, cause=error)
    policy.used(p)
    where = p.where
    if tr.checks:
        wanted = withhold(tr, live, lambda slot: arrays[where[slot]])
        wanted = [k for k in wanted if k in where]
    if plan is not None:
        plan.defer(tr, where, run_operators)
    for k in wanted:
        v = values[k]
        v.extra, v.array = OWN, arrays[where[k]]


_EARLY_STEPS, _EARLY_ELEMENTS = 16, 1 << 16
# Of a trace that part at most is computed twice, or so many elements, each step counting as some.
_EARLY_PART, _EARLY_WORK, _STEP = 8, 10_000, 2000
_FIRST = itemgetter(3)            # of a step: the slot of its first result


def _early(tr, state):
    """The schedule of those checks of a trace that cost little to find out on the host before its program runs, or None. A program
    that found them out itself would have to be waited for, and the next step could not be recorded meanwhile: that costs less than to
    compute a good part of a small program twice."""
    slots = [c.bad.slot for c in tr.checks if c.bad.array is None and c.bad.trace is tr]
    if not slots or not is_host(tr.device):
        return None
    known = state.kept().get("checks")
    if known is None or known[0] != slots:
        steps, schedule = steps_of(state), None
        cheap = [slot for slot in slots if _costs_little(steps, slot)]
        early = needed_steps(steps, cheap) if cheap else ()
        if early and _work(early) <= max(_EARLY_WORK, _work(steps) / _EARLY_PART):
            schedule = Schedule(early, state, cheap, True)
        known = state.kept()["checks"] = slots, schedule
    return known[1]


def _work(steps):
    return sum([_STEP + sum([m.numel for m in step[0].out_metas]) for step in steps])


def _costs_little(steps, slot):
    """Whether few steps lead to a slot, of few elements. A trace may have many thousands of steps and a hundred such slots."""
    needed, todo, elements = set(), [slot], 0
    while todo:
        step = steps[bisect_right(steps, todo.pop(), key=_FIRST) - 1]
        if step[3] not in needed:
            needed.add(step[3])
            elements += sum([m.numel for m in step[0].out_metas])
            if len(needed) > _EARLY_STEPS or elements > _EARLY_ELEMENTS:
                return False
            todo += [s for s in step[1] if s >= 0]
    return True


def run_operators(state, values, inputs, nums, live, tr=None, cause=None):
    """Operator by operator. A failing operator names the user's line; values that need it are lost, others are kept.
    `tr` is the trace if it ended: then its checks decide what may be seen. `cause`: what its compiled program failed with."""
    place = state_device(state)
    numpy = is_host(place) and cause is None
    schedule = _scheduled(state, live, numpy)
    if tr is not None and cause is None:
        direct.calm_after(tr, schedule)
    if not numpy:
        with jax.enable_x64(True), jax.ensure_compile_time_eval(), jax.default_device(place):     # for what has no operands
            return _run_steps(schedule, state, values, inputs, nums, live, tr)
    if schedule.small:                         # no product that BLAS would share among threads
        return _run_steps(schedule, state, values, inputs, nums, live, tr)
    threads = one_thread()
    try:
        return _run_steps(schedule, state, values, inputs, nums, live, tr)
    finally:
        restore(threads)


def _scheduled(state, live, numpy):
    """The schedule of a state, kept there when the state comes again."""
    known = state.variants and state.variants.get("operators")
    if known and known[0] == live and known[1] is numpy:
        return known[2]
    steps = needed_steps(steps_of(state), live)
    if state.seen <= 1:
        return Schedule(steps, state, live, numpy)
    schedule = Schedule(once(steps, set(live)), state, live, numpy)
    state.kept()["operators"] = live, numpy, schedule
    return schedule


def _run_steps(schedule, state, values, inputs, nums, live, tr):
    made = [None] * state.n_values
    made += schedule.numbers(nums)
    made += [v.array for v in inputs[:state.n_inputs][::-1]]
    lost = set()
    quiet = schedule.quiet
    failed = quiet(schedule.run, made, lost) if watch is None else quiet(computed, watch(schedule.steps), made, lost)
    message = None
    if failed:
        error, inst, site = failed
        place = f'  File "{site[0]}", line {site[1]}, in {site[2]}' if site else "  (unknown line)"
        message = f"{inst.op.name} failed: {str(error).strip()}\nThe operator was called at\n{place}"
    if tr is not None and tr.checks:
        live = withhold(tr, live, made.__getitem__)
    for k in live:
        if k in lost:
            values[k].trace, values[k].extra = None, message
        else:
            values[k].array = made[k]
    if failed:
        failure = RuntimeError(message)
        failure.__cause__ = failed[0]
        return failure
    return None


def run_prefix(state, values, inputs, nums, live):
    """Compute the slots `live` of a trace that goes on, or whose own run was interrupted."""
    run_operators(state, values, inputs, nums, live)


def immediate(context, op, layout, vals, nums, kinds):
    """Apply `op` now: some operand is a tracer or an example, has no data, or lives on another device."""
    counters["immediate"] += 1
    found = for_examples(context, op, layout, vals, nums, kinds)
    if found is not None:
        return found
    devices = {v.meta.device for v in vals}
    if "meta" in devices:
        # what has data must not lose it to an in-place operator whose operand has none
        if len(devices) > 1 and (op.together or op.writes and vals[0].meta.device != "meta"):
            _refuse_mixed(vals)
        inst = op.resolve(layout, tuple([_with_device(v.meta, "meta") for v in vals]), kinds)
        out = [value_of(None, m) for m in inst.out_metas]
        return (out[0] if inst.out.__class__ is Meta else out), inst
    traced = any(v.extra is TRACED for v in vals)
    if not traced:
        return _elsewhere(context, op, layout, vals, nums, kinds)
    inst = op.resolve(layout, tuple([v.meta for v in vals]), kinds)
    arrays = [array_of(v) for v in vals]
    with jax.enable_x64(True):
        numbers = [np.array(n, np.float64 if k == "f" else np.int64) for n, k in zip(nums, kinds)]
        out = inst.call(*arrays, *numbers)
    out = [wrap(a, m) for a, m in zip(out, inst.out_metas)]
    return (out[0] if inst.out.__class__ is Meta else out), inst


def wrap(array, meta):
    """A Value around an operator's result, marked when it is a tracer."""
    v = value_of(array, meta)
    if isinstance(array, Tracer):
        v.extra = TRACED
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
    """The operands live on a device other than the current trace's: go there, or say that they disagree. The host's 0-d ones that are
    not written go along."""
    device = next((v.meta.device for v in vals if not is_host(v.meta.device)), vals[0].meta.device)
    moved = []
    for k, v in enumerate(vals):
        if v.meta.device is not device:
            if v.meta.ndim or not is_host(v.meta.device) or op.writes and not k:
                raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                                   f"{device_name(device)} and {device_name(v.meta.device)}!")
            need_xla("copying between devices")
            with jax.enable_x64(True):
                v = value_of(jax.device_put(array_of(v), device), _with_device(v.meta, device))
        moved.append(v)
    context.go_to(device)
    return record(context, op, layout, moved, nums, kinds)
