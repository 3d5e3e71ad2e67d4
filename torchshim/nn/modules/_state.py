"""The half of Module that writes and reads state dicts."""
from __future__ import annotations

import functools
import itertools
import weakref
from collections import OrderedDict, namedtuple

from ... import __future__ as future
from ...engine import warn
from ...autograd.grad_mode import no_grad
from ...tensor.core.copying import swap
from ...tensor.core.tensor import Tensor
from . import _hooks
from ..parameter import Parameter, is_lazy

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict(strict=False) found missing and did not know."""
    __slots__ = ()
    __module__ = "torch.nn.modules.module"

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _LoadHook:
    """A load pre-hook; with `with_module` it gets the module first, without keeping it alive."""

    def __init__(self, hook, module=None):
        functools.update_wrapper(self, hook)
        self.hook = hook
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise AssertionError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state):
        self.__init__(state["hook"], state["module"] if state["with_module"] else None)


class State:
    """state_dict and load_state_dict; see Module."""

    _version = 1

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously registered via "
                               "register_state_dict_post_hook")
        return _hooks.add(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """`hook(module, state_dict, prefix, local_metadata)` after state_dict(), which it may change in place."""
        hook._from_public_api = True
        return _hooks.add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """`hook(module, prefix, keep_vars)` before state_dict()."""
        return _hooks.add(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return _hooks.add(self._load_state_dict_pre_hooks, _LoadHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook):
        """`hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """`hook(module, incompatible_keys)` after loading."""
        return _hooks.add(self._load_state_dict_post_hooks, hook)

    def get_extra_state(self):
        """What else belongs into the state_dict; modules that have something override this and `set_extra_state`."""
        raise RuntimeError(_extra_error("get"))

    def set_extra_state(self, state):
        """Take back what get_extra_state returned."""
        raise RuntimeError(_extra_error("set"))

    def _has_extra_state(self, name="get_extra_state"):
        return getattr(self.__class__, name, None) is not getattr(State, name)

    def _persistent_buffers(self):
        return {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Put this module's own parameters and buffers (not its children's) into `destination`."""
        for name, value in itertools.chain(self._parameters.items(), self._persistent_buffers().items()):
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()
        if self._has_extra_state():
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """An ordered dict of all parameters and persistent buffers by name.

        The tensors share memory with the module's and have no history unless `keep_vars`.
        """
        if args:
            warn("Positional args are being deprecated, use kwargs instead. Refer to https://pytorch.org/docs/main/"
                 "generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.", FutureWarning)
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = dict(version=self._version)
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            r = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if r is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif r is not None:
                destination = r
        return destination

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Copy this module's own entries; what does not fit is added to the three lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = {name: t for name, t in {**self._parameters, **self._persistent_buffers()}.items() if t is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, param in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, param, key, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        key = prefix + EXTRA_STATE
        if self._has_extra_state("set_extra_state"):
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != prefix + EXTRA_STATE:
                    first, *rest = key[len(prefix):].split(".", 1)
                    if rest and first not in self._modules or not rest and first not in own:
                        unexpected_keys.append(key)

    def _load_one(self, name, param, key, value, assign, error_msgs):
        if not isinstance(value, Tensor):
            error_msgs.append(f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                              f"checkpoint but received {type(value)}")
            return
        lazy = is_lazy(param)
        if not lazy and param.dim() == 0 and value.dim() == 1 and value.shape[0] == 1:
            value = value[0]               # checkpoints of very old versions hold scalars so
        if not lazy and value.shape != param.shape:
            error_msgs.append(f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in "
                              f"current model is {param.shape}.")
            return
        if param.is_meta and not value.is_meta and not assign:
            warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                 "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary "
                 "to their corresponding key in the module instead of copying them in place?)")
        swapping = future.get_swap_module_params_on_conversion()
        try:
            with no_grad():
                if swapping:
                    new = param.module_load(value, assign=assign)
                    if new is value or new is param:
                        raise RuntimeError("module_load returned one of self or other, please .detach() the result if returning one of "
                                           "the inputs in module_load")
                    if isinstance(param, Parameter):
                        new = new.requires_grad_(param.requires_grad) if isinstance(new, Parameter) else Parameter(new, param.requires_grad)
                    swap(param, new)
                elif assign:
                    if isinstance(param, Parameter):
                        if not isinstance(value, Parameter):
                            value = Parameter(value, requires_grad=param.requires_grad)
                        else:
                            value.requires_grad_(param.requires_grad)
                    setattr(self, name, value)
                elif not param.is_meta:
                    param.copy_(value)
        except Exception as error:
            action = "swapping" if swapping else "copying"
            error_msgs.append(f'While {action} the parameter named "{key}", whose dimensions in the '
                              f"model are {param.size()} and whose dimensions in the checkpoint are {value.size()}, an exception "
                              f"occurred : {error.args}.")

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Take over the values of a state_dict.

        strict: names must agree exactly; assign: the module takes the tensors themselves instead of copying their values.
        Returns the missing and unexpected names. Raises RuntimeError that lists everything that does not fit.
        """
        from collections.abc import Mapping
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, errors = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        def load(module, entries, prefix=""):
            local = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local["assign_to_params_buffers"] = True
            module._load_from_state_dict(entries, prefix, local, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    inner = prefix + name + "."
                    load(child, {k: v for k, v in entries.items() if k.startswith(inner)}, inner)
            keys = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return "
                                         "new values, if incompatible_keys need to be modified, it should be done inplace.")

        load(self, state_dict)
        del load                               # it holds itself
        if strict:
            if unexpected:
                errors.insert(0, "Unexpected key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in unexpected)))
            if missing:
                errors.insert(0, "Missing key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in missing)))
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors)))
        return _IncompatibleKeys(missing, unexpected)


def _extra_error(what):
    return (f"Reached a code path in Module.{what}_extra_state() that should never be called. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug.")
