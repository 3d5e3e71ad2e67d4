"""torch.package: its names. Packages hold code beside weights; writing and reading them raises NotImplementedError."""
from ..dropin import missing_attribute as _missing_attribute


class PackagingError(Exception):
    """A package that can't be made."""
    __module__ = "torchshim.package.package_exporter"


class EmptyMatchError(Exception):
    """A pattern that matches nothing."""
    __module__ = "torchshim.package.package_exporter"


class Importer:
    """What packages are imported with: a subclass has `import_module(name)`."""
    __module__ = "torchshim.package.importer"

    def import_module(self, module_name):
        """The module of a name."""
        raise NotImplementedError

    def import_obj(self, obj, name):
        """An object that was looked up under a name; NotImplementedError."""
        raise NotImplementedError("torchshim: torch.package's importers of objects")


class _SysImporter(Importer):
    """Python's own imports."""

    def import_module(self, module_name):
        import importlib
        return importlib.import_module(module_name)


sys_importer = _SysImporter()


class ObjNotFoundError(Exception):
    """An object that no importer knows."""
    __module__ = "torchshim.package.importer"


class ObjMismatchError(Exception):
    """An importer that knows another object by the name."""
    __module__ = "torchshim.package.importer"


class OrderedImporter(Importer):
    """Several importers, asked in turn."""
    __module__ = "torchshim.package.importer"

    def __init__(self, *args):
        self._importers = list(args)

    def import_module(self, module_name):
        """The module of the first that has it; ModuleNotFoundError of the last."""
        last = None
        for importer in self._importers:
            try:
                return importer.import_module(module_name)
            except ModuleNotFoundError as error:
                last = error
        raise last if last is not None else ModuleNotFoundError(module_name)


class _Missing:
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.package.{type(self).__name__}; torch.save the state_dict instead")


class PackageExporter(_Missing):
    """NotImplementedError."""
    __module__ = "torchshim.package.package_exporter"


class PackageImporter(_Missing):
    """NotImplementedError."""
    __module__ = "torchshim.package.package_importer"


def is_from_package(obj):
    """Whether something was loaded from a package: nothing is."""
    return False


__getattr__ = _missing_attribute(__name__, lazy=("analyze", "file_structure_representation", "find_file_dependencies",
                                                 "glob_group", "importer", "package_exporter", "package_importer"),
                                 elsewhere={"Directory": "file_structure_representation", "GlobGroup": "glob_group"})
