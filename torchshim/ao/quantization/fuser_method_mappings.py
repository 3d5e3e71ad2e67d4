"""torch.ao.quantization.fuser_method_mappings: modules in a row that become one."""
from __future__ import annotations

import itertools

from ...dropin import missing_attribute as _missing_attribute
from ... import nn
from ..nn import intrinsic as nni
from .utils import MatchAllNode, get_combined_dict


def _check(is_qat, layer, bn, what, layers, size, names):
    if layer.training != bn.training:
        raise AssertionError(f"{what} and BN both must be in the same mode (train or eval).")
    if is_qat:
        if bn.num_features != size:
            raise AssertionError(names)
        for flag, said in (("affine", "affine set to True"), ("track_running_stats", "tracking_running_stats set to True")):
            if not getattr(bn, flag):
                raise AssertionError(f"Only support fusing {layers} with {said}")


def _fused(classes, kind, modules):
    for d in (1, 2, 3):
        if type(modules[0]) is getattr(nn, f"Conv{d}d"):
            return getattr(nni, f"{classes}{d}d")(*modules)
    raise NotImplementedError(f"Cannot fuse {kind} modules: {modules}")


def fuse_conv_bn(is_qat, conv, bn):
    """A convolution with its batch norm: in one weight, or for training as a module of both. AssertionError where they do not fit."""
    _check(is_qat, conv, bn, "Conv", "BatchNorm2d", conv.out_channels, "Output channel of Conv2d must match num_features of BatchNorm2d.")
    return _fused("ConvBn", "train", (conv, bn)) if is_qat else nn.utils.fuse_conv_bn_eval(conv, bn)


def fuse_conv_bn_relu(is_qat, conv, bn, relu):
    """The same with a ReLU behind."""
    if not conv.training == bn.training == relu.training:
        raise AssertionError("Conv and BN both must be in the same mode (train or eval).")
    _check(is_qat, conv, bn, "Conv", "BatchNorm2d", conv.out_channels, "Output channel of Conv2d must match num_features of BatchNorm2d")
    if is_qat:
        return _fused("ConvBnReLU", "train", (conv, bn, relu))
    if type(conv) not in (nn.Conv1d, nn.Conv2d, nn.Conv3d):
        raise NotImplementedError(f"Cannot fuse eval modules: {(conv, bn, relu)}")
    return getattr(nni, f"ConvReLU{type(conv).__name__[-2:]}")(nn.utils.fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat, linear, bn):
    """A linear layer with its batch norm."""
    _check(is_qat, linear, bn, "Linear", "BatchNorm1d", linear.out_features,
           "Output features of Linear must match num_features of BatchNorm1d")
    return nni.LinearBn1d(linear, bn) if is_qat else nn.utils.fuse_linear_bn_eval(linear, bn)


def fuse_convtranspose_bn(is_qat, convt, bn):
    """A transposed convolution with its batch norm; Exception for training."""
    if convt.training != bn.training:
        raise AssertionError("ConvTranspose and BN both must be in the same mode (train or eval).")
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
    return nn.utils.fuse_conv_bn_eval(convt, bn, transpose=True)


def _pair(made):
    def fuse(is_qat, m1, m2):
        return made(m1, m2)
    return fuse


_DEFAULT_OP_LIST_TO_FUSER_METHOD = {(nn.Linear, nn.BatchNorm1d): fuse_linear_bn, (nn.Linear, nn.ReLU): _pair(nni.LinearReLU),
                                    (nn.BatchNorm2d, nn.ReLU): _pair(nni.BNReLU2d), (nn.BatchNorm3d, nn.ReLU): _pair(nni.BNReLU3d)}
for _d in (1, 2, 3):
    _conv, _norm, _back = [getattr(nn, f"{_n}{_d}d") for _n in ("Conv", "BatchNorm", "ConvTranspose")]
    _DEFAULT_OP_LIST_TO_FUSER_METHOD.update({
        (_conv, _norm): fuse_conv_bn, (_conv, _norm, nn.ReLU): fuse_conv_bn_relu, (_conv, nn.ReLU): _pair(getattr(nni, f"ConvReLU{_d}d")),
        (_back, _norm): fuse_convtranspose_bn})


def get_fuser_method(op_list, additional_fuser_method_mapping=None):
    """The function that makes one module of modules of these classes. AssertionError where there is none."""
    found = get_combined_dict(_DEFAULT_OP_LIST_TO_FUSER_METHOD, additional_fuser_method_mapping or {}).get(op_list)
    if found is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    return found


def _reverse2(f):
    def reverse(is_qat, x, y):
        return f(is_qat, y, x)
    return reverse


def _reverse3(f):
    def reverse(is_qat, x, w):
        y, z = w
        return f(is_qat, z, y, x)
    return reverse


def _get_valid_patterns(op_pattern):
    if isinstance(op_pattern, (tuple, list)):
        return list(itertools.product(*[_get_valid_patterns(p) for p in op_pattern]))
    return [op_pattern, MatchAllNode]


def get_fuser_method_new(op_pattern, fuser_method_mapping):
    """The same for a pattern of a graph, parts of which may match anything."""
    for pattern in _get_valid_patterns(op_pattern):
        found = fuser_method_mapping.get(pattern)
        if found is not None:
            return found
    raise AssertionError(f"did not find fuser method for: {op_pattern} ")


__all__ = ["fuse_conv_bn", "fuse_conv_bn_relu", "fuse_linear_bn", "fuse_convtranspose_bn", "get_fuser_method", "get_fuser_method_new"]
__getattr__ = _missing_attribute(__name__)
