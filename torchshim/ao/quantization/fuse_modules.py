"""torch.ao.quantization.fuse_modules: modules of a model that follow each other become one."""
from __future__ import annotations

import copy

from ...dropin import missing_attribute as _missing_attribute
from ...nn import Identity
from ...nn.utils.parametrize import type_before_parametrizations
from .fuser_method_mappings import get_fuser_method


def fuse_known_modules(mod_list, is_qat, additional_fuser_method_mapping=None):
    """One module that does what those in a list do, and an Identity for each other; hooks stay at the outside."""
    fused = get_fuser_method(tuple([type_before_parametrizations(m) for m in mod_list]), additional_fuser_method_mapping)(is_qat, *mod_list)
    for hook in mod_list[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in mod_list[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    rest = [Identity() for _ in mod_list[1:]]
    for m in rest:
        m.training = mod_list[0].training
    return [fused, *rest]


def _fuse_modules(model, modules_to_fuse, is_qat, inplace, fuser_func, fuse_custom_config_dict):
    model = model if inplace else copy.deepcopy(model)
    added = (fuse_custom_config_dict or {}).get("additional_fuser_method_mapping", {})
    rows = [modules_to_fuse] if all([isinstance(m, str) for m in modules_to_fuse]) else modules_to_fuse
    for names in rows:
        for name, made in zip(names, fuser_func([model.get_submodule(n) for n in names], is_qat, added)):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, made)
    return model


def fuse_modules(model, modules_to_fuse, inplace=False, fuser_func=fuse_known_modules, fuse_custom_config_dict=None):
    """A copy of a model (itself with inplace) in which the first of each row of names does what all do, and the others nothing."""
    return _fuse_modules(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(model, modules_to_fuse, inplace=False, fuser_func=fuse_known_modules, fuse_custom_config_dict=None):
    """The same for training: batch norms stay, within the first one."""
    return _fuse_modules(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)


__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]
__getattr__ = _missing_attribute(__name__)
