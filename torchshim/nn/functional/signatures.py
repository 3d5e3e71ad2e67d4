"""torch's argument errors for the functions that are written by hand here.

In torch such a function is a binding, or ends in one, whose parser refuses what does not fit the schema. Here nothing is parsed while all
goes well: a call that fails is compared with the schema, and if that does not take the arguments the error is the parser's.
"""
from __future__ import annotations

import functools
import inspect

import numpy as np

from ...engine import context
from ...engine.site import leaving
from ...ops.schema import parse_schema
from ...tensor.api.looked_up import called
from ...tensor.api.misfits import complain, misfit, misfit_of
from ...tensor.api.overloads import Overload
from ...tensor.api.parameters import takes, type_name
from ...tensor.api.signatures import UNSET


def _pools(name, d, more="", dilation=False):
    step = f", int[{d}] dilation=1" if dilation else ""
    return f"{name}(Tensor input, int[{d}] kernel_size, int[{d}]? stride=[], int[{d}] padding=0{step}, bool ceil_mode=False{more}) -> Tensor"


def _convs(name, d):
    return tuple([f"{name}(Tensor input, Tensor weight, Tensor? bias=None, int[{d}] stride=1, {padding}, int[{d}] dilation=1, int groups=1)"
                  " -> Tensor" for padding in (f"int[{d}] padding=0", "str padding='valid'")])


