"""torch._logging: the switches of what PyTorch's compilers tell."""
from . import _internal
from ..dropin import missing_attribute as _missing_attribute
from ._internal import LazyString, _init_logs, getArtifactLogger, hide_warnings, trace_structured, warning_once


def set_logs(*, modules=None, **switches):
    """Accepted: the parts that would tell do not exist. `torchshim.explain()` prints each compile with its cause."""


__getattr__ = _missing_attribute(__name__)
