"""torch._ops: the classes of what stands in torch.ops."""
from .library.namespaces import OpOverload, OpOverloadPacket

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket"]


class HigherOrderOperator:
    """An operator that takes functions, in torch. Those of torchshim (`cond`, `while_loop`, `scan`) are functions themselves; calling one
    of a program's own raises NotImplementedError."""

    def __init__(self, name, *, cacheable=False):
        self._name = self.__name__ = name

    def name(self):
        """Its name."""
        return self._name

    def __call__(self, /, *args, **kwargs):
        raise NotImplementedError(f"torchshim: HigherOrderOperator {self._name!r}")

    def __str__(self):
        return self._name
