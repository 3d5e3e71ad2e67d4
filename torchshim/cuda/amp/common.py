"""torch.cuda.amp.common."""
import importlib.util

from .. import is_available

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available():
    """Whether there is neither a GPU nor torch_xla."""
    return not (is_available() or importlib.util.find_spec("torch_xla"))
