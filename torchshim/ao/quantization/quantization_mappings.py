"""torch.ao.quantization.quantization_mappings: which classes of modules take the place of which."""
from __future__ import annotations

import copy

import torchshim as torch

from ...dropin import missing_attribute as _missing_attribute
from ... import nn
from ...nn import functional as F
from ..nn import intrinsic as nni, qat as nnqat, quantized as nnq
from ..nn.intrinsic import qat as nniqat, quantized as nniq
from ..nn.intrinsic.quantized import dynamic as nniqd
from ..nn.qat import dynamic as nnqatd
from ..nn.quantized import dynamic as nnqd, reference as nnqr
from ..nn.sparse import quantized as _sparse
from ..nn.sparse.quantized import dynamic as _sparse_dynamic
from .fake_quantize import default_fixed_qparams_range_0to1_fake_quant, default_fixed_qparams_range_neg1to1_fake_quant
from .stubs import DeQuantStub, QuantStub
from .utils import get_combined_dict

_STUBS = {QuantStub: nnq.Quantize, DeQuantStub: nnq.DeQuantize}


def _named(names, place, into):
    return {getattr(place, n): getattr(into, n) for n in names.split()}


_CONVS = "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d"
_Undynamic = nn.modules.linear.NonDynamicallyQuantizableLinear
DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS = {
    **_STUBS, **_named("Linear " + _CONVS + " Embedding EmbeddingBag GRUCell LSTMCell RNNCell LSTM", nn, nnqr)}
DEFAULT_STATIC_QUANT_MODULE_MAPPINGS = {
    **_STUBS,
    **_named("BatchNorm2d BatchNorm3d Dropout " + _CONVS + " ELU Embedding EmbeddingBag GroupNorm Hardswish InstanceNorm1d InstanceNorm2d "
             "InstanceNorm3d LayerNorm LeakyReLU", nn, nnq),
    _Undynamic: nnq.Linear, **_named("Linear ReLU6 PReLU", nn, nnq), nnq.FloatFunctional: nnq.QFunctional,
    **_named("BNReLU2d BNReLU3d ConvReLU1d ConvReLU2d ConvReLU3d ConvAdd2d ConvAddReLU2d LinearReLU LinearLeakyReLU LinearTanh", nni, nniq),
    nniqat.ConvBn1d: nnq.Conv1d, nniqat.ConvBn2d: nnq.Conv2d, nniqat.ConvBn3d: nnq.Conv3d, nniqat.ConvBnReLU1d: nniq.ConvReLU1d,
    nniqat.ConvBnReLU2d: nniq.ConvReLU2d, nniqat.ConvBnReLU3d: nniq.ConvReLU3d, nniqat.ConvReLU2d: nniq.ConvReLU2d,
    nniqat.ConvReLU3d: nniq.ConvReLU3d, nniqat.LinearReLU: nniq.LinearReLU, nniqat.LinearBn1d: nnq.Linear,
    **_named("Linear Conv2d Conv3d", nnqat, nnq)}
DEFAULT_QAT_MODULE_MAPPINGS = {
    **_named("Conv2d Conv3d Linear", nn, nnqat), _Undynamic: nnqat.Linear,
    **_named("ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d ConvReLU2d ConvReLU3d LinearReLU LinearBn1d", nni, nniqat)}
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS = {
    nn.GRUCell: nnqd.GRUCell, nn.Linear: nnqd.Linear, nnqatd.Linear: nnqd.Linear, _Undynamic: nnqd.Linear,
    **_named("LSTM GRU LSTMCell RNNCell", nn, nnqd), nni.LinearReLU: nniqd.LinearReLU, **_named("EmbeddingBag Embedding", nn, nnq)}
DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS = {
    getattr(F, n): getattr(torch.ops.quantized, n) for n in ("elu", "hardswish", "instance_norm", "layer_norm", "leaky_relu", "dropout")}
