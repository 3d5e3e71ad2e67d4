"""A loop that slices at another place in each of its rounds must not make a program for each. The places are static at
first; when the same line at the same depth of a trace has shown more than DIFFERENT of them, or at any depth more than UNROLLED, they
become run-time numbers. So do places in memory that is known, wherever it is cut.
"""
from __future__ import annotations

import functools

from ...engine import Immediate, context, of_batch, user_site
from ...ops.views import NEW, SELECT

DIFFERENT = 3
UNROLLED = 64              # places of one line, whatever the depth: a loop of more rounds is not unrolled
_starts_seen: dict = {}
_places_seen: dict = {}
_parts_seen: dict = {}


def moving(op, spec, name, vals, kinds="", m=None, most=UNROLLED):
    """(the spec with run-time places, the places), if this is a place in the program that slices at changing ones, else None. `m`: the Meta
    that the spec is for, if that is not the first Value's; `most`: how many places a line may show."""
    tr = context.trace
    try:
        slots = tuple([v.slot if v.trace is tr else tr.enter(v) for v in vals])
    except Immediate:
        slots = None
    if slots is None:
        found = of_batch(op, vals)
        return found and moving(found[0], spec, name, found[1], kinds, m or vals[0].meta, DIFFERENT)
    state = tr.state
    if state is None or (op, (spec, name), kinds, slots) in state.next:
        return None
    m = m or vals[0].meta
    opened = _opened(spec, m.shape)
    return opened if opened is not None and _moves(state, op, opened[0], name, slots, spec, m, most) else None


def moving_part(spec, m, written=False):
    """(the spec with open places, the places) of a part of memory like `m` that was cut, or `written`, at several other places before, else
    None."""
    opened = _opened(spec, m.shape)
    return opened if opened is not None and _several(_parts_seen, 10_000, (m, opened[0], written), spec) else None


def _several(table, most, key, spec, different=DIFFERENT):
    """Whether more than so many specs came under `key`, with this one; the table begins anew when it is full."""
    if len(table) > most:
        table.clear()
    seen = table.setdefault(key, set())
    if len(seen) <= different:
        seen.add(spec)
    return len(seen) > different


@functools.lru_cache(maxsize=4096)
def _opened(spec, shape):
    """(`spec` with the places of its parts left open, the places); None where it has no such parts."""
    free, places, d = [], [], 0
    for e in spec:
        if e[0] == NEW:
            free.append(e)
            continue
        if (e[0] == SELECT or e[2] != shape[d]) and e[1] is not None:
            free.append((e[0], None, e[2], e[3]))
            places.append(e[1])
        else:
            free.append(e)
        d += 1
    return (tuple(free), tuple(places)) if places else None


def _moves(state, op, free, name, slots, spec, m, most):
    """Remembered on the state, decided on a miss."""
    key = (op, (free, name), slots)
    variants = state.variants
    if variants is not None and key in variants:
        return True
    site = user_site()
    if not (_several(_starts_seen, 100_000, (site, op, free, m, state.n_ops), spec) or
            _several(_places_seen, 10_000, (site, op, free, m), spec, most)):
        return False
    state.kept()[key] = True
    for k in [k for k in list(state.next) if k.__class__ is tuple and k[0] is op and k[3] == slots]:
        if k[1][1] == name and (_opened(k[1][0], m.shape) or k[1])[0] == free and k[1][0] != free:
            state.next.pop(k, None)            # else the first rounds would go on being programs of their own
            state.then = None
    return True
