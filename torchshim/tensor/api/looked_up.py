"""Functions of small tensors that are written in terms of operators: what these computed for such arguments is computed again without
asking anything on the way. See engine/direct.py.

A function may be looked up where what it does is decided by the metas of its tensors and by its other arguments: it draws no numbers,
and looks at no values but to refuse them, which it notes (`Direct.note`). That it writes or warns is noticed. The second call with such
arguments notes which functions of arrays were called with which arrays (`_plan`); where all of these are arguments, what was made of
them, or parts of either, the next calls do that.
"""
from __future__ import annotations

import functools
import math

import numpy as np

from ...engine import context, site, value_of
from ...engine.direct import SMALL, known_number
from ...engine.interpret import function_of
from ...engine.schedule import OFTEN
from ..core import dispatch
from ..core.device import to_jax
from ..core.dispatch import apply, wrap
from ..core.dtype import dtype as torch_dtype
from ..core.handle import read, without_history
from ..core.size import Size
from ..core.view import _seen_as as seen_as

_FLOAT, _NAMES, _FALSE, _TRUE = object(), object(), object(), object()         # a number's class counts: 1, 1.0 and True are equal
_LISTS = frozenset((tuple, list, Size))
_LIKE_TENSORS = set()                          # classes of which no function asks more than of Tensor
_CODE = apply.__code__                         # autocast gives it another, which casts first
_ndarray = np.ndarray


def like_tensors(cls):
    """Let calls with instances of exactly this class be looked up, too."""
    _LIKE_TENSORS.add(cls)
    return cls


def looked_up(f):
    """`f` by what it called for such arguments before."""
    @functools.wraps(f)
    def g(*args, **kwargs):
        direct = context.trace.direct
        return f(*args, **kwargs) if direct is None else called(direct, f, args, kwargs)
    return g


def called(direct, f, args, kwargs):
    """f(*args, **kwargs)"""
    key, tensors, arrays, grad = [f], [], [], context.grad
    for x in (*args, *kwargs.values()) if kwargs else args:
        c = x.__class__
        if c is dispatch.Tensor or c in _LIKE_TENSORS:         # without dimensions it may stand for a number, which is looked at
            v = x._ts_st.value if x._ts_view is None else read(x)
            if v.array.__class__ is not _ndarray or not 0 < v.meta.ndim or v.meta.numel > SMALL or grad and not without_history(x):
                return f(*args, **kwargs)
            key.append(v.meta)
            tensors.append(x)
            arrays.append(v.array)
        elif x is None or c is int or c is str or c is torch_dtype:
            key.append(x)
        elif c is bool:
            key.append(_TRUE if x else _FALSE)
        elif c is float and (x or math.copysign(1, x) > 0):
            key += _FLOAT, x
        elif c in _LISTS:
            for y in x:
                if y.__class__ is dispatch.Tensor and y._ts_view is None:
                    v = y._ts_st.value
                    if v.array.__class__ is not _ndarray or not 0 < v.meta.ndim or v.meta.numel > SMALL or grad and not without_history(y):
                        return f(*args, **kwargs)
                    key.append(v.meta)
                    tensors.append(y)
                    arrays.append(v.array)
                elif y.__class__ is not int:
                    return f(*args, **kwargs)
            key.append(tuple([y if y.__class__ is int else None for y in x]))
        else:
            return f(*args, **kwargs)
    if kwargs:
        key += _NAMES, tuple(kwargs)
    if not tensors:
        key.append(to_jax(None))               # where new tensors are made
    if context.modes and any(context.modes.values()) or apply.__code__ is not _CODE:
        return f(*args, **kwargs)
    key = tuple(key)
    plan = direct.calls.get(key)
    if plan.__class__ is not _Plan:
        if plan is None:
            direct.calls.keep(key, False)      # it was met
        elif plan is False:
            result, plan = _noted(direct, f, args, kwargs, tensors, arrays)
            direct.calls[key] = plan or True
            return result
        return f(*args, **kwargs)
    made = _followed(direct, plan, arrays)
    return f(*args, **kwargs) if made is None else plan.result(made)


def again(direct, f, arrays, metas):
    """The arrays that `called` computed for f(tensors of these metas), of others; None where it does not know how."""
    plan = direct.calls.get((f, *metas)) if apply.__code__ is _CODE else None
    return _followed(direct, plan, arrays) if plan.__class__ is _Plan else None


def _followed(direct, plan, arrays):
    """The arrays of a plan's results; None where a step fails."""
    try:
        made = direct.run(plan.run, arrays)
    except Exception:
        return None
    direct.left = left = direct.left - len(plan.steps)
    if left <= 0:
        direct.pause()
    return made


