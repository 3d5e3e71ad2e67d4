"""layer_norm, rms_norm, group_norm, batch_norm, instance_norm, normalize, local_response_norm."""
from __future__ import annotations

import math

from ...autograd.grad_mode import grad_mode
from ...autograd.levels import innermost_vmap, is_traced
from ...engine import context
from ...ops import promotion as P
from ...ops.nn import norm as ops
from ...ops.nn.loss import no_mean_of
from ...ops.registry import SF, T
from ...tensor.api.bind import call, type_name
from ...tensor.api.looked_up import looked_up
from ...tensor.core.dispatch import apply
from ...tensor.core.handle import read, tangent_of
from ...tensor.core.memory_format import lies_channels_last
from ...tensor.core.write import unasked, write


def _shape(name, shape):
    if shape.__class__ is tuple:
        return shape
    if not isinstance(shape, (list, tuple)):
        raise TypeError(f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {type_name(shape)}")
    return tuple(int(n) for n in shape)


def _floating(input, kernel):
    if P.kind_of(input._ts_meta.dtype) != 2:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(input._ts_meta.dtype)}'")


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Zero mean and unit variance over the trailing dimensions `normalized_shape`, then weight and bias."""
    tensors = (input,)
    if weight is not None:
        tensors += (weight,)
    if bias is not None:
        tensors += (bias,)
    m = input._ts_meta
    if m.dtype.kind in "biu":
        ops._check_layer_norm(m, _shape("layer_norm", normalized_shape), *[t if t is None else t._ts_meta for t in (weight, bias)], None)
        _floating(input, "LayerNormKernelImpl")
    return apply(ops.layer_norm, tensors, (T, _shape("layer_norm", normalized_shape), None if weight is None else T,
                                           None if bias is None else T, SF), (eps,), "f")


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divide by the root mean square over the trailing dimensions; eps: None is the dtype's epsilon."""
    shape = _shape("rms_norm", normalized_shape)
    if P.kind_of(input._ts_meta.dtype) < 2:
        ops.check_rms_norm(input._ts_meta, shape, None if weight is None else weight._ts_meta, eps)
        _floating(input, "rms_norm")
    return call(ops.rms_norm, (input, shape, weight, eps))


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Zero mean and unit variance over each of `num_groups` groups of channels."""
    m = input._ts_meta
    if m.ndim > 1 and m.shape[0] * m.shape[1] // num_groups * math.prod(m.shape[2:]) == 1:
        raise ValueError("Expected more than 1 value per channel when training, got input size "
                         f"{[input.size(0) * input.size(1) // num_groups, num_groups, *input.shape[2:]]}")
    return call(ops.group_norm, (input, num_groups, weight, bias, float(eps)))


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Normalise each channel: with the batch's statistics when training (the running ones are updated), else with the running ones."""
    m = input._ts_meta
    if training and not m.ndim:
        raise IndexError("tuple index out of range")
    if training and math.prod(m.shape[:1] + m.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return _by_channels(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _by_channels(input, running_mean, running_var, weight, bias, training, momentum, eps):
    """What the function hands on to."""
    m = input._ts_meta
    if not m.numel:                            # a history, and no more
        out = input.clone() if weight is None else input.clone() * weight.select(0, 0)
        return out if bias is None else out + bias.select(0, 0)
    if not training:
        for t, name in ((running_mean, "running_mean"), (running_var, "running_var")):
            if t is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
    channels = m.shape[1] if m.ndim > 1 else 0
    for t, name in ((running_mean, "running_mean"), (running_var, "running_var"), (weight, "weight"), (bias, "bias")):
        if t is not None and t.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t.numel()}")
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if training and P.kind_of(m.dtype) < 2 and not (m.contiguous or lies_channels_last(m)):      # torch's kernel for these takes their mean first
        raise no_mean_of(m.dtype)
    if training and m.ndim == 1:
        raise IndexError(_NO_CHANNELS)
    if "forward AD" in context.modes and tangent_of(input) is not None and any([t is not None and tangent_of(t) is not None
                                                                                for t in (running_mean, running_var)]):
        raise RuntimeError("batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad defined")
    if not training:
        return call(ops.batch_norm_eval, (input, running_mean, running_var, weight, bias, float(eps)))
    more = weight, bias, running_mean, running_var
    given = (ops.batch_norm_train, [input, *[t for t in more if t is not None]], (T, *[None if t is None else T for t in more], SF, SF),
             (float(momentum), float(eps)), "ff")
    try:
        y, mean, var = apply(*given)
    except Exception as stopped:
        if hasattr(stopped, "saved_all"):      # torch saves results last, when its kernel has written the running statistics
            with grad_mode(False):
                _keep_running(running_mean, running_var, *apply(*given)[1:])
        raise
    _keep_running(running_mean, running_var, mean, var)
    return y


def _keep_running(running_mean, running_var, mean, var):
    for running, now in ((running_mean, mean), (running_var, var)):
        if running is not None:
            if "transform" in context.modes and is_traced(now) and not is_traced(running) and innermost_vmap() is not None:
                raise RuntimeError(_UNBATCHED)
            write(running, read(now))


_NO_CHANNELS = "Dimension out of range (expected to be in range of [-1, 0], but got 1)"
_UNBATCHED = ("Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, were not "
              "batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be False.If you are "
              "using a prebuilt module and do not need eval mode, please see the functorch website for resources on how to patch your "
              "module to work with vmap")


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    """Normalise each channel of each sample; use_input_stats=False takes the running statistics."""
    shape = input._ts_meta.shape
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    if len(shape) < 2:
        raise IndexError(_NO_CHANNELS if shape else "Dimension specified as 0 but tensor has no dimensions")
    (n, c), rest = shape[:2], shape[2:]

    def tiled(t):
        return None if t is None else t.repeat(n)
    mean, var = tiled(running_mean), tiled(running_var)
    weight, bias = tiled(weight), tiled(bias)  # before the view: the later node has its turn first
    y = _by_channels(input.contiguous().view(1, n * c, *rest), mean, var, weight, bias, use_input_stats, momentum, eps)
    if use_input_stats:
        for running, many in ((running_mean, mean), (running_var, var)):
            if running is not None:
                with unasked():
                    running.copy_(many.view(n, c).mean(0))
    return y.view(n, c, *rest)


@looked_up
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """input / max(norm, eps) along dim."""
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / norm
    from ...tensor.api.bind import FUNCTIONS
    return FUNCTIONS["div"](input, norm, out=out)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divide by a power of the mean square over neighbouring channels."""
    dim = input.dim()
    if dim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {dim} dimensions)")
    if not input.numel():
        return input
    from .padding import pad
    dtype = input._ts_meta.dtype
    whole = P.kind_of(dtype) < 2                # torch averages by its pooling, in whole numbers, which it has for int64 alone
    if whole and dtype != P.int64:
        raise NotImplementedError(f"\"avg_pool{'2d' if dim == 3 else '3d_out_frame'}\" not implemented for '{P.c_name(dtype)}'")
    if P.kind_of(dtype) == 3 or dim > 3 and dtype in (P.float16, P.bfloat16):
        if dim == 3:
            raise NotImplementedError(f"\"avg_pool2d\" not implemented for '{P.c_name(dtype)}'")
        raise NotImplementedError(f"\"avg_pool3d_out_frame\" not implemented for '{P.c_name(dtype)}'")
    square = input.mul(input)
    wide = pad(square, (0, 0) * (dim - 2) + (size // 2, (size - 1) // 2))
    total = wide.narrow(1, 0, input.shape[1])
    for k_ in range(1, size):
        total = total + wide.narrow(1, k_, input.shape[1])
    return input / (total // size if whole else total / size).mul(alpha).add(k).pow(beta)
