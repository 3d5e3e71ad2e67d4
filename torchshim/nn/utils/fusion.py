"""A batch norm folded into the layer before it, for evaluation."""
from __future__ import annotations

import copy

from ...tensor.api.bind import FUNCTIONS
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _check(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A convolution that does what conv and then bn do."""
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
                                                    transpose)
    return fused


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) of the fused convolution; transpose: the outputs are dimension 1 of the weight."""
    zeros, ones = FUNCTIONS["zeros_like"], FUNCTIONS["ones_like"]
    bias_dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    conv_b = zeros(bn_rm) if conv_b is None else conv_b
    bn_w = ones(bn_rm) if bn_w is None else bn_w
    bn_b = zeros(bn_rm) if bn_b is None else bn_b
    root = FUNCTIONS["rsqrt"](bn_rv + bn_eps)
    shape = ([1, -1] if transpose else [-1, 1]) + [1] * (conv_w.dim() - 2)
    weight = (conv_w * (bn_w * root).reshape(shape)).to(dtype=conv_w.dtype)
    bias = ((conv_b - bn_rm) * root * bn_w + bn_b).to(dtype=bias_dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, conv_b.requires_grad)


def fuse_linear_bn_eval(linear, bn):
    """A linear layer that does what linear and then bn do."""
    _check(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
                             f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of the fused linear layer."""
    bias_dtype = linear_w.dtype if linear_b is None else linear_b.dtype
    linear_b = FUNCTIONS["zeros_like"](bn_rm) if linear_b is None else linear_b
    scale = bn_w * FUNCTIONS["rsqrt"](bn_rv + bn_eps)
    weight = linear_w * scale.unsqueeze(-1).to(dtype=linear_w.dtype)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(dtype=bias_dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(bias, linear_b.requires_grad)
