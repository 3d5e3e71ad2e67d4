"""torch.package.package_exporter: packages can't be written here."""
import enum

from . import EmptyMatchError, PackageExporter, PackagingError

__all__ = ["EmptyMatchError", "PackageExporter", "PackagingError", "PackagingErrorReason"]


class PackagingErrorReason(enum.Enum):
    """Why a package can't be made."""
    IS_EXTENSION_MODULE = "Module is a C extension module. torch.package supports Python modules only."
    NO_DUNDER_FILE = "Module had no __file__ defined."
    SOURCE_FILE_NOT_FOUND = "Module had a __file__, but we could not find it in your filesystem."
    DEPENDENCY_RESOLUTION_FAILED = "Dependency resolution failed."
    NO_ACTION = "Module did not match against any action pattern. Extern, mock, or intern it."
    DENIED = "Module was denied by a pattern."
    MOCKED_BUT_STILL_USED = ("Module was mocked out, but is still being used in the package. Please intern or extern the mocked modules if "
                             "objects are supposed to be in the package.")

    def __repr__(self):
        return f"<{type(self).__name__}.{self.name}>"
