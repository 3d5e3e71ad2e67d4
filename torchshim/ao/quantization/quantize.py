"""torch.ao.quantization.quantize: models get observers, and then quantized modules in place of their own."""
from __future__ import annotations

import copy
import functools
import inspect
import warnings

import torchshim as torch

from ...dropin import missing_attribute as _missing_attribute
from ... import nn
from ...nn.utils.parametrize import type_before_parametrizations as _class_of
from ..nn import quantizable as _quantizable, quantized as nnq
from ..nn.intrinsic import _FusedModule
from . import qconfig as _configs
from .observer import _is_activation_post_process
from .qconfig import (_add_module_to_qconfig_obs_ctr, default_dynamic_qconfig, float16_dynamic_qconfig, float_qparams_weight_only_qconfig,
                      float_qparams_weight_only_qconfig_4bit)
from .quantization_mappings import (_get_special_act_post_process, _has_special_act_post_process, get_default_dynamic_quant_module_mappings,
                                    get_default_qat_module_mappings, get_default_qconfig_propagation_list,
                                    get_default_static_quant_module_mappings, get_default_static_quant_reference_module_mappings,
                                    no_observer_set)
from .stubs import DeQuantStub, QuantWrapper
from .utils import DEPRECATION_WARNING, activation_is_memoryless, get_qparam_dict, has_no_children_ignoring_parametrizations

is_activation_post_process = _is_activation_post_process
_CUSTOM = {"float_to_observed_custom_module_class": {nn.LSTM: _quantizable.LSTM, nn.MultiheadAttention: _quantizable.MultiheadAttention},
           "observed_to_quantized_custom_module_class": {_quantizable.LSTM: nnq.LSTM,
                                                         _quantizable.MultiheadAttention: nnq.MultiheadAttention}}


def _deprecated(f):
    @functools.wraps(f)
    def said(*args, **kwargs):
        warnings.warn(DEPRECATION_WARNING, DeprecationWarning, stacklevel=2)
        return f(*args, **kwargs)
    return said


def get_default_custom_config_dict():
    """Which classes of modules are observed, and then quantized, as modules of other classes."""
    return _CUSTOM


def propagate_qconfig_(module, qconfig_dict=None, prepare_custom_config_dict=None):
    """Let each module within have a `qconfig`: its own, that of its name or class in the dictionary, or that of the module it is in."""
    custom = prepare_custom_config_dict or {}
    skipped = custom.get("non_traceable_module_name", []), custom.get("non_traceable_module_class", [])
    _propagate(module, qconfig_dict or {}, None, "", skipped)


def _propagate(module, table, parents, prefix, skipped):
    found = table.get(prefix, table.get(_class_of(module), parents))
    found = getattr(module, "qconfig", found)
    _configs._assert_valid_qconfig(found, module)
    found = module.qconfig = _add_module_to_qconfig_obs_ctr(found, module)
    for name, child in module.named_children():
        if not (name in skipped[0] or type(child) in skipped[1]):
            _propagate(child, table, found, f"{prefix}.{name}" if prefix else name, ((), ()))


def _observer_forward_hook(self, input, output):
    """Let a module's observer see what it gives."""
    return self.activation_post_process(output)


def _observer_forward_pre_hook(self, input):
    """Let a module's observer see what it gets."""
    return self.activation_post_process(input[0])


def _devices(module):
    return {t.device for t in (*module.parameters(), *module.buffers()) if t.device.type != "meta"}


def _wants(module):
    return getattr(module, "qconfig", None) is not None


def _made(factory, device):
    watcher = factory()
    if device is not None:
        watcher.to(device)
    return watcher


def _observe(module, device, factory=None):
    """Give a module an observer of what it gives, or of what it gets where the observer remembers nothing."""
    if not _wants(module) or isinstance(module, DeQuantStub):
        return
    module.add_module("activation_post_process", _made(factory or module.qconfig.activation, device))
    if activation_is_memoryless(module.qconfig):
        module.register_forward_pre_hook(_observer_forward_pre_hook, prepend=True)
    else:
        module.register_forward_hook(_observer_forward_hook, prepend=True)


