"""torch.export.exported_program: the program that torch.export.export gives."""
from .program import CallSpec, ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .decomp_utils import CustomDecompTable
from .decomposing import default_decompositions

__all__ = ["CallSpec", "CustomDecompTable", "ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "default_decompositions"]
