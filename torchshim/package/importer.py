"""torch.package.importer: what packages are imported with."""
from . import Importer, ObjMismatchError, ObjNotFoundError, OrderedImporter, sys_importer

__all__ = ["Importer", "ObjMismatchError", "ObjNotFoundError", "OrderedImporter", "sys_importer"]
