"""Loading a checkpoint."""
from __future__ import annotations

import torchshim as torch

from ...engine import warn
from .api import together
from .default_planner import DefaultLoadPlanner
from .filesystem import FileSystemReader
from .stateful import Stateful
from .state_dict_saver import states

__all__ = ["load_state_dict", "load"]


def load(state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None, no_dist=False):
    """Fill a state dict from the folder `checkpoint_id` or by a StorageReader: tensors in place, other entries set.

    It holds the tensors and entries that are wanted, objects with `load_state_dict()` among them. The checkpoint may come from any number
    of processes. CheckpointException for an entry that it lacks, a tensor of another shape and whatever else goes wrong.
    """
    if storage_reader is None:
        if not checkpoint_id:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        storage_reader = FileSystemReader(checkpoint_id)
    storage_reader.reset(checkpoint_id)
    found = states(state_dict)
    _load_state_dict(found, storage_reader, planner=planner)
    for key, x in state_dict.items():
        if isinstance(x, Stateful):
            x.load_state_dict(found[key])
        else:
            state_dict[key] = found[key]


def _load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    planner = planner or DefaultLoadPlanner()

    def plan():
        metadata = storage_reader.read_metadata()
        planner.set_up_planner(state_dict, metadata, True)
        storage_reader.set_up_storage_reader(metadata, True)
        own = storage_reader.prepare_local_plan(planner.create_local_plan())
        return storage_reader.prepare_global_plan(planner.create_global_plan([own]))[0]
    own = together(plan)

    def read():
        with torch.no_grad():
            storage_reader.read_data(planner.finish_plan(own), planner).wait()
    together(read)


def load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """The old name of `load`."""
    warn("'load_state_dict' is deprecated and will be removed in future versions. Please use 'load' instead.", FutureWarning)
    storage_reader.reset()
    return _load_state_dict(state_dict, storage_reader, planner=planner)
