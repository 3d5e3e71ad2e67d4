"""Modules as functions of tuples of tensors."""
from __future__ import annotations

import copy

from .. import empty_like, stack
from ..func import functional_call
from ..nn import Module, Parameter


class FunctionalModuleWithBuffers(Module):
    """`f(params, buffers, *args, **kwargs)`: the module called with these tensors as its own."""

    def __init__(self, stateless_model, param_names, buffer_names):
        super().__init__()
        self.stateless_model, self.param_names, self.buffer_names = stateless_model, param_names, buffer_names

    def forward(self, params, buffers, *args, **kwargs):
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers)))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(Module):
    """`f(params, *args, **kwargs)`: the module called with these tensors as its parameters."""

    def __init__(self, stateless_model, param_names):
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, param_names

    def forward(self, params, *args, **kwargs):
        return functional_call(self.stateless_model, dict(zip(self.param_names, params)), args, kwargs)


def _taken_apart(model, disable_autograd_tracking):
    """(the model without tensors, the names of its parameters and buffers, copies of both)."""
    model = copy.deepcopy(model)
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    if disable_autograd_tracking:
        for p in params.values():
            p.requires_grad_(False)
    hollow = {}
    for m in model.modules():
        for tensors in (m._parameters, m._buffers):
            for name, t in tensors.items():
                if t is not None:
                    if id(t) not in hollow:
                        empty = empty_like(t, device="meta")
                        hollow[id(t)] = Parameter(empty, t.requires_grad) if isinstance(t, Parameter) else empty
                    tensors[name] = hollow[id(t)]
    return model, tuple(params), tuple(buffers), tuple(params.values()), tuple(buffers.values())


def make_functional(model, disable_autograd_tracking=False):
    """(a FunctionalModule, the parameters, which are copies). RuntimeError for a model with buffers.

    disable_autograd_tracking: the parameters require no gradient.
    """
    if list(model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    model, names, _, params, _ = _taken_apart(model, disable_autograd_tracking)
    return FunctionalModule(model, names), params


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """(a FunctionalModuleWithBuffers, the parameters, the buffers); see `make_functional`."""
    model, names, buffer_names, params, buffers = _taken_apart(model, disable_autograd_tracking)
    return FunctionalModuleWithBuffers(model, names, buffer_names), params, buffers


def combine_state_for_ensemble(models):
    """(a FunctionalModuleWithBuffers, the parameters, the buffers) of several equal modules, stacked along a new first dimension.

    RuntimeError for none, for modules of several classes, and where some are in training mode.
    """
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*[make_functional_with_buffers(m) for m in models])
    params, buffers = [tuple([stack(same).detach() for same in zip(*each)]) for each in (params, buffers)]
    return functions[0], params, buffers
