"""torch._C._nn: what modules of libraries call of it."""
from ..nn.modules._conversion import parse_to as _parse_to        # noqa: F401
