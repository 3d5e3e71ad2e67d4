"""The protocols of those who write and read the things that a checkpoint consists of."""
from __future__ import annotations

import abc
import dataclasses
from typing import Any

from .metadata import MetadataIndex, StorageMeta

__all__ = ["WriteResult", "StorageWriter", "StorageReader"]


@dataclasses.dataclass(frozen=True)
class WriteResult:
    """What was written: how many bytes, and where they lie."""
    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Called in this order: reset, set_up_storage_writer, prepare_local_plan, prepare_global_plan, write_data, finish."""

    @abc.abstractmethod
    def reset(self, checkpoint_id=None):
        """Begin a checkpoint, in another place if that is given."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
        """Learn whether this process writes the metadata."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan):
        """The plan with what the storage adds."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans):
        """The plans of all processes with what the storage adds."""

    @abc.abstractmethod
    def write_data(self, plan, planner):
        """Write a plan's items, which `planner.resolve_data` gives; returns a Future of WriteResults."""

    @abc.abstractmethod
    def finish(self, metadata, results):
        """Write the metadata: the checkpoint is complete."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether it can write there."""

    def storage_meta(self):
        """What it says of the checkpoint."""
        return StorageMeta()


class StorageReader(abc.ABC):
    """Called in this order: reset, read_metadata, set_up_storage_reader, prepare_local_plan, prepare_global_plan, read_data."""

    @abc.abstractmethod
    def reset(self, checkpoint_id=None):
        """Begin with a checkpoint, in another place if that is given."""

    @abc.abstractmethod
    def read_metadata(self, *args, **kwargs):
        """The checkpoint's Metadata."""

    @abc.abstractmethod
    def set_up_storage_reader(self, metadata, is_coordinator, *args, **kwargs):
        """Learn the metadata."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan):
        """The plan with what the storage adds."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans):
        """The plans of all processes with what the storage adds."""

    @abc.abstractmethod
    def read_data(self, plan, planner):
        """Read a plan's items and give them to the planner; returns a Future."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether it can read from there."""
