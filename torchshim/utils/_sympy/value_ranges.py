"""torch.utils._sympy.value_ranges: the least and the greatest value of a symbol."""
from ...export.sizes import ValueRanges    # noqa: F401
