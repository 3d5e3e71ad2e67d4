"""torch.export: importable; exporting raises NotImplementedError (jax.export writes StableHLO of functions of jax arrays)."""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute

__all__ = ["Dim", "ExportedProgram", "export", "load", "register_dataclass", "save", "unflatten"]


class Dim:
    """A named size with bounds."""

    def __init__(self, name, *, min=None, max=None):
        self.__name__, self.min, self.max = name, min, max

    def __repr__(self):
        return f"Dim('{self.__name__}', min={0 if self.min is None else self.min})"


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = Dim("AUTO"), Dim("DYNAMIC"), Dim("STATIC")


def dims(*names, min=None, max=None):
    """Several sizes at once."""
    return tuple([Dim(n, min=min, max=max) for n in names])


class ExportedProgram:
    """What `export` returns in torch."""


def _missing(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.export.{name}; export to StableHLO with jax.export instead")
    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = "NotImplementedError."
    return missing


export, save, load, unflatten, draft_export = map(_missing, ("export", "save", "load", "unflatten", "draft_export"))


def register_dataclass(cls, *, serialized_type_name=None):
    """Let a dataclass be a node of trees."""
    from ..utils._pytree import register_dataclass as register
    register(cls, serialized_type_name=serialized_type_name)


__getattr__ = _missing_attribute(__name__)
