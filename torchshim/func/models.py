"""Modules as functions of their parameters."""
from __future__ import annotations

import collections


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with the given tensors (a dict of names, or a sequence of such dicts) in place of its own."""
    from ..nn.utils.stateless import called_with as call
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, collections.abc.Sequence):
        for d in parameter_and_buffer_dicts:
            if not isinstance(d, dict):
                raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        keys = [k for d in parameter_and_buffer_dicts for k in d]
        twice = [k for k, n in collections.Counter(keys).items() if n > 1]
        if twice:
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {k: v for d in parameter_and_buffer_dicts for k, v in d.items()}
    else:
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                         f"{type(parameter_and_buffer_dicts)}")
    return call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models):
    """(parameters, buffers) of several equal modules, each stacked along a new first dimension."""
    import torchshim as torch
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters, buffers = ({}, {})
    for name, p in models[0].named_parameters():
        all_of_it = [dict(m.named_parameters())[name] for m in models]
        if len({q.requires_grad for q in all_of_it}) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        parameters[name] = torch.stack([q.detach() for q in all_of_it]).requires_grad_(p.requires_grad)
    for name, _ in models[0].named_buffers():
        buffers[name] = torch.stack([dict(m.named_buffers())[name].detach() for m in models])
    return parameters, buffers


def replace_all_batch_norm_modules_(root):
    """The module, whose batch norms have no running statistics any more."""
    from ..nn.modules.batchnorm import _BatchNorm
    for m in root.modules():
        if isinstance(m, _BatchNorm) and m.track_running_stats:
            m.running_mean = m.running_var = m.num_batches_tracked = None
            m.track_running_stats = False
    return root