def _add_observer_(module, qconfig_propagation_list=None, non_leaf_module_list=None, device=None, custom_module_class_mapping=None):
    """Give the leaves within a module, and those of the classes in non_leaf_module_list, their observers."""
    leaves = get_default_qconfig_propagation_list() if qconfig_propagation_list is None else qconfig_propagation_list
    custom = custom_module_class_mapping or {}
    if device is None:
        devices = _devices(module)
        if len(devices) > 1:
            raise AssertionError(f"_add_observer_ only works with cpu or single-device CUDA modules, but got devices {devices}")
        device = next(iter(devices), None)
    for name, child in module.named_children():
        cls = _class_of(child)
        if cls is nn.Dropout:
            continue
        if issubclass(cls, (nnq.FloatFunctional, nnq.QFunctional)):
            if _wants(child):
                child.activation_post_process = _made(child.qconfig.activation, device)
        elif isinstance(child, _FusedModule) or non_leaf_module_list is not None and cls in non_leaf_module_list:
            _observe(child, device)
        elif _has_special_act_post_process(child):
            _observe(child, device, _get_special_act_post_process(child))
        elif _wants(child) and cls in custom:
            observed = custom[cls].from_float(child)
            setattr(module, name, observed)
            if not issubclass(custom[cls], tuple(no_observer_set())):
                _observe(observed, device)
        else:
            _add_observer_(child, leaves, non_leaf_module_list, device, custom)
    if not isinstance(module, nn.Sequential) and _class_of(module) in leaves:
        if has_no_children_ignoring_parametrizations(module):
            _observe(module, device)
        if hasattr(module, "weight_fake_quant"):
            _observe(module, device)


def add_quant_dequant(module):
    """Put the leaves within that have a configuration between stubs; what results is the module, or a wrapper of it."""
    if has_no_children_ignoring_parametrizations(module) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


@_deprecated
def prepare(model, inplace=False, allow_list=None, observer_non_leaf_module_list=None, prepare_custom_config_dict=None):
    """A copy of a model (itself with inplace) with observers where its modules' `qconfig` wants them.

    allow_list: the classes to observe; observer_non_leaf_module_list: classes to observe although they have modules within.
    """
    custom = (get_default_custom_config_dict() if prepare_custom_config_dict is None else prepare_custom_config_dict).get(
        "float_to_observed_custom_module_class", {})
    model = model if inplace else copy.deepcopy(model)
    leaves = get_default_qconfig_propagation_list() if allow_list is None else allow_list
    propagate_qconfig_(model)
    if not any([getattr(m, "qconfig", None) for m in model.modules()]):
        warnings.warn("None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` or by "
                      "assigning the `.qconfig` attribute directly on submodules", stacklevel=2)
    _add_observer_(model, leaves, observer_non_leaf_module_list, custom_module_class_mapping=custom)
    return model


def _remove_qconfig(module):
    """Take configurations, observers and their hooks away."""
    for child in module.children():
        _remove_qconfig(child)
    if hasattr(module, "qconfig"):
        del module.qconfig
    if hasattr(module, "activation_post_process") and _is_activation_post_process(module.activation_post_process):
        delattr(module, "activation_post_process")
    for hooks, mine in ((module._forward_pre_hooks, _observer_forward_pre_hook), (module._forward_hooks, _observer_forward_hook)):
        for key in [k for k, hook in hooks.items() if hook is mine]:
            hooks.pop(key)


@_deprecated
def quantize(model, run_fn, run_args, mapping=None, inplace=False):
    """A quantized copy of a model (itself with inplace), whose observers have seen what `run_fn(model, *run_args)` shows them."""
    mapping = get_default_static_quant_module_mappings() if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, mapping, inplace=True)
    return model


@_deprecated
def quantize_dynamic(model, qconfig_spec=None, dtype=torch.qint8, mapping=None, inplace=False):
    """A copy of a model (itself with inplace) with quantized weights, whose activations choose their own scales.

    qconfig_spec: {class or name: configuration}, or a set of these with the dtype's own; by default linear and recurrent layers.
    ValueError or RuntimeError for dtypes that have no configuration.
    """
    known = {torch.qint8: default_dynamic_qconfig, torch.float16: float16_dynamic_qconfig, torch.quint8: float_qparams_weight_only_qconfig,
             torch.quint4x2: float_qparams_weight_only_qconfig_4bit}
    if qconfig_spec is None:
        if dtype not in known:
            raise ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please")
        classes = ((nn.EmbeddingBag, nn.Embedding) if dtype is torch.quint8 else (nn.EmbeddingBag,) if dtype is torch.quint4x2 else
                   (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell))
        qconfig_spec = dict.fromkeys(classes, known[dtype])
    elif isinstance(qconfig_spec, set):
        if dtype not in known:
            raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
        qconfig_spec = dict.fromkeys(qconfig_spec, known[dtype])
    mapping = get_default_dynamic_quant_module_mappings() if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    convert(model, mapping, inplace=True)
    return model


