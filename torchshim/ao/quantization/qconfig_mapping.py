"""torch.ao.quantization.qconfig_mapping: which configuration each part of a model has."""
from __future__ import annotations

from collections import OrderedDict

import torchshim as torch

from ...dropin import missing_attribute as _missing_attribute
from .fake_quantize import FixedQParamsFakeQuantize, default_weight_fake_quant
from .observer import (default_fixed_qparams_range_0to1_observer, default_fixed_qparams_range_neg1to1_observer,
                       default_placeholder_observer, default_weight_observer)
from .qconfig import (QConfig, default_quint8_weight_qconfig, default_reuse_input_qconfig, default_symmetric_qnnpack_qat_qconfig,
                      default_symmetric_qnnpack_qconfig, get_default_qat_qconfig, get_default_qconfig)

_KINDS = ("global_qconfig", "object_type_qconfigs", "module_name_regex_qconfigs", "module_name_qconfigs",
          "module_name_object_type_order_qconfigs")
_nn, _F = torch.nn, torch.nn.functional
_FIXED_QPARAMS_OP_TO_OBSERVER = {
    **dict.fromkeys((_nn.Hardsigmoid, _F.hardsigmoid, "hardsigmoid", "hardsigmoid_", _nn.Sigmoid, torch.sigmoid, "sigmoid", "sigmoid_",
                     _nn.Softmax),
                    default_fixed_qparams_range_0to1_observer),
    **dict.fromkeys((_nn.Tanh, torch.tanh, "tanh", "tanh_"), default_fixed_qparams_range_neg1to1_observer)}


class QConfigMapping:
    """Configurations for a whole model, for kinds of modules and functions, for names that match, for names, and for the k-th of a kind
    within a module; what is said later in this order prevails. The methods return the mapping itself."""

    def __init__(self):
        self.global_qconfig = None
        for kind in _KINDS[1:]:
            setattr(self, kind, OrderedDict())

    def set_global(self, global_qconfig):
        """For everything."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type, qconfig):
        """For a class of modules, a function, or a method's name."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex, qconfig):
        """For modules whose names match; the first one said prevails."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name, qconfig):
        """For a module."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(self, module_name, object_type, index, qconfig):
        """For the `index`-th of a kind within a module."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def __repr__(self):
        text = f"{type(self).__name__} ("
        for kind in _KINDS:
            found = getattr(self, kind)
            text += f"\n {kind}"
            if isinstance(found, OrderedDict) and found:
                text += "".join([f"\n  {key}: {qconfig}" for key, qconfig in found.items()])
            else:
                text += f"\n  {found}"
        return text + "\n)"

    def to_dict(self):
        """{"": the global one, "object_type": [(type, configuration) ...] ...}."""
        found = {"": self.global_qconfig}
        for kind in _KINDS[1:4]:
            found[kind.removesuffix("_qconfigs")] = list(getattr(self, kind).items())
        found["module_name_object_type_order"] = [(*key, qconfig) for key, qconfig in self.module_name_object_type_order_qconfigs.items()]
        return found

    @classmethod
    def from_dict(cls, qconfig_dict):
        """The mapping that such a dictionary describes."""
        made = cls()
        if "" in qconfig_dict:
            made.set_global(qconfig_dict[""])
        for kind in ("object_type", "module_name_regex", "module_name", "module_name_object_type_order"):
            for entry in qconfig_dict.get(kind, []):
                getattr(made, f"set_{kind}")(*entry)
        return made


def _default(qat, backend, version):
    qconfig = (get_default_qat_qconfig if qat else get_default_qconfig)(backend, version)
    weight = default_weight_fake_quant if qat else default_weight_observer
    transposed = QConfig(qconfig.activation, weight) if backend in ("fbgemm", "x86") else qconfig
    made = QConfigMapping().set_global(qconfig).set_object_type("reshape", default_reuse_input_qconfig)
    for place, name in ((_nn, "ConvTranspose"), (_F, "conv_transpose")):
        for d in (1, 2, 3):
            made.set_object_type(getattr(place, f"{name}{d}d"), transposed)
    for kind in (_F.layer_norm, _nn.LayerNorm):
        made.set_object_type(kind, QConfig(qconfig.activation, default_placeholder_observer))
    made.set_object_type(_nn.PReLU, default_quint8_weight_qconfig)
    fixed = {}
    for kind, observer in _FIXED_QPARAMS_OP_TO_OBSERVER.items():
        if observer not in fixed:
            fixed[observer] = QConfig(FixedQParamsFakeQuantize.with_args(observer=observer) if qat else observer, weight)
        made.set_object_type(kind, fixed[observer])
    return made


def get_default_qconfig_mapping(backend="x86", version=0):
    """The configurations for scales that are chosen after training."""
    return _default(False, backend, version)


def get_default_qat_qconfig_mapping(backend="x86", version=1):
    """The configurations for training with rounded numbers."""
    return _default(True, backend, version)


def _with_default(made, qconfig):
    made.set_global(qconfig)
    for kind in made.object_type_qconfigs:
        if kind not in _FIXED_QPARAMS_OP_TO_OBSERVER:
            made.set_object_type(kind, qconfig)
    return made


def _get_symmetric_qnnpack_qconfig_mapping():
    """The default for qnnpack with levels around 0."""
    return _with_default(get_default_qconfig_mapping("qnnpack"), default_symmetric_qnnpack_qconfig)


def _get_symmetric_qnnpack_qat_qconfig_mapping():
    """The same for training."""
    return _with_default(get_default_qat_qconfig_mapping("qnnpack"), default_symmetric_qnnpack_qat_qconfig)


__all__ = ["get_default_qconfig_mapping", "get_default_qat_qconfig_mapping", "QConfigMapping"]
__getattr__ = _missing_attribute(__name__)
