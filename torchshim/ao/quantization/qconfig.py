"""torch.ao.quantization.qconfig: which observers a model would be quantized with."""
from __future__ import annotations

import copy
import typing
import warnings
from collections import namedtuple

import torchshim as torch

from ...dropin import missing_attribute as _missing_attribute
from ...nn import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Identity, Module
from . import fake_quantize as _fake, observer as _watch
from .fake_quantize import FakeQuantize, FusedMovingAvgObsFakeQuantize
from .observer import HistogramObserver, MinMaxObserver, MovingAverageMinMaxObserver, NoopObserver, PlaceholderObserver, _PartialWrapper


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """How activations and weights are observed: two factories of observers. ValueError for an observer itself."""
    __slots__ = ()

    def __new__(cls, activation, weight):
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError("QConfig received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) to "
                             "override arguments to constructor if needed")
        return super().__new__(cls, activation, weight)


class QConfigDynamic(namedtuple("QConfigDynamic", ["activation", "weight"])):
    """The same where activations choose their own scales. Deprecated in torch."""
    __slots__ = ()

    def __new__(cls, activation=Identity, weight=Identity):
        warnings.warn("`QConfigDynamic` is going to be deprecated in PyTorch 1.12, please use `QConfig` instead", FutureWarning,
                      stacklevel=2)
        if isinstance(weight, Module):
            raise ValueError("QConfigDynamic received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) "
                             "to override arguments to constructor if needed")
        return super().__new__(cls, activation, weight)


QConfigAny = typing.Optional[QConfig]
default_qconfig = QConfig(_watch.default_observer, _watch.default_weight_observer)
default_debug_qconfig = QConfig(_watch.default_debug_observer, _watch.default_weight_observer)
default_per_channel_qconfig = QConfig(_watch.default_observer, _watch.default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(_watch.default_dynamic_quant_observer, _watch.default_weight_observer)
float16_dynamic_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.float16, is_dynamic=True),
                                  PlaceholderObserver.with_args(dtype=torch.float16))
float16_static_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.float16), PlaceholderObserver.with_args(dtype=torch.float16))
per_channel_dynamic_qconfig = QConfig(_watch.default_dynamic_quant_observer, _watch.default_per_channel_weight_observer)
float_qparams_weight_only_qconfig = QConfig(_watch.default_placeholder_observer, _watch.default_float_qparams_observer)
float_qparams_weight_only_qconfig_4bit = QConfig(_watch.default_placeholder_observer, _watch.default_float_qparams_observer_4bit)
default_qat_qconfig = QConfig(_fake.default_fake_quant, _fake.default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(_fake.default_dynamic_fake_quant, _fake.default_weight_fake_quant)
default_weight_only_qconfig = QConfig(Identity, _fake.default_weight_fake_quant)
default_activation_only_qconfig = QConfig(_fake.default_fake_quant, Identity)
default_qat_qconfig_v2 = QConfig(_fake.default_fused_act_fake_quant, _fake.default_fused_wt_fake_quant)
default_reuse_input_qconfig = QConfig(_watch.default_reuse_input_observer, NoopObserver)
_SIGNED_HISTOGRAM = HistogramObserver.with_args(dtype=torch.qint8, reduce_range=False, eps=2 ** -12)
default_symmetric_qnnpack_qconfig = QConfig(_SIGNED_HISTOGRAM, _watch.weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(_SIGNED_HISTOGRAM, _watch.per_channel_weight_observer_range_neg_127_to_127)
_SIGNED_FAKE = FusedMovingAvgObsFakeQuantize.with_args(observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127,
                                                       dtype=torch.qint8, reduce_range=False, eps=2 ** -12)
default_symmetric_qnnpack_qat_qconfig = QConfig(_SIGNED_FAKE, _fake.fused_wt_fake_quant_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(_SIGNED_FAKE, _fake.fused_per_channel_wt_fake_quant_range_neg_127_to_127)
default_embedding_qat_qconfig = QConfig(NoopObserver.with_args(dtype=torch.float32), _fake.default_embedding_fake_quant)
default_embedding_qat_qconfig_4bit = QConfig(NoopObserver.with_args(dtype=torch.float32), _fake.default_embedding_fake_quant_4bit)
default_quint8_weight_qconfig = QConfig(HistogramObserver, MinMaxObserver)
_default_fp32_placeholder_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.float32),
                                            PlaceholderObserver.with_args(dtype=torch.float32))
_default_quint8_placeholder_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.quint8), None)
_BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]


def _known(backend):
    if backend not in _BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {_BACKENDS}")