DEFAULT_MODULE_TO_ACT_POST_PROCESS = {**dict.fromkeys((nn.Hardsigmoid, nn.Sigmoid, nn.Softmax),
                                                      default_fixed_qparams_range_0to1_fake_quant),
                                      nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant}
DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS = {nn.Linear: _sparse.Linear}
DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS = {nn.Linear: _sparse_dynamic.Linear}


def _copies(name, table):
    def f():
        return copy.deepcopy(table)
    f.__doc__ = "A copy of the table, {class: the one that takes its place}."
    f.__name__ = f.__qualname__ = name
    return f


get_default_static_quant_module_mappings = _copies("get_default_static_quant_module_mappings", DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)
get_default_static_quant_reference_module_mappings = _copies("get_default_static_quant_reference_module_mappings",
                                                             DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS)
get_default_static_sparse_quant_module_mappings = _copies("get_default_static_sparse_quant_module_mappings",
                                                          DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS)
get_default_dynamic_sparse_quant_module_mappings = _copies("get_default_dynamic_sparse_quant_module_mappings",
                                                           DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS)
get_default_qat_module_mappings = _copies("get_default_qat_module_mappings", DEFAULT_QAT_MODULE_MAPPINGS)
get_default_float_to_quantized_operator_mappings = _copies("get_default_float_to_quantized_operator_mappings",
                                                           DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS)


def no_observer_set():
    """Classes that are not observed."""
    from ..nn import quantizable
    return {quantizable.LSTM, quantizable.MultiheadAttention}


def get_default_dynamic_quant_module_mappings():
    """The classes whose activations choose their own scales."""
    return DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS


def get_embedding_static_quant_module_mappings():
    """The table of converted classes with those of embeddings in training."""
    return {**DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, **_named("EmbeddingBag Embedding", nnqat, nnq)}


def get_embedding_qat_module_mappings():
    """The table of classes for training with embeddings."""
    return {**DEFAULT_QAT_MODULE_MAPPINGS, **_named("EmbeddingBag Embedding", nn, nnqat)}


def _class_in(table, float_module_class, added, what):
    found = get_combined_dict(table, added or {}).get(float_module_class)
    if found is None:
        raise AssertionError(f"Floating point module class {float_module_class} does not have a corresponding {what} module class")
    return copy.deepcopy(found)


def get_static_quant_module_class(float_module_class, additional_static_quant_mapping=None, is_reference=False):
    """The quantized class of a class. AssertionError where there is none."""
    return _class_in(DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS if is_reference else DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
                     float_module_class, additional_static_quant_mapping, "quantized")


def get_dynamic_quant_module_class(float_module_class, additional_dynamic_quant_mapping=None):
    """The dynamically quantized class of a class. AssertionError where there is none."""
    return _class_in(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, float_module_class, additional_dynamic_quant_mapping, "quantized")


def get_default_qconfig_propagation_list():
    """Classes that get a configuration."""
    return {*DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, *DEFAULT_QAT_MODULE_MAPPINGS, *DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, nn.Sequential}


def get_default_compare_output_module_list():
    """Classes whose outputs are compared."""
    return {c for table in (DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, DEFAULT_QAT_MODULE_MAPPINGS, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)
            for c in (*table, *table.values())}


def get_quantized_operator(float_op):
    """The quantized operator of a function. AssertionError where there is none."""
    found = DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS.get(float_op)
    if found is None:
        raise AssertionError(f"Operator {float_op} does not have corresponding quantized op")
    return found


def _get_special_act_post_process(module):
    return DEFAULT_MODULE_TO_ACT_POST_PROCESS.get(nn.utils.parametrize.type_before_parametrizations(module))


def _has_special_act_post_process(module):
    return module.training and type(module) in DEFAULT_MODULE_TO_ACT_POST_PROCESS


__all__ = [n for n in list(globals()) if n.startswith(("get_", "DEFAULT_", "no_observer_set")) and n != "get_combined_dict"]
__getattr__ = _missing_attribute(__name__)
