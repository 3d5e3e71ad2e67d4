"""Why a program was compiled: the cause of each compile, in words, with the user's line."""
from __future__ import annotations

import collections

from ..record.meta import Meta
from ..record.trie import counters

_events: collections.deque = collections.deque(maxlen=1000)


def note_compile(state, live, known, values):
    """Remember a compile; `known` are the programs that the state has already."""
    if known:
        union = set().union(*[p.live for p in known])
        extra = sorted(set(live) - union)
        names = ", ".join(_made_by(state, k) for k in extra[:3]) or "fewer buffers may be overwritten"
        cause = f"a value is still held that no earlier program returned: {names}" if extra else f"same trace, {names}"
    else:
        cause = _divergence(state)
    _events.append((state.n_ops, len(live), cause, state.site))


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
    """Print each compile so far: its size, its cause, and the line where its trace ended."""
    for k, (ops, outputs, cause, site) in enumerate(_events):
        print(f"compile {k + 1}: {ops} operators, {outputs} values kept, ends at {_line(site)}\n    {cause}", file=file)
    if not _events:
        print("nothing was compiled", file=file)


def stats():
    """Counters since the start: operators recorded, flushes, compiles, hits, traces run operator by operator."""
    c = dict(counters)
    tr = _trace_context().trace
    c["ops"] += tr.state.n_ops
    return c


def _trace_context():
    from .. import context
    return context
