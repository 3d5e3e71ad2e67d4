"""torch.distributed under the name of the module where torch writes it."""
import warnings as _warnings

from . import *  # noqa: F403
from . import (_UNINITIALIZED, Backend, GroupMember, P2POp, PrefixStore, ProcessGroup, ReduceOp, Store, Work, _all_gather_base,  # noqa: F401
               _reduce_scatter_base, all_gather_into_tensor, get_backend, get_global_rank, get_rank, get_world_size, group,
               init_process_group, is_initialized, new_group)
from ..dropin import missing_attribute as _missing_attribute


def _get_default_group():
    """The group of all processes. ValueError when there is none yet."""
    if not is_initialized():
        raise ValueError(_UNINITIALIZED)
    return group.WORLD


def _get_global_rank(group, rank):
    """get_global_rank under its older name; FutureWarning."""
    _warnings.warn("`torch.distributed.distributed_c10d._get_global_rank` is deprecated, please use "
                   "`torch.distributed.distributed_c10d.get_global_rank` instead", FutureWarning, stacklevel=2)
    return get_global_rank(group, rank)


def _rank_not_in_group(group):
    """Whether this process is no member."""
    return group is GroupMember.NON_GROUP_MEMBER


__getattr__ = _missing_attribute(__name__)
