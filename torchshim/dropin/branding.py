"""``__module__`` of public classes and functions while the drop-in is installed.

Under the drop-in `torch.nn.Linear` says that it comes from ``torch.nn...``: it prints as in PyTorch,
string tests on ``type(x).__module__`` hold, and pickles name it as PyTorch's pickles do. The object
is the same; only the attribute changes, and `restore` puts it back.
"""

import types

from torchshim.dropin.names import to_torch


class Branding:
    """The ``__module__`` attributes changed so far."""

    def __init__(self):
        self._original: list[tuple[object, str]] = []

    def apply(self, module: types.ModuleType) -> None:
        """Rename what ``module`` holds, by where each object says it belongs.

        Private modules are included: what they define for the public surface carries the public
        module's name already.
        """
        for value in list(vars(module).values()):
            if not isinstance(value, (type, types.FunctionType)):
                continue
            home = value.__module__
            if not isinstance(home, str):
                continue
            public = to_torch(home)
            if public != home:
                value.__module__ = public
                self._original.append((value, home))

    def restore(self) -> None:
        """Undo every `apply`."""
        for value, home in self._original:
            value.__module__ = home
        self._original.clear()
