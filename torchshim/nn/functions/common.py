"""What the loss functions share."""
from __future__ import annotations

import warnings

import numpy as np

REDUCTIONS = ("none", "mean", "sum")


def reduction_of(reduction, size_average=None, reduce=None, stacklevel=3):
    """The reduction, from torch's present argument or its two deprecated ones; ValueError for an unknown one."""
    if size_average is not None or reduce is not None:
        average = True if size_average is None else size_average
        reduction = "none" if reduce is not None and not reduce else "mean" if average else "sum"
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
                      stacklevel=stacklevel)
    elif reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def known(value):
    """The host array behind a Value that is computed already, else None: such indices are checked at the call."""
    a = value.array
    if a is None or value.meta.device == "meta":
        return None
    return a if isinstance(a, np.ndarray) else _host(a)


def _host(a):
    import jax
    if isinstance(a, jax.core.Tracer):
        return None
    return np.asarray(a) if a.is_fully_addressable and a.is_ready() else None


def size_warning(name, input, target):
    """torch's warning about sizes that will broadcast."""
    if input._meta.shape != target._meta.shape:
        warnings.warn(f"Using a {name} size ({target.size()}) that is different to the input size ({input.size()}). This will likely "
                      "lead to incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=3)
