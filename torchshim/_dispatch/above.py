"""Public functions as calls of ATen's operators above autograd: before torch takes apart what is made of others (`linear`, `reshape`).

This is what graphs of `torch.export` show. A function is what RULES has by its name, else the operator of its name with the overload that
takes the arguments; where torch has no such operator, what `decomposed` says. NotImplementedError for all else.
"""
from __future__ import annotations

import torchshim as torch

from .. import Tensor
from ..tensor.api.signatures import UNSET
from ..tensor.core.device import device as as_device
from ..tensor.core.layout import strided
from . import decomposed, places
from .decomposed import OF_NN, PLAIN
from .layers import _REDUCTIONS, _each
from .python import do, unseen
from .schemas import whole_table

RULES: dict = {}
_ALIASES = {k: v for k, v in decomposed._ALIASES.items() if k.startswith("__") and v not in ("bitwise_and", "bitwise_or", "bitwise_xor")}
_ALIASES |= {"__rand__": "__and__", "__ror__": "__or__", "__rxor__": "__xor__"}
_FACTORIES = decomposed._FACTORIES | frozenset("tril_indices triu_indices scalar_tensor hann_window hamming_window".split())
#: What is written in Python in torch, with operators that `decomposed` knows as well.
_SAME = frozenset("norm linalg_vector_norm __rtruediv__ __rdiv__ __rpow__ __getitem__ __iter__ data.__get__ tolist numpy".split())


def run(asking, args, kwargs):
    """What a public function gives, as calls that a mode sees before they are taken apart."""
    args = tuple([x for x in args if x is not UNSET])
    key = asking.name.removeprefix("torch.").removeprefix("Tensor.").removeprefix("functional.")
    of_nn = key.startswith("nn.functional.")
    if key.startswith("nn.init."):
        return NotImplemented
    if (key in PLAIN or key.endswith("__")) and key not in RULES:
        base, _, form = key.rpartition(".")
        if key in PLAIN or form in ("__get__", "__set__", "__delete__") and key not in RULES:
            return NotImplemented
    key = key.removeprefix("nn.functional.")
    for space in ("linalg.", "special.", "fft."):
        key = key.replace(space, space.replace(".", "_"))
    key = _ALIASES.get(key, key)
    kwargs = {k: x for k, x in kwargs.items() if k != "_stacklevel" and not (k == "out" and x is None)}
    if kwargs.pop("inplace", False):
        key += "_"
    rule = RULES.get(f"F.{key}" if of_nn and f"F.{key}" in RULES else key)
    if rule is None and key in _SAME:
        rule = decomposed.RULES[key]
    if rule is not None:
        made = rule(*args, **kwargs)
        if made is not NotImplemented:
            return made
    if of_nn and key not in OF_NN:
        raise NotImplementedError(f"torchshim: {asking.name} as an operator above autograd (torch.export)")
    return by_schema(key, args, kwargs, asking.name)


def by_schema(key, args, kwargs, said=None):
    """The operator of a name for a call of the function of this name."""
    if key not in whole_table():
        raise NotImplementedError(f"torchshim: {said or key} as an operator above autograd (torch.export)")
    refused = f"{said or key} with these arguments as an operator above autograd (torch.export)"
    return decomposed.by_schema(key, args, kwargs, refused, _FACTORIES, whole=True)


def rule(*names):
    """A decorator: what functions of these names do."""
    def keep(f):
        RULES.update({name: f for name in names or (f.__name__.lstrip("_"),)})
        return f
    return keep


