"""torch.types: names for annotations."""
from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union        # noqa: F401  (Any, and below _dtype and _layout: torch has them here too)

from . import Size, Tensor, TypedStorage as Storage, device as _device, dtype as _dtype, layout as _layout        # noqa: F401
from ._toplevel import SymBool, SymFloat, SymInt

_TensorOrTensors: TypeAlias = Union[Tensor, Sequence[Tensor]]
_TensorOrOptionalTensors: TypeAlias = Union[Tensor, Sequence[Tensor | None]]
_size: TypeAlias = Union[Size, list[int], tuple[int, ...]]
_bool, _bytes, _complex, _float, _int, _str = bool, bytes, complex, float, int, str
IntLikeType: TypeAlias = Union[int, SymInt]
FloatLikeType: TypeAlias = Union[float, SymFloat]
BoolLikeType: TypeAlias = Union[bool, SymBool]
PySymType: TypeAlias = Union[SymInt, SymFloat, SymBool]
py_sym_types = (SymInt, SymFloat, SymBool)
Number: TypeAlias = int | float | bool
_Number = (builtins.int, builtins.float, builtins.bool)
FileLike: TypeAlias = Union[str, os.PathLike, IO[bytes]]
Device: TypeAlias = Union[_device, str, int, None]
__all__ = ["Number", "Device", "FileLike", "Storage"]
