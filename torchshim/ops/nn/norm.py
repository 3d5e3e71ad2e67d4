"""Normalisation: layer, RMS, group, batch."""
from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ...engine import Reads, contiguous_strides
from ...engine.interpret import channels, fused
from .. import promotion as P
from ..common import half_of, wide
from ..layout import channels_last_strides, elementwise_strides, iterated, lies_channels_last, not_channels_last
from ..casts import short
from ..registry import each_back, op


def _trailing(x, shape):
    return tuple(range(x.ndim - len(shape), x.ndim))


def _shown(shape):
    return "[" + ", ".join(map(str, shape)) + "]"


def share_dtype(x, *parameters):
    """Parameters have the input's dtype; beside half inputs all of them may be float32."""
    given = [t for t in parameters if t is not None]
    if given and given[0].dtype != x.dtype:
        if any([t.dtype != P.float32 for t in given]):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        if x.dtype not in (P.float16, P.bfloat16):
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    elif given and given[-1].dtype != x.dtype:
        raise RuntimeError(f"expected scalar type {P.c_name(x.dtype)} but found {P.c_name(given[-1].dtype)}")


def _check_trailing(x, normalized_shape, weight, bias=None, star="*, "):
    if not normalized_shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
                           f"normalized_shape = {_shown(normalized_shape)}")
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.shape != tuple(normalized_shape):
            raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {_shown(t.shape)} "
                               f"and normalized_shape = {_shown(normalized_shape)}")
    n = len(normalized_shape)
    if len(x.shape) < n or x.shape[len(x.shape) - n:] != tuple(normalized_shape):
        stars = f"[{star}" + ", ".join(map(str, normalized_shape)) + "]"
        raise RuntimeError(f"Given normalized_shape={_shown(normalized_shape)}, expected input with shape {stars}, but got input of "
                           f"size{_shown(x.shape)}")


def _strides(inst, self, *rest):
    """What lies channels_last stays so."""
    return (channels_last_strides(self.shape),) + (None,) * (len(inst.out_metas) - 1) if lies_channels_last(self) else None


def _batch_strides(inst, self, *rest):
    """Whatever the strides of dimensions of one element are; what is contiguous as well stays that."""
    if self.contiguous:
        return None
    last = channels_last_strides(self.shape)
    if self.ndim in (4, 5) and all([a == b or n == 1 for a, b, n in zip(self.strides, last, self.shape)]):
        return (last,) + (None,) * (len(inst.out_metas) - 1)
    return _strides(inst, self)


def _rounded_to(x, *parameters):
    """The half type in which torch keeps the statistics of `x` for backward; None where it has none, or one of the parameters is wider."""
    return half_of(x.dtype) if all([t is None or t.dtype == x.dtype for t in parameters]) else None


def _check_layer_norm(x, normalized_shape, weight, bias, eps):
    share_dtype(x, weight, bias)
    _check_trailing(x, normalized_shape, weight, bias)


@partial(jax.custom_jvp, nondiff_argnums=(1, 3))
def statistics(x, axes, eps, half=None):
    """((x - mean) / sqrt(variance + eps), mean, variance) over some axes. half: the half type to which torch rounds what of these its
    gradient is made of."""
    mean = jnp.mean(x, axes, keepdims=True)
    centred = x - mean
    var = jnp.mean(jnp.square(centred), axes, keepdims=True)
    return centred * jax.lax.rsqrt(var + eps.astype(x.dtype)), mean, var


@statistics.defjvp
def _statistics_jvp(axes, half, primals, tangents):
    (x, eps), t = primals, tangents[0]
    made, mean, var = statistics(x, axes, eps, half)
    along_mean, along_var = jnp.mean(t, axes, keepdims=True), 2 * jnp.mean((x - mean) * t, axes, keepdims=True)
    scale = short(jax.lax.rsqrt(var + eps.astype(x.dtype)), half)
    y, t = made if half is None else (x - short(mean, half)) * scale, t * scale
    # the signs are changed where there is less to change, here and in the transposed program
    t = t + -jnp.mean(t, axes, keepdims=True) + y * -jnp.mean(y * t, axes, keepdims=True)
    return (made, mean, var), (t, along_mean, along_var)


