"""torch.distributed._functional_collectives: collectives that return their result, done when called. In a group of one each gives a
copy.
"""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute
from . import _group, _only


def all_reduce(self, reduceOp, group, tag=""):
    """The combined tensor."""
    _group(_member(group))
    return self.clone()


def all_gather_tensor(self, gather_dim, group, tag=""):
    """The tensors of all processes, concatenated along `gather_dim`."""
    _group(_member(group))
    return self.clone()


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """This process's part, along `scatter_dim`, of the combined tensor."""
    _group(_member(group))
    return self.clone()


def broadcast(self, src, group, tag=""):
    """The tensor of process `src`."""
    _group(_member(group))
    _only(src)
    return self.clone()


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """What the processes sent to this one, concatenated along the first dimension."""
    _group(_member(group))
    return self.clone()


all_to_all_single_autograd = all_to_all_single


def wait_tensor(tensor):
    """The tensor of a collective, which is there."""
    return tensor


def _member(group):
    """The process group among the ways to name one: a list of ranks is of this process alone."""
    if not isinstance(group, (list, tuple)):
        return group
    for rank in group:
        _only(rank)


__getattr__ = _missing_attribute(__name__)
