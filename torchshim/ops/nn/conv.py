"""Convolutions and their transposes, in one to three dimensions."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from ...engine import Reads
from ...engine.interpret import convolve
from .. import promotion as P
from ..common import wide
from ..layout import as_row, channels_last_strides, lies_channels_last, plain, row_strides
from ..registry import op


def _shown(sizes):
    return "[" + ", ".join(map(str, sizes)) + "]"


def output_sizes(sizes, kernel, stride, padding, dilation):
    """Spatial sizes of a convolution's result."""
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation))


def transposed_sizes(sizes, kernel, stride, padding, dilation, output_padding):
    """Spatial sizes of a transposed convolution's result."""
    return tuple((n - 1) * s - 2 * p + d * (k - 1) + o + 1
                 for n, k, s, p, d, o in zip(sizes, kernel, stride, padding, dilation, output_padding))


def _check(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    dims = len(weight.shape) - 2
    if not transposed:
        check_bias(input, bias)               # torch looks at it first there
    if P.kind_of(input.dtype) == 3:
        for name, x in (("weight", weight), ("bias", bias)):
            if x is not None and x.dtype != input.dtype:
                raise RuntimeError(f"Input type ({_type(input.dtype)}) and {name} type ({_type(x.dtype)}) should be the same")
    if dims < 1:
        raise RuntimeError("weight should have at least three dimensions")
    for name, given in (("stride", stride), ("padding", padding), ("dilation", dilation), ("output_padding", output_padding)):
        if len(given) != dims:
            raise RuntimeError(f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
                               f"dimensions, but got {name}={_shown(given)}")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) < 0:
        raise RuntimeError("dilation should be greater than zero")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    _check_shapes(input, weight, bias, padding, dilation, transposed, groups)
    if 0 in input.shape and 0 not in input.shape[:2]:
        shape = input.shape if dims > 1 else (*input.shape[:2], 1, *input.shape[2:])
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {_shown(shape)}")
    own = _own_kernel(input, weight, groups)
    _check_dtypes(input, weight, bias, own, dims)
    if min(dilation) == 0:
        whole = [1] * (2 - dims) + list(dilation)
        told = f"dilation_height: {whole[0]}, dilation_width: {whole[1]}" if transposed and dims < 3 else _shown(whole)
        raise RuntimeError(f"dilation should be greater than zero, but got {told}" if own else "non-positive dilation is not supported")
    small = P.kind_of(input.dtype) == 1 and input.dtype != P.int64
    if 0 not in input.shape[:2] and (input.dtype == P.bool_ or small and (transposed or max(dilation) > 1)):
        raise NotImplementedError(f"\"{_kernel(weight.shape[2:], stride, padding, dilation, transposed)}\" not implemented for "
                                  f"'{P.c_name(input.dtype)}'")
    if transposed and any(o >= s and o >= d for o, s, d in zip(output_padding, stride, dilation)):
        axes = ("_depth", "_height", "_width")[-max(dims, 2):]
        told = [[1] * (2 - dims) + list(given) for given in (output_padding, stride, dilation)]
        if dims == 1:
            told[0][0] = 0
        raise RuntimeError("output padding must be smaller than either stride or dilation, but got " + " ".join(
            f"{name}{axis}: {n}" for name, given in zip(("output_padding", "stride", "dilation"), told) for axis, n in zip(axes, given)))
    kernel = weight.shape[2:]
    if kernel and min(kernel) == 0:
        axes = ("depth", "height", "width")[-max(dims, 2):]
        told = " ".join(f"kernel_{axis}: {n}" for axis, n in zip(axes, [1] * (2 - dims) + list(kernel)))
        raise RuntimeError(f"kernel size should be greater than zero, but got {told}")
    out = _made_sizes(input, weight, stride, padding, dilation, transposed, output_padding)
    if transposed and min(out) <= 0:
        told = [" x ".join(map(str, (1,) * (2 - dims) + tuple(sizes))) for sizes in (input.shape[2:], out)]
        raise RuntimeError(f"Given input size per channel: ({told[0]}). Calculated output size per channel: ({told[1]}). Output size is "
                           "too small")


