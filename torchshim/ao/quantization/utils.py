"""torch.ao.quantization.utils: what configurations and observers say, asked one by one."""
from __future__ import annotations

import functools
import typing
import warnings

import torchshim as torch

from ...dropin import missing_attribute as _missing_attribute
from .quant_type import QuantType

NodePattern = Pattern = typing.Any
DEPRECATION_WARNING = """torch.ao.quantization is deprecated and will be removed in 2.10. \nFor migrations of users: \n1. Eager mode quantization \
(torch.ao.quantization.quantize, torch.ao.quantization.quantize_dynamic), please migrate to use torchao eager mode quantize_ API instead \n2. FX graph \
mode quantization (torch.ao.quantization.quantize_fx.prepare_fx,torch.ao.quantization.quantize_fx.convert_fx, please migrate to use torchao pt2e \
quantization API instead (prepare_pt2e, convert_pt2e) \n3. pt2e quantization has been migrated to torchao \
(https://github.com/pytorch/ao/tree/main/torchao/quantization/pt2e) \nsee https://github.com/pytorch/ao/issues/2259 for more details"""


class MatchAllNode:
    """In a pattern: any node."""


def get_combined_dict(default_dict, additional_dict):
    """Both dictionaries in one; the second prevails."""
    return {**default_dict, **additional_dict}


def is_per_tensor(qscheme):
    """Whether a scheme has one scale."""
    return qscheme in (torch.per_tensor_affine, torch.per_tensor_symmetric)


def is_per_channel(qscheme):
    """Whether a scheme has a scale for each channel."""
    return qscheme in (torch.per_channel_affine, torch.per_channel_affine_float_qparams, torch.per_channel_symmetric)


def getattr_from_fqn(obj, fqn):
    """obj.a.b.c for "a.b.c"."""
    return functools.reduce(getattr, fqn.split("."), obj)


def to_underlying_dtype(qdtype):
    """The integer dtype under a quantized one; AssertionError for what is no dtype to quantize to."""
    plain = (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32, torch.float8_e5m2, torch.float8_e4m3fn)
    if qdtype not in plain and qdtype.held is qdtype:
        raise AssertionError("Unsupported dtype: " + str(qdtype))
    return qdtype.held


def get_qparam_dict(observer_or_fake_quant):
    """What an observer has chosen: {"qscheme", "dtype", "scale", "zero_point" ...}."""
    from .observer import PlaceholderObserver
    watcher = observer_or_fake_quant
    scheme = getattr(watcher, "qscheme", None)
    if not scheme or isinstance(watcher, PlaceholderObserver):
        return {"qscheme": None, "dtype": watcher.dtype}
    found = {"qscheme": scheme, "dtype": watcher.dtype}
    if is_per_tensor(scheme):
        found["qscheme"] = torch.per_tensor_affine
    elif is_per_channel(scheme):
        found["qscheme"] = torch.per_channel_affine if scheme is torch.per_channel_symmetric else scheme
        found["axis"] = watcher.ch_axis
    else:
        raise RuntimeError(f"Unrecognized qscheme: {scheme}")
    found["scale"], found["zero_point"] = watcher.calculate_qparams()
    found.update({name: getattr(watcher, name) for name in ("quant_min", "quant_max") if hasattr(watcher, name)})
    return found


def get_swapped_custom_module_class(custom_module, custom_module_class_mapping, qconfig):
    """The class that takes the place of a program's own module. AssertionError where there is none."""
    classes = custom_module_class_mapping.get(get_quant_type(qconfig), {})
    if type(custom_module) not in classes:
        raise AssertionError(f"did not find corresponding observed module class for {type(custom_module)} in mapping: {classes}")
    return classes[type(custom_module)]


def _asked(qconfig, what):
    if qconfig is None:
        raise AssertionError(f"qconfig must be provided to {what}")
    return qconfig


def activation_dtype(qconfig):
    """The dtype of quantized activations."""
    return _asked(qconfig, "determine activation dtype").activation().dtype


def weight_dtype(qconfig):
    """The dtype of quantized weights."""
    return _asked(qconfig, "determine weight dtype").weight().dtype


_INTEGERS = (torch.quint8, torch.qint8, torch.uint8, torch.int8)
_WIDER = (torch.int16, torch.int32, torch.float8_e5m2, torch.float8_e4m3fn)


def activation_is_statically_quantized(qconfig):
    """Whether activations are quantized with scales that are known beforehand."""
    return activation_dtype(qconfig) in (*_INTEGERS, torch.qint32, torch.float16,
                                         *_WIDER) and not activation_is_dynamically_quantized(qconfig)


def activation_is_dynamically_quantized(qconfig):
    """Whether each activation chooses its own scale."""
    return get_qconfig_dtypes(qconfig)[2]


def activation_is_int8_quantized(qconfig):
    """Whether activations have 8 bits."""
    return activation_dtype(qconfig) in _INTEGERS


def activation_is_int32_quantized(qconfig):
    """Whether activations have 32 bits."""
    return activation_dtype(qconfig) in (torch.qint32, torch.int32)


