"""Calls among the workers of torch.distributed.rpc, of which there is one: it may call itself, by its name or its rank 0."""
from __future__ import annotations

import dataclasses
import enum
import functools
import traceback

from ...dropin import missing_attribute as _missing_attribute
from ...futures import Future
from .constants import UNSET_RPC_TIMEOUT

__all__ = ["RRef", "get_worker_info", "remote", "rpc_async", "rpc_sync", "shutdown"]
_me = None                                     # this worker, while there is one


def is_available():
    """True."""
    return True


class BackendType(enum.Enum):
    """How processes would reach each other."""
    TENSORPIPE = "TENSORPIPE"


@dataclasses.dataclass
class RpcBackendOptions:
    """Options of a transport that is not used."""
    rpc_timeout: float = 60.0
    init_method: str = "env://"


@dataclasses.dataclass
class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """The same with threads and devices."""
    num_worker_threads: int = 16
    device_maps: dict | None = None
    devices: list | None = None
    _transports: list | None = None
    _channels: list | None = None

    def __init__(self, *, num_worker_threads=16, rpc_timeout=60.0, init_method="env://", device_maps=None, devices=None, _transports=None,
                 _channels=None):
        super().__init__(rpc_timeout, init_method)
        self.num_worker_threads, self.device_maps, self.devices = num_worker_threads, dict(device_maps or {}), list(devices or [])

    def set_device_map(self, to, device_map):
        """Where a worker's devices lie in another's."""
        self.device_maps[to] = {**self.device_maps.get(to, {}), **device_map}

    def set_devices(self, devices):
        """The devices of this worker."""
        self.devices = list(devices)


@dataclasses.dataclass(frozen=True)
class WorkerInfo:
    """A worker's number and name."""
    id: int
    name: str

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, name={self.name})"


def init_rpc(name, backend=None, rank=-1, world_size=None, rpc_backend_options=None):
    """Become the worker `name`. RuntimeError where that was done; NotImplementedError for more than one process."""
    global _me
    if _me is not None:
        raise RuntimeError("RPC is already initialized")
    if (world_size or 1) != 1 or rank not in (-1, 0):
        raise NotImplementedError("torchshim: torch.distributed.rpc.init_rpc with several processes; torch.distributed has one process "
                                  "here")
    _me = WorkerInfo(0, name)


def _here():
    if _me is None:
        raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")
    return _me


def _require_initialized(function):
    """A decorator: the function refuses to be called while there is no worker."""
    @functools.wraps(function)
    def checked(*args, **kwargs):
        _here()
        return function(*args, **kwargs)
    return checked


def get_worker_info(worker_name=None):
    """This worker's; RuntimeError for a name that no worker has."""
    me = _here()
    if worker_name not in (None, me.name):
        raise RuntimeError(f"name:{me.name},rank:0 could not find destination name {worker_name}")
    return me


def _to(to):
    me = _here()
    if isinstance(to, WorkerInfo):
        to = to.name
    if isinstance(to, str):
        return get_worker_info(to)
    if to != 0:
        raise RuntimeError(f"name:{me.name},rank:0 could not find destination rank {to}")
    return me


def _called(func, args, kwargs):
    try:
        return func(*(args or ()), **(kwargs or {}))
    except Exception as error:
        said = f"On {_here()}:\n{error!r}\n{traceback.format_exc()}"
        try:
            told = type(error)(said)
        except Exception:
            told = RuntimeError(said)
        raise told from None


@_require_initialized
def _all_gather(obj, worker_names=None, timeout=UNSET_RPC_TIMEOUT):
    """{name of each worker: its object}."""
    return {_here().name: obj}


@_require_initialized
def _barrier(worker_names):
    """Wait for the workers of these names: there is no other one."""


def rpc_sync(to, func, args=None, kwargs=None, timeout=UNSET_RPC_TIMEOUT):
    """What func(*args, **kwargs) gives; its error with the worker's name."""
    _to(to)
    return _called(func, args, kwargs)


def rpc_async(to, func, args=None, kwargs=None, timeout=UNSET_RPC_TIMEOUT):
    """The same as a Future."""
    _to(to)
    made = Future()
    try:
        made.set_result(_called(func, args, kwargs))
    except Exception as error:
        made.set_exception(error)
    return made


def remote(to, func, args=None, kwargs=None, timeout=UNSET_RPC_TIMEOUT):
    """The same as an RRef."""
    _to(to)
    return RRef(_called(func, args, kwargs))


class RRef:
    """An object that a worker owns: this one."""

    def __init__(self, value, type_hint=None):
        _here()
        self._value = value

    def to_here(self, timeout=UNSET_RPC_TIMEOUT):
        """The object."""
        return self._value

    def local_value(self):
        """The object."""
        return self._value

    def is_owner(self):
        """Whether this worker owns it: it does."""
        return True

    def confirmed_by_owner(self):
        """Whether the owner knows of it: it does."""
        return True

    def owner(self):
        """The worker that owns it."""
        return _here()

    def owner_name(self):
        """Its name."""
        return _here().name

    def rpc_sync(self, timeout=UNSET_RPC_TIMEOUT):
        """Its methods, called by `rpc_sync`."""
        return _Methods(self._value, rpc_sync)

    def rpc_async(self, timeout=UNSET_RPC_TIMEOUT):
        """Its methods, called by `rpc_async`."""
        return _Methods(self._value, rpc_async)

    def remote(self, timeout=UNSET_RPC_TIMEOUT):
        """Its methods, called by `remote`."""
        return _Methods(self._value, remote)

    def __reduce__(self):
        raise RuntimeError("Can not pickle rref in python pickler, rref can only be pickled when using RPC")


class _Methods:
    def __init__(self, value, how):
        self._value, self._how = value, how

    def __getattr__(self, name):
        method = getattr(self._value, name)
        return lambda *args, **kwargs: self._how(_here().name, method, args, kwargs)


def shutdown(graceful=True, timeout=0):
    """Be no worker any more. RuntimeError where there was none."""
    global _me
    _here()
    _me = None


def _is_current_rpc_agent_set():
    return _me is not None


__getattr__ = _missing_attribute(__name__)
