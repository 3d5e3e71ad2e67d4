"""Saving a checkpoint."""
from __future__ import annotations

import concurrent.futures
import enum

from ...engine import warn
from .._group import get_world_size, is_initialized
from .._names import more
from .api import together
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .stateful import Stateful

__all__ = ["save_state_dict", "save", "async_save", "AsyncCheckpointerType"]


class AsyncCheckpointerType(enum.Enum):
    """What saves in the background."""
    THREAD = "thread"
    PROCESS = "process"


def states(state_dict):
    """A state dict in which objects that have one stand for themselves."""
    return {key: x.state_dict() if isinstance(x, Stateful) else x for key, x in state_dict.items()}


def save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, no_dist=False, use_collectives=True):
    """Save a state dict, nested or not, to the folder `checkpoint_id` or by a StorageWriter; returns the Metadata.

    Objects with `state_dict()` and `load_state_dict()` are saved by these. CheckpointException for whatever goes wrong.
    """
    if storage_writer is None:
        if not checkpoint_id:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        storage_writer = FileSystemWriter(checkpoint_id)
    if not no_dist and is_initialized() and get_world_size(process_group) > 1:
        raise more("torch.distributed.checkpoint.save")
    storage_writer.reset(checkpoint_id)
    return _save(states(state_dict), storage_writer, planner)


def _save(state_dict, writer, planner):
    planner = planner or DefaultSavePlanner()

    def plan():
        planner.set_up_planner(state_dict, writer.storage_meta(), True)
        writer.set_up_storage_writer(True)
        plans, metadata = planner.create_global_plan([writer.prepare_local_plan(planner.create_local_plan())])
        return writer.prepare_global_plan(plans)[0], metadata
    own, metadata = together(plan)

    def write():
        results = writer.write_data(planner.finish_plan(own), planner)
        results.wait()
        writer.finish(metadata, [results.value()])
        return metadata
    return together(write)


def async_save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None,
               async_checkpointer_type=AsyncCheckpointerType.THREAD, async_stager=None, no_dist=False, use_collectives=True):
    """`save` with a Future for a result. It is written when this returns: what is to be saved can be changed at once."""
    done = concurrent.futures.Future()
    try:
        done.set_result(save(state_dict, checkpoint_id=checkpoint_id, storage_writer=storage_writer, planner=planner))
    except BaseException as error:
        done.set_exception(error)
    return done


def save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """The old name of `save`."""
    warn("'save_state_dict' is deprecated and will be removed in future versions.Please use 'save' instead.", FutureWarning)
    storage_writer.reset()
    return _save(state_dict, storage_writer, planner)
