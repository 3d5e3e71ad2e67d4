"""What a checkpoint says of itself: its tensors, in which pieces they were saved, and where the pieces lie."""
from __future__ import annotations

import dataclasses
import enum
from typing import Any

import torchshim as torch

from ...tensor.core.size import Size

__all__ = ["ChunkStorageMetadata", "TensorStorageMetadata", "BytesStorageMetadata", "Metadata", "MetadataIndex", "TensorProperties",
           "StorageMeta"]


@dataclasses.dataclass
class ChunkStorageMetadata:
    """A piece of a tensor: where it begins and how long it is along each dimension."""
    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(enum.Enum):
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


def _formats():
    return torch.contiguous_format, torch.channels_last, torch.preserve_format


@dataclasses.dataclass
class TensorProperties:
    """What makes a tensor beside its shape; only the dtype is used."""
    dtype: torch.dtype = dataclasses.field(default_factory=torch.get_default_dtype)
    layout: torch.layout = dataclasses.field(default=torch.strided)
    requires_grad: bool = False
    memory_format: torch.memory_format = dataclasses.field(default=torch.contiguous_format)
    pin_memory: bool = False

    def __getstate__(self):
        return self.dtype, self.layout, self.requires_grad, _MEM_FORMAT_ENCODING(_formats().index(self.memory_format)), self.pin_memory

    def __setstate__(self, state):
        self.dtype, self.layout, self.requires_grad, encoding, self.pin_memory = state
        self.memory_format = _formats()[encoding.value]

    @staticmethod
    def create_from_tensor(tensor):
        """The properties of a tensor."""
        return TensorProperties(tensor.dtype, tensor.layout, tensor.requires_grad, torch.contiguous_format, False)


@dataclasses.dataclass
class TensorStorageMetadata:
    """A tensor: its properties, its whole shape, the pieces it was saved in."""
    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclasses.dataclass
class BytesStorageMetadata:
    """Something else than a tensor."""


STORAGE_TYPES = TensorStorageMetadata | BytesStorageMetadata
STATE_DICT_TYPE = dict[str, Any]


@dataclasses.dataclass
class StorageMeta:
    """Which checkpoint it is."""
    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Metadata:
    """state_dict_metadata: {name: what it is}; planner_data: {name: the keys that led to it}; storage_data: {MetadataIndex:
    where it lies}."""
    state_dict_metadata: dict[str, STORAGE_TYPES]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclasses.dataclass(frozen=True)
class MetadataIndex:
    """An entry, or the piece of a tensor that begins at `offset`; `index` is a hint to its place among the pieces."""
    fqn: str
    offset: Size | None = None
    index: int | None = dataclasses.field(hash=False, compare=False, default=None)

    def __post_init__(self):
        if self.offset is not None:
            object.__setattr__(self, "offset", Size(self.offset))