def normalized(x, axes, eps, half=None):
    """(x - mean) / sqrt(variance + eps) over some axes."""
    return statistics(x, axes, eps, half)[0]


def _rows_on_host(inst):
    """(rows, length, shape, dtype) where all operands have one dtype that NumPy knows; else None."""
    x = inst.in_metas[0]
    if not x.numel or x.dtype not in (P.float32, P.float64) or any([m.dtype != x.dtype for m in inst.in_metas]):
        return None
    n = 1
    for size in inst.layout[1]:
        n *= size
    return x.numel // n, n, x.shape, x.dtype


def _layer_norm_on_host(inst):
    given, (weight, bias) = _rows_on_host(inst), inst.layout[2:4]
    return given and len(inst.kinds) == 1 and fused.layer_norm(*given, weight is not None, bias is not None) or None


def _layer_norm_back_on_host(inst, plan):
    given, weight = _rows_on_host(inst), inst.layout[2] is not None
    names = ["x"] + ["weight"] * weight + ["bias"] * (inst.layout[3] is not None)
    if given is None or plan.outs or plan.args != tuple(range(len(names))) or len(plan.nums) != 1 or plan.cts != (0,):
        return None
    back = fused.layer_norm_back(*given, inst.layout[1], weight, [names[i] for i in plan.needs])
    read = 1 + weight                          # the bias is only kept
    return back if read == len(names) else lambda *arrays: back(*arrays[:read], *arrays[read + 1:])


def _names(*others):
    """saved_as of a norm with these parameters, some of which may not be there: torch has names of its own for them."""
    called = {"mean": "running_mean", "var": "running_var"}

    def names(inst):
        given = dict(zip([p.name for p in getattr(inst.op, "op", inst.op).params], inst.layout))
        return ("input", *[called.get(name, name) for name in others if given[name] is not None])
    return names


@op("layer_norm(Tensor self, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
    grad="NativeLayerNormBackward0", grad_back="NativeLayerNormBackward",
    host=_layer_norm_on_host, host_back=_layer_norm_back_on_host, refuses=("LayerNormKernelImpl", "bic"),
    check=_check_layer_norm, function=False, method=False, sizes=("normalized_shape",), twice=3, plain_gradients=True,
    saves=("self", "weight", "bias"), saved_as=_names("weight", "bias"))
def layer_norm(self, normalized_shape, weight, bias, eps):
    """Zero mean and unit variance over the trailing dimensions, then scale and shift."""
    y = normalized(wide(self), _trailing(self, normalized_shape), eps, _rounded_to(self, weight, bias))
    if weight is not None:
        y = y * weight.astype(y.dtype)
    if bias is not None:
        y = y + bias.astype(y.dtype)
    return y.astype(self.dtype)


def check_rms_norm(x, normalized_shape, weight, eps):
    """torch's errors for shapes that do not fit."""
    _check_trailing(x, normalized_shape, weight, star="*")


def _rms_name(inst):
    """torch makes a result contiguous that lies otherwise, unless channels_last."""
    m = inst.in_metas[0]
    if m.dtype in (P.float16, P.bfloat16):
        return "ToCopyBackward0"
    return "MulBackward0" if lies_channels_last(m) or elementwise_strides((m,), m.shape) in (None, contiguous_strides(m.shape)) else "CloneBackward0"


@op("rms_norm(Tensor self, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    grad=_rms_name, copied=lambda inst, wrt: (0,) if 0 not in wrt else (),
    grad_back=each_back("Add"), lie=iterated, check=check_rms_norm, strides=_strides, function=False, method=False, sizes=("normalized_shape",))
