"""`install` and `uninstall`: torchshim's modules under the names of PyTorch's."""

import sys
import threading

from torchshim.dropin.branding import Branding
from torchshim.dropin.finder import TorchFinder
from torchshim.dropin.names import is_private, is_torch, is_torchshim, to_torch
from torchshim.dropin.spawn import SpawnHook


class _Installation:
    """Everything one `install` has added, so that `uninstall` removes exactly that."""

    def __init__(self):
        self.aliases = {}  # name under torch -> module put there
        self.displaced = {}  # what stood under those names before
        self.branding = Branding()
        self.spawn = SpawnHook()
        self.finder = TorchFinder(
            on_start=self.alias, on_done=self.loaded, watched={SpawnHook.MODULE: self.spawn.attach}
        )

    def start(self):
        for name in [name for name in sys.modules if is_torch(name)]:
            self.displaced[name] = sys.modules.pop(name)
        sys.meta_path.insert(0, self.finder)
        self.spawn.attach()
        for name, module in list(sys.modules.items()):
            if is_torchshim(name) and module is not None:
                self.alias(name, module)
                self.branding.apply(module)

    def stop(self):
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
        self.spawn.detach()
        for name, module in self.aliases.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
        sys.modules.update(self.displaced)
        self.branding.restore()

    def alias(self, name, module):
        if is_private(name):
            return
        torch_name = to_torch(name)
        # Where a program has put a stub of its own, it stays.
        if sys.modules.setdefault(torch_name, module) is module:
            self.aliases[torch_name] = module

    def loaded(self, name, module):
        torch_name = to_torch(name)
        known = self.aliases.get(torch_name)
        if known is not None and known is not module and sys.modules.get(torch_name) is known:
            # It failed to import, or replaced itself in sys.modules.
            del sys.modules[torch_name]
            del self.aliases[torch_name]
        if module is not None:
            self.alias(name, module)
            if hasattr(module, "__dict__"):
                self.branding.apply(module)


_lock = threading.RLock()
_current: _Installation | None = None


def is_installed() -> bool:
    """Whether ``import torch`` means torchshim in this process."""
    return _current is not None


def install(*, force: bool = False) -> None:
    """Make ``import torch``, and of everything below it, give torchshim's own modules.

    ``sys.modules["torch.nn"] is torchshim.nn``; ``importlib.metadata`` and ``importlib.util.find_spec``
    answer for ``torch`` as well. An installed PyTorch is passed over. One that is imported already
    is an error, because objects taken from it would meet torchshim's; ``force=True`` replaces it for
    the imports that follow. Calling it again changes nothing.
    """
    global _current
    with _lock:
        if _current is not None:
            return
        other = sys.modules.get("torch")
        if other is not None and not force:
            place = getattr(other, "__file__", None) or "unknown place"
            raise RuntimeError(
                f"another torch is already imported (from {place}): call torchshim.install() before "
                "anything imports torch, or install(force=True) to replace it for later imports"
            )
        installation = _Installation()
        installation.start()
        _current = installation


def uninstall() -> None:
    """Undo `install`: ``import torch`` means again what it meant before. A no-op if not installed."""
    global _current
    with _lock:
        if _current is not None:
            _current.stop()
            _current = None
