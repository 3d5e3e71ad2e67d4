"""torch.utils.deterministic."""
import sys
import types

__all__ = ["fill_uninitialized_memory"]


class _Module(types.ModuleType):
    @property
    def fill_uninitialized_memory(self):
        """Whether `empty` fills memory under deterministic algorithms: it always does here, with zeros."""
        return True

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode)}")


sys.modules[__name__].__class__ = _Module
