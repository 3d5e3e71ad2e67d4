"""The names that the rest of torch.distributed shares: errors, reductions, backends, options of a process group's methods."""
from __future__ import annotations

import datetime
import enum
import os
import warnings

default_pg_timeout = datetime.timedelta(minutes=30)
UNINITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."


def _error(name, base, doc):
    return type(name, (base,), {"__module__": "torch.distributed", "__doc__": doc})


DistError = _error("DistError", RuntimeError, "An error of torch.distributed.")
DistBackendError = _error("DistBackendError", DistError, "An error of a backend.")
DistNetworkError = _error("DistNetworkError", DistError, "An error of the network.")
DistStoreError = _error("DistStoreError", DistError, "An error of a store.")
QueueEmptyError = _error("QueueEmptyError", DistStoreError, "A store's queue has nothing to take.")


def more(name):
    """The error for what works with one process only."""
    return NotImplementedError(f"torchshim: {name} with more than one process")


class _OneOf(type):
    def __instancecheck__(cls, x):
        return isinstance(x, cls.RedOpType)


class ReduceOp(metaclass=_OneOf):
    """How collectives combine."""
    __module__ = "torchshim.distributed.distributed_c10d"
    RedOpType = enum.IntEnum("RedOpType", "SUM AVG PRODUCT MIN MAX BAND BOR BXOR PREMUL_SUM UNUSED", start=0, module=__name__,
                             qualname="ReduceOp.RedOpType")
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = RedOpType

    def __new__(cls, op):
        return cls.RedOpType(op)


class _OldReduceOp:
    """ReduceOp by its old name, which warns at each use."""

    def __getattribute__(self, key):
        if not key.startswith("__"):
            warnings.warn("`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead", FutureWarning,
                          stacklevel=2)
        return getattr(ReduceOp, key)


reduce_op = _OldReduceOp()


def supports_complex(reduceOp):
    """Whether a reduction is defined for complex numbers."""
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


class Backend(str):
    """The name of a backend, in small letters: collectives go over sockets whatever it is."""
    __module__ = "torchshim.distributed.distributed_c10d"
    UNDEFINED, GLOO, NCCL, MPI, UCC, XCCL, FAKE = "undefined", "gloo", "nccl", "mpi", "ucc", "xccl", "fake"
    default_device_backend_map = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo", "hpu": "fake"}
    backend_list = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"]
    backend_capability = {"gloo": ["cpu", "cuda"], "nccl": ["cuda"], "xccl": ["xpu"], "ucc": ["cpu", "cuda"], "mpi": ["cpu", "cuda"],
                          "fake": ["cpu", "cuda", "hpu", "xpu"]}

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())

    @classmethod
    def register_backend(cls, name, func, extended_api=False, devices=None):
        """NotImplementedError: groups are made here, not by a backend's function."""
        raise NotImplementedError("torchshim: torch.distributed.Backend.register_backend")


class BackendConfig:
    """Which backend serves each type of device; printed as "cpu:gloo,cuda:nccl"."""
    __module__ = "torchshim.distributed.distributed_c10d"

    def __init__(self, backend):
        name = str(backend)
        if name == "undefined":
            self.device_backend_map = {"cpu": Backend("gloo")}
        elif ":" in name:
            pairs = [part.split(":") for part in name.lower().split(",")]
            if any(len(p) != 2 for p in pairs):
                raise ValueError(f"The custom backend string argument is invalid: {backend}.\n"
                                 "                Custom backend string is an experimental feature where the backend string must be in the "
                                 'format:\n                "<device_type1>:<backend1>,<device_type2>:<backend2>...". '
                                 'e.g. "cpu:gloo,cuda:nccl"')
            self.device_backend_map = {device: Backend(b) for device, b in pairs}
            if len(self.device_backend_map) != len(pairs):
                device, doubled = next(p for k, p in enumerate(pairs) if p[0] in [q[0] for q in pairs[:k]])
                raise ValueError(f"Duplicate device type {device} {' ' * 36} in backend string: {doubled}. The custom backend string "
                                 f"argument is invalid: {backend}.\n                Custom backend string is an experimental feature where "
                                 'the backend string must be in the format:\n                '
                                 '"<device_type1>:<backend1>,<device_type2>:<backend2>...". e.g. \'cpu:gloo,cuda:nccl\'')
        else:
            self.device_backend_map = {d: Backend(name) for d in Backend.backend_capability.get(Backend(name), ("cpu", "cuda", "xpu"))}

    def __repr__(self):
        return ",".join([f"{device}:{backend}" for device, backend in self.device_backend_map.items()])

    def get_device_backend_map(self):
        """{type of device: its backend}."""
        return self.device_backend_map


class BuiltinCommHookType(enum.IntEnum):
    """The hooks of DistributedDataParallel that need no function."""
    ALLREDUCE = 0
    FP16_COMPRESS = 1


class DebugLevel(enum.IntEnum):
    """How much TORCH_DISTRIBUTED_DEBUG asks for."""
    __module__ = "torchshim.distributed.distributed_c10d"
    OFF = 0
    INFO = 1
    DETAIL = 2


_level = [None]


def set_debug_level_from_env():
    """Take the level from TORCH_DISTRIBUTED_DEBUG. RuntimeError for other words than OFF, INFO and DETAIL."""
    said = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if said not in DebugLevel.__members__:
        raise RuntimeError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    _level[0] = DebugLevel[said]


def set_debug_level(level):
    """Choose the level."""
    _level[0] = DebugLevel(level)


def get_debug_level():
    """The level."""
    if _level[0] is None:
        set_debug_level_from_env()
    return _level[0]


def _options(name, **defaults):
    """A class of named settings, as the methods of `ProcessGroup` take them."""
    def __init__(self):
        for field, value in defaults.items():
            setattr(self, field, value)
    return type(name, (), {**defaults, "__init__": __init__, "__module__": "torch.distributed",
                           "__doc__": f"Settings: {', '.join(defaults)}."})


_UNSET = datetime.timedelta(milliseconds=-1)
AllreduceOptions = _options("AllreduceOptions", reduceOp=ReduceOp.SUM, timeout=_UNSET, asyncOp=True)
AllreduceCoalescedOptions = _options("AllreduceCoalescedOptions", reduceOp=ReduceOp.SUM, timeout=_UNSET, asyncOp=True)
AllToAllOptions = _options("AllToAllOptions", timeout=_UNSET, asyncOp=True)
BarrierOptions = _options("BarrierOptions", device_ids=[], timeout=_UNSET, device=None, asyncOp=True)
BroadcastOptions = _options("BroadcastOptions", rootRank=0, rootTensor=0, timeout=_UNSET, asyncOp=True)
GatherOptions = _options("GatherOptions", rootRank=0, timeout=_UNSET, asyncOp=True)
ReduceOptions = _options("ReduceOptions", reduceOp=ReduceOp.SUM, rootRank=0, rootTensor=0, timeout=_UNSET, asyncOp=True)
ReduceScatterOptions = _options("ReduceScatterOptions", reduceOp=ReduceOp.SUM, timeout=_UNSET, asyncOp=True)
ScatterOptions = _options("ScatterOptions", rootRank=0, timeout=_UNSET, asyncOp=True)