# bindings: called as they are
_BINDINGS = {
    **{f"conv{d}d": _convs(f"conv{d}d", d) for d in (1, 2, 3)},
    **{f"conv_transpose{d}d": (f"conv_transpose{d}d(Tensor input, Tensor weight, Tensor? bias=None, int[{d}] stride=1, int[{d}] padding=0, "
                               f"int[{d}] output_padding=0, int groups=1, int[{d}] dilation=1) -> Tensor",) for d in (1, 2, 3)},
    "avg_pool1d": (_pools("avg_pool1d", 1, ", bool count_include_pad=True"),),
    **{f"avg_pool{d}d": (_pools(f"avg_pool{d}d", d, ", bool count_include_pad=True, int? divisor_override=None"),) for d in (2, 3)},
    "adaptive_avg_pool1d": ("adaptive_avg_pool1d(Tensor input, int[1] output_size) -> Tensor",),
    "cosine_similarity": ("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",),
    "pairwise_distance": ("pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool keepdim=False) -> Tensor",),
    **{name: (f"{name}(Tensor input, int {n}) -> Tensor",) for name, n in (
        ("pixel_shuffle", "upscale_factor"), ("pixel_unshuffle", "downscale_factor"), ("channel_shuffle", "groups"),
        ("native_channel_shuffle", "groups"))},
    "logsigmoid": ("log_sigmoid(Tensor input) -> Tensor",),
    "linear": ("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",),
    "bilinear": ("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",),
    "conv_tbc": ("conv_tbc(Tensor input, Tensor weight, Tensor bias, int pad=0) -> Tensor",),
    "one_hot": ("one_hot(Tensor input, int num_classes=-1) -> Tensor",),
    "scaled_dot_product_attention": ("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
                                     "float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",),
}
_LOSS = "(Tensor input, Tensor target) -> Tensor"
# functions that end in a binding: their arguments go there by name
_ENDS = {
    **{f"max_pool{d}d{more}": _pools(f"max_pool{d}d{more}", d, dilation=True) for d in (1, 2, 3) for more in ("", "_with_indices")},
    **{f"adaptive_max_pool{d}d{more}": f"adaptive_max_pool{d}d(Tensor input, int[{d}] output_size) -> Tensor"
       for d in (1, 2, 3) for more in ("", "_with_indices")},
    **{f"adaptive_avg_pool{d}d": f"adaptive_avg_pool{d}d(Tensor input, int[{d}] output_size) -> Tensor" for d in (2, 3)},
    **{f"fractional_max_pool{d}d{more}": f"fractional_max_pool{d}d(Tensor input, int[{d}] kernel_size) -> Tensor"
       for d in (2, 3) for more in ("", "_with_indices")},
    "batch_norm": "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
                  "float momentum, float eps) -> Tensor",
    "instance_norm": "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
                     "bool use_input_stats, float momentum, float eps) -> Tensor",
    "layer_norm": "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> Tensor",
    "rms_norm": "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> Tensor",
    "group_norm": "group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps) -> Tensor",
    "cross_entropy": "cross_entropy_loss(Tensor input, Tensor target, Tensor? weight, str reduction, int ignore_index, "
                     "float label_smoothing) -> Tensor",
    "nll_loss": "nll_loss_nd(Tensor input, Tensor target, Tensor? weight, str reduction, int ignore_index) -> Tensor",
    "kl_div": "kl_div" + _LOSS,
    "binary_cross_entropy_with_logits": "binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight, "
                                        "Tensor? pos_weight) -> Tensor",
    "soft_margin_loss": "soft_margin_loss" + _LOSS,
    "multilabel_margin_loss": "multilabel_margin_loss" + _LOSS,
    "multi_margin_loss": "multi_margin_loss(Tensor input, Tensor target, Scalar p, Scalar margin, Tensor? weight) -> Tensor",
    "hinge_embedding_loss": "hinge_embedding_loss(Tensor input, Tensor target, float margin) -> Tensor",
    "cosine_embedding_loss": "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin) -> Tensor",
    "margin_ranking_loss": "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin) -> Tensor",
    "triplet_margin_loss": "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin, float p, float eps, "
                           "bool swap) -> Tensor",
    "poisson_nll_loss": "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps) -> Tensor",
    "pad": "pad(Tensor input, int[] pad, str mode, float? value) -> Tensor",
    "dropout": "dropout(Tensor input, float p, bool train) -> Tensor",
    "alpha_dropout": "alpha_dropout(Tensor input, float p, bool train) -> Tensor",
    "feature_alpha_dropout": "feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
    "unfold": "im2col(Tensor input, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    "fold": "col2im(Tensor input, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
}


# what is asked of an argument before that
_FIRST = {
    "binary_cross_entropy_with_logits": (("target", "size"), ("input", "size")), "group_norm": (("input", "dim"),),
    "glu": (("input", "dim"),), "instance_norm": (("input", "size"),),
    "margin_ranking_loss": (("input1", "dim"), ("input2", "dim"), ("target", "dim")),
    **{name: (("target", "size"), ("input", "size")) for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")},
    **{f"adaptive_{kind}_pool{d}d{more}": (("input", "size"),) for kind in ("max", "avg") for d in (2, 3) for more in ("", "_with_indices")
       if not (kind == "avg" and more)},
}
_STRAIGHT = ("batch_norm", "pad", "layer_norm", "rms_norm")      # these refuse next to nothing themselves
_PAIRS = ("unfold", "fold")                    # a number is made two before that, whatever it is
NAMES = tuple(dict.fromkeys((*_BINDINGS, *_ENDS, *_FIRST)))
# what depends on no values; see tensor/api/looked_up.py
_LOOKED_UP = frozenset((
    "layer_norm", "rms_norm", "group_norm", "batch_norm", "instance_norm", "pad", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle",
    "cosine_similarity", "pairwise_distance", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "cross_entropy", "nll_loss",
    "binary_cross_entropy_with_logits", "soft_margin_loss", "unfold", "fold",
    *[name for name in NAMES if "pool" in name and "fractional" not in name]))


class _Declared:
    """What `Overload` asks of an operator."""
    numbers, fields = frozenset(), None

    def __init__(self, schema):
        self.name, self.params, _ = parse_schema(schema)


def guarded(name, f):
    """`f` with torch's argument errors; `name` is one of NAMES."""
    binding, ends, known = _BINDINGS.get(name), _ENDS.get(name), name in _LOOKED_UP

    @functools.wraps(f)
    def function(*args, **kwargs):
        try:
            direct = context.trace.direct if known else None
            return f(*args, **kwargs) if direct is None else called(direct, f, args, kwargs)
        except Exception as error:
            refused = _refused_by_binding(name, binding, args, kwargs) if binding else _refused_by_end(name, ends, f, args, kwargs, error)
            raise leaving(refused or error)

    function.__module__, f.__module__ = "torchshim.nn.functional", f.__globals__["__name__"]       # each is found where it says
    return function


#: Bindings that write into out=.
_INTO = frozenset(("linear", "logsigmoid", "avg_pool2d", "avg_pool3d"))


def _refused_by_binding(name, schemas, args, kwargs):
    overloads = [Overload(_Declared(schema), None, False, name in _INTO) for schema in schemas]
    if any([o.matches(args, kwargs) for o in overloads]):
        return None
    name = overloads[0].op.name
    if len(overloads) > 1:
        return misfit(name, overloads, args, kwargs)
    try:
        complain(overloads[0], name, args, kwargs)
    except TypeError as error:
        return error


def _refused_by_end(name, schema, f, args, kwargs, error):
    try:
        given = inspect.signature(f).bind(*args, **kwargs)
    except TypeError:
        return None
    given.apply_defaults()
    given = given.arguments
    if any([x is UNSET for x in given.values()]):
        return None
    for n, attribute in _FIRST.get(name, ()):
        if not hasattr(given[n], attribute):
            return AttributeError(f"'{type_name(given[n])}' object has no attribute '{attribute}'")
        if isinstance(getattr(given[n], attribute), int):      # an array's size is no function
            return TypeError("'int' object is not callable")
    straight = name in _STRAIGHT or isinstance(given.get("input"), np.ndarray)         # of an array a function may make something
    if schema is None or not straight and not isinstance(error, (AttributeError, TypeError)):
        return None                            # what the function itself refuses comes first in torch, too
    declared = _Declared(schema)
    for i, p in enumerate(declared.params):
        if p.name not in given:
            continue
        x = given[p.name]
        if p.is_list and name in _PAIRS and not isinstance(x, (list, tuple)):
            x = (x, x)
        if not takes(p, x, declared) and not (x is None and p.name == "stride"):       # by default it is the kernel's size
            return misfit_of(declared.name, p, i + 1, x)
    return None
