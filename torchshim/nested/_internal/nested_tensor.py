"""torch.nested._internal.nested_tensor: the jagged layout's class where libraries and files look for it."""
from .. import functions                       # noqa: F401  the answers to functions
from ...dropin import missing_attribute as _missing_attribute
from ..tensor import NestedTensor, _rebuild_njt     # noqa: F401

__getattr__ = _missing_attribute(__name__)
