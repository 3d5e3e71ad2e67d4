"""call_for_per_sample_grads: a module whose backward leaves each sample's gradient in its parameters' `grad_sample`."""
from __future__ import annotations

import functools

from ...tensor.core.tensor import Tensor
from ...utils import _pytree as pytree
from ..modules.module import Module
from ._expanded_weights.expanded_weights_impl import ExpandedWeight
from .stateless import called_with


def _batch_size(args, kwargs, batch_first):
    """The one batch size of all tensors among the arguments."""
    found = None
    for x in pytree.tree_leaves((args, kwargs)):
        if not isinstance(x, Tensor):
            continue
        size = x.shape[0 if batch_first else 1]
        if found is not None and found != size:
            raise RuntimeError(f"When computing batch size, found at least one input with batch size {found} and one with batch size {size}. "
                               "Please specify it explicitly using the batch size kwarg in call_for_per_sample_grads")
        found = size
    if found is None:
        raise RuntimeError("Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so ExpandedWeights cannot "
                           "compute the batch size from the inputs. Please specify it explicitly")
    return found


def call_for_per_sample_grads(module, *, batch_size=None, loss_reduction="sum", batch_first=True):
    """A function that calls the module; a backward from what it returns writes `grad_sample`, of shape (batch, *parameter.shape), for every
    trainable parameter and leaves `grad` alone. With loss_reduction="mean" the loss is a mean over the batch, which is scaled back."""
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if batch_size is not None and not isinstance(batch_size, int):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError("Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls without "
                               f"clearing gradients. Please clear out the grad_sample parameter of {weight} or post an issue to "
                               "pytorch/pytorch to prioritize correct behavior")

    @functools.wraps(module.forward)
    def called(*args, **kwargs):
        size = _batch_size(args, kwargs, batch_first) if batch_size is None else batch_size
        weights = {name: ExpandedWeight(p, size, loss_reduction) if p.requires_grad else p for name, p in module.named_parameters()}
        return called_with(module, weights, args, kwargs)
    return called
