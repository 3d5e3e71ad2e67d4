"""What is to be written to a checkpoint and read from it, and the protocols of those who plan it."""
from __future__ import annotations

import abc
import dataclasses
import enum
import io
import math
from typing import Any

from ...tensor.core.size import Size
from .metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties

__all__ = ["WriteItemType", "LoadItemType", "BytesIOWriteData", "TensorWriteData", "WriteItem", "ReadItem", "SavePlan", "LoadPlan",
           "SavePlanner", "LoadPlanner"]

WriteItemType = enum.Enum("WriteItemType", "TENSOR SHARD BYTE_IO", module=__name__)
LoadItemType = enum.Enum("LoadItemType", "TENSOR BYTE_IO", module=__name__)


@dataclasses.dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes there are."""
    nbytes: int


@dataclasses.dataclass(frozen=True)
class TensorWriteData:
    """Which piece of a tensor, and what the whole is."""
    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclasses.dataclass(frozen=True)
class WriteItem:
    """One thing to write."""
    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self):
        """The bytes of the whole tensor; None for what is none."""
        return None if self.tensor_data is None else math.prod(self.tensor_data.size) * self.tensor_data.properties.dtype.itemsize


@dataclasses.dataclass(frozen=True)
class ReadItem:
    """One piece to read: `lengths` elements from `storage_offsets` in the piece `storage_index`, to `dest_offsets` in `dest_index`."""
    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclasses.dataclass(frozen=True)
class SavePlan:
    """All that is to be written."""
    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclasses.dataclass
class LoadPlan:
    """All that is to be read."""
    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Says what a save writes. Called in this order: set_up_planner, create_local_plan, create_global_plan, finish_plan, resolve_data."""

    @abc.abstractmethod
    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        """Begin with a state dict."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """This process's plan."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans):
        """(the plans of all processes, the Metadata)."""

    @abc.abstractmethod
    def finish_plan(self, new_plan) -> SavePlan:
        """The plan that is carried out."""

    @abc.abstractmethod
    def resolve_data(self, write_item) -> Any:
        """What to write: a tensor or a BytesIO."""


class LoadPlanner(abc.ABC):
    """Says what a load reads. Called in this order: set_up_planner, create_local_plan, create_global_plan, finish_plan, and for each item
    load_bytes, or resolve_tensor and commit_tensor."""

    @abc.abstractmethod
    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        """Begin with the state dict to fill."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """This process's plan."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan):
        """The plans of all processes."""

    @abc.abstractmethod
    def finish_plan(self, central_plan) -> LoadPlan:
        """The plan that is carried out."""

    @abc.abstractmethod
    def load_bytes(self, read_item, value: io.BytesIO):
        """Take what is no tensor."""

    def resolve_bytes(self, read_item):
        """The BytesIO to fill."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item) -> Any:
        """The tensor, or the part of one, to fill."""

    @abc.abstractmethod
    def commit_tensor(self, read_item, tensor):
        """The tensor that `resolve_tensor` gave is filled."""
