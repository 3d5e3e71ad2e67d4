"""torch.utils.deterministic."""
import sys
import types

from ..tensor.core import settings

__all__ = ["fill_uninitialized_memory"]


class _Module(types.ModuleType):
    @property
    def fill_uninitialized_memory(self):
        """Whether memory that nobody has set holds nan, or the largest number, under deterministic algorithms; else it holds zeros."""
        return settings.fill_uninitialized

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode)}")
        settings.fill_uninitialized = mode


sys.modules[__name__].__class__ = _Module
