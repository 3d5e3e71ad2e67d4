"""torch.distributed with one process: every collective gives what it gives in a group of one. More processes are not there yet."""
from __future__ import annotations

import datetime
import enum
import os

from ..dropin import missing_attribute as _missing_attribute
from ..tensor.core.tensor import Tensor as _Tensor

default_pg_timeout = datetime.timedelta(minutes=30)
DistError = type("DistError", (RuntimeError,), {"__module__": "torch.distributed", "__doc__": "An error of torch.distributed."})
DistBackendError = type("DistBackendError", (DistError,), {"__module__": "torch.distributed", "__doc__": "An error of a backend."})
DistNetworkError = type("DistNetworkError", (DistError,), {"__module__": "torch.distributed", "__doc__": "An error of the network."})
DistStoreError = type("DistStoreError", (DistError,), {"__module__": "torch.distributed", "__doc__": "An error of a store."})
_UNINITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."
_MORE = "torchshim: torch.distributed with more than one process"


class _OneOf(type):
    def __instancecheck__(cls, x):
        return isinstance(x, cls.RedOpType)


class ReduceOp(metaclass=_OneOf):
    """How collectives combine. In a group of one all of them give the tensor itself."""
    RedOpType = enum.IntEnum("RedOpType", "SUM AVG PRODUCT MIN MAX BAND BOR BXOR PREMUL_SUM UNUSED", start=0, module=__name__,
                             qualname="ReduceOp.RedOpType")
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = RedOpType

    def __new__(cls, op):
        return cls.RedOpType(op)

reduce_op = ReduceOp


class Backend(str):
    """The name of a backend; what runs here is XLA in any case."""
    UNDEFINED, GLOO, NCCL, MPI, UCC, XCCL, FAKE = "undefined", "gloo", "nccl", "mpi", "ucc", "xccl", "fake"
    default_device_backend_map = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo", "hpu": "fake"}
    backend_list = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"]

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


class ProcessGroup:
    """A group with one member."""

    def __init__(self, backend="gloo", name="0"):
        self.backend, self.group_name, self.group_desc = Backend(backend), name, "default_pg"

    def rank(self):
        """0."""
        return 0

    def size(self):
        """1."""
        return 1

    def name(self):
        """The backend's name."""
        return str(self.backend)


class Work:
    """A collective under way; in a group of one it is done when it is called."""

    def __init__(self, result=()):
        self._result = list(result)

    def wait(self, timeout=None):
        """True: it is done."""
        return True

    def is_completed(self):
        """True."""
        return True

    is_success = is_completed

    def result(self):
        """The tensors it wrote."""
        return self._result

    def get_future(self):
        raise NotImplementedError("torchshim: torch.distributed.Work.get_future")


class group:
    """`group.WORLD`: the group of all processes."""
    WORLD = None


class GroupMember:
    """As torch names membership."""
    WORLD, NON_GROUP_MEMBER = None, -100


def is_available():
    """Whether this package is there: True."""
    return True


def is_initialized():
    """Whether `init_process_group` was called."""
    return group.WORLD is not None


def is_gloo_available():
    """True: collectives of one process need nothing."""
    return True


def is_nccl_available():
    """False."""
    return False


is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend):
    """Whether a backend of that name can be asked for."""
    return backend.lower() == "gloo"


def is_torchelastic_launched():
    """Whether torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None,
                       device_id=None, _ranks=None):
    """Begin with a group of this process alone.

    world_size and rank come from the arguments, or from the environment (WORLD_SIZE, RANK) as torchrun sets it. NotImplementedError for
    more than one process; ValueError when it was called before.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if init_method in (None, "env://") and store is None:
        for name, given in (("RANK", rank), ("WORLD_SIZE", world_size)):
            if given == -1 and name not in os.environ:
                raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but "
                                 "not set")
        world_size = int(os.environ["WORLD_SIZE"]) if world_size == -1 else world_size
        rank = int(os.environ["RANK"]) if rank == -1 else rank
    if world_size > 1:
        raise NotImplementedError(_MORE)
    if rank > 0:
        raise ValueError(f"invalid rank {rank} in a group of one process")
    name = str(backend or "gloo")
    group.WORLD = GroupMember.WORLD = ProcessGroup("gloo" if ":" in name else name, group_name or "0")


