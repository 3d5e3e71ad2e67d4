"""torch._tensor_str: the text of tensors, for those who write files of numbers by it."""
from __future__ import annotations

import numpy as np

from .engine import array_of
from .tensor.core.handle import read
from .tensor.core.printing import PRINT_OPTS, bracketed, get_printoptions, printoptions, set_printoptions
from .tensor.core.tensor import Tensor

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]


def _tensor_str(self, indent):
    """The brackets of repr(self), whose lines after the first begin `indent` characters further right."""
    return bracketed(np.asarray(array_of(read(self.detach()))), self.dtype.name, tuple(self.shape), indent)


def _str(self, *, tensor_contents=None):
    """What Tensor's own __repr__ writes, whatever a subclass does."""
    return Tensor.__repr__(self, tensor_contents=tensor_contents)
