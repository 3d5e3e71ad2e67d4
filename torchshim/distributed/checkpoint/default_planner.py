"""The planners of torch.distributed.checkpoint: one piece for each tensor, whatever pieces a checkpoint has when it is read."""
from __future__ import annotations

import dataclasses
import io

import torchshim as torch

from ...tensor.core.size import Size
from ...tensor.core.tensor import Tensor
from ..tensor import DTensor
from ._nested import flatten_state_dict, set_element
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, MetadataIndex, TensorProperties, TensorStorageMetadata
from .planner import LoadItemType, LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, TensorWriteData, WriteItem, WriteItemType

__all__ = ["DefaultSavePlanner", "DefaultLoadPlanner", "create_default_local_load_plan", "create_default_local_save_plan",
           "create_default_global_save_plan", "create_default_global_load_plan"]


def create_default_local_save_plan(state_dict, is_coordinator):
    """The plan that writes each entry of a flat state dict."""
    return SavePlan([_write_item(name, x) for name, x in state_dict.items()])


def _write_item(name, x):
    if not isinstance(x, Tensor):
        return WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO)
    size = Size(x.shape)
    start = Size((0,) * len(size))
    kind = WriteItemType.SHARD if isinstance(x, DTensor) else WriteItemType.TENSOR
    local = x._local_tensor if isinstance(x, DTensor) else x
    return WriteItem(MetadataIndex(name, start), kind, tensor_data=TensorWriteData(
        ChunkStorageMetadata(start, size), TensorProperties.create_from_tensor(local), size))


def create_default_global_save_plan(all_plans, rewrite_index_hints=True):
    """(plans, Metadata) of the plans of all processes."""
    found, plans = {}, []
    for plan in all_plans:
        items = []
        for item in plan.items:
            name = item.index.fqn
            if item.type is WriteItemType.BYTE_IO:
                found[name] = BytesStorageMetadata()
            else:
                data = item.tensor_data
                entry = found.setdefault(name, TensorStorageMetadata(data.properties, data.size, []))
                if rewrite_index_hints:
                    item = dataclasses.replace(item, index=dataclasses.replace(item.index, index=len(entry.chunks)))
                entry.chunks.append(data.chunk)
            items.append(item)
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(found)


class DefaultSavePlanner(SavePlanner):
    """Writes every entry of a state dict, nested ones under their keys joined by dots."""

    def __init__(self, flatten_state_dict=True, flatten_sharded_tensors=True, dedup_replicated_tensors=None,
                 dedup_save_to_lowest_rank=False, enable_plan_caching=False):
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors
        self.dedup_save_to_lowest_rank, self.mappings = dedup_save_to_lowest_rank, {}

    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self):
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        self.plan = dataclasses.replace(plan, planner_data=self.mappings) if self.flatten_state_dict else plan
        return self.plan

    def create_global_plan(self, all_plans):
        plans, metadata = create_default_global_save_plan(all_plans)
        if self.flatten_state_dict:
            metadata = dataclasses.replace(metadata, planner_data={k: v for p in plans for k, v in (p.planner_data or {}).items()})
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan):
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item):
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index):
        """The entry of the state dict."""
        x = self.state_dict[index.fqn]
        return x._local_tensor if isinstance(x, DTensor) else x

    def transform_object(self, write_item, object):
        """What is written of an entry: of one that is no tensor its pickle."""
        if write_item.type is WriteItemType.BYTE_IO:
            file = io.BytesIO()
            torch.save(object, file)
            object = file
        return object


def create_default_local_load_plan(state_dict, metadata, strict=True):
    """The plan that fills each entry of a flat state dict from the pieces a checkpoint has.

    RuntimeError for an entry the checkpoint lacks, if `strict`; ValueError for a tensor of another shape.
    """
    items = []
    for name, x in state_dict.items():
        entry = metadata.state_dict_metadata.get(name)
        if entry is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        if isinstance(entry, BytesStorageMetadata):
            index, none = MetadataIndex(name), Size((0,))
            items.append(ReadItem(LoadItemType.BYTE_IO, index, none, index, none, none))
            continue
        if isinstance(x, Tensor) and tuple(entry.size) != tuple(x.shape):
            raise ValueError(f"Size mismatch between saved {entry.size} and current: {x.size()} for {name}")
        if not isinstance(x, Tensor):
            raise ValueError(f"Invalid checkpoint metadata for {name}, expected BytesStorageMetadata but found {type(entry)}")
        for k, chunk in enumerate(entry.chunks):
            items.append(ReadItem(LoadItemType.TENSOR, MetadataIndex(name, Size((0,) * x.dim()), 0), Size(chunk.offsets),
                                  MetadataIndex(name, chunk.offsets, k), Size((0,) * x.dim()), Size(chunk.sizes)))
    return LoadPlan(items)


def create_default_global_load_plan(all_plans):
    """The plans as they are."""
    return all_plans


class DefaultLoadPlanner(LoadPlanner):
    """Fills a state dict's tensors in place, and sets its other entries. allow_partial_load: entries that the checkpoint lacks stay."""

    def __init__(self, flatten_state_dict=True, flatten_sharded_tensors=True, allow_partial_load=False):
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors
        self.allow_partial_load, self.original_state_dict, self.mappings = allow_partial_load, {}, {}

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self):
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan):
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, new_plan):
        return new_plan

    def load_bytes(self, read_item, value):
        name, found = read_item.dest_index.fqn, torch.load(value, weights_only=True)
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], found)
        else:
            self.state_dict[name] = found

    def resolve_tensor(self, read_item):
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item, tensor):
        pass

    def lookup_tensor(self, index):
        """The entry of the state dict."""
        x = self.state_dict[index.fqn]
        return x._local_tensor if isinstance(x, DTensor) else x

    def transform_tensor(self, read_item, tensor):
        """The part of a tensor that an item fills."""
        return _part(tensor, read_item.dest_offsets, read_item.lengths)


def _part(tensor, offsets, lengths):
    for d, (start, length) in enumerate(zip(offsets, lengths)):
        if tensor.shape[d] != length:
            tensor = tensor.narrow(d, start, length)
    return tensor


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads into an empty dict all that a checkpoint has, or what begins with one of `keys`."""

    def __init__(self, keys=None, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.keys = keys

    def _wanted(self, name, metadata):
        if self.keys is None or name in self.keys:
            return True
        path = (metadata.planner_data or {}).get(name, ())
        return any(".".join(map(str, path[:n])) in self.keys for n in range(1, len(path) + 1))

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        if state_dict:
            raise AssertionError("the state dict must be empty")
        for name, entry in metadata.state_dict_metadata.items():
            if self._wanted(name, metadata):
                value = torch.empty(tuple(entry.size), dtype=entry.properties.dtype) if isinstance(entry, TensorStorageMetadata) else entry
                set_element(state_dict, (metadata.planner_data or {}).get(name, (name,)), value)
        super().set_up_planner(state_dict, metadata, is_coordinator)
