"""torch.export: modules' calls as graphs of ATen operators.

`export` traces (`exporting`, `tracing`), an ExportedProgram (`program`) is what it gives; its inputs and outputs are described by
`graph_signature`, sizes that may differ by `dynamic_shapes`. `save` and `load` (`saving`) go by PyTorch's .pt2 archives.
"""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute
from .dynamic_shapes import AdditionalInputs, Constraint, Dim, ShapesCollection, dims
from .exporting import export
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .saving import load, save

__all__ = ["AdditionalInputs", "Constraint", "CustomDecompTable", "Dim", "ExportBackwardSignature", "ExportGraphSignature",
           "ExportedProgram", "FlatArgsAdapter", "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection", "UnflattenedModule",
           "default_decompositions", "dims", "draft_export", "export", "load", "register_dataclass", "save", "unflatten"]


def draft_export(*args, **kwargs):
    """NotImplementedError."""
    raise NotImplementedError("torchshim: torch.export.draft_export; torch.export.export says what it cannot do")


def register_dataclass(cls, *, serialized_type_name=None):
    """Let a dataclass be a node of trees."""
    from ..utils._pytree import register_dataclass as register
    register(cls, serialized_type_name=serialized_type_name)


def __getattr__(name):
    if name in ("UnflattenedModule", "FlatArgsAdapter", "unflatten"):
        import importlib
        space = importlib.import_module(f"{__name__}.unflatten")
        globals().update({n: getattr(space, n) for n in ("UnflattenedModule", "FlatArgsAdapter")}, unflatten=space.unflatten)
        return globals()[name]
    if name in ("CustomDecompTable", "default_decompositions"):
        from . import decomp_utils, decomposing
        globals().update(CustomDecompTable=decomp_utils.CustomDecompTable, default_decompositions=decomposing.default_decompositions)
        return globals()[name]
    return _missing(name)


_missing = _missing_attribute(__name__, lazy=("decomp_utils", "dynamic_shapes", "exported_program", "graph_signature", "passes"))
