"""Groups of processes: how a program begins and ends, who is in which group, and the collectives under way."""
from __future__ import annotations

import collections
import concurrent.futures
import datetime
import os
import warnings

import numpy as np

from ..engine import array_of, default_device, meta_of, present, value_of
from ..tensor.core.dispatch import wrap
from ..tensor.core.handle import read
from . import _backends
from ._gloo import Call
from ._names import UNINITIALIZED, Backend, BackendConfig, default_pg_timeout
from ._peers import Peers
from ._stores import PrefixStore


class ProcessGroup:
    """Processes that call collectives together. `ranks`: which of all processes they are."""
    __module__ = "torch.distributed.distributed_c10d"
    bound_device_id = None

    def __init__(self, backend="gloo", name="0", ranks=(0,), rank=0, peers=None, timeout=default_pg_timeout, desc="undefined", store=None):
        self.backend, self.group_name, self.group_desc = Backend(backend), name, desc
        self._ranks, self._rank, self._peers, self._timeout, self._store = list(ranks), rank, peers, timeout, store
        self._calls, self._pool, self._receipts = 0, None, {}   # _receipts: the last `irecv` of each key that is not filled

    def rank(self):
        """This process's number in the group."""
        return self._rank

    def size(self):
        """How many processes it has."""
        return len(self._ranks)

    def name(self):
        """The backend's name."""
        if self.backend == "undefined":
            return "gloo"
        return "undefined" if ":" in self.backend else "custom" if self.backend == "fake" else str(self.backend)

    def get_group_store(self):
        """The store by which it was begun."""
        return self._store

    def set_timeout(self, timeout):
        """How long its collectives wait."""
        self._timeout = timeout

    def abort(self):
        """Nothing under way is waited for."""

    shutdown = abort

    def _call(self, timeout=None):
        self._calls += 1
        return Call(self._peers, self._ranks, self._rank, f"{self.group_name}#{self._calls}", timeout or self._timeout)

    def _later(self, work):
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(1)
        return self._pool.submit(work)

    def _via(self, name, *args, **kwargs):
        from . import _collectives
        return getattr(_collectives, name)(*args, group=self, async_op=True, **kwargs)

    def allreduce(self, tensors, opts=None, timeout=None):
        """`all_reduce` of a tensor, or a list of one; gives its Work."""
        return self._via("all_reduce", *_one(tensors), **_op(opts))

    def broadcast(self, tensors, root=0, timeout=None):
        """`broadcast` from member `root`."""
        return self._via("broadcast", *_one(tensors), group_src=_root(root))

    def reduce(self, tensors, root=0, op=None, timeout=None):
        """`reduce` to member `root`."""
        return self._via("reduce", *_one(tensors), group_dst=_root(root), **_op(op if op is not None else root))

    def allgather(self, output_tensors, input_tensor, timeout=None):
        """`all_gather`."""
        return self._via("all_gather", *_one(output_tensors, list), *_one(input_tensor))

    def gather(self, output_tensors, input_tensor, root=0, timeout=None):
        """`gather` to member `root`."""
        return self._via("gather", *_one(input_tensor), (_one(output_tensors, list) or [None])[0], group_dst=_root(root))

    def scatter(self, output_tensor, input_tensors, root=0, timeout=None):
        """`scatter` from member `root`."""
        return self._via("scatter", *_one(output_tensor), (_one(input_tensors, list) or [None])[0], group_src=_root(root))

    def reduce_scatter(self, output_tensors, input_tensors, op=None, timeout=None):
        """`reduce_scatter`."""
        return self._via("reduce_scatter", *_one(output_tensors), *_one(input_tensors, list), **_op(op))

    def alltoall(self, output_tensors, input_tensors, opts=None):
        """`all_to_all`."""
        return self._via("all_to_all", output_tensors, input_tensors)

    def alltoall_base(self, output, input, output_split_sizes, input_split_sizes, opts=None):
        """`all_to_all_single`."""
        return self._via("all_to_all_single", output, input, output_split_sizes or None, input_split_sizes or None)

    all_to_all_single = alltoall_base

    def barrier(self, opts=None, timeout=None):
        """`barrier`."""
        return self._via("barrier")

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """`monitored_barrier`."""
        from . import _collectives
        _collectives.monitored_barrier(self, timeout, wait_all_ranks)

    def send(self, tensors, dstRank, tag):
        """`isend` to a member."""
        from . import _collectives
        return _collectives.isend(*_one(tensors), group=self, tag=tag, group_dst=dstRank)

    def recv(self, tensors, srcRank, tag):
        """`irecv` from a member."""
        from . import _collectives
        return _collectives.irecv(*_one(tensors), group=self, tag=tag, group_src=srcRank)

    def recv_anysource(self, tensors, tag):
        """`irecv` from whoever sends."""
        from . import _collectives
        return _collectives.irecv(*_one(tensors), group=self, tag=tag)


