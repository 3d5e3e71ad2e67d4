"""torch.distributed._functional_collectives: collectives that return their result, done when called."""
from __future__ import annotations

import torchshim as torch

from ..dropin import missing_attribute as _missing_attribute
from . import _collectives as plain
from ._group import ProcessGroup, _world, chosen
from ._names import ReduceOp, more

_OPS = {"sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "product": ReduceOp.PRODUCT, "min": ReduceOp.MIN, "max": ReduceOp.MAX,
        "band": ReduceOp.BAND, "bor": ReduceOp.BOR, "bxor": ReduceOp.BXOR}


def all_reduce(self, reduceOp, group, tag=""):
    """The combined tensor; reduceOp: "sum", "avg", …"""
    made = self.clone()
    plain.all_reduce(made, _OPS[reduceOp.lower()], _member(group))
    return made


def all_gather_tensor(self, gather_dim, group, tag=""):
    """The tensors of all processes, concatenated along `gather_dim`."""
    pg = _member(group)
    if pg.size() == 1:
        return self.clone()
    made = [torch.empty_like(self) for _ in range(pg.size())]
    plain.all_gather(made, self.detach(), pg)
    return torch.cat(made, gather_dim)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """This process's part, along `scatter_dim`, of the combined tensor."""
    pg = _member(group)
    if pg.size() == 1:
        return self.clone()
    if self.size(scatter_dim) % pg.size():
        raise AssertionError(f"input dimension 0 ({self.size(0)} must be a multiple of group_size {pg.size()})")
    parts = [part.contiguous() for part in self.detach().chunk(pg.size(), scatter_dim)]
    made = torch.empty_like(parts[0])
    plain.reduce_scatter(made, parts, _OPS[reduceOp.lower()], pg)
    return made


def broadcast(self, src, group, tag=""):
    """The tensor of member `src`."""
    made = self.clone()
    plain.broadcast(made, group=_member(group), group_src=src)
    return made


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """What the processes sent to this one, concatenated along the first dimension."""
    pg = _member(group)
    if pg.size() == 1:
        return self.clone()
    rows = sum(output_split_sizes) if output_split_sizes else self.size(0)
    made = self.new_empty((rows, *self.shape[1:]))
    plain.all_to_all_single(made, self.detach(), output_split_sizes, input_split_sizes, pg)
    return made


def all_to_all_single_autograd(self, output_split_sizes, input_split_sizes, group, tag=""):
    """The same, through which gradients flow."""
    from .nn.functional import all_to_all_single as differentiable
    pg = _member(group)
    if pg.size() == 1:
        return self.clone()
    rows = sum(output_split_sizes) if output_split_sizes else self.size(0)
    return differentiable(self.new_empty((rows, *self.shape[1:])), self, output_split_sizes, input_split_sizes, pg)


def wait_tensor(tensor):
    """The tensor of a collective, which is there."""
    return tensor


def _member(group):
    """The process group among the ways to name one: itself, its name, a mesh of one dimension, the list of its processes."""
    if group is None or isinstance(group, ProcessGroup):
        return chosen(group)
    if isinstance(group, str):
        return _world.groups[group]
    if hasattr(group, "get_group"):
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and hasattr(group[0], "get_group"):
        return group[0].get_group(group[1])
    ranks = [int(r) for r in torch.as_tensor(group).reshape(-1).tolist()]
    for pg in (chosen(), *_world.groups.values()):
        if pg._ranks == ranks:
            return pg
    if all(0 <= r < chosen().size() for r in ranks):
        raise more("torch.distributed._functional_collectives: a list of processes that `new_group` made no group of,")
    raise ValueError(f"the processes {ranks} are not all there")


__getattr__ = _missing_attribute(__name__)