# -- shapes, conversions ----------------------------------------------------------------------------------------------------------
RULES |= {"T.__get__": lambda x: do("numpy_T", x), "mT.__get__": lambda x: do("mT", x), "mH.__get__": lambda x: do("mH", x),
          "H.__get__": lambda x: do("matrix_H", x),
          "real.__get__": lambda x: do("real", x) if x.is_complex() else x, "imag.__get__": lambda x: do("imag", x),
          "real": lambda x: do("real", x) if x.is_complex() else x,
          "conj": lambda x: do("conj", x) if x.is_complex() else x,
          "split": decomposed.RULES["split"], "meshgrid": lambda *ts, indexing=None: tuple(
              do("meshgrid", _listed(ts)) if indexing is None else do("meshgrid.indexing", _listed(ts), indexing=indexing)),
          "broadcast_tensors": lambda *ts: tuple(do("broadcast_tensors", _listed(ts))),
          "block_diag": lambda *ts: do("block_diag", _listed(ts)), "cartesian_prod": lambda *ts: do("cartesian_prod", _listed(ts)),
          "flip": lambda x, *dims: do("flip", x, decomposed._ints(dims)), "fliplr": lambda x: do("fliplr", x),
          "squeeze": decomposed.RULES["squeeze"], "permute": decomposed.RULES["permute"]}


def _listed(ts):
    return list(ts[0]) if len(ts) == 1 and isinstance(ts[0], (list, tuple)) else list(ts)


@rule()
def _contiguous(self, memory_format=torch.contiguous_format):
    if self.is_contiguous(memory_format=memory_format):
        return self
    return do("contiguous", self, **({} if memory_format is torch.contiguous_format else {"memory_format": memory_format}))


@rule("flatten")
def _flatten(input, start_dim=0, end_dim=-1):
    return do("flatten.using_ints", input, start_dim, end_dim)


@rule("einsum")
def _einsum(equation, *operands):
    return do("einsum", equation, _listed(operands))


@rule("tensordot")
def _tensordot(a, b, dims=2, out=None):
    if isinstance(dims, int):
        over = list(range(-dims, 0)), list(range(dims))
    else:
        over = [[d] if isinstance(d, int) else list(d) for d in dims]
    return do("tensordot", a, b, *over)


@rule("to")
def _to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None, other=None):
    do("_assert_tensor_metadata", self, dtype=self.dtype, device=self.device, layout=strided)
    rest, options = list(args), {} if memory_format is None else {"memory_format": memory_format}
    like = other if other is not None else rest.pop(0) if rest and isinstance(rest[0], Tensor) else None
    if like is not None:
        return do("to.device", self, like.device, like.dtype, *rest, **options)
    if rest and isinstance(rest[0], torch.dtype):
        dtype = rest.pop(0)
    elif rest and (isinstance(rest[0], (str, torch.device, int)) or rest[0] is None):
        device = rest.pop(0)
        if rest and (isinstance(rest[0], torch.dtype) or rest[0] is None):
            dtype = rest.pop(0)
    non_blocking = rest.pop(0) if rest else non_blocking
    copy = rest.pop(0) if rest else copy
    if device is None and dtype is not None:
        return do("to.dtype", self, dtype, non_blocking, copy, **options)
    return do("to.dtype_layout", self, dtype=dtype or self.dtype, layout=strided, device=as_device(device or self.device),
              non_blocking=non_blocking, copy=copy, **options)


for _name in "float double half bfloat16 int long short char byte bool".split():
    RULES[_name] = lambda self, dtype={"half": torch.float16, "char": torch.int8,
                                       "byte": torch.uint8}.get(_name) or getattr(torch, _name): _to(
        self, dtype)
RULES["cpu"] = lambda self, memory_format=None: _to(self, "cpu")
RULES["cuda"] = lambda self, device="cuda", non_blocking=False: _to(self, device, non_blocking=non_blocking)


@rule("type")
def _type(self, dtype=None, non_blocking=False):
    return _to(self, dtype) if isinstance(dtype, torch.dtype) else NotImplemented if dtype is not None else self._ts_type()


def _lifted(name):
    def make(*args, **kwargs):
        with unseen():
            made = getattr(torch, name)(*args, **{k: x for k, x in kwargs.items() if k != "requires_grad"})
        made = do("detach_", do("lift_fresh", made))
        return made.requires_grad_() if kwargs.get("requires_grad") else made
    return make