def _check_shapes(input, weight, bias, padding, dilation, transposed, groups):
    if len(input.shape) != len(weight.shape):
        raise RuntimeError(f"Expected {len(weight.shape)}-dimensional input for {len(weight.shape)}-dimensional weight "
                           f"{_shown(weight.shape)}, but got {len(input.shape)}-dimensional input of size {_shown(input.shape)} instead")
    first, second = weight.shape[:2]
    if first < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
                           f"{_shown(weight.shape)} instead")
    if first % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
                           f"[{_shown(weight.shape)}] instead")
    wanted, told = (first, f"transposed={int(transposed)}") if transposed else (second * groups, f"groups={groups}")
    if input.shape[1] != wanted:
        raise RuntimeError(f"Given {told}, weight of size {_shown(weight.shape)}, expected input{_shown(input.shape)} to have {wanted} "
                           f"channels, but got {input.shape[1]} channels instead")
    out_channels = second * groups if transposed else first
    if bias is not None and bias.shape != (out_channels,):
        raise RuntimeError(f"Given {'transposed=1, ' if transposed else ''}weight of size {_shown(weight.shape)}, expected bias to be "
                           f"1-dimensional with {out_channels} elements, but got bias of size {_shown(bias.shape)} instead")
    if not transposed:
        padded = [n + 2 * p for n, p in zip(input.shape[2:], padding)]
        spread = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation)]
        if any(n < k for n, k in zip(padded, spread)):
            raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
                               f"({' x '.join(map(str, spread))}). Kernel size can't be greater than actual input size")


def _own_kernel(input, weight, groups):
    """Whether torch takes its own kernel, not MKL-DNN's: for what that does not know, and single samples with few elements."""
    if input.dtype != P.float32:
        return input.dtype not in (P.float16, P.bfloat16)
    short = min(weight.shape[2:][-2:] if len(weight.shape) > 3 else (1,)) <= 3
    return groups == 1 and short and input.shape[0] <= 1 and math.prod(input.shape[:4]) <= 20480


def _type(dtype):
    """A tensor's type as torch spelled it; younger dtypes have another spelling."""
    name = P.c_name(dtype)
    return f"CPU{name}Type" if name.startswith(("BFloat", "Complex", "Bool")) else f"torch.{name}Tensor"


def _check_dtypes(input, weight, bias, own, dims):
    if input.dtype == P.bool_ and own and 0 not in input.shape[:2]:
        return                                 # torch's kernels do not know it, whatever the others are
    for name, x in (("weight", weight), ("bias", bias)):
        if x is None or x.dtype == input.dtype:
            continue
        if not own:
            raise RuntimeError(f"Input type ({_type(input.dtype)}) and {name} type ({_type(x.dtype)}) should be the same or input should "
                               f"be a MKLDNN tensor and {name} is a dense tensor")
        if name == "weight" or dims == 3:
            raise RuntimeError(f"expected scalar type {P.c_name(input.dtype)} but found {P.c_name(x.dtype)}")
        total = P.promote(input.dtype, x.dtype)
        if not P.can_cast(total, input.dtype):             # it is added to the result of a transposed one in place
            raise RuntimeError(f"result type {P.c_name(total)} can't be cast to the desired output type {P.c_name(input.dtype)}")


def check_bias(input, bias):
    if bias is not None and bias.dtype != input.dtype:
        raise RuntimeError(f"Input type ({P.cpp_name(input.dtype)}) and bias type "
                           f"({P.cpp_name(bias.dtype)}) should be the same")


