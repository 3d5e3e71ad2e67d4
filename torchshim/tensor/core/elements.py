"""Single elements of memory that NumPy has at hand, where no gradient is wanted: `N[i, j] += 1` in a loop is done where the memory lies.
Records of it would be as many different programs as there are places.
"""
from __future__ import annotations

import jax
import numpy as np

from ...engine import alone, context, is_host
from ...engine.direct import FOLLOWED
from ...ops.views import SELECT, slice_op as SLICE_OP
from .handle import offset_of
from .storage import Storage
from .view import _seen_as

LEAST = 8                  # elements of memory of which one is a small part
_steps: dict = {}          # {Meta: the Instance that selects one element at run-time places}


def followed():
    """Whether it counts what values are computed from, so that nothing may be done without a record."""
    return not FOLLOWED.isdisjoint(context.modes)


def at_hand(t):
    """Whether a tensor's memory is NumPy's already, and what is done with it may be done at once, if no gradient is wanted."""
    v = t._ts_st.value
    return v.array.__class__ is np.ndarray and v.meta.numel >= LEAST and is_host(v.meta.device) and not followed()


def element(t, m, spec, shift):
    """A view of one element of `t`, whose Meta is `m`, by a spec of places only: read when it is used."""
    inst = _steps.get(m)
    if inst is None:
        if len(_steps) > 1000:
            _steps.clear()
        inst = _steps[m] = SLICE_OP.resolve((((SELECT, None, 0, 1),) * m.ndim, "SelectBackward0"), (m,), "i" * m.ndim)
    return _seen_as(t, ((inst, tuple([e[1] for e in spec])),), inst.out, None, offset_of(t) + shift, None, None)


def changed(op, a, x, layout, kind):
    """The in-place `op` on a view of one element and a Python number, done at once where nobody else knows the memory. Whether it was."""
    st, vw, tr, extra = a._ts_st, a._ts_view, context.trace, a._ts_extra
    v = st.value
    if (vw.meta.numel != 1 or len(vw.steps) != 1 or st.__class__ is not Storage or not at_hand(a) or tr.undo is not None
            or extra is not None and extra.version is not None or tr.version.__class__ is not int or not st.version >= tr.version):
        return False
    step, places = vw.steps[0]
    owner = alone(v)
    if step.op is not SLICE_OP or owner is None:
        return False
    inst = op.resolve(layout, (vw.meta,), kind)
    with jax.enable_x64(True), np.errstate(all="ignore"):
        part = step.interpreted()(v.array, *places)[0]
        made = inst.interpreted()(part, np.array(x, np.float64 if kind == "f" else np.int64))[0]
        if part.base is not owner:
            return False
        st.gen += 1                            # first: who is interrupted then has counted a write that did not happen
        st.version += 1
        part[...] = made
    return True