class ProcessGroupGloo(ProcessGroup):
    """What gloo's own class is called; `init_process_group` and `new_group` make groups, and it raises NotImplementedError."""
    __module__ = "torchshim.distributed.distributed_c10d"
    __unimplemented__ = True

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("torchshim: torch.distributed.ProcessGroupGloo(...); torch.distributed.new_group makes groups")


def _one(x, kind=None):
    """A list of one element: the tensor, or the list itself where one of lists was given."""
    if isinstance(x, (list, tuple)) and (kind is None or not x or isinstance(x[0], (list, tuple))):
        return list(x)
    return [x]


def _op(opts):
    op = getattr(opts, "reduceOp", opts)
    return {"op": op} if hasattr(op, "name") else {}


def _root(root):
    return getattr(root, "rootRank", root)


class Work:
    """A collective under way. `wait` ends it: only then are its results in the tensors."""
    __module__ = "torch.distributed.distributed_c10d"

    def __init__(self, tensors=(), coming=None, fill=None, source=None):
        self._tensors, self._coming, self._fill, self._source = list(tensors), coming, fill, source

    def wait(self, timeout=None):
        """True when it is done. Raises what went wrong."""
        if self._coming is not None:
            made = self._coming.result(timeout.total_seconds() if timeout else None)
            self._coming, fill = None, self._fill
            if fill is not None:
                fill(made)
        return True

    synchronize = wait

    def is_completed(self):
        """Whether `wait` would return at once."""
        if self._coming is not None and self._coming.done():
            self.wait()
        return self._coming is None

    def is_success(self):
        """Whether it is done and nothing went wrong."""
        return self.is_completed()

    def exception(self):
        """What went wrong, or None."""
        return self._coming.exception() if self._coming is not None and self._coming.done() else None

    def result(self):
        """The tensors it wrote."""
        self.wait()
        return self._tensors

    def source_rank(self):
        """Who sent what was received."""
        if self._source is None:
            raise RuntimeError("sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call.")
        self.wait()
        return self._source[0]

    def get_future(self):
        """A Future of the tensors it wrote; it is done."""
        from ..futures import Future
        made = Future()
        made.set_result(self.result())
        return made


class group:
    """`group.WORLD`: the group of all processes."""
    __module__ = "torchshim.distributed.distributed_c10d"
    WORLD = None


class GroupMember:
    """`GroupMember.NON_GROUP_MEMBER`: what `new_group` gives a process that is not in the group."""
    __module__ = "torchshim.distributed.distributed_c10d"
    WORLD, NON_GROUP_MEMBER = None, -100


class _World:
    """What this process knows of groups: its own, by name, and how many were made."""

    def __init__(self):
        self.groups, self.made, self.store, self.begun, self.local = {}, 0, None, 0, collections.Counter()


_world = _World()


def is_initialized():
    """Whether `init_process_group` was called."""
    return group.WORLD is not None


def values(tensor):
    """A tensor's values as a NumPy array."""
    return np.ascontiguousarray(array_of(present(read(tensor.detach().resolve_conj())))).reshape(tuple(tensor.shape))


