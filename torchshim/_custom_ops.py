"""torch._custom_ops: the older way to operators of one's own, importable; torch.library has what is supported."""
from .dropin import missing_attribute as _missing_attribute
from .library import impl_abstract  # noqa: F401

__getattr__ = _missing_attribute(__name__)