RULES.update({name: _lifted(name) for name in ("tensor", "from_numpy", "frombuffer")})


@rule("as_tensor", "asarray")
def _as_tensor(data, *, dtype=None, device=None):
    if isinstance(data, Tensor):
        return do("to.device", _asserted(data), as_device(device or data.device), dtype or data.dtype)
    return RULES["tensor"](data, dtype=dtype, device=device)


def _asserted(t):
    do("_assert_tensor_metadata", t, dtype=t.dtype, device=t.device, layout=strided)
    return t


@rule("new_tensor")
def _new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    return RULES["tensor"](data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


@rule("__setitem__")
def _setitem(self, index, value):
    places.RULES["__setitem__"](self, index, value)


@rule("where")
def _where(condition, *args, input=None, other=None):
    a, b = args if len(args) == 2 else (input, other) if not args else (args[0], other)
    if a is None and b is None:
        return tuple(do("where", condition))
    form = "self" if isinstance(a, Tensor) and isinstance(b, Tensor) else "ScalarOther" if isinstance(a, Tensor) else (
        "ScalarSelf" if isinstance(b, Tensor) else "Scalar")
    return do(f"where.{form}", condition, a, b)


def _split(name):
    def split(input, sections):
        return tuple(do(f"{name}.int" if isinstance(sections, int) else f"{name}.array", input, sections))
    return split


RULES |= {name: _split(name) for name in ("hsplit", "vsplit", "dsplit")}


@rule("stft")
def _stft(*args, **kwargs):
    raise NotImplementedError("torchshim: torch.stft as an operator above autograd (torch.export)")


def _extreme(name):
    def extreme(input, *args, **kwargs):
        other = args[0] if args else kwargs.get("other")
        return do(f"{name}.other", input, other) if isinstance(other, Tensor) else NotImplemented
    return extreme


RULES |= {name: _extreme(name) for name in ("max", "min")}


# -- numbers of tensors -------------------------------------------------------------------------------------------------------------
for _name in ("item", "__float__", "__int__", "__bool__", "__index__", "__complex__"):
    RULES[_name] = lambda self, name=_name: _number(self, name)


def _number(self, name):
    if self.dtype is not torch.bool and name == "__bool__":
        self = do("ne.Scalar", self, 0)
    made = do("item", self)
    kind = {"__float__": float, "__int__": int, "__bool__": bool, "__complex__": complex, "__index__": int}.get(name)
    return made if kind is None else kind(made)


def _spread_of(name):
    def spread(input, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None):
        dim = dim if axis is None else axis
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
        if correction is not None or dims is None and unbiased is None:
            made = do(f"{name}.correction", input, dims, correction=correction, keepdim=keepdim)
        elif dims is None:
            made = do(name, input, unbiased)
        else:
            made = do(f"{name}.dim", input, dims, True if unbiased is None else unbiased, keepdim)
        return made
    return spread


RULES |= {name: _spread_of(name) for name in ("var", "std", "var_mean", "std_mean")}
for _name in ("sum", "mean"):
    RULES[_name] = decomposed.RULES[_name]


# -- layers ---------------------------------------------------------------------------------------------------------------------
RULES |= {"softmax": lambda input, dim=None, dtype=None: do("softmax.int", input, dim, dtype),
          "log_softmax": lambda input, dim=None, dtype=None: do("log_softmax.int", input, dim, dtype),
          "F.softmin": lambda input, dim=None, dtype=None: do("softmax.int", do("neg", input), dim, dtype),
          "F.softsign": lambda input: do("div.Tensor", input, do("add.Tensor", do("abs", input), 1)),
          "F.tanhshrink": lambda input: do("sub.Tensor", input, do("tanh", input)),
          "elu": lambda input, alpha=1.0: do("elu", input, alpha), "logsigmoid": lambda input: do("log_sigmoid", input),
          "hardtanh": lambda input, min_val=-1.0, max_val=1.0: do("hardtanh", input, min_val, max_val),
          "rrelu": lambda input, lower=1 / 8, upper=1 / 3, training=False: do("rrelu", input, lower, upper, training),
          "F.normalize": lambda input, p=2.0, dim=1, eps=1e-12: do("div.Tensor", input, do("expand_as", do("clamp_min", do(
              "linalg_vector_norm", input, p, [dim], True), eps), input))}
for _public, _op in (("dropout", "dropout"), ("alpha_dropout", "alpha_dropout"), ("dropout1d", "feature_dropout"),
                     ("dropout2d", "feature_dropout"), ("dropout3d", "feature_dropout"),
                     ("feature_alpha_dropout", "feature_alpha_dropout")):
    for _end in ("", "_"):
        RULES[_public + _end] = lambda input, p=0.5, training=None, op=_op, end=_end: do(op + end, input, p, (
            op not in ("alpha_dropout", "feature_alpha_dropout")) if training is None else training)


def _broadcast(input, target):
    return do("broadcast_tensors", [input, target])


def _loss(op, *options, broadcast=False):
    def loss(input, target, *args, size_average=None, reduce=None, reduction="mean", **named):
        if broadcast:
            input, target = _broadcast(input, target)
        return do(op, input, target, _REDUCTIONS[reduction], *[named[o] for o in options if o in named])
    return loss


RULES |= {"mse_loss": _loss("mse_loss", broadcast=True), "l1_loss": _loss("l1_loss", broadcast=True),
          "smooth_l1_loss": _loss("smooth_l1_loss", "beta", broadcast=True), "huber_loss": _loss("huber_loss", "delta", broadcast=True),
          "soft_margin_loss": _loss("soft_margin_loss"), "multilabel_margin_loss": _loss("multilabel_margin_loss")}


@rule("kl_div")
def _kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    made = do("kl_div", input, target, 2 if reduction == "batchmean" else _REDUCTIONS[reduction], log_target=log_target)
    return do("div.Tensor", made, input.shape[0]) if reduction == "batchmean" and input.ndim else made


@rule("cross_entropy")
def _cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    return do("cross_entropy_loss", input, target, weight, _REDUCTIONS[reduction], ignore_index, label_smoothing)


@rule("nll_loss")
def _nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    return do("nll_loss_nd", input, target, weight, _REDUCTIONS[reduction], ignore_index)


@rule("binary_cross_entropy")
def _binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    return do("binary_cross_entropy", input, target, weight, _REDUCTIONS[reduction])


@rule("binary_cross_entropy_with_logits")
def _with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    return do("binary_cross_entropy_with_logits", input, target, weight, pos_weight, _REDUCTIONS[reduction])


@rule("poisson_nll_loss")
def _poisson(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    return do("poisson_nll_loss", input, target, log_input, full, eps, _REDUCTIONS[reduction])


def _margin(op, count, default):
    def loss(*args, margin=default, size_average=None, reduce=None, reduction="mean"):
        margin = args[count] if len(args) > count else margin
        return do(op, *args[:count], margin, _REDUCTIONS[reduction])
    return loss


RULES |= {"cosine_embedding_loss": _margin("cosine_embedding_loss", 3, 0.0), "margin_ranking_loss": _margin("margin_ranking_loss", 3, 0.0),
          "hinge_embedding_loss": _margin("hinge_embedding_loss", 2, 1.0)}


@rule("triplet_margin_loss")
def _triplet(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    return do("triplet_margin_loss", anchor, positive, negative, float(margin), float(p), eps, swap, _REDUCTIONS[reduction])


@rule("multi_margin_loss")
def _multi_margin(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    return do("multi_margin_loss", input, target, p, margin, weight, _REDUCTIONS[reduction])


RULES |= {"layer_norm": lambda input, normalized_shape, weight=None, bias=None, eps=1e-5: do(
              "layer_norm", input, list(normalized_shape), weight, bias, eps, False),
          "group_norm": lambda input, num_groups, weight=None, bias=None, eps=1e-5: do(
              "group_norm", input, num_groups, weight, bias, eps, False),
          "batch_norm": lambda input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5: do(
              "batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps, False),
          "instance_norm": lambda input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1,
          eps=1e-5: do("instance_norm", input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False),
          "rms_norm": lambda input, normalized_shape, weight=None, eps=None: do("rms_norm", input, list(normalized_shape), weight, eps)}


@rule("embedding")
def _embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None:
        raise NotImplementedError("torchshim: embedding with max_norm as an operator above autograd (torch.export)")
    at = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else padding_idx + weight.shape[0]
    return do("embedding", weight, input, at, scale_grad_by_freq, sparse)


# -- pooling, sampling -------------------------------------------------------------------------------------------------------------
def _max_pool(n):
    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        op = f"max_pool{n}d" + ("_with_indices" if return_indices else "")
        made = do(op, input, _each(kernel_size, n), [] if stride is None else _each(stride, n), _each(padding, n), _each(dilation, n),
                  ceil_mode)
        return made
    return pool


def _avg_pool(n):
    def pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        rest = () if n == 1 else (divisor_override,)
        return do(f"avg_pool{n}d", input, _each(kernel_size, n), [] if stride is None else _each(stride, n), _each(padding, n), ceil_mode,
                  count_include_pad, *rest)
    return pool


def _adaptive(kind, n):
    def pool(input, output_size, return_indices=False):
        size = [have if want is None else want for want, have in zip(_each(output_size, n), input.shape[-n:])]
        made = do(f"adaptive_{kind}_pool{n}d", input, size)
        return made if kind == "avg" else made if return_indices else made[0]
    return pool


for _n in (1, 2, 3):
    RULES |= {f"max_pool{_n}d": _max_pool(_n), f"avg_pool{_n}d": _avg_pool(_n), f"adaptive_avg_pool{_n}d": _adaptive("avg", _n),
              f"adaptive_max_pool{_n}d": _adaptive("max", _n)}


@rule("F.unfold")
def _im2col(input, kernel_size, dilation=1, padding=0, stride=1):
    return do("im2col", input, *[_each(x, 2) for x in (kernel_size, dilation, padding, stride)])


@rule("F.fold")
def _col2im(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return do("col2im", input, *[_each(x, 2) for x in (output_size, kernel_size, dilation, padding, stride)])


_UPSAMPLINGS = {("nearest", 3): "nearest1d", ("nearest", 4): "nearest2d", ("nearest", 5): "nearest3d",
                ("nearest-exact", 3): "_nearest_exact1d", ("nearest-exact", 4): "_nearest_exact2d", ("linear", 3): "linear1d",
                ("bilinear", 4): "bilinear2d", ("trilinear", 5): "trilinear3d", ("bicubic", 4): "bicubic2d"}


@rule("interpolate", "upsample")
def _interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    name, n = _UPSAMPLINGS.get((mode, input.ndim)), input.ndim - 2
    if name is None or antialias or recompute_scale_factor:
        raise NotImplementedError(f"torchshim: interpolate(mode={mode!r}) with these options as an operator above autograd (torch.export)")
    op = f"_upsample{name}.vec" if name[0] == "_" else f"upsample_{name}.vec"
    size = None if size is None else _each(size, n)
    scales = None if scale_factor is None else [float(s) for s in (scale_factor if isinstance(scale_factor, (list, tuple)) else [
        scale_factor] * n)]
    return do(op, input, size, *(() if "nearest" in mode else (bool(align_corners),)), scales)


@rule("grid_sample")
def _grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    return do("grid_sampler", input, grid, ("bilinear", "nearest", "bicubic").index(mode),
              ("zeros", "border", "reflection").index(padding_mode), bool(align_corners))


@rule("affine_grid")
def _affine_grid(theta, size, align_corners=None):
    return do("affine_grid_generator", theta, list(size), bool(align_corners))


@rule("multi_head_attention_forward")
def _multi_head(*args, **kwargs):
    from .attention import multi_head
    return multi_head(*args, **kwargs)