def destroy_process_group(group=None):
    """Forget a group; without an argument all of them."""
    if not is_initialized():
        raise AssertionError(_UNINITIALIZED)
    if group is None or group is globals()["group"].WORLD:
        globals()["group"].WORLD = GroupMember.WORLD = None


def _group(chosen=None):
    if not is_initialized():
        raise ValueError(_UNINITIALIZED)
    return chosen if isinstance(chosen, ProcessGroup) else group.WORLD


def get_rank(group=None):
    """0: this process's number in the group."""
    return _group(group).rank()


def get_world_size(group=None):
    """1: how many processes the group has."""
    return _group(group).size()


def get_backend(group=None):
    """The backend's name as it was asked for."""
    return str(_group(group).backend)


get_backend_config = get_backend


def get_process_group_ranks(group=None):
    """[0]."""
    _group(group)
    return [0]


def get_group_rank(group, global_rank):
    """A process's number within a group."""
    _only(global_rank)
    return 0


def get_global_rank(group, group_rank):
    """A member's number among all processes."""
    _only(group_rank)
    return 0


def get_node_local_rank(fallback_rank=None):
    """LOCAL_RANK of the environment, or the fallback."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
                       "assuming you are not running in a multi-device context and want the code to run locally instead.")


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None, device_id=None,
              sort_ranks=True):
    """A group of this process, or `GroupMember.NON_GROUP_MEMBER` when it is not among `ranks`."""
    world = _group()
    if ranks is not None and any(r != 0 for r in ranks):
        raise ValueError("the new group's rank should be within the world_size set by init_process_group")
    return ProcessGroup(backend or world.backend, "1") if ranks is None or 0 in ranks else GroupMember.NON_GROUP_MEMBER


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """(this process's group, all groups)."""
    made = new_group(backend=backend)
    return made, [made]


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    """(this process's group or None, all groups) for lists of ranks. ValueError for no lists, RuntimeError for a rank in two of them."""
    if ranks_per_subgroup_list is None or len(ranks_per_subgroup_list) == 0:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    mine, made, seen = None, [], set()
    for ranks in ranks_per_subgroup_list:
        group = new_group(ranks, backend=backend)
        made.append(group)
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroups")
            seen.add(rank)
            if rank == 0:
                mine = group
    return mine, made


class GradBucket:
    """Gradients that are complete, as a hook of DistributedDataParallel gets them: one after the other in one vector."""

    def __init__(self, index, last, parameters):
        self._index, self._last, self._parameters = index, last, parameters
        self._buffer = parameters[0].grad.detach().reshape(-1)

    def index(self):
        """Which of the buckets it is."""
        return self._index

    def is_last(self):
        """Whether it is the last of this backward."""
        return self._last

    def buffer(self):
        """The vector."""
        return self._buffer

    def set_buffer(self, buffer):
        """Put another vector in its place."""
        self._buffer = buffer

    def gradients(self):
        """The gradients in their own shapes."""
        return [self._buffer.view(p.shape) for p in self._parameters]

    def parameters(self):
        """Whose gradients they are."""
        return list(self._parameters)


def _only(rank, what="rank"):
    if rank != 0:
        raise ValueError(f"{what} {rank} is not part of a group of one process")


def _need(tensor, name):
    if not isinstance(tensor, _Tensor):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got {type(tensor)} "
                        "instead.")


def _done(async_op, *tensors):
    return Work(tensors) if async_op else None


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Wait for all processes: this one is there."""
    _group(group)
    return _done(async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """As `barrier`."""
    _group(group)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Combine a tensor over all processes in place: with one it stays as it is."""
    _need(tensor, "tensor")
    _group(group)
    return _done(async_op, tensor)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """The same with the result at process `dst`."""
    _need(tensor, "tensor")
    _group(group)
    _only(group_dst if dst is None else dst)
    return _done(async_op, tensor)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Give all processes the tensor of `src`."""
    _need(tensor, "tensor")
    _group(group)
    _only(group_src if src is None else src)
    return _done(async_op, tensor)


def _copy(into, tensor):
    from ..autograd import no_grad
    with no_grad():
        into.copy_(tensor.reshape(into.shape))


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Put every process's tensor into a list of tensors."""
    _need(tensor, "tensor")
    _group(group)
    if len(tensor_list) != 1:
        raise ValueError(f"a group of one process gathers into one tensor, got {len(tensor_list)}")
    _copy(tensor_list[0], tensor)
    return _done(async_op, *tensor_list)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Every process's tensor one after the other in one tensor."""
    _group(group)
    _copy(output_tensor, input_tensor)
    return _done(async_op, output_tensor)