def rms_norm(self, normalized_shape, weight, eps):
    """Divide by the root mean square over the trailing dimensions, then scale."""
    x = wide(self)
    eps = jnp.asarray(jnp.finfo(x.dtype).eps if eps is None else eps, x.dtype)
    y = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), _trailing(x, normalized_shape), keepdims=True) + eps)
    if weight is not None:
        y = y * weight.astype(y.dtype)
    return y.astype(self.dtype)


def _check_group_norm(x, num_groups, weight, bias, eps):
    if num_groups < 1:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if len(x.shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(x.shape)}")
    c = x.shape[1]
    if c % num_groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{_shown(x.shape)} and num_groups={num_groups}")
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.shape != (c,):
            told = (0,) if weight is None else weight.shape        # of a bias, too
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                               f"shape {_shown(told)} and input of shape {_shown(x.shape)}")
    share_dtype(x, weight, bias)


def _one_dtype(inst):
    """Whether the operands have one dtype that NumPy knows, and elements."""
    x = inst.in_metas[0]
    return x.numel and x.dtype in (P.float32, P.float64) and all([m.dtype == x.dtype for m in inst.in_metas])


def _groups_on_host(inst):
    """The sizes for `channels.forward`, or None."""
    x, groups = inst.in_metas[0], inst.layout[1]
    if _one_dtype(inst) and len(inst.kinds) == 1:
        n, c = x.shape[:2]
        sizes = n * groups, c // groups, x.numel // (n * c)
        return None if channels.few_places(1, *sizes) else (1, *sizes, x.shape, x.dtype)


def _group_norm_on_host(inst):
    given, (has_weight, has_bias) = _groups_on_host(inst), [t is not None for t in inst.layout[2:4]]
    if given is None:
        return None
    made, groups, each, samples = channels.forward(*given), inst.layout[1], given[2], inst.in_metas[0].shape[0]

    def run(x, *more):
        weight, bias = [_tiled(t, samples, groups, each) for t in _split(more, has_weight, has_bias)]
        return [made(x, more[-1].astype(given[-1]), weight, bias)[0]]
    return run


def _split(given, *there):
    """The operands of which `there` says whether they are given, in order; None for the others."""
    it = iter(given)
    return [next(it) if this else None for this in there]


def _tiled(parameter, samples, groups, each):
    """A parameter of the channels as that of the groups of every sample."""
    return parameter if parameter is None else np.tile(np.asarray(parameter).reshape(groups, each), (samples, 1))


def _group_norm_back_on_host(inst, plan):
    given, has_weight = _groups_on_host(inst), inst.layout[2] is not None
    if given is None or plan.outs or plan.args != (0, 1)[:1 + has_weight] or len(plan.nums) != 1:
        return None
    names = ["x"] + ["weight"] * has_weight + ["bias"] * (inst.layout[3] is not None)
    wants = [names[i] for i in plan.needs]
    made, groups, each, samples = channels.backward(*given, wants), inst.layout[1], given[2], inst.in_metas[0].shape[0]

    def run(x, *more):
        weight = _tiled(more[0], samples, groups, each) if has_weight else None
        found = made(x, more[-2], more[-1].astype(given[-1]), weight)
        return [found[name] if name == "x" else np.add.reduce(found[name].reshape(samples, -1), 0) for name in wants]
    return run


@op("group_norm(Tensor self, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
    grad="NativeGroupNormBackward0",
    grad_back=each_back("View"), refuses=("GroupNormKernelImpl", "bic"), check=_check_group_norm, strides=_strides, function=False,
    method=False, plain_gradients=not_channels_last, saves=("self", "weight"), saved_as=_names("weight", "bias"),
    host=_group_norm_on_host, host_back=_group_norm_back_on_host)
def group_norm(self, num_groups, weight, bias, eps):
    """Zero mean and unit variance over each group of channels, then scale and shift each channel."""
    x = wide(self)
    n, c = x.shape[:2]
    grouped = x.reshape(n, num_groups, -1) if x.size else x.reshape(n, num_groups, 0)
    y = normalized(grouped, (2,), eps, _rounded_to(self, weight, bias)).reshape(x.shape)
    return _per_channel(y, weight, bias).astype(self.dtype)