def get_default_qconfig(backend="x86", version=0):
    """The configuration for scales that are chosen after training. AssertionError for other backends and versions."""
    _known(backend)
    if version != 0:
        raise AssertionError(f"Version number: {version} in get_default_qconfig is not supported. Version number must be 0")
    return QConfig(HistogramObserver.with_args(reduce_range=backend in ("fbgemm", "x86")),
                   _watch.default_weight_observer if backend == "qnnpack" else _watch.default_per_channel_weight_observer)


def get_default_qat_qconfig(backend="x86", version=1):
    """The configuration for training with rounded numbers. AssertionError for other backends and versions."""
    _known(backend)
    if version not in (0, 1):
        raise AssertionError(f"Version number: {version}in get_default_qat_qconfig is not supported. Version number must be 0 or 1")
    halved = {} if backend == "onednn" else {"reduce_range": backend != "qnnpack"}
    made = FusedMovingAvgObsFakeQuantize if version else FakeQuantize
    one, many = ((_fake.default_fused_wt_fake_quant, _fake.default_fused_per_channel_wt_fake_quant) if version else
                 (_fake.default_weight_fake_quant, _fake.default_per_channel_weight_fake_quant))
    return QConfig(made.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **halved),
                   one if backend == "qnnpack" else many)


def _said_again(name):
    warnings.warn(f"`torch.ao.quantization.{name}_dict` is deprecated and will be removed in a future version. Please use "
                  f"`torch.ao.quantization.{name}_mapping` instead.", FutureWarning, stacklevel=3)


def get_default_qconfig_dict(backend="x86", version=0):
    """get_default_qconfig_mapping as a dictionary. Deprecated in torch."""
    from .qconfig_mapping import get_default_qconfig_mapping
    _said_again("get_default_qconfig")
    return get_default_qconfig_mapping(backend, version).to_dict()


def get_default_qat_qconfig_dict(backend="x86", version=1):
    """get_default_qat_qconfig_mapping as a dictionary. Deprecated in torch."""
    from .qconfig_mapping import get_default_qat_qconfig_mapping
    _said_again("get_default_qat_qconfig")
    return get_default_qat_qconfig_mapping(backend, version).to_dict()


def _assert_valid_qconfig(qconfig, mod):
    """AssertionError where the weight of a transposed convolution would have scales for channels."""
    if qconfig is None or qconfig.weight is None or not isinstance(mod, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)):
        return
    if isinstance(qconfig.weight(), (_watch.PerChannelMinMaxObserver, _watch.MovingAveragePerChannelMinMaxObserver)):
        raise AssertionError("Per channel weight observer is not supported yet for ConvTranspose{n}d.")


def _add_module_to_qconfig_obs_ctr(qconfig, module):
    """The configuration with observers that are made on the module's device, where they take a device."""
    if module is None or qconfig is None or qconfig._fields != ("activation", "weight"):
        return qconfig

    def place():
        for t in (*module.parameters(), *module.buffers()):
            return {"device": t.device}
        return None

    def placed(made):
        try:
            made.with_args(factory_kwargs=None)()
            return made.with_callable_args(factory_kwargs=place)
        except (AttributeError, TypeError):    # no factory, or one that takes no device
            return made
    return QConfig(placed(qconfig.activation), placed(qconfig.weight))


def _same(a, b):
    """Whether two factories make the same."""
    if not (isinstance(a, _PartialWrapper) and isinstance(b, _PartialWrapper)):
        return a == b
    mine, theirs = copy.copy(a.p.keywords), copy.copy(b.p.keywords)
    if "observer" in mine and "observer" in theirs and not _same(mine.pop("observer"), theirs.pop("observer")):
        return False
    return a.p.func == b.p.func and a.p.args == b.p.args and mine == theirs


def qconfig_equals(q1, q2):
    """Whether two configurations are the same."""
    if q1 is None or q2 is None:
        return q1 == q2
    try:
        return _same(q1.activation, q2.activation) and _same(q1.weight, q2.weight)
    except AttributeError:
        return q1 == q2


__all__ = [n for n in list(globals()) if n.endswith("qconfig") and not n.startswith("_") or n in (
    "default_qat_qconfig_v2 default_per_channel_qconfig float_qparams_weight_only_qconfig_4bit default_embedding_qat_qconfig_4bit "
    "get_default_qconfig_dict get_default_qat_qconfig_dict qconfig_equals QConfig QConfigDynamic QConfigAny").split()]
__getattr__ = _missing_attribute(__name__)
