"""Policies that say which submodules are sharded by themselves: functions of (module, recurse, nonwrapped_numel).

With `recurse` they tell whether to look at the module's children, without it whether to wrap the module.
"""
from __future__ import annotations

import contextlib

from ... import nn

__all__ = ["CustomPolicy", "enable_wrap", "wrap", "always_wrap_policy",
           "lambda_auto_wrap_policy", "transformer_auto_wrap_policy", "size_based_auto_wrap_policy", "ModuleWrapPolicy"]


def always_wrap_policy(*args, **kwargs):
    """Every module."""
    return True


def lambda_auto_wrap_policy(module, recurse, nonwrapped_numel, lambda_fn):
    """The modules for which `lambda_fn` is true."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls):
    """The modules of certain classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(module, recurse, nonwrapped_numel, min_num_params=int(1e8), force_leaf_modules=None,
                                exclude_wrap_modules=None):
    """Modules with at least `min_num_params` elements not wrapped yet; neither what is inside `force_leaf_modules` nor
    `exclude_wrap_modules`.
    """
    policy = size_based_auto_wrap_policy
    leaves = policy.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
    excluded = policy.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(leaves if recurse else excluded))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {nn.ModuleList, nn.ModuleDict}
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {nn.MultiheadAttention}


def _or_policy(module, recurse, nonwrapped_numel, policies):
    return any([policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies])


class ModuleWrapPolicy:
    """The policy that wraps the modules of `module_classes`."""

    def __init__(self, module_classes):
        self._module_classes = set(module_classes)

    def __call__(self, module, recurse, *args, **kwargs):
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self):
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy:
    """The policy that wraps the modules for which `lambda_fn` is true."""

    def __init__(self, lambda_fn):
        self._lambda_fn = lambda_fn


_wrapping: list = []              # (wrapper class, its arguments) of each `enable_wrap` around


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls, **wrapper_kwargs):
    """A context in which `wrap` wraps by `wrapper_cls(module, **wrapper_kwargs)`."""
    _wrapping.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.pop()


def wrap(module, **wrap_overrides):
    """A module wrapped as the `enable_wrap` around says; the module itself outside of one."""
    if not _wrapping:
        return module
    cls, kwargs = _wrapping[-1]
    return cls(module, **{**kwargs, **wrap_overrides})
