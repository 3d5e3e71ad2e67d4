"""torch.linalg: linear algebra on batches of matrices; see `torchshim.tensor.api.linalg`."""
from ..dropin import missing_attribute as _missing_attribute
from ..tensor.api import docs as _docs
from ..tensor.api.bind import NAMESPACES as _NAMESPACES
from ..tensor.api.linalg import _LinAlgError as LinAlgError

globals().update(_NAMESPACES["linalg"])
__all__ = sorted([*_NAMESPACES["linalg"], "LinAlgError"])
_docs.complete({"torch.linalg.": globals()})
__getattr__ = _missing_attribute(__name__)