def _kernel(size, stride, padding, dilation, transposed):
    """torch's kernel for what MKL-DNN does not take."""
    dims = len(size)
    if transposed:
        return f"slow_conv_transpose{max(dims, 2)}d_out_cpu"
    if max(dilation) > 1:
        return "slow_conv_dilated<>"
    if dims < 3:
        return "slow_conv2d_cpu"
    alone = set(size) == set(stride) == {1} and set(padding) == {0}        # the input's columns are itself
    return "slow_conv3d_cpu" if alone else "compute_columns3d"


def _strides(inst, input, weight, *rest):
    """channels_last where the input or the weight lies so and torch's kernel keeps it."""
    m = inst.out_metas[0]
    if m.ndim == 3:                            # the input is made contiguous before
        return row_strides(m.shape) if lies_channels_last(as_row(weight)) else None
    if m.ndim != 4 and m.ndim != 5 or not (lies_channels_last(input) or lies_channels_last(weight)):
        return None
    if m.dtype == P.float64 and m.ndim == 5:
        return None
    return channels_last_strides(m.shape)


def _lie(inst, plan, saved, cts):
    """Gradients lie as the result does, channels_last or contiguous; of a complex convolution, made of real parts, they are contiguous."""
    if P.kind_of(inst.out_metas[0].dtype) == 3 or 0 in inst.out_metas[0].shape or _strides(inst, *inst.in_metas) is None:
        return plain(inst, plan, saved, cts)
    metas = [inst.in_metas[i] for i in plan.needs]
    return tuple([None if m.ndim < 2 else row_strides(m.shape) if m.ndim == 3 else channels_last_strides(m.shape) for m in metas])


def _name(inst):
    """torch makes a complex convolution of three real ones."""
    return "AddBackward0" if P.kind_of(inst.out_metas[0].dtype) == 3 else "ConvolutionBackward0"


def _back_name(inst, needs):
    return "ConvolutionBackwardBackward0" if inst.grad_fn_name == "ConvolutionBackward0" else "ViewAsComplexBackward0"


def _known(input, weight):
    """Whether the operands have elements, of a dtype that NumPy knows."""
    return input.dtype in (P.float32, P.float64) and weight.dtype == input.dtype and 0 not in input.shape and 0 not in weight.shape


def _made_sizes(input, weight, stride, padding, dilation, transposed, output_padding):
    """Spatial sizes of the result."""
    given = input.shape[2:], weight.shape[2:], stride, padding, dilation
    return transposed_sizes(*given, output_padding) if transposed else output_sizes(*given)


def _results(input, weight, bias, *sizes):
    if not _known(input, weight):
        return None
    *sizes, groups = sizes
    channels = weight.shape[1] * groups if sizes[3] else weight.shape[0]
    return [((input.shape[0], channels, *_made_sizes(input, weight, *sizes)), input.dtype)]


def _around(kernel, stride, padding, dilation, transposed, output_padding):
    """(strides, padding, spacing) for `lax.conv_general_dilated`."""
    if not transposed:
        return stride, [(p, p) for p in padding], (1,) * len(kernel)
    spread = [d * (k - 1) for d, k in zip(dilation, kernel)]
    return (1,) * len(kernel), [(e - p, e - p + o) for e, p, o in zip(spread, padding, output_padding)], stride


def _sizes(inst):
    """What `convolve` asks for, or None."""
    x, w = inst.in_metas[:2]
    *sizes, dilation, transposed, output_padding, groups = inst.layout[3:]
    if not _known(x, w) or not inst.out_metas[0].numel or inst.in_metas[-1].dtype != x.dtype:
        return None
    strides, around, spacing = _around(w.shape[2:], *sizes, dilation, transposed, output_padding)
    if transposed:
        w = convolve.Spec(convolve.turned_shape(w.shape, groups), w.dtype)
    return convolve.Sizes(x, w, inst.out_metas[0], strides, around, spacing, dilation, groups)


def _on_host(inst):
    sizes = _sizes(inst)
    return sizes and convolve.forward(sizes, inst.layout[6], len(inst.in_metas) > 2)


