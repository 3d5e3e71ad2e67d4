"""Values that nobody reads: gradients after an update, what a loop's variables hold until their next turn.

They are alive when a step ends, so a program that computed all that is alive would make an array of each, which costs more than many
an operator. Whether they are read can be known: before a trace is compiled, what one of its repetitions made is watched. Its Values get
their arrays only when somebody asks for them. Those that are gone when the trace comes again, and were not asked for, are `unread`, and its
program does not make them. Should one be asked for later, it is computed from the inputs, operator by operator; where that happens
as often as would pay a compile, or a Value of the last time is still there, it is an ordinary result again.

Nothing here looks at clocks: what is unread depends on what the program does alone.
"""
from __future__ import annotations

import weakref

from .compile import policy
from .compile.program import needed_steps, steps_of
from .record.value import lost, value_of

WATCHED = 2                # the repetition that is watched; nothing is compiled before, on a host
FEWEST = 4                 # Values: to remember what fewer of them are computed from costs more than they do


class _Later:
    """In the place of a Value's trace: it has an array, or can have one, as soon as `finish` is called."""
    __slots__ = ("__weakref__",)
    state = owner = None       # as of a trace that ended


class Held(_Later):
    """The array of a watched Value."""
    __slots__ = ("array", "extra", "slot", "asked")

    def __init__(self, made, slot, asked):
        self.array, self.extra, self.slot, self.asked = made.array, made.extra, slot, asked

    def finish(self, v):
        self.asked.add(self.slot)
        v.extra, v.array = self.extra, self.array
        v.trace = None


class Deferred(_Later):
    """What a run of a compiled trace did not make: `values` (weak references by slot) can be computed from `inputs` and `nums`."""
    __slots__ = ("values", "inputs", "nums", "plan", "run", "late")

    def __init__(self, plan, values, inputs, nums, run):
        self.plan, self.run, self.inputs, self.nums, self.late = plan, run, inputs, nums, False
        self.values = {k: weakref.ref(v) for k, v in values}
        for _, v in values:
            v.trace = self

    def finish(self, v):
        with policy.lock:
            if v.array is None and v.trace is self:
                if not self.late:
                    self.plan.counted()
                self.settle(v if not self.late else None)      # who asks for a second one will ask for more
                self.late = True
        if v.array is None:
            raise lost(v)

    def settle(self, only=None):
        """Compute what is still there, or that Value alone."""
        found = [(k, r()) for k, r in self.values.items()]
        values = {k: v for k, v in found if v is not None and v.trace is self and (only is None or v is only)}
        state = self.plan.state
        inputs = [_nothing] * state.n_inputs
        for k, v in self.inputs:
            inputs[k] = v
        made = _stand_ins(values)
        self.run(state, made, inputs, self.nums, sorted(made))
        for k, v in values.items():
            _take(v, made[k])
            self.plan.asked.add(k)
        if only is None:
            self.inputs = self.nums = ()


_nothing = value_of(None, None)


class Plan:
    """The `slots` of a state that nobody reads, the inputs they are computed from, and how often somebody asked for one all the same.
    `last` gives what the last run left out while some of it is there."""
    __slots__ = ("state", "slots", "inputs", "late", "last", "asked")

    def __init__(self, state, slots):
        self.state, self.slots, self.late, self.last, self.asked = state, slots, 0, _gone, set()
        self.inputs = frozenset([~s for step in needed_steps(steps_of(state), slots) for s in step[1] if s < 0])

    def defer(self, tr, made, run):
        """Leave the Values of a trace whose slots are not among those `made` for later."""
        last = self.last()
        if last is not None:                   # it would keep its inputs as long as it is there
            with policy.lock:
                self.counted()
                last.settle()
        all_of = tr.values
        values = [(k, all_of[k]) for k in self.slots if k not in made]
        values = [(k, v) for k, v in values if v.array is None and v.trace is tr]
        if values:
            inputs = tr.inputs
            self.last = weakref.ref(Deferred(self, values, [(k, inputs[k]) for k in self.inputs], list(tr.nums), run))

    def counted(self):
        """Note that some were computed late. When that was as often as would pay a compile, those are made with the others."""
        self.late += 1
        if self.late >= (self.state.due or 2) and self.asked:
            left = self.slots - self.asked
            self.state.kept()["unread"] = Plan(self.state, left) if left else None


def _gone():
    return None


def _stand_ins(values):
    """Values that take the results of a run in the place of these, by their slots."""
    return {k: value_of(None, v.meta) for k, v in values.items()}


def _take(v, made):
    """Let a Value be what its stand-in has become."""
    v.extra, v.array = made.extra, made.array
    v.trace = None


def watched(state, tr, live, run):
    """`run` a repetition of `state`, the trace `tr`, and watch what it makes. Returns what it returns."""
    values = tr.values
    made = _stand_ins({k: values[k] for k in live})
    failure = run(made)
    asked, held, checked = set(), {}, {c.bad.slot for c in tr.checks or ()}
    for k, m in made.items():
        v = values[k]
        if v.trace is None:                    # withheld
            continue
        if m.array is None or k in checked or v.meta.numel <= 1:       # a loss is printed now and then, and costs next to nothing
            _take(v, m)
        else:
            h = Held(m, k, asked)
            held[k] = weakref.ref(h)
            v.trace = h
    state.kept()["watched"] = held, asked
    return failure


def plan_of(state, live):
    """The Plan of a state that comes again with the slots `live` to be computed; None where all of them are to be made at once."""
    known = state.variants
    watched = known.pop("watched", None)
    if watched:
        held, asked = watched
        slots = frozenset([k for k, h in held.items() if k not in asked and h() is None])
        if len(slots) >= FEWEST:
            known["unread"] = Plan(state, slots)
            state.due = None                   # with fewer results, compiling pays earlier
    plan = known.get("unread")
    return plan if plan is not None and not plan.slots.issuperset(live) else None
