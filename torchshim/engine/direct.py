"""Calls that are computed when they are made: recording them would cost more than it can save.

A trace of a few operators on small arrays that is computed as soon as somebody looks gains nothing by being a trace until it is
compiled: each of its operators costs a place in the trie and a step of the interpreter beside its NumPy call. So, after some such traces
in a row, a thread computes small calls at once, by the same functions of the same Instances: the results have the same bits.
Recorded as before is what wants a gradient, is large, or has an operand that is not there yet.

Traces of which no two are the same, as those of a model that makes a text word by word, gain nothing either, however long they are:
each would add all its places to the trie, and nobody would come there again. After some such traces in a row large calls are computed
at once, too.

Whether a loop comes often enough to be compiled can be known only of traces. So after a number of calls some traces are recorded again,
and what was computed meanwhile counts as repetitions of the last of them. All of this is decided by counting.
"""
from __future__ import annotations

import functools
import math

import numpy as np

from .blas import one_thread, restore
from .compile import policy
from .device import is_host
from .quiet import LARGE as ALIGNED, quiet_context
from .record.memo import Memo
from .record.trie import counters, root
from .record.value import value_of

CALM = 8                   # small traces in a row before calls are computed at once
SAMPLED = 2                # traces recorded then, after
CALLS = 8192               # calls: the first of these traces may begin anywhere in a loop's turn
SMALL = 1 << 13            # elements of an array; OpenBLAS would use threads for a product with a larger matrix
TERMS = 1 << 16            # and for one of more terms
LONG = 64                  # operators: a longer trace is worth recording, where it comes again
LARGE = 1 << 22            # elements that a large call may make; a longer result is worth the memory that recording saves
BUDGET = 1 << 26           # elements that large calls may make until traces are recorded again
_KNOWN = 4096
FOLLOWED = frozenset(("transform", "forward AD"))    # modes in which it counts what values are computed from



class Direct:
    """What computes a thread's calls at once, for one root of the trie: on its device, in its settings; the `large` ones, too."""
    __slots__ = ("context", "root", "large", "known", "calls", "run", "aligned", "left", "budget", "noted")

    def __init__(self, context, root, large):
        self.context, self.root, self.large, self.known = context, root, large, Memo(_KNOWN)
        self.calls = Memo(_KNOWN)              # what `known` holds, by the arguments as they were given; see tensor/api/at_once.py
        self.run, self.aligned = quiet_context().run, quiet_context(True).run
        self.left, self.budget = CALLS, BUDGET
        self.noted = None                      # a list: what is computed is noted there, and what is asked of values

    def note(self, f, arrays, out=()):
        """Note that f(*arrays) gave `out`, or that it looked at values and found nothing to refuse."""
        if self.noted is not None:
            self.noted.append((f, arrays, out))

    def call(self, key, *arrays):
        """The Value of an operator's result, or a list of them where it has several; None: it is to be recorded. key: (operator, layout,
        kinds of numbers, metas ...)."""
        return self.ran(self.known.get(key) or self.meet(key), arrays)

    def of(self, op, layout, vals, nums, kinds):
        """The same of an operator on Values; None, too, where an array is not there."""
        key, arrays = [op, layout, kinds], []
        for v in vals:
            if v.array.__class__ is not np.ndarray:
                return None
            key.append(v.meta)
            arrays.append(v.array)
        for x, kind in zip(nums, kinds):
            arrays.append(number(x, kind))
        return self.call(tuple(key), *arrays)

    def ran(self, found, arrays):
        """The same of what is known of a call."""
        f, m = found
        several = f is None
        if several:
            if m is None:
                return None
            f, m = m
        try:
            array = self.run(f, *arrays)
        except Exception:                      # what fails does so when it is looked at, and names the line
            return None
        self.left = left = self.left - 1
        if left <= 0:
            self.pause()
        if several:
            return list(map(value_of, array, m))
        made = array.__class__
        if made is list or made is tuple:
            array, = array
        return value_of(array, m)

    def meet(self, key):
        """(function, Meta of the result) of a call that was not met before; (None, (function, Metas of the results)) of one that has
        several; (None, None) where it is to be recorded. The function returns the result, or a list or tuple of it."""
        op, layout, kinds, *metas = key
        try:
            inst = op.resolve(layout, tuple(metas), kinds)
            several, little = inst.out.__class__ is tuple, small(inst)
            if not little and not (self.large and sum([m.numel for m in inst.out_metas]) <= LARGE):
                return self.known.keep(key, _RECORDED)
            f = inst.interpreted()
        except Exception:
            return _RECORDED
        if not several:
            f = getattr(f, "bare", f)
        if not little:
            f = self._counting(f, sum([m.numel for m in inst.out_metas]))
        if any([m.numel >= ALIGNED for m in inst.out_metas]):
            f = functools.partial(self.aligned, f)
        return self.known.keep(key, (None, (f, inst.out)) if several else (f, inst.out))

    def _counting(self, f, numel):
        """`f`, a large call's, with the threads that it has in a trace; what it makes is taken from the budget."""
        def run(*arrays):
            self.budget -= numel
            if self.budget <= 0:
                self.pause()
            threads = one_thread()
            try:
                return f(*arrays)
            finally:
                restore(threads)
        return run

    def pause(self):
        """Record the next traces."""
        context, made = self.context, CALLS - self.left
        context.trace.direct = None
        context.calm, context.owed = CALM - SAMPLED, made
        counters["ops"] += made
        self.left, self.budget = CALLS, BUDGET


