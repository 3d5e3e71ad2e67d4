"""torch.testing: comparing results, and tensors to try functions with."""
from ..dropin import missing_attribute as _missing_attribute
from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor
from ._file_check import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
__getattr__ = _missing_attribute(__name__)
