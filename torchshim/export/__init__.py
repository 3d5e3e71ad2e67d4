"""torch.export: programs of modules without graphs of operators (jax.export writes StableHLO of functions of jax arrays)."""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute
from .program import ExportedProgram, export, load, save

__all__ = ["Dim", "ExportedProgram", "export", "load", "register_dataclass", "save", "unflatten"]


class Dim:
    """A named size with bounds. AssertionError for bounds that leave nothing."""

    def __init__(self, name, *, min=None, max=None):
        self.__name__, self.min, self.max = name, 0 if min is None else min, max
        if max is not None and not self.max > self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")

    def __repr__(self):
        bounds = ([] if self.min == 2 else [f"min={self.min}"]) + ([] if self.max is None else [f"max={self.max}"])
        return f"Dim({', '.join([repr(self.__name__), *bounds])})"

    def __add__(self, n):
        return _Derived(self, f"{self.__name__} + {n}", lambda v: v + n)

    __radd__ = __add__

    def __sub__(self, n):
        return _Derived(self, f"{self.__name__} - {n}", lambda v: v - n)

    def __mul__(self, n):
        return _Derived(self, f"{n}*{self.__name__}", lambda v: v * n)

    __rmul__ = __mul__


class _Derived(Dim):
    """A size that another one determines."""

    def __init__(self, root, name, of):
        self.root, self.__name__ = root, name
        self.min, self.max = of(root.min), None if root.max is None else of(root.max)

    def __repr__(self):
        return self.__name__


class _Hint:
    """How a size may change, without a name."""
    min = max = None

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"DimHint({self.name})"


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = _Hint("AUTO"), _Hint("DYNAMIC"), _Hint("STATIC")
_Hint.STATIC = Dim.STATIC


def dims(*names, min=None, max=None):
    """Several sizes at once."""
    return tuple([Dim(n, min=min, max=max) for n in names])


def _missing(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.export.{name}; export to StableHLO with jax.export instead")
    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = "NotImplementedError."
    return missing


unflatten, draft_export = map(_missing, ("unflatten", "draft_export"))


def register_dataclass(cls, *, serialized_type_name=None):
    """Let a dataclass be a node of trees."""
    from ..utils._pytree import register_dataclass as register
    register(cls, serialized_type_name=serialized_type_name)


__getattr__ = _missing_attribute(__name__)
