"""torch.package.package_importer: packages can't be read here."""
from . import PackageImporter

__all__ = ["PackageImporter"]
