"""Where a loop that nobody looks into may be cut: a function of the state alone, so that two runs are cut at the same places.

A trace that goes on for long is a loop; what it computes is the same from turn to turn, but it may begin differently: its first turn reads
inputs, of which views are recorded in other words than of values, and it may begin in the middle of a turn. So the loop is looked for at
the trace's end, and cut where the fewest values go from one turn to the next: what is computed there is written to memory and passed on.
"""
from __future__ import annotations

from itertools import accumulate

from .meta import Meta

LATE = 256                 # values in a trace before a loop counts that is not all of it: many a step ends before


def next_cut(state):
    """How many values a trace that got to `state` should have when it is cut, if it ends in a loop: the state's own, or more; else None."""
    ops = []
    n, st = state.n_values, state
    while st.parent is not None:
        if not isinstance(st.inst, Meta):
            ops.append(st)
        st = st.parent
    turn, repeated = _turn([id(st.inst) for st in ops])
    if not turn or repeated < len(ops) and (n < LATE or 2 * repeated < len(ops) or not _goes_on(ops, turn)):
        return None
    values = n - ops[turn].n_values
    two = ops[2 * turn - 1::-1]
    passed = _passed_on(two, turn)
    ends = [st.n_values for st, count in zip(two, passed) if count == min(passed)]
    end = next((end for end in ends if end % values == 0), ends[-1])       # where a trace that began at such a place is there again
    return end + -(-(n - end) // values) * values


def _turn(seq):
    """(Smallest period of the longest beginning of `seq` that is two of its periods at least, that beginning's length); 0, 0 for none."""
    fail, k, best = [0, 0], 0, (0, 0)
    for i in range(1, len(seq)):
        while k and seq[i] != seq[k]:
            k = fail[k]
        if seq[i] == seq[k]:
            k += 1
        fail.append(k)
        if 2 * k >= i + 1:
            best = i + 1 - k, i + 1
    return best


def _goes_on(ops, turn):
    """Whether the last turn reads what the one before read, or what came in its place. The updates of a network's parameters are alike,
    too, but read gradients that were made in another order: no loop."""
    values = ops[0].n_values - ops[turn].n_values
    return all([new == old or old < 0 or new - old == values
                for a, b in zip(ops[:turn], ops[turn:]) for new, old in zip(a.slots, b.slots)])


def _passed_on(two, turn):
    """How many values that were there before are read in the turn that follows, after each operator of the first of two turns."""
    made = {slot: k for k, st in enumerate(two) for slot in range(st.parent.n_values, st.n_values)}
    change, seen = [0] * (2 * turn), {}
    for k, st in enumerate(two):
        for slot in st.slots:                  # counts from where it is made, a turn earlier at most; not twice
            change[max(made.get(slot, 0), k - turn, seen.get(slot, 0))] += 1
            change[k] -= 1
            seen[slot] = k
    return list(accumulate(change[:turn]))
