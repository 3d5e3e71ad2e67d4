"""torch._dynamo.external_utils: whether a function is being compiled."""
from ..compiler import is_compiling    # noqa: F401
