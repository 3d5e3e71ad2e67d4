"""Errors that come late: conditions on values that are not computed yet.

An operator that may fail by what its operands hold (an index out of range) is recorded all the same, after a `Check`: a value
that is not zero where the operator fails. When the trace is computed and a check has failed, its error is raised, and what was
recorded after it must not have happened:

- What was computed from the checked operand since is withheld: a look at it, from any thread, raises the error.
- What was done to memory since is undone. While a check is pending, whoever writes to a storage, or changes what a tensor holds
  beside it, first appends to `trace.undo` a function that takes the change back. `trace.undo` is None while no check is pending:
  other programs pay nothing. It is so on accelerators always, where torch's own checks end the process.
"""
from __future__ import annotations

import numpy as np

from ..device import is_host
from .meta import Meta


class Check:
    """`bad` is a 0-d Value, not zero where the operator fails; `error()` makes the exception. What is computed from the operand in
    `slot` from the slot `first` on is withheld then, and what was done from `mark` on in the undo log is undone."""
    __slots__ = ("bad", "error", "slot", "first", "mark")

    def failed(self):
        a = self.bad.array
        return a is not None and bool(np.asarray(a))


def expect(trace, bad, operand, error):
    """Let `error()` be raised when the Value `bad`, made from the Value `operand`, turns out not to be zero."""
    if bad.array is not None:
        if bool(np.asarray(bad.array)):
            raise error()
        return
    check = Check()
    check.bad, check.error = bad, error
    check.slot, check.first = operand.slot, bad.slot + 1
    if trace.undo is None and is_host(trace.device):
        trace.undo = []
    check.mark = len(trace.undo or ())
    trace.checks = [*(trace.checks or ()), check]


def withhold(trace, live, made):
    """Those of the slots `live` that may be seen now that `made(slot)` is known; the others' Values get their error."""
    values, kept = trace.values, live
    for check in trace.checks:
        bad = check.bad.array if check.bad.array is not None else made(check.bad.slot)
        if bad is not None and bool(np.asarray(bad)):
            hidden = _computed_from(trace.end, check.slot, check.first)
            for k in hidden.intersection(kept):
                values[k].trace, values[k].extra = None, check.error
            kept = [k for k in kept if k not in hidden]
    return kept


def _computed_from(state, slot, first):
    """The slots from `first` on that were computed from `slot` on the path to `state`."""
    path, found = [], {slot}
    while state.n_values > first:
        path.append(state)
        state = state.parent
    for st in reversed(path):
        if st.inst.__class__ is not Meta and not found.isdisjoint(st.slots):
            found.update(range(st.parent.n_values, st.n_values))
    found.discard(slot)
    return found


def undo_failed(trace):
    """Undo what was done after the first check that failed; returns its error, or None. Doing it twice does no harm."""
    for check in trace.checks or ():
        if check.failed():
            for restore in reversed(trace.undo[check.mark:] if trace.undo is not None else ()):
                restore()
            return check.error()
    return None
