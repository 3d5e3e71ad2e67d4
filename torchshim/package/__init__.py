"""torch.package: its names. Packages hold code beside weights; writing and reading them raises NotImplementedError."""
from ..dropin import missing_attribute as _missing_attribute


class PackagingError(Exception):
    """A package that can't be made."""


class EmptyMatchError(Exception):
    """A pattern that matches nothing."""


class Importer:
    """What packages are imported with, in torch."""


class _Missing:
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.package.{type(self).__name__}; torch.save the state_dict instead")


class PackageExporter(_Missing):
    """NotImplementedError."""


class PackageImporter(_Missing):
    """NotImplementedError."""


def is_from_package(obj):
    """Whether something was loaded from a package: nothing is."""
    return False


__getattr__ = _missing_attribute(__name__)
