"""Why a program was compiled: the cause of each compile, in words, with the user's line."""
from __future__ import annotations

import collections

from . import cost
from .program import needed_steps, steps_of
from ..record.meta import Meta
from ..record.trie import counters, states

_WAITING = 10              # traces that `explain` names although they were not compiled
_events: collections.deque = collections.deque(maxlen=1000)


class Event:
    """A compile: what was compiled, why, and how often it ran since."""

    def __init__(self, state, live, cause, pieces):
        self.pieces, self.different = len(pieces), len({id(piece) for piece in pieces})
        self.operators, self.outputs, self.cause, self.site, self.seen = state.n_ops, len(live), cause, state.site, state.seen
        self.saves, self.price = cost.of_trace(needed_steps(steps_of(state), live), live, state.n_inputs, state.awaited())
        self.runs = 0

    def __str__(self):
        saved = self.saves * self.runs - self.price
        pieces = f", in {self.pieces} pieces, of which {self.different} differ" if self.pieces > 1 else ""
        return (f"{self.operators} operators, {self.outputs} values kept{pieces}, ends at {_line(self.site)}\n    {self.cause}\n"
                f"    compiled when met for the {_ordinal(self.seen)} time; estimates: compiling {self.price / 1e6:.0f} ms, "
                f"a run saves {self.saves / 1e3:.0f} µs, {self.runs} runs so far {'saved' if saved > 0 else 'lost'} {abs(saved) / 1e6:.0f} "
                "ms")


def _ordinal(n):
    return f"{n}{'th' if n // 10 % 10 == 1 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def note_compile(state, live, known, pieces):
    """Remember a compile; `known` are the programs that the state has already, `pieces` those of the new one. Returns the event."""
    if known:
        union = set().union(*[p.live for p in known])
        extra = sorted(set(live) - union)
        names = ", ".join(_made_by(state, k) for k in extra[:3]) or "fewer buffers may be overwritten"
        cause = f"a value is still held that no earlier program returned: {names}" if extra else f"same trace, {names}"
    else:
        cause = _divergence(state)
    event = Event(state, live, cause, pieces)
    _events.append(event)
    return event


def _made_by(state, slot):
    st = state
    while st.parent is not None and not (st.parent.n_values <= slot < st.n_values):
        st = st.parent
    return f"{st.inst.op.name} at {_line(st.site)}"


def _divergence(state):
    """The first step in which this trace leaves all those that were compiled before."""
    path = []
    while state is not None and not state.walked:
        path.append(state)
        state = state.parent
    if state is None:
        return "first compile"
    if not path:
        return "an earlier trace goes on beyond this place, which was not a place to stop before"
    new = path[-1]
    others = [s for s in state.next.values() if s.walked and s is not new]
    if not others:
        return f"goes on where earlier traces stopped: {_describe(new)}"
    near = [s for s in others if s.inst.__class__ is Meta or new.inst.__class__ is Meta or s.inst.op is new.inst.op] or others
    return f"{_describe(new)} where earlier traces had {_describe(near[0])}"


def _describe(st):
    if st.inst.__class__ is Meta:
        return f"an input {st.inst}"
    args = ", ".join(f"{'input' if s < 0 else 'value'} {~s if s < 0 else s}: {m}" for s, m in zip(st.slots, st.inst.in_metas))
    static = [x for x in st.inst.layout if x.__class__ in (int, bool, str, tuple, float)]
    return f"{st.inst.op.name}({args}{'; ' + repr(static) if static else ''}) at {_line(st.site)}"


def _line(site):
    return f"{site[0]}:{site[1]}" if site else "an unknown line"


def explain(file=None):
    """Print each compile so far: its size, its cause, what it costs and saved by estimate, and the line where its trace ended; then
    the traces that came most often and are not compiled."""
    for k, event in enumerate(_events):
        print(f"compile {k + 1}: {event}", file=file)
    if not _events:
        print("nothing was compiled", file=file)
    waiting = [st for st in states() if st.seen > 1 and not st.programs and st.due is not None]
    for st in sorted(waiting, key=lambda st: -st.seen)[:_WAITING]:
        due = st.kept().get("awaited", (st.due, st.due))[st.awaited()]
        pays = "compiling it does not pay" if due >= cost.NEVER else f"compiled when it is met for the {_ordinal(due)} time"
        print(f"interpreted {st.seen} times: {st.n_ops} operators, ends at {_line(st.site)}; by estimate, {pays}", file=file)


def stats():
    """Counters since the start: operators recorded, flushes, compiles, hits, traces run operator by operator."""
    from ..direct import calls
    c = dict(counters)
    context = _context()
    c["ops"] += context.trace.state.n_ops + calls(context)
    return c


def _context():
    from .. import context
    return context
