"""torch._logging: the switches of what PyTorch's compilers tell."""
from .dropin import missing_attribute as _missing_attribute


def set_logs(*, modules=None, **switches):
    """Accepted: the parts that would tell do not exist. `torchshim.explain()` prints each compile with its cause."""


__getattr__ = _missing_attribute(__name__)
