"""ExportedProgram.run_decompositions."""
from __future__ import annotations


def decomposed(program, table):
    """NotImplementedError."""
    raise NotImplementedError("torchshim: ExportedProgram.run_decompositions")


def default_decompositions():
    """NotImplementedError."""
    raise NotImplementedError("torchshim: torch.export.default_decompositions")


DEFAULT = default_decompositions
