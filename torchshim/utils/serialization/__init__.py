"""torch.utils.serialization: settings of files."""
from . import config        # noqa: F401
