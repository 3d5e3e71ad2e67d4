"""torch._C._distributed_rpc: the class of references, which torchrl's collectors ask for at each call."""
from ..distributed.rpc import RRef as PyRRef  # noqa: F401
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__)