def _per_channel(y, weight, bias):
    across = (1, -1) + (1,) * (y.ndim - 2)
    if weight is not None:
        y = y * weight.astype(y.dtype).reshape(across)
    if bias is not None:
        y = y + bias.astype(y.dtype).reshape(across)
    return y


def _check_batch_norm(x, *parameters):
    if P.kind_of(x.dtype) > 1:
        share_dtype(x, *parameters)


def _channels_of(inst):
    """(samples, channels, places, shape, dtype) of what is normalised channel by channel in NumPy, or None."""
    x = inst.in_metas[0]
    if _one_dtype(inst):
        n, c = x.shape[:2]
        sizes = n, c, x.numel // (n * c)
        return None if channels.few_places(n, c, 1, sizes[2]) else (*sizes, x.shape, x.dtype)


def _batch_norm_on_host(inst):
    given, there = _channels_of(inst), [t is not None for t in inst.layout[1:5]]
    if given is None or len(inst.kinds) != 2:
        return None
    n, c, places, shape, dtype = given
    made, count, one = channels.forward(n, c, 1, places, shape, dtype), n * places, dtype.type(1)
    unbiased = dtype.type(count / (count - 1) if count > 1 else np.nan)

    def run(x, *more):
        weight, bias, mean, var = [a if a is None else np.asarray(a) for a in _split(more, *there)]
        momentum, eps = more[-2].astype(dtype), more[-1].astype(dtype)
        y, now, var_now = made(x, eps, *[a if a is None else a.reshape(c, 1) for a in (weight, bias)])
        var_now *= unbiased
        moved = [new if old is None else (one - momentum) * old + momentum * new for old, new in ((mean, now), (var, var_now))]
        return [y, *moved]
    return run


def _batch_norm_back_on_host(inst, plan):
    given, has_weight = _channels_of(inst), inst.layout[1] is not None
    if given is None or plan.outs or plan.args != (0, 1)[:1 + has_weight] or len(plan.nums) != 1 or plan.cts != (0, 1, 2):
        return None
    n, c, places, shape, dtype = given
    names = ["x"] + ["weight"] * has_weight + ["bias"] * (inst.layout[2] is not None)
    wants = [names[i] for i in plan.needs]
    made = channels.backward(n, c, 1, places, shape, dtype, wants)

    def run(x, *more):                         # the cotangents of the statistics lead nowhere
        weight = np.asarray(more[0]).reshape(c, 1) if has_weight else None
        found = made(x, more[int(has_weight)], more[-1].astype(dtype), weight)
        return [found[name] if name == "x" else found[name].reshape(c) for name in wants]
    return run


def _batch_norm_results(x, weight, bias, mean, var, momentum, eps):
    given = [t for t in (weight, bias, mean, var) if t is not None]
    if x.dtype not in (P.float32, P.float64) or 0 in x.shape or any([t.dtype != x.dtype for t in given]):
        return None
    return [(x.shape, x.dtype), (x.shape[1:2], x.dtype), (x.shape[1:2], x.dtype)]


def _batch_norm_weight(inst):
    n, given = inst.in_metas[0].numel, sum([t is not None for t in inst.layout[1:3]])
    return 27 + 2 * given, 27 + 2 * given, (2 + given) * n, -6 * n


def _batch_norm_reads(inst, wrt):
    """The parameters' gradients do without the weight."""
    if _channels_of(inst) is None or len(inst.kinds) != 2 or not {0, inst.layout[1] is not None} & {*wrt}:
        return None
    args, n = (0, 1) if inst.layout[1] is not None else (0,), inst.in_metas[0].numel
    many = (30 if 0 in wrt else 14) + 4 * len(wrt)
    return Reads(args, (), (1,), args[1:] if 0 not in wrt else (), (many, many, (8 if 0 in wrt else 2) * n, -6 * len(wrt) * n))


