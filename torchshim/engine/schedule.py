"""What to do for a trace operator by operator: made once, walked step by step, and, once it has come often, written down as a function."""
from __future__ import annotations

import functools
import sys
from operator import is_, itemgetter

import numpy as np

from . import direct
from .compile.program import steps_of
from .quiet import LARGE, quiet, quiet_aligned

getrefcount = sys.getrefcount
SMALL = 1 << 13            # elements that are kept, and not made again
_ASKED = 4 * direct.LONG   # steps: of fewer each is asked whether it is small
OFTEN = 64                 # runs after which to write a schedule down has paid: some 25 µs for a step, which then takes 0.4 µs less


def once(steps, live):
    """The steps without those that make again what was made before, as where a graph is gone through backwards twice: an operator is a
    pure function. What somebody holds is made again all the same: it has memory of its own."""
    found, same, kept = {}, {}, []
    for step in steps:
        inst, slots, n0, first, site = step
        if same and not same.keys().isdisjoint(slots):
            slots = tuple([same.get(s, s) for s in slots])
            step = inst, slots, n0, first, site
        if not inst.kinds and all([m.numel <= SMALL for m in inst.out_metas]):
            before = found.setdefault((inst, slots), first)
            made = range(first, first + len(inst.out_metas))
            if before != first:
                same.update(zip(made, range(before, before + len(made))))
                if live.isdisjoint(made):
                    continue
        kept.append(step)
    return kept


_NO_NUMBER = object()


class Schedule:
    """What to do in order: (function, what gets its arguments or else the place of the only one or None, first result, how many,
    what is not needed any more, Instance, site).

    Places are those in a list of the values, then the numbers, then the inputs from behind: an input's slot is negative. Functions are
    made outside of JAX's eager context, in which tracing would compute; the error of a making is raised when its turn comes. An
    operator that computes what its first operand becomes may overwrite it where that is made here and read for the last time.
    """
    __slots__ = ("steps", "dtypes", "sent", "made", "values", "small", "calm", "left", "whole", "quiet")

    def __init__(self, steps, state, live, numpy):
        functions, schedule, seen, numbers = {}, [], set(live), state.n_values
        for inst, slots, n0, first, site in reversed(steps):
            count = len(inst.out_metas)
            last = {s for s in (*slots, *range(first, first + count)) if s >= 0} - seen
            seen |= last
            over = numpy and slots and slots[0] in last and slots.count(slots[0]) == 1
            f = functions.get((inst, over))
            if f is None:
                try:
                    f = inst.interpreted() if numpy else inst.jitted()
                    overwrites = inst.op.over_host(inst) if over else None
                    if overwrites is not None:
                        plain, f = f, _either(overwrites, f, _LISTED)
                        f.named = _either(overwrites, plain, _NAMED)
                except Exception as error:
                    f = functools.partial(_raise, error)
                functions[inst, over] = f
            places = (*slots, *range(numbers + n0, numbers + n0 + len(inst.kinds)))
            get = itemgetter(*places) if len(places) > 1 else None
            schedule.append((f, get, places[0] if len(places) == 1 else None, first, count, tuple(last), inst, site))
        self.steps, self.made, self.values = schedule[::-1], frozenset(live), state.n_values
        self.quiet = quiet_aligned if any([m.numel >= LARGE for inst, *_ in steps for m in inst.out_metas]) else quiet
        self.small = numpy and len(steps) <= _ASKED and all([direct.small(inst) for inst, *_ in steps])
        self.calm = self.small and len(steps) <= direct.LONG
        self.dtypes = [np.float64 if kind == "f" else np.int64 for step in steps_of(state) for kind in step[0].kinds]
        self.sent = (_NO_NUMBER,) * len(self.dtypes), [None] * len(self.dtypes)
        self.left, self.whole = OFTEN if numpy else -1, None

    def numbers(self, nums):
        """Python numbers as arrays: one object is one array, that of the last time if it was there then."""
        before, arrays = self.sent
        if not all(map(is_, nums, before)):
            last, known, arrays = arrays, None, []
            for x, b, a, dtype in zip(nums, before, last, self.dtypes):
                if x is not b and not (x and x.__class__ is b.__class__ and x == b):   # 0.0 equals -0.0
                    if known is None:
                        known = {(id(x), dtype): a for x, a, dtype in zip(before, last, self.dtypes)}
                    a = known.get((id(x), dtype))
                    if a is None:
                        a = known[id(x), dtype] = np.array(x, dtype)
                arrays.append(a)
            self.sent = tuple(nums), arrays
        return arrays

    def run(self, made, lost):
        """Put the results where they belong in the list `made`: of all steps, or only those that somebody holds. See `computed`."""
        if self.whole is not None:
            try:
                self.whole(made)
                return None
            except Exception:                  # once more, step by step: that one fails alone which has to
                pass
        elif self.left >= 0:
            self.left -= 1
            if self.left < 0:
                self.whole = _written(self.steps, self.made, len(made), range(self.values, self.values + len(self.dtypes)))
        return computed(self.steps, made, lost)