class _Plan:
    """The steps of a call: (a function of arrays, where these are in the list of all, how many it makes: None for one by itself), which
    begins with the arguments and constants; and what becomes the result: (place, meta, steps of a view of that, the view's meta and offset,
    whether it is one in place, how often it was written) of each tensor. After some runs the steps are written down as one function."""
    __slots__ = ("constants", "steps", "results", "several", "left", "whole")

    def run(self, arrays):
        """The arrays of the results."""
        if self.whole is not None:
            return self.whole(*arrays)
        self.left -= 1
        if self.left < 0:
            self.whole = self._written(len(arrays))
        made = arrays + self.constants
        for f, places, count in self.steps:
            out = f(*[made[k] for k in places])
            if count is None:
                made.append(out)
            else:
                made += out
        return [made[place] for place, *_ in self.results]

    def _written(self, count):
        given, body, n = [*self.constants, *[f for f, *_ in self.steps]], [], count + len(self.constants)
        for k, (_, places, several) in enumerate(self.steps):
            made = [f"v{n + i}" for i in range(1 if several is None else several)]
            call = f"f{k}({', '.join([f'v{p}' for p in places])})"
            names = made[0] if several is None else "".join([v + ", " for v in made])
            body.append(f"{names} = {call}" if made else call)
            n += len(made)
        names = [f"v{count + k}" for k in range(len(self.constants))] + [f"f{k}" for k in range(len(self.steps))]
        body.append(f"return [{', '.join([f'v{place}' for place, *_ in self.results])}]")
        arguments = ", ".join([f"v{k}" for k in range(count)])
        return function_of(f"def make({', '.join(names)}):\n def run({arguments}):\n  " + "\n  ".join(body) + "\n return run\n")(*given)

    def result(self, made):
        tensors = []
        for a, (_, m, steps, seen, offset, own, writes) in zip(made, self.results):
            t = wrap(value_of(a, m))
            t._ts_st.version += writes
            if steps is not None:
                t = seen_as(t, steps, seen, None, offset, None, None)
                if own:
                    t._ts_view.base = t._ts_view.creation = None
            tensors.append(t)
        return tuple(tensors) if self.several else tensors[0]


def _noted(direct, f, args, kwargs, tensors, arrays):
    """(what f gives, its _Plan or None)"""
    run, warned, gens = direct.run, site.warned, [t._ts_st.gen for t in tensors]
    outer, direct.noted = direct.noted, []
    log = direct.noted

    def noting(g, *given):
        out = run(g, *given)
        log.append((g, given, out))
        return out

    direct.run = noting
    try:
        result = f(*args, **kwargs)
    finally:
        direct.run, direct.noted = run, outer
    if outer is not None:
        outer += log
    if site.warned != warned or gens != [t._ts_st.gen for t in tensors]:
        return result, None
    plan = _plan(arrays, log, result, [t._ts_st for t in tensors])
    if plan is not None:                       # computed once more, to be sure
        for a, t in zip(run(plan.run, arrays), result if plan.several else (result,)):
            b = t._ts_st.value.array
            if a.shape != b.shape or a.strides != b.strides or a.dtype != b.dtype or a.tobytes() != b.tobytes():
                return result, None
    return result, plan


def _plan(arrays, log, result, storages):
    """The _Plan of what was noted; None where an array comes from elsewhere."""
    shared = any([np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k]])
    if shared and any([_place(a, arrays[:k]) is not None for k, a in enumerate(arrays)]):
        return None                            # one tensor twice
    plan = _Plan()
    plan.constants, plan.steps, plan.results, plan.left, plan.whole = [], [], [], OFTEN, None
    for _, given, out in log:
        if not all([a.__class__ is _ndarray for a in (*given, *(out if out.__class__ in (list, tuple) else (out,)))]):
            return None                        # JAX computed it
        plan.constants += [a for a in given if known_number(a)]
    made = arrays + plan.constants
    for g, given, out in log:
        places = []
        for a in given:
            place = _place(a, made)
            if place is None:
                source, view = (None, None) if shared else _part(a, made)
                if source is None:
                    return None
                plan.steps.append((view, (source,), None))
                made.append(a)
                place = len(made) - 1
            places.append(place)
        plan.steps.append((g, tuple(places), None if out.__class__ is _ndarray else len(out)))
        made += [out] if out.__class__ is _ndarray else out
    plan.several = result.__class__ is tuple
    for t in result if plan.several else (result,):
        if t.__class__ is not dispatch.Tensor or t._ts_edge is not None or t._ts_extra is not None or t._ts_st in storages:
            return None
        v, vw = t._ts_st.value, t._ts_view
        if v.array.__class__ is not _ndarray:
            return None
        place, writes = _place(v.array, made), t._ts_st.version - context.version
        if place is None or writes != writes:
            return None
        if vw is None:
            plan.results.append((place, v.meta, None, None, 0, False, writes))
        else:
            base = vw.base
            if vw.skip or base is not None and (base._ts_view is not None or base._ts_st is not t._ts_st or base._ts_edge is not None):
                return None
            plan.results.append((place, v.meta, vw.steps, vw.meta, vw.offset, base is None, writes))
    return plan


def _place(a, made):
    """Where an array is: the same object, or one that sees the same memory in the same way."""
    place = next((k for k, b in enumerate(made) if b is a), None)
    if place is None and a is not None and a.nbytes:
        seen = a.__array_interface__["data"], a.shape, a.strides, a.dtype
        place = next((k for k, b in enumerate(made) if (b.__array_interface__["data"], b.shape, b.strides, b.dtype) == seen), None)
    return place


def _part(a, made):
    """(the place of an array of which `a` is a part, a function that takes that part of it), or (None, None)."""
    shape, dtype, strides = a.shape, a.dtype, a.strides
    for k, b in enumerate(made):
        if b.flags.c_contiguous and a.nbytes:
            low, high = np.lib.array_utils.byte_bounds(a)
            start, end = np.lib.array_utils.byte_bounds(b)
            if start <= low and high <= end:
                offset = a.__array_interface__["data"][0] - start
                return k, lambda b: _ndarray(shape, dtype, b, offset, strides)
    return None, None
