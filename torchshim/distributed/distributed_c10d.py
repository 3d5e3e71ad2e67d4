"""torch.distributed under the name of the module where torch writes it."""
import pickle as _pickle
import warnings as _warnings

from . import *  # noqa: F403
from . import (Backend, GroupMember, P2POp, PrefixStore, ProcessGroup, ReduceOp, Store, Work, _all_gather_base,  # noqa: F401
               _reduce_scatter_base, all_gather_into_tensor, get_backend, get_global_rank, get_rank, get_world_size, group,
               init_process_group, is_initialized, new_group)
from ..dropin import missing_attribute as _missing_attribute
from ._group import _world, chosen as _chosen
from ._group import outside as _rank_not_in_group  # noqa: F401

GroupName = str


def _get_default_group():
    """The group of all processes. ValueError when there is none yet."""
    return _chosen()


def _get_default_store():
    """The store by which the processes met."""
    _chosen()
    return _world.store


def _get_default_timeout(backend):
    """How long collectives of a backend wait."""
    from . import default_pg_timeout
    return default_pg_timeout


def _resolve_process_group(group_name):
    """The group of a name. RuntimeError for none."""
    if group_name not in _world.groups:
        raise RuntimeError(f"Could not resolve the process group registered under the name {group_name}")
    return _world.groups[group_name]


def _get_process_group_name(pg):
    """A group's name."""
    return pg.group_name if isinstance(pg, ProcessGroup) else "None"


def _get_group_size(group):
    """How many processes a group has."""
    return _chosen(group).size()


def _get_pg_default_device(group=None):
    """The device of a group's collectives."""
    from .. import device
    _chosen(group)
    return device("cpu")


def _object_to_tensor(obj, device=None, group=None):
    """(the object's pickle as a tensor of bytes, its length as a tensor)."""
    from .. import tensor, uint8
    data = list(_pickle.dumps(obj))
    return tensor(data, dtype=uint8, device=device), tensor([len(data)], device=device)


def _tensor_to_object(tensor, tensor_size, group=None):
    """The object of the first bytes of a tensor."""
    return _pickle.loads(bytes(tensor.cpu().tolist()[:int(tensor_size)]))


def _get_global_rank(group, rank):
    """get_global_rank under its older name; FutureWarning."""
    _warnings.warn("`torch.distributed.distributed_c10d._get_global_rank` is deprecated, please use "
                   "`torch.distributed.distributed_c10d.get_global_rank` instead", FutureWarning, stacklevel=2)
    return get_global_rank(group, rank)


__getattr__ = _missing_attribute(__name__)
