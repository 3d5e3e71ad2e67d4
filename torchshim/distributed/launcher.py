"""torch.distributed.launcher: a function in several processes of this machine, in the environment that torchrun makes."""
from __future__ import annotations

import dataclasses
import os
import queue
import uuid

from ..dropin import missing_attribute as _missing_attribute

__all__ = ["LaunchConfig", "elastic_launch"]


@dataclasses.dataclass
class LaunchConfig:
    """How many machines and processes, and how they meet. One machine: NotImplementedError for more."""
    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: object = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict = dataclasses.field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict = dataclasses.field(default_factory=dict)
    local_addr: str | None = None


def _run(k, function, args, said, results):
    os.environ.update(said, RANK=str(k), LOCAL_RANK=str(k), ROLE_RANK=str(k))
    results.put((k, function(*args)))


class elastic_launch:
    """`elastic_launch(config, function)(*args)`: {rank: what the function gave there}. ProcessRaisedException when one raises."""

    def __init__(self, config, entrypoint):
        if config.max_nodes > 1:
            raise NotImplementedError("torchshim: torch.distributed.launcher.elastic_launch on several machines")
        if isinstance(entrypoint, str):
            raise NotImplementedError("torchshim: torch.distributed.launcher.elastic_launch of a program; torchrun --no-python starts one")
        self._config, self._function = config, entrypoint

    def __call__(self, *args):
        from ..multiprocessing import get_context, start_processes
        from .elastic.utils.distributed import get_free_port
        n = self._config.nproc_per_node
        said = {"WORLD_SIZE": str(n), "LOCAL_WORLD_SIZE": str(n), "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1", "ROLE_WORLD_SIZE": str(n),
                "ROLE_NAME": self._config.role, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(get_free_port()),
                "TORCHELASTIC_RUN_ID": self._config.run_id or uuid.uuid4().hex, "TORCHELASTIC_RESTART_COUNT": "0",
                "TORCHELASTIC_MAX_RESTARTS": str(self._config.max_restarts)}
        results = get_context(self._config.start_method).Queue()
        started = start_processes(_run, (self._function, args, said, results), n, False, False, self._config.start_method)
        found = {}
        while len(found) < n:
            try:
                k, made = results.get(timeout=0.1)
                found[k] = made
            except queue.Empty:
                if started.join(timeout=0):        # raises for one that failed
                    k, made = results.get(timeout=5)
                    found[k] = made
        while not started.join():
            pass
        return dict(sorted(found.items()))


__getattr__ = _missing_attribute(__name__)
