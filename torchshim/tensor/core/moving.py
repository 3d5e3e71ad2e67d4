"""A loop that slices at another place in each of its rounds must not make a program for each. The places are static at
first; when the same line at the same depth of a trace has shown more than DIFFERENT of them, or at any depth more than UNROLLED, they
become run-time numbers. So do places in memory that is known, wherever it is cut.
"""
from __future__ import annotations

from ...engine import Immediate, context, user_site
from ...ops.views import NEW, SELECT

DIFFERENT = 3
UNROLLED = 64              # places of one line, whatever the depth: a loop of more rounds is not unrolled
_starts_seen: dict = {}
_places_seen: dict = {}
_parts_seen: dict = {}


def moving(op, spec, name, vals, kinds=""):
    """The spec with run-time places, if this is a place in the program that slices at changing ones."""
    tr = context.trace
    try:
        slots = tuple([v.slot if v.trace is tr else tr.enter(v) for v in vals])
    except Immediate:
        return None
    state = tr.state
    if state is None or (op, (spec, name), kinds, slots) in state.next:
        return None
    free = _free_spec(spec, vals[0].meta)
    return free if free is not spec and _moves(state, op, free, name, slots, spec, vals[0].meta) else None


def moving_part(spec, m):
    """(the spec with open places, the places) of a part of memory like `m` that was cut at several other places before, else None."""
    free = _free_spec(spec, m)
    if free is spec:
        return None
    if not _several(_parts_seen, 10_000, (m, free), spec):
        return None
    return free, tuple([e[1] for e, f in zip(spec, free) if e is not f])


def _several(table, most, key, spec, different=DIFFERENT):
    """Whether more than so many specs came under `key`, with this one; the table begins anew when it is full."""
    if len(table) > most:
        table.clear()
    seen = table.setdefault(key, set())
    if len(seen) <= different:
        seen.add(spec)
    return len(seen) > different


def _free_spec(spec, m):
    """`spec` with the places of its parts left open; itself where it has none."""
    free, d = [], 0
    for e in spec:
        if e[0] == NEW:
            free.append(e)
            continue
        free.append((e[0], None, e[2], e[3]) if e[0] == SELECT or e[2] != m.shape[d] else e)
        d += 1
    free = tuple(free)
    return spec if free == spec else free


def _moves(state, op, free, name, slots, spec, m):
    """Remembered on the state, decided on a miss."""
    key = (op, (free, name), slots)
    variants = state.variants
    if variants is not None and key in variants:
        return True
    site = user_site()
    if not (_several(_starts_seen, 100_000, (site, op, free, m, state.n_ops), spec) or
            _several(_places_seen, 10_000, (site, op, free, m), spec, UNROLLED)):
        return False
    state.kept()[key] = True
    for k in [k for k in list(state.next) if k.__class__ is tuple and k[0] is op and k[3] == slots]:
        if k[1][1] == name and k[1][0] != free and _free_spec(k[1][0], m) == free:
            state.next.pop(k, None)            # else the first rounds would go on being programs of their own
    return True