def fill(tensor, array):
    """Write a NumPy array into a tensor."""
    from ..autograd import no_grad
    with no_grad():
        tensor.detach().copy_(wrap(value_of(array, meta_of(array.shape, array.dtype, default_device()))))


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None,
                       device_id=None, _ranks=None):
    """Begin: find the other processes and make `group.WORLD`.

    init_method: "env://" (MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, as torchrun sets them), "tcp://host:port" or "file:///path"; or
    `store`, with rank and world_size. timeout: how long collectives wait (30 minutes). ValueError when it was called before or something
    is not said; DistNetworkError and DistStoreError when the others do not come.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None:
        if init_method is not None:
            raise AssertionError("Cannot specify both init_method and store.")
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
    if device_id is not None:
        _backends.check_device(device_id)
    backend = _backends.announced(backend)
    if timeout is not None and not isinstance(timeout, datetime.timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    timeout = timeout or default_pg_timeout
    if backend == "mpi":
        if world_size != -1 or rank != -1:
            warnings.warn(f"For MPI backend, world_size ({world_size}) and rank ({rank}) are ignored since they are assigned by the MPI "
                          "runtime.", stacklevel=2)
        _backends.required(backend)
    if store is None:
        from .rendezvous import rendezvous
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=timeout))
    config = _backends.required(backend)
    if not 0 <= rank < world_size:
        raise ValueError(f"invalid rank {rank} in a group of {world_size} processes")
    store = PrefixStore("default_pg", store)
    _world.begun += 1
    peers = Peers(PrefixStore(f"peers/{_world.begun}", store), rank, world_size, timeout) if world_size > 1 else None
    made = ProcessGroup(backend, group_name or "0", range(world_size), rank, peers, timeout, "default_pg", store)
    made._config = config
    _world.groups[made.group_name], _world.made, _world.store = made, 1, store
    group.WORLD = GroupMember.WORLD = made


def destroy_process_group(group=None):
    """Forget a group; without an argument all of them, and the connections to other processes."""
    world = globals()["group"].WORLD
    chosen = world if group is None else group
    if chosen is not None and not isinstance(chosen, ProcessGroup) and chosen != GroupMember.NON_GROUP_MEMBER:
        raise ValueError("Invalid process group specified")
    if chosen is None:
        raise AssertionError("Process group cannot be None")
    if chosen == GroupMember.NON_GROUP_MEMBER:
        return
    if chosen.group_name not in _world.groups:
        raise RuntimeError("Invalid process group specified")
    if chosen is world:
        if world._peers is not None:
            world._peers.close()
        _world.groups.clear()
        _world.store = globals()["group"].WORLD = GroupMember.WORLD = None
    else:
        del _world.groups[chosen.group_name]


def chosen(group=None):
    """The group, or that of all processes for None. ValueError before `init_process_group`."""
    if not is_initialized():
        raise ValueError(UNINITIALIZED)
    return globals()["group"].WORLD if group is None else group


def outside(group):
    """Whether this process is not in a group."""
    return group == GroupMember.NON_GROUP_MEMBER


def warned(group, name):
    """Whether this process is not in a group, which is said in a UserWarning."""
    if not outside(group):
        return False
    warnings.warn(f"Running {name} on global rank {get_rank()} which does not belong to the given group.", stacklevel=3)
    return True


def _registered(group):
    made = chosen(group)
    if not isinstance(made, ProcessGroup):
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    return made


def get_rank(group=None):
    """This process's number in the group; -1 outside of it."""
    return -1 if outside(group) else _registered(group).rank()


def get_world_size(group=None):
    """How many processes the group has; -1 outside of it."""
    return -1 if outside(group) else chosen(group).size()


def get_backend(group=None):
    """The backend's name as it was asked for."""
    if outside(group):
        raise ValueError("Invalid process group specified")
    made = chosen(group)
    if not isinstance(made, ProcessGroup):
        raise ValueError(f"Process group {made} is not initialized in the world group map. Please initialize the group first.")
    return str(made.backend)


