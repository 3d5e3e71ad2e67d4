"""Modules that compute their activations again in the backward pass (torch.utils.checkpoint), as wrappers that state dicts do not see."""
from __future__ import annotations

import enum
import functools

from ....autograd.graph import save_on_cpu
from ....nn import Module
from ....utils.checkpoint import checkpoint

_WRAPPED = "_checkpoint_wrapped_module"
_PREFIX = _WRAPPED + "."


class CheckpointImpl(enum.Enum):
    """The two kinds of torch.utils.checkpoint."""
    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(Module):
    """A module in another that names, indexes and loads as the inner one does."""

    def __init__(self, mod):
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def forward(self, *args, **kwargs):
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key):
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args, **kwargs):
        """The inner module's, by its own names."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(module, state_dict, prefix, *args):
        for key in [k for k in state_dict if k.startswith(prefix + _PREFIX)]:
            state_dict[prefix + key[len(prefix + _PREFIX):]] = state_dict.pop(key)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module, state_dict, prefix, *args):
        for key in [k for k in state_dict if k.startswith(prefix) and not k.startswith(prefix + _PREFIX)]:
            state_dict[prefix + _PREFIX + key[len(prefix):]] = state_dict.pop(key)


class OffloadWrapper(ActivationWrapper):
    """Keeps what the inner module saves for its backward pass on the CPU."""

    def forward(self, *args, **kwargs):
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """Runs the inner module under a checkpoint: `checkpoint_fn` with its arguments, else torch.utils.checkpoint of the kind chosen."""

    def __init__(self, mod, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            self.checkpoint_fn = functools.partial(checkpoint, use_reentrant=checkpoint_impl == CheckpointImpl.REENTRANT,
                                                   **checkpoint_fn_kwargs)
        else:
            self.checkpoint_fn = functools.partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args, **kwargs):
        if self.checkpoint_impl == CheckpointImpl.REENTRANT and kwargs:          # that kind takes positions only
            def run(*given):
                return self._checkpoint_wrapped_module(*given[:len(args)], **dict(zip(kwargs, given[len(args):])))
            return self.checkpoint_fn(run, *args, *kwargs.values())
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


def offload_wrapper(module):
    """The module, its saved activations on the CPU."""
    return OffloadWrapper(module)


def checkpoint_wrapper(module, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
    """The module, its activations computed again in the backward pass."""
    if checkpoint_impl == CheckpointImpl.REENTRANT:
        import warnings
        warnings.warn(f"Please specify {CheckpointImpl.NO_REENTRANT} as {CheckpointImpl.REENTRANT} will soon be removed as the default and "
                      "eventually deprecated.", FutureWarning, stacklevel=2)
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(model, checkpoint_wrapper_fn=checkpoint_wrapper, check_fn=lambda _: True, auto_wrap_policy=None):
    """Wrap in place the submodules of `model` for which `check_fn(submodule)` holds, or that a wrapping policy of `fsdp.wrap` names."""
    if auto_wrap_policy is not None:
        def check_fn(module):
            return auto_wrap_policy(module=module, recurse=False, nonwrapped_numel=sum(p.numel() for p in module.parameters()))
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if not isinstance(parent, ActivationWrapper) and check_fn(child):
                setattr(parent, name, checkpoint_wrapper_fn(child))
