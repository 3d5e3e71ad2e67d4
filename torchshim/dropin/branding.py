"""``__module__`` of public classes and functions, and ``__name__`` of public modules, while the drop-in is installed.

Under the drop-in `torch.nn.Linear` says that it comes from ``torch.nn...``: it prints as in PyTorch,
string tests on ``type(x).__module__`` hold, and pickles name it as PyTorch's pickles do; libraries
that take several array modules know this one by ``torch.__name__``. The object is the same; only the
attribute changes, and `restore` puts it back.
"""

import types

from torchshim.dropin.names import to_torch


class Branding:
    """The attributes changed so far: (object, attribute, what it was)."""

    def __init__(self):
        self._original: list[tuple[object, str, str]] = []

    def apply(self, module: types.ModuleType) -> None:
        """Rename ``module`` and what it holds, by where each object says it belongs.

        Private modules are included: what they define for the public surface carries the public
        module's name already.
        """
        if isinstance(module, types.ModuleType):          # what replaced itself in sys.modules may be anything
            self._rename(module, "__name__")
        for value in list(vars(module).values()):
            if isinstance(value, (type, types.FunctionType)) and isinstance(value.__module__, str):
                self._rename(value, "__module__")

    def _rename(self, value: object, attribute: str) -> None:
        before = getattr(value, attribute)
        public = to_torch(before)
        if public != before:
            _set(value, attribute, public)
            self._original.append((value, attribute, before))

    def restore(self) -> None:
        """Undo every `apply`."""
        for value, attribute, before in self._original:
            _set(value, attribute, before)
        self._original.clear()


def _set(value: object, attribute: str, name: str) -> None:
    line = vars(value).get("__firstlineno__") if isinstance(value, type) else None
    setattr(value, attribute, name)
    if line is not None:                  # Python 3.13 forgets where a class stands once its module is another
        value.__firstlineno__ = line