def _with_rounded(x, y, mean, var, eps, half):
    """`y` as it is with a mean and a scale that were rounded to the half type, as torch keeps them where no parameter is float32."""
    mean, scale = [a.astype(half).astype(x.dtype) for a in (mean, jax.lax.rsqrt(var + eps.astype(x.dtype)))]
    return y + jax.lax.stop_gradient((x - mean) * scale - y)


@op("batch_norm_train(Tensor self, Tensor? weight, Tensor? bias, Tensor? mean, Tensor? var, float momentum, float eps) -> "
    "(Tensor, Tensor, Tensor)", grad="NativeBatchNormBackward0", grad_back="NativeBatchNormBackward", nondiff=("mean", "var"),
    check=lambda x, weight, bias, mean, var, *rest: _check_batch_norm(x, weight, bias, mean, var), refuses=("batch_norm", "bic"),
    strides=_batch_strides, function=False, method=False, twice=2, plain_gradients=not_channels_last, host=_batch_norm_on_host,
    results=_batch_norm_results, weight=_batch_norm_weight, reads=_batch_norm_reads, host_back=_batch_norm_back_on_host,
    saves=("self", "weight"), saved_as=_names("weight", "bias", "mean", "var"))
def batch_norm_train(self, weight, bias, mean, var, momentum, eps):
    """Each channel normalised over the batch: (result, new running mean, new running variance)."""
    x = wide(self)
    axes = (0, *range(2, x.ndim))
    count = x.size // x.shape[1] if x.shape[1] else 0
    half = _rounded_to(self, weight, bias, mean, var)
    y, *now = statistics(x, axes, eps, half)
    if half is not None:
        y = _with_rounded(x, y, *now, eps, half)
    y = _per_channel(y, weight, bias)
    now, var_now = jax.lax.stop_gradient(now)
    unbiased = var_now.reshape(-1) * (count / (count - 1) if count > 1 else jnp.nan)

    def moved(old, new):
        if old is None:
            return new
        m = momentum.astype(new.dtype)
        return ((1 - m) * old.astype(new.dtype) + m * new).astype(old.dtype)
    return y.astype(self.dtype), moved(mean, now.reshape(-1)), moved(var, unbiased)


batch_norm_train.edges = (0, 1, 2)          # the running statistics have no place in the graph
batch_norm_train.outputs = (0,)


def _batch_norm_eval_on_host(inst):
    given, there = _channels_of(inst), [t is not None for t in inst.layout[3:5]]
    if given is None or len(inst.kinds) != 1:
        return None
    made, dtype = channels.with_given(*given), given[-1]

    def run(x, mean, var, *more):
        weight, bias = _split(more, *there)
        scale = 1 / np.sqrt(np.asarray(var) + more[-1].astype(dtype))
        if weight is not None:
            scale *= weight
        return [made(x, np.asarray(mean), scale, bias if bias is None else np.asarray(bias))]
    return run


@op("batch_norm_eval(Tensor self, Tensor mean, Tensor var, Tensor? weight, Tensor? bias, float eps) -> Tensor",
    grad="NativeBatchNormBackward0",
    check=lambda x, mean, var, weight, bias, eps: _check_batch_norm(x, weight, bias, mean, var), refuses=("batch_norm", "bic"),
    strides=_batch_strides, function=False, method=False, twice=4, plain_gradients=not_channels_last, host=_batch_norm_eval_on_host,
    saves=("self", "mean", "var", "weight"), saved_as=_names("mean", "var", "weight", "bias"))
def batch_norm_eval(self, mean, var, weight, bias, eps):
    """Each channel normalised with given statistics."""
    x = wide(self)
    across = (1, -1) + (1,) * (x.ndim - 2)
    mean, var = mean.astype(x.dtype), var.astype(x.dtype)
    scale = jax.lax.rsqrt(var + eps.astype(x.dtype))
    if weight is not None:
        scale = scale * weight.astype(x.dtype)
    return _per_channel((x - mean.reshape(across)) * scale.reshape(across), None, bias).astype(self.dtype)


batch_norm_eval.edges = (0, 3, 4)
