"""torch.package.analyze: what a package would need."""
from __future__ import annotations

from ...dropin import missing_attribute as _missing_attribute
from .. import is_from_package


def trace_dependencies(callable, inputs):
    """The names of the modules whose functions a call of `callable` runs, with each of `inputs` (tuples of arguments)."""
    import sys
    used, before = set(), sys.getprofile()

    def note(frame, event, arg):
        name = frame.f_globals.get("__name__") if event == "call" else getattr(arg, "__module__", None) if event == "c_call" else None
        if isinstance(name, str):
            used.add(name)
    try:
        sys.setprofile(note)
        for x in inputs:
            callable(*x)
    finally:
        sys.setprofile(before)
    return list(used)


def find_first_use_of_broken_modules(exc):
    """NotImplementedError: packages can't be made here."""
    raise NotImplementedError("torchshim: find_first_use_of_broken_modules; packages can't be made")


__getattr__ = _missing_attribute(__name__)
