"""Functions without mutations."""
from __future__ import annotations

import functools

from ..autograd.levels import Level, running
from ..tensor.core.overriding import aside

_KINDS = ("mutations", "mutations_and_views")


def functionalize(func, *, remove="mutations"):
    """`func` with its in-place operators done out of place (`remove="mutations"`), its views copied too ("mutations_and_views");
    arguments that it writes are written at the end.

    What is recorded has neither: a write makes a new value for the storage and a view is read from it. So this calls `func`.
    """
    if remove not in _KINDS:
        raise RuntimeError(f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
                           "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with "
                           "their out-of-place equivalents.\n     remove='mutations_and_views': In addition to the above, all aliasing "
                           "operators {view} will be replaced with their non-aliasing counterparts, {view}_copy.\n")

    @aside
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        with running(Level("functionalize")):
            return func(*args, **kwargs)
    return wrapped
