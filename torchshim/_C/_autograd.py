"""torch._C._autograd: what nodes of the graph keep."""
from ..autograd.raw_saved import SavedTensor    # noqa: F401
