"""Run a graph on tensors without values and keep at each step what it would make."""
from __future__ import annotations

from ... import Tensor
from ..._subclasses.fake_tensor import FakeTensorMode
from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """`propagate(*args)`: each step's `meta["val"]` gets what it would return. mode: a FakeTensorMode, one of its own by default.

    AssertionError where real parameters meet tensors without values and the mode does not allow it, as in torch.
    """

    def __init__(self, module, mode=None):
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode

    def run_node(self, n):
        """One step's result, which its `meta` keeps."""
        result = super().run_node(n)

        def kept(x):
            return self._mode.from_tensor(x) if isinstance(x, Tensor) else x
        found = []
        map_aggregate(result, lambda x: found.append(x) if isinstance(x, (Tensor, int, float, bool)) else None)
        if found:
            n.meta["val"] = map_aggregate(result, kept)
        return result

    def propagate(self, *args):
        """The module's result for arguments of which only shapes and dtypes matter."""
        return self.propagate_dont_convert_inputs(*[self._mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args])

    def propagate_dont_convert_inputs(self, *args):
        """The same for tensors without values."""
        with self._mode:
            return super().run(*args)
