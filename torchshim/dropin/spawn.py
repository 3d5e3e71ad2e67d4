"""Processes that ``multiprocessing`` starts afresh (spawn, forkserver) get the drop-in too.

Such a child imports the main script again and unpickles objects that name ``torch.*`` before any
line of ours runs in it. The data sent ahead of both is a dictionary; an entry that installs the
drop-in when it is unpickled comes first.
"""

import sys


def _install_in_child():
    from torchshim.dropin.install import install

    install()


class _InstallWhenUnpickled:
    def __reduce__(self):
        return _install_in_child, ()


class SpawnHook:
    """Wraps ``multiprocessing.spawn.get_preparation_data`` until removed."""

    MODULE = "multiprocessing.spawn"

    def __init__(self):
        self._module = None
        self._original = None

    def attach(self, module=None) -> None:
        """Wrap it, in ``module`` or where already imported."""
        module = module or sys.modules.get(self.MODULE)
        if module is None or self._module is not None:
            return
        original = module.get_preparation_data

        def get_preparation_data(name):
            return {"torchshim": _InstallWhenUnpickled(), **original(name)}

        module.get_preparation_data = self._wrapper = get_preparation_data
        self._module, self._original = module, original

    def detach(self) -> None:
        """Put the original back, unless someone else has wrapped it since."""
        if self._module is not None and self._module.get_preparation_data is self._wrapper:
            self._module.get_preparation_data = self._original
        self._module = None
