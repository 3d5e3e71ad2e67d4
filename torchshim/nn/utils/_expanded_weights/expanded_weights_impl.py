"""ExpandedWeight: a parameter that stands for one copy of itself for each sample."""
from __future__ import annotations

import contextlib

from ....tensor.core.tensor import Tensor
from ....utils import _pytree as pytree

HANDLED_FUNCTIONS: dict = {}
RECURRENT: dict = {}          # torch.lstm and the like: the same of linear functions, which are handled


def implements_per_sample_grads(torch_function):
    """A decorator: this autograd.Function computes torch_function where some of its arguments are expanded weights."""
    def register(autograd_function):
        HANDLED_FUNCTIONS[torch_function] = autograd_function
        return autograd_function
    return register


@contextlib.contextmanager
def _with(args, **attributes):
    """A block in which the expanded weights among the arguments have other attributes."""
    weights = [w for w in pytree.tree_leaves(args) if isinstance(w, ExpandedWeight)]
    before = [{name: getattr(w, name) for name in attributes} for w in weights]
    for w in weights:
        vars(w).update(attributes)
    try:
        yield
    finally:
        for w, old in zip(weights, before):
            vars(w).update(old)


class ExpandedWeight(Tensor):
    """A parameter for a batch: functions compute with it what they compute with `orig_weight`; their backward puts the gradient of each
    sample into `orig_weight.grad_sample`. A function that is not known to keep the samples apart raises."""

    handled_functions = HANDLED_FUNCTIONS

    def __new__(cls, orig_weight, batch_size, loss_reduction):
        if not isinstance(orig_weight, Tensor):
            raise RuntimeError(f"Can only make Expanded Weights of Tensors, got {type(orig_weight).__name__}")
        if not orig_weight.requires_grad:
            raise RuntimeError("Can only build ExpandedWeights objects of tensors that requires_grad")
        return Tensor._make_subclass(cls, orig_weight, True)

    def __init__(self, orig_weight, batch_size, loss_reduction):
        self.orig_weight, self.batch_size, self.loss_reduction = orig_weight, batch_size, loss_reduction
        self.batch_first, self.allow_smaller_batches = True, False      # in a packed sequence the later steps have fewer samples

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in RECURRENT:
            padded = isinstance(args[2], list)     # a packed sequence has its batch sizes and states before its parameters
            with _with(args, batch_first=False) if padded else _with(args, allow_smaller_batches=True):
                return RECURRENT[func](*args, **kwargs)
        if func in cls.handled_functions:
            return cls.handled_functions[func].apply(tuple(kwargs), func, *args, *kwargs.values())
        raise RuntimeError(f"Expanded Weights encountered but cannot handle function {func.__name__}")

    dtype = property(lambda self: self.orig_weight.dtype)
    data = property(lambda self: self.orig_weight.data)
    shape = property(lambda self: self.orig_weight.shape)
    device = property(lambda self: self.orig_weight.device)
    is_cuda = property(lambda self: self.orig_weight.is_cuda)

    def data_ptr(self):
        return self.orig_weight.data_ptr()

    def get_device(self):
        return self.orig_weight.get_device()

    def set_allow_smaller_batches(self, is_allow_smaller_batches):
        self.allow_smaller_batches = is_allow_smaller_batches

    def set_batch_first(self, is_batch_first=True):
        self.batch_first = is_batch_first