_RECORDED = None, None
_numbers: dict = {}
_ZERO = np.zeros(())


def number(x, kind):
    """A Python number as the array that operators get: mostly the same one for the same number, from which what was computed of it alone
    is known."""
    if not x and kind == "f":                  # -0.0 equals 0.0
        return _ZERO if math.copysign(1, x) > 0 else np.array(x, np.float64)
    array = _numbers.get((x, kind))
    if array is None:
        array = np.array(x, np.float64 if kind == "f" else np.int64)
        if len(_numbers) >= 256:
            _numbers.clear()
        _numbers[x, kind] = array
    return array


def known_number(array):
    """Whether an array is what `number` gives for a number: always the same one."""
    return array is _ZERO or not array.ndim and _numbers.get((array.item(), "f" if array.dtype == np.float64 else "i")) is array


def small(inst):
    """Whether an Instance's call is one for this file."""
    seen = inst.op.view is not None            # part of memory of any size
    numels = [] if seen else sorted([m.numel for m in inst.in_metas])
    made = max([m.numel for m in inst.out_metas], default=0)
    if max([made, *numels]) > SMALL:
        return False
    # a product's terms are the root of what its operands and its result have, multiplied
    return inst.op.elementwise or math.prod(numels[-2:]) * made <= TERMS * TERMS or len(numels) < 2


def calm_after(tr, schedule):
    """Note that a trace was interpreted."""
    context = tr.context
    if tr.graph or tr.backwards:
        disturbed(context)
    elif schedule.calm:                        # checks are made at once, too, where arrays are there
        context.calm += 1
    elif _is_new(tr.end):
        context.calm += 1
        context.new = True
    else:
        disturbed(context)


def _is_new(state):
    """Whether a trace that has just ended was the first to come there, and to half of the places before."""
    if state.seen > 1:
        return False
    began = counters["flushes"] - 1            # of other threads some may have ended meanwhile: then it passes for an old one
    for _ in range(state.n_ops // 2):
        state = state.parent
    return state.last >= began


def unread_after(tr):
    """Note that nobody holds anything of a trace, as where views were recorded and read at once."""
    if not tr.graph and not tr.backwards and 0 < tr.end.n_ops <= LONG:
        tr.context.calm += 1


def disturbed(context):
    """Note that a trace was not one of these."""
    context.calm = context.owed = 0
    context.new = False


def repeated(context, state):
    """How many repetitions of `state` the trace that ends there now stands for."""
    if not context.owed or context.calm != CALM - 1:
        return 1
    owed, context.owed = context.owed, 0
    return 1 + owed // max(1, state.n_ops)


def granted(context, tr):
    """The Direct for a thread's next trace, or None."""
    if context.calm < CALM or context.eager or context.watched or policy.tier == "compiled" or not is_host(tr.device):
        return None
    if not FOLLOWED.isdisjoint(context.modes):
        return None
    return _of(context, tr.state)


def _of(context, root):
    direct, large = context.direct, context.new
    if direct is None or direct.root is not root or direct.large is not large:
        counters["ops"] += calls(context)
        direct = context.direct = Direct(context, root, large)
    return direct


class Asked:
    """A block whose results are looked at where it ends, as a distribution's checks of its arguments: small calls on values that are
    there are computed when they are made, and the present trace, which may go on behind the block, does not get to know them."""
    __slots__ = ("context", "trace", "direct")

    def __init__(self, context):
        self.context = context

    def __enter__(self):
        context = self.context
        self.trace = tr = context.trace
        self.direct = tr.direct
        if (self.direct is None and not context.eager and not context.watched and policy.tier != "compiled" and is_host(tr.device)
                and FOLLOWED.isdisjoint(context.modes)):
            tr.direct = _of(context, root(tr.device))

    def __exit__(self, *error):
        tr = self.trace
        if tr.direct is self.context.direct:   # else it was paused
            tr.direct = self.direct


def calls(context):
    """How many calls were computed at once that are not counted yet."""
    return 0 if context.direct is None else CALLS - context.direct.left