def _back_on_host(inst, plan):
    sizes = _sizes(inst)
    return sizes and convolve.backward(sizes, inst.layout[6], plan.needs)


def _reads(inst, wrt):
    """Each of input and weight is read for the other's gradient; both are kept."""
    sizes = _sizes(inst)
    return sizes and Reads((0, 1), (), (), tuple([k for k in (0, 1) if 1 - k not in wrt]),
                           convolve.weights(sizes, inst.layout[6], len(inst.in_metas) > 2, wrt))


def _weight(inst):
    sizes = _sizes(inst)
    return sizes and convolve.weights(sizes, inst.layout[6], len(inst.in_metas) > 2)


@op("convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
    "SymInt[] output_padding, SymInt groups) -> Tensor", grad=_name, grad_back=_back_name, check=_check, strides=_strides, method=False,
    twice=2, lie=_lie, results=_results, host=_on_host, weight=_weight, host_back=_back_on_host, reads=_reads,
    saves=lambda inst, wrt: (~0, ~1) if P.kind_of(inst.out_metas[0].dtype) == 2 else None)
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Cross-correlation of (N, C, ...) with (out, C / groups, ...); transposed: its adjoint, for a weight (C, out / groups, ...).

    https://docs.pytorch.org/docs/stable/nn.functional.html#convolution-functions
    """
    kernel = weight.shape[2:]
    if 0 in input.shape or 0 in weight.shape:
        sizes = _made_sizes(input, weight, stride, padding, dilation, transposed, output_padding)
        channels = 0 if not input.shape[1] else weight.shape[1] * groups if transposed else weight.shape[0]
        return _nothing(input, weight, bias, (input.shape[0], channels, *sizes))
    x, w = wide(input), wide(weight)
    strides, around, spacing = _around(kernel, stride, padding, dilation, transposed, output_padding)
    if transposed:
        w = convolve.turned(w, groups)
    y = jax.lax.conv_general_dilated(x, w, strides, around, spacing, dilation, feature_group_count=groups,
                                     precision=_precision(input.dtype))
    if bias is not None:
        y = y + bias.astype(y.dtype).reshape((-1,) + (1,) * len(kernel))
    return y.astype(input.dtype)


def _nothing(input, weight, bias, shape):
    """An empty result that still depends on its operands, or zeros and the bias where only channels are missing."""
    zero = sum(jnp.sum(a) for a in (input, weight, bias) if a is not None and 0 in a.shape)
    return jnp.zeros(shape, input.dtype) + zero.astype(input.dtype)


def _precision(dtype):
    """TensorFloat32, if the device has it, where torch.backends.cudnn.allow_tf32 lets it (the default); half numbers lose nothing by it."""
    return jax.lax.Precision.HIGH if P.conv_tf32 or dtype in (P.float16, P.bfloat16) else jax.lax.Precision.HIGHEST


def _check_tbc(input, weight, bias, pad):
    if len(input.shape) != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if len(weight.shape) != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if len(bias.shape) != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")


@op("conv_tbc(Tensor input, Tensor weight, Tensor bias, int pad=0) -> Tensor", grad="ConvTbcBackward0", check=_check_tbc, method=False,
    functional=True, pushes=False, saves=("input", "weight", "bias"))
def conv_tbc(input, weight, bias, pad):
    """One-dimensional convolution of (time, batch, channels) with (width, channels, out)."""
    x, w = wide(input), wide(weight)
    y = jax.lax.conv_general_dilated(x, w, (1,), [(pad, pad)], dimension_numbers=("HNC", "HIO", "HNC"), precision=_precision(input.dtype))
    return (y + bias.astype(y.dtype)).astype(input.dtype)


def same_padding(kernel, dilation):
    """(both sides, more after) of every dimension, so that a convolution with stride 1 keeps the size."""
    total = [d * (k - 1) for k, d in zip(kernel, dilation)]
    return tuple(t // 2 for t in total), tuple(t % 2 for t in total)

