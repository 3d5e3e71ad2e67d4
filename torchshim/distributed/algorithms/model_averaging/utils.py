"""Means of parameters over processes."""
import itertools

from .... import distributed as dist
from ....autograd import no_grad

__all__ = ["average_parameters", "get_params_to_average", "average_parameters_or_parameter_groups"]


def average_parameters(params, process_group):
    """Put the mean over the group into each parameter."""
    group = process_group if process_group is not None else dist.group.WORLD
    if dist._group.outside(group):
        return
    import torchshim as torch
    first, second = itertools.tee(params)
    with no_grad():
        flat = torch.cat([p.data.reshape(-1) for p in first])
        flat /= dist.get_world_size(group)
        dist.all_reduce(flat, group=group)
        start = 0
        for p in second:
            p.data.copy_(flat[start:start + p.numel()].view(p.shape))
            start += p.numel()


def get_params_to_average(params):
    """The parameters, of an iterable of them or of an optimizer's groups, that have gradients."""
    found = []
    for p in params:
        if isinstance(p, dict):
            found += [q for q in p["params"] if q.grad is not None]
        elif hasattr(p, "grad"):
            if p.grad is not None:
                found.append(p)
        else:
            raise NotImplementedError(f"Parameter input of type {type(p)} is not supported")
    return found


def average_parameters_or_parameter_groups(params, process_group):
    """The mean over the group of those that have gradients."""
    average_parameters(iter(get_params_to_average(params)), process_group)