def weight_is_quantized(qconfig):
    """Whether weights are quantized, to float16 also."""
    return weight_dtype(qconfig) in (*_INTEGERS, torch.float16, torch.quint4x2, *_WIDER)


def weight_is_statically_quantized(qconfig):
    """Whether weights have 8 bits."""
    return weight_dtype(qconfig) in _INTEGERS


def op_is_int8_dynamically_quantized(qconfig):
    """Whether 8-bit weights meet activations that choose their own scales."""
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    return activation in (torch.quint8, torch.uint8) and weight in (torch.qint8, torch.int8) and dynamic


def get_qconfig_dtypes(qconfig):
    """(dtype of activations, dtype of weights, whether activations choose their own scales)."""
    activation, weight = _asked(qconfig, "extract dtypes").activation(), qconfig.weight()
    return activation.dtype, weight.dtype, getattr(activation, "is_dynamic", False)


def get_quant_type(qconfig):
    """The QuantType of a configuration; Exception for dtypes that do not go together."""
    activation, weight = _asked(qconfig, "determine quant type").activation(), qconfig.weight()
    known, dynamic = (*_INTEGERS, torch.quint4x2, torch.qint32, *_WIDER), getattr(activation, "is_dynamic", False)
    if weight.dtype in known:
        return QuantType.DYNAMIC if dynamic else QuantType.STATIC if activation.dtype in known else QuantType.WEIGHT_ONLY
    if weight.dtype is torch.float16 and dynamic:
        return QuantType.DYNAMIC
    if weight.dtype is torch.float16 and activation.dtype is torch.float16:
        return QuantType.STATIC
    raise Exception(f"Unrecognized dtype combination in get_quant_type: activation({activation.dtype}),weight({weight.dtype})")


def check_min_max_valid(min_val, max_val):
    """Whether something was seen. AssertionError where a smallest number exceeds the largest."""
    unseen = not min_val.numel() or not max_val.numel()
    if unseen or min_val.dim() == 0 and min_val == float("inf") and max_val == float("-inf"):
        warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=2)
        return False
    if torch.any(min_val > max_val):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


def validate_qmin_qmax(quant_min, quant_max):
    """AssertionError for levels that do not hold 0, or are out of order."""
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if quant_min >= quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")


def calculate_qmin_qmax(quant_min, quant_max, has_customized_qrange, dtype, reduce_range):
    """The smallest and the largest level: those given, or the dtype's; reduce_range: half of them."""
    if has_customized_qrange:
        n = quant_max - quant_min + 1
        for kinds, limit in (((torch.qint8, torch.int8), 256), ((torch.qint32, torch.int32), 2 ** 32)):
            if dtype in kinds and not 0 < n <= limit:
                raise AssertionError(f"quantization range should be positive and not exceed the maximum bit range (={limit}).")
        return (quant_min // 2, quant_max // 2) if reduce_range else (quant_min, quant_max)
    if dtype in (torch.qint8, torch.int8):
        return (-64, 63) if reduce_range else (-128, 127)
    if dtype in (torch.quint8, torch.uint8):
        return (0, 127) if reduce_range else (0, 255)
    if dtype in (torch.qint32, torch.int32):
        return -2 ** 31, 2 ** 31 - 1
    return {torch.uint16: (0, 2 ** 16 - 1), torch.int16: (-2 ** 15, 2 ** 15 - 1)}.get(dtype, (0, 15))


def has_no_children_ignoring_parametrizations(module):
    """Whether a module has no modules within, but for what computes its parameters."""
    return not len(module._modules) or len(module._modules) == 1 and "parametrizations" in module._modules


def get_fqn_to_example_inputs(model, example_inputs):
    """{name of a module within: the arguments that it gets when the model gets these}."""
    found, handles = {}, []

    def noted(name):
        def hook(module, args, kwargs):
            found[name] = (*args, *kwargs.values())
        return hook
    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(noted(name), with_kwargs=True))
    try:
        model(*example_inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


def determine_qparams(min_val, max_val, quant_min, quant_max, dtype, eps, has_customized_qrange, qscheme=torch.per_tensor_affine):
    """(scales, float64, and zero points, int64) that hold the numbers from min_val to max_val, tensors."""
    from .observer import UniformQuantizationObserverBase

    class Choosing(UniformQuantizationObserverBase):
        def forward(self, x):
            return x

        def calculate_qparams(self):
            return self._calculate_qparams(min_val, max_val)
    chooses = Choosing(dtype=dtype, qscheme=qscheme)
    chooses.quant_min, chooses.quant_max, chooses.has_customized_qrange, chooses.eps = quant_min, quant_max, has_customized_qrange, eps
    if not min_val.numel() or not max_val.numel() or min_val.dim() == 0 and min_val == float("inf") and max_val == float("-inf"):
        return chooses.calculate_qparams()
    scale, point = chooses.calculate_qparams()
    return scale.to(torch.double), point.to(torch.int64)


def activation_is_memoryless(qconfig):
    """Whether activations are watched without memory of earlier ones."""
    watcher = qconfig.activation()
    watcher = getattr(watcher, "activation_post_process", watcher)
    return getattr(watcher, "averaging_constant", None) == 1


__getattr__ = _missing_attribute(__name__)
