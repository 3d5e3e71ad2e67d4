"""What the loss functions share."""
from __future__ import annotations


import numpy as np

from ...engine import TRACED, context, is_host, known as soon, present, warn
from ...tensor.api.joining import broadcast_tensors

REDUCTIONS = ("none", "mean", "sum")


def reduction_of(reduction, size_average=None, reduce=None):
    """The reduction, from torch's present argument or its two deprecated ones; ValueError for an unknown one."""
    if size_average is not None or reduce is not None:
        average = True if size_average is None else size_average
        reduction = "none" if reduce is not None and not reduce else "mean" if average else "sum"
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    elif reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def known(value):
    """The host array behind a Value that is there, or soon made (see the engine's `known`), else None."""
    value = present(value)
    if value.extra is TRACED or value.meta.device == "meta" or not is_host(value.meta.device):
        return None
    a = soon(value)
    return None if a is None else np.asarray(a)


def size_warning(name, input, target):
    """Both in their common size, with torch's warning where that is not the size of both."""
    if input._ts_meta.shape != target._ts_meta.shape:
        warn(f"Using a {name} size ({target.size()}) that is different to the input size ({input.size()}). This will likely "
             "lead to incorrect results due to broadcasting. Please ensure they have the same size.")
        return broadcast_tensors(input, target)
    return input, target


def not_differentiable(name, **arguments):
    """torch's error for tensors that want a gradient of a loss which gives none to them."""
    for argument, tensor in arguments.items():
        if tensor is not None and tensor.requires_grad and context.grad is True:
            raise RuntimeError(f"The function '{name}' is not differentiable with respect to argument '{argument}'. This input cannot have "
                               "requires_grad True.")