def _raise(error, *args):
    raise error


def _either(overwrites, f, alone):
    """`overwrites` where nobody else sees the memory of the first argument: where it is counted as `alone`; else `f`."""
    def run(base, *rest):
        if getrefcount(base) == alone and base.__class__ is np.ndarray:
            flags = base.flags
            if flags.owndata and flags.c_contiguous and flags.writeable:
                return overwrites(base, *rest)
        return f(base, *rest)
    return run


def _counted(base, *rest):
    return getrefcount(base)


def _counted_by_a_name():
    made = object()
    found = _counted(made, None)
    made = None
    return found


# what `_either` counts of what only the list of results holds, or only a local variable
_LISTED, _NAMED = (lambda made: _counted(*itemgetter(0, 1)(made)))([object(), None]), _counted_by_a_name()


def places_of(get, place, count):
    """Where a step's arguments are, among so many."""
    if get is None:
        return () if place is None else (place,)
    return get(range(count))                   # from behind, too


def computed(steps, made, lost):
    """Put the results of a schedule's steps where they belong in the list `made`, and what fails, or needs what failed, in the set `lost`;
    returns (error, Instance, site) of the first failure, or None."""
    failed = None
    for f, get, place, first, count, last, inst, site in steps:
        if failed and not lost.isdisjoint(places_of(get, place, len(made))):
            lost.update(range(first, first + count))
            continue
        try:
            if get is not None:
                out = f(*get(made))
            else:
                out = f() if place is None else f(made[place])
            if count == 1:
                made[first], = out
            else:
                made[first:first + count] = out
            out = None                         # else the next step would not be alone with what it may overwrite
        except Exception as error:
            failed = failed or (error, inst, site)
            lost.update(range(first, first + count))
            continue
        for s in last:
            made[s] = None
    return failed


def _written(steps, live, count, numbers):
    """The steps as one function of the list `made`, in which it leaves what is in `live`; `numbers` are the places of numbers. Results are
    local variables (`named`, see `_either`). What the interpreter wrote down for an operator stands here in place of its call."""
    from .interpret import function_of, to_numpy
    given, known = {"ndarray": np.ndarray, "to_numpy": to_numpy}, {}
    names, arrays, entered, body = {}, {}, [], []
    sure = {f"a{n}" for n in numbers}          # variables with NumPy's arrays

    def name(place):
        place %= count                         # those of inputs are told from behind
        if place not in names:
            names[place] = f"a{place}"
            entered.append(f"a{place} = made[{place}]")
        return names[place]

    def array(name):
        if name in sure:
            return name
        if name not in arrays:
            arrays[name] = "n" + name
            body.append(f"n{name} = {name} if {name}.__class__ is ndarray else to_numpy({name})")
        return arrays[name]

    def give(x):
        if id(x) not in known:
            known[id(x)] = f"g{len(known)}"
            given[known[id(x)]] = x
        return known[id(x)]

    for k, (f, get, place, first, made, last, _, _) in enumerate(steps):
        arguments = [name(p) for p in places_of(get, place, count)]
        inlined, results = getattr(f, "inlined", None), [f"v{s}" for s in range(first, first + made)]
        if inlined is None:
            call = f"{give(getattr(f, 'named', f))}({', '.join(arguments)})"
            body.append("".join([r + ", " for r in results]) + "= " + call if made else call)
        else:
            lines, found = inlined(arguments, f"s{k}", give, array)
            body += lines
            for n, (new, is_array) in enumerate(found):
                if new.startswith(f"s{k}v") and new not in results:
                    results[n] = new           # a variable of its own
                else:
                    body.append(f"{results[n]} = {new}")
                if is_array:
                    sure.add(results[n])
        names.update(zip(range(first, first + made), results))
        gone = [names[s] for s in last]        # what `_either` counts has no second name
        gone += [arrays.pop(n) for n in list(arrays) if n[0] != "a"]
        if gone:
            body.append(" = ".join(gone) + " = None")
    body += [f"made[{s}] = {names[s]}" for s in sorted(live)]
    source = f"def make({', '.join(given)}):\n def run(made):\n  " + "\n  ".join(entered + body) + "\n return run\n"
    return function_of(source)(*given.values())
