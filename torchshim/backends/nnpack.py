"""torch.backends.nnpack: not used here."""
from .switches import setter as _setter

enabled = False


def is_available():
    """False."""
    return False


set_flags, flags = _setter(__name__, enabled="enabled")