def get_backend_config(group=None):
    """Which backend serves which type of device."""
    made = chosen(group)
    return repr(getattr(made, "_config", None) or BackendConfig(made.backend))


def get_pg_count():
    """How many groups this process is in."""
    return len(_world.groups)


def get_process_group_ranks(group=None):
    """The members among all processes."""
    return list(chosen(group)._ranks)


def get_group_rank(group, global_rank):
    """A process's number within a group. ValueError for one that is not in it."""
    made = chosen(group)
    if made is globals()["group"].WORLD:
        return global_rank
    if made.group_name not in _world.groups:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    if global_rank not in made._ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return made._ranks.index(global_rank)


def get_global_rank(group, group_rank):
    """A member's number among all processes. ValueError for one that is not there."""
    if group is globals()["group"].WORLD:      # None before init_process_group
        return group_rank
    made = chosen(group)
    if made is globals()["group"].WORLD:
        return group_rank
    if not 0 <= group_rank < made.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return made._ranks[group_rank]


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
    """A group of some processes, or `GroupMember.NON_GROUP_MEMBER` for one that is not among `ranks`. All processes call it."""
    world = chosen()
    backend = world.backend if backend is None else _backends.announced(backend)
    config = _backends.required(backend)
    n = world.size()
    ranks = list(range(n)) if ranks is None else sorted(ranks) if sort_ranks else list(ranks)
    if len(ranks) > n:
        raise ValueError("the new group's world size should be less or equal to the world size set by init_process_group")
    if len(set(ranks)) < len(ranks):
        raise ValueError(f"ranks list must not contain duplicate entries, got {ranks}")
    for r in ranks:
        if not 0 <= r < n:
            raise ValueError(f"Rank {r} is out of range. Valid ranks are 0 to {n - 1} (world_size={n})")
    if use_local_synchronization:              # only members call: the name depends on them alone
        _world.local[tuple(ranks)] += 1
        name = f"{'_'.join(map(str, ranks))}.{_world.local[tuple(ranks)]}"
    else:
        name, _world.made = str(_world.made), _world.made + 1
    if world.rank() not in ranks:
        return GroupMember.NON_GROUP_MEMBER
    made = ProcessGroup(backend, name, ranks, ranks.index(world.rank()), world._peers, timeout or world._timeout,
                        group_desc or "undefined", _world.store)
    made._config = config
    _world.groups[name] = made
    return made


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """(this process's group, all groups): consecutive processes in groups of `group_size`. ValueError for sizes that do not divide."""
    if group_size is None:
        from .. import cuda
        if not cuda.is_available():
            raise ValueError("Default group size only takes effect when CUDA is available.If your subgroup using a backend that does not "
                             "depend on CUDA,please pass in 'group_size' correctly.")
        group_size = cuda.device_count()
    n = get_world_size(group)
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if group_size > n:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({n})")
    if n % group_size:
        raise ValueError(f"The world size ({n}) must be divisible by '{group_size=}'")
    ranks = get_process_group_ranks(group)
    return new_subgroups_by_enumeration([ranks[k:k + group_size] for k in range(0, n, group_size)], timeout, backend, pg_options,
                                        group_desc)


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    """(this process's group or None, all groups) for lists of ranks. ValueError for no lists, or a rank in two of them."""
    if ranks_per_subgroup_list is None or len(ranks_per_subgroup_list) == 0:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    mine, made, seen = None, [], set()
    for ranks in ranks_per_subgroup_list:
        each = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        made.append(each)
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroups")
            seen.add(rank)
            if rank == get_rank():
                mine = each
    return mine, made


def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None):
    """RuntimeError: as PyTorch's gloo groups, these cannot be split; `new_group` makes others."""
    chosen(parent_pg)
    raise RuntimeError("No backend for the parent process group or its backend does not support splitting")


def shrink_group(ranks_to_exclude, group=None, shrink_flags=0, pg_options=None):
    """NotImplementedError."""
    raise NotImplementedError("torchshim: torch.distributed.shrink_group")
