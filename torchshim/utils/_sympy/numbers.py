"""torch.utils._sympy.numbers: the number above all sizes."""
from ...export.sizes import IntInfinity, int_oo    # noqa: F401