@_deprecated
def prepare_qat(model, mapping=None, inplace=False):
    """A copy of a model (itself with inplace) that rounds weights and activations while it is trained. AssertionError in eval mode."""
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    mapping = get_default_qat_module_mappings() if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    convert(model, mapping=mapping, inplace=True, remove_qconfig=False)
    prepare(model, observer_non_leaf_module_list=set(mapping.values()), inplace=True)
    return model


@_deprecated
def quantize_qat(model, run_fn, run_args, inplace=False):
    """A quantized copy of a model (itself with inplace) that `run_fn(model, *run_args)` has trained."""
    model = model if inplace else copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, inplace=True)
    return model


@_deprecated
def convert(module, mapping=None, inplace=False, remove_qconfig=True, is_reference=False, convert_custom_config_dict=None,
            use_precomputed_fake_quant=False):
    """A copy of a model (itself with inplace) with quantized modules in place of those that have a configuration.

    mapping: {class: the one that takes its place}; is_reference: by modules that compute with rounded numbers.
    """
    module = module if inplace else copy.deepcopy(module)
    if mapping is None:
        mapping = get_default_static_quant_reference_module_mappings() if is_reference else get_default_static_quant_module_mappings()
    custom = (get_default_custom_config_dict() if convert_custom_config_dict is None else convert_custom_config_dict).get(
        "observed_to_quantized_custom_module_class", {})
    _convert(module, mapping, custom, use_precomputed_fake_quant)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def _convert(module, mapping, custom, precomputed):
    changed = {}
    for name, child in module.named_children():
        if not isinstance(child, _FusedModule) and _class_of(child) not in custom:
            _convert(child, mapping, custom, precomputed)
        changed[name] = swap_module(child, mapping, custom, precomputed)
    module._modules.update(changed)


def swap_module(mod, mapping, custom_module_class_mapping, use_precomputed_fake_quant=False):
    """The quantized module that takes the place of one with a configuration, with its hooks; the module itself where there is none."""
    if not _wants(mod):
        return mod
    cls = _class_of(mod)
    if cls in custom_module_class_mapping:
        made = custom_module_class_mapping[cls].from_observed(mod)
    elif cls in mapping:
        into = mapping[cls]
        if getattr(into, "_IS_REFERENCE", False):
            watcher = mod.qconfig.weight()
            watcher(mod.weight)
            made = into.from_float(mod, get_qparam_dict(watcher))
        elif "use_precomputed_fake_quant" in inspect.signature(into.from_float).parameters:
            made = into.from_float(mod, use_precomputed_fake_quant=use_precomputed_fake_quant)
        else:
            made = into.from_float(mod)
    else:
        return mod
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_forward_hook:
            made.register_forward_hook(hook)
    devices = _devices(mod)
    if len(devices) > 1:
        raise AssertionError(f"swap_module only works with cpu or single-device CUDA modules, but got devices {devices}")
    if devices:
        made.to(next(iter(devices)))
    return made


def _get_observer_dict(mod, target_dict, prefix=""):
    """Put the observers of a model in a dictionary, by their names."""
    where = prefix + "." if prefix else ""
    if hasattr(mod, "activation_post_process"):
        target_dict[where + "activation_post_process"] = mod.activation_post_process
    for name, child in mod.named_children():
        _get_observer_dict(child, target_dict, where + name)


__all__ = ["get_default_custom_config_dict", "propagate_qconfig_", "add_quant_dequant", "prepare", "quantize", "quantize_dynamic",
           "prepare_qat", "quantize_qat", "convert", "swap_module"]
__getattr__ = _missing_attribute(__name__)
