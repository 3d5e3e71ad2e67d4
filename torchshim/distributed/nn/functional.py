"""Collectives through which gradients flow. In a group of one each gives what it was given."""
from __future__ import annotations

from .. import ReduceOp, _group, _only


def broadcast(tensor, src, group=None):
    """The tensor of process `src`, at every process."""
    _group(group)
    _only(src)
    return tensor.clone()


def gather(tensor, dst=0, group=None):
    """The tensors of all processes at process `dst`: a tuple of one."""
    _group(group)
    _only(dst)
    return (tensor.clone(),)


def scatter(tensors, src=0, group=None):
    """This process's tensor of the list at `src`."""
    _group(group)
    _only(src)
    return tensors[0].clone()


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """The combined tensor at process `dst`."""
    _group(group)
    _only(dst)
    return tensor.clone()


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """This process's part of the combined list; `output` says its shape."""
    _group(group)
    return input_list[0].clone()


def all_gather(tensor, group=None):
    """The tensors of all processes: a tuple of one."""
    _group(group)
    return (tensor.clone(),)


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """What each process has for this one: a tuple of one."""
    _group(group)
    return tuple([t.clone() for t in input_tensor_list])


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """The same for one tensor split along its first dimension."""
    _group(group)
    return input.clone()


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """The tensor combined over all processes."""
    _group(group)
    return tensor.clone()
