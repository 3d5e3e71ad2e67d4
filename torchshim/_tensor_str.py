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


_str_intern = _str


def _add_suffixes(tensor_str, suffixes, indent, force_newline):
    """What an open bracket holds, then each suffix after a comma, on a line of its own where it would not fit, and the bracket closed.

    indent: how far new lines are in; force_newline: the first suffix begins one.
    """
    width = len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or width + len(suffix) + 2 > PRINT_OPTS.linewidth:
            tensor_str += ",\n" + " " * indent + suffix
            width, force_newline = indent + len(suffix), False
        else:
            tensor_str += ", " + suffix
            width += len(suffix) + 2
    return tensor_str + ")"
