"""torch.multiprocessing: Python's multiprocessing, whose queues and arguments take tensors by sharing their memory, and `spawn`."""
from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *                 # noqa: F403
from multiprocessing import active_children, current_process, get_logger, log_to_stderr, parent_process

from ..dropin import missing_attribute as _missing_attribute
from .reductions import init_reductions
from .spawn import (ENV_VAR_PARALLEL_START, ProcessContext, ProcessExitedException, ProcessRaisedException, SpawnContext, spawn,
                    start_processes)

__all__ = ["ENV_VAR_PARALLEL_START", "ProcessContext", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
           "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes",
           *_multiprocessing.__all__]
_strategy = "file_descriptor"


def get_all_sharing_strategies():
    """The names that `set_sharing_strategy` takes."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy():
    """The name that was set."""
    return _strategy


def set_sharing_strategy(new_strategy):
    """Kept and read back: memory is shared by file descriptors. AssertionError for other names."""
    global _strategy
    assert new_strategy in get_all_sharing_strategies()
    _strategy = new_strategy


def _set_thread_name(name):
    """Nothing: torch tells the system a name for this thread, which only debuggers show."""


init_reductions()
__getattr__ = _missing_attribute(__name__, lazy=("pool", "reductions"))