_all_gather_base = all_gather_into_tensor


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Put every process's tensor into a list at `dst`."""
    _need(tensor, "tensor")
    _group(group)
    _only((group_dst or 0) if dst is None else dst)
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _copy(gather_list[0], tensor)
    return _done(async_op, *gather_list)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Give each process its tensor of the list at `src`."""
    _need(tensor, "tensor")
    _group(group)
    _only((group_src or 0) if src is None else src)
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _copy(tensor, scatter_list[0])
    return _done(async_op, tensor)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Combine lists and give each process its part."""
    _group(group)
    _copy(output, input_list[0])
    return _done(async_op, output)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """The same for one tensor that holds all parts."""
    _group(group)
    _copy(output, input)
    return _done(async_op, output)


_reduce_scatter_base = reduce_scatter_tensor


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Give each process its tensor of every list."""
    _group(group)
    _copy(output_tensor_list[0], input_tensor_list[0])
    return _done(async_op, *output_tensor_list)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """The same for one tensor in parts."""
    _group(group)
    _copy(output, input)
    return _done(async_op, output)


def all_gather_object(object_list, obj, group=None):
    """Put every process's object into a list."""
    _group(group)
    object_list[0] = obj


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """The same at `dst`."""
    _group(group)
    object_gather_list[0] = obj


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Give all processes the objects of `src`."""
    _group(group)
    _only((group_src or 0) if src is None else src)


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    """Give each process its object of the list at `src`."""
    _group(group)
    scatter_object_output_list[0] = scatter_object_input_list[0]


def _pair(*args, **kwargs):
    raise NotImplementedError(_MORE + ": nobody to send to")


send = recv = isend = irecv = batch_isend_irecv = send_object_list = recv_object_list = P2POp = _pair


class Store:
    """A dictionary that processes share: here of one process."""

    def __init__(self):
        self._data = {}

    def set(self, key, value):
        """Store bytes (a str is encoded)."""
        self._data[key] = value.encode() if isinstance(value, str) else bytes(value)

    def get(self, key):
        """The bytes. DistStoreError where there are none: nobody else will set them."""
        if key not in self._data:
            raise DistStoreError(f"wait timeout, key not set: {key}")
        return self._data[key]

    def add(self, key, amount):
        """Add to a number; returns the sum."""
        n = int(self._data.get(key, b"0")) + amount
        self._data[key] = str(n).encode()
        return n

    def wait(self, keys, timeout=None):
        """DistStoreError for keys that are not set."""
        for k in keys:
            self.get(k)

    def check(self, keys):
        """Whether all keys are set."""
        return all(k in self._data for k in keys)

    def delete_key(self, key):
        """Whether there was such a key; it is gone."""
        return self._data.pop(key, None) is not None

    def num_keys(self):
        """How many keys there are."""
        return len(self._data)


class HashStore(Store):
    """A store in memory."""


class TCPStore(Store):
    """A store that processes reach by a socket: NotImplementedError when made."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(_MORE + ": stores that processes share")


class FileStore(TCPStore):
    """A store that processes reach by a file: NotImplementedError when made."""


class PrefixStore(TCPStore):
    """A part of a store: NotImplementedError when made."""


def get_default_backend_for_device(device):
    """gloo."""
    return "gloo"


def supports_complex(reduceOp):
    """Whether a reduction is defined for complex numbers."""
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


__getattr__ = _missing_attribute(__name__,
                                 lazy=("_composable", "_functional_collectives", "_shard", "_symmetric_memory", "_tensor", "algorithms",
                                       "checkpoint", "constants", "device_mesh", "distributed_c10d", "elastic", "fsdp", "nn", "optim",
                                       "pipelining", "rpc", "run", "tensor"),
                                 elsewhere={"DeviceMesh": "device_mesh", "_rank_not_in_group": "distributed_c10d",
                                            "init_device_mesh": "device_mesh"})
