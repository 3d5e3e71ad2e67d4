"""torch._C._autograd: what nodes of the graph keep."""
from ..autograd.raw_saved import SavedTensor    # noqa: F401
from ..engine import context


def _saved_tensors_hooks_is_enabled():
    """Whether hooks on saved tensors may be set."""
    return "saved tensors hooks disabled" not in context.modes
