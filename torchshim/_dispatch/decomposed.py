"""Public functions as calls of ATen's operators, as torch makes them before anything is dispatched.

A function is, in this order: what stands in RULES by its name; an operator of `schemas` with an overload that takes the arguments; one of
PLAIN, which tells something about tensors and computes nothing, or is written with functions that are dispatched themselves. Any other
raises NotImplementedError.
"""
from __future__ import annotations

import functools
import math

import torchshim as torch

from .. import Tensor
from ..tensor.api.signatures import UNSET
from ..tensor.core.device import device as as_device, get_default_device
from ..tensor.core.layout import strided
from ..tensor.core.memory_format import FORMATS
from .python import call, chosen, do, operator, unseen, whole
from .schemas import table

RULES: dict = {}

#: What computes nothing, or what is made of public functions.
PLAIN = frozenset("""size stride dim ndimension numel nelement is_contiguous element_size storage_offset data_ptr const_data_ptr is_complex
    is_floating_point is_signed get_device requires_grad_ backward register_hook register_post_accumulate_grad_hook retain_grad __len__
    __repr__ __str__ __format__ __hash__ __reduce_ex__ __deepcopy__ untyped_storage storage _typed_storage is_shared is_same_size
    is_inference is_pinned is_set_to __dir__ is_tensor result_type can_cast promote_types is_storage broadcast_shapes typename as_subclass
    is_conj is_neg has_names is_distributed is_coalesced _is_view autograd.grad cond dense_dim sparse_dim get_default_device
    set_default_device get_default_dtype set_printoptions get_rng_state set_rng_state manual_seed seed""".split())
_ALIASES = dict(pair.split("=") for pair in """__add__=add __radd__=add __iadd__=add_ __sub__=sub __isub__=sub_ __mul__=mul __rmul__=mul
    __imul__=mul_ __truediv__=div __itruediv__=div_ __rsub__=rsub __pow__=pow __ipow__=pow_ __neg__=neg __abs__=abs __invert__=bitwise_not
    __mod__=remainder __imod__=remainder_ __floordiv__=floor_divide __ifloordiv__=floor_divide_ __eq__=eq __ne__=ne __lt__=lt __le__=le
    __gt__=gt __ge__=ge __and__=bitwise_and __or__=bitwise_or __xor__=bitwise_xor __iand__=bitwise_and_ __ior__=bitwise_or_
    __ixor__=bitwise_xor_ __rand__=bitwise_and __ror__=bitwise_or __rxor__=bitwise_xor __matmul__=matmul __imatmul__=matmul
    true_divide=div divide=div true_divide_=div_ divide_=div_ multiply=mul multiply_=mul_ subtract=sub subtract_=sub_ absolute=abs
    absolute_=abs_ greater=gt less=lt greater_equal=ge less_equal=le not_equal=ne negative=neg clip=clamp clip_=clamp_ concat=cat
    concatenate=cat arcsin=asin arccos=acos arctan=atan swapdims=transpose swapaxes=transpose special_expm1=expm1 special_erf=erf
    special_log1p=log1p special_expit=sigmoid special_logsumexp=logsumexp fix=trunc row_stack=vstack linalg_matmul=matmul""".split())
#: Functions of nn.functional whose arguments are those of ATen's operator of the name.
OF_NN = frozenset("""relu relu_ relu6 relu6_ gelu silu silu_ mish mish_ leaky_relu leaky_relu_ softplus hardswish hardswish_ hardsigmoid
    hardsigmoid_ selu selu_ celu celu_ glu threshold threshold_ hardshrink softshrink prelu tanh sigmoid linear conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d conv_transpose3d pad pixel_shuffle pixel_unshuffle channel_shuffle one_hot bilinear
    scaled_dot_product_attention cosine_similarity pairwise_distance pdist logsigmoid hardtanh_ elu_""".split())
_FACTORIES = frozenset("zeros ones empty full arange linspace logspace eye rand randn randint randperm normal empty_strided fft_fftfreq "
                       "fft_rfftfreq tril_indices triu_indices hann_window hamming_window bartlett_window blackman_window "
                       "kaiser_window".split())
_LIKE = frozenset("""zeros_like ones_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty new_full
    new_empty_strided""".split())


def run(asking, args, kwargs):
    """What a public function gives, as calls that are dispatched. NotImplemented: it computes as ever."""
    args = tuple([x for x in args if x is not UNSET])
    key = asking.name.removeprefix("torch.").removeprefix("Tensor.").removeprefix("functional.")
    if key.startswith("nn.init."):
        return NotImplemented                  # written with methods in place
    if key in PLAIN or key.endswith("__"):
        base, _, form = key.rpartition(".")
        if key in PLAIN or form in ("__get__", "__set__", "__delete__") and key not in RULES:
            return _unseen_property(asking, args) if base in ("real", "imag") else NotImplemented
    of_nn = key.startswith("nn.functional.")
    key = key.removeprefix("nn.functional.")
    for space in ("linalg.", "special.", "fft."):
        key = key.replace(space, space.replace(".", "_"))
    key = _ALIASES.get(key, key)
    if kwargs.get("out") is not None:
        from .contractions import put
        return put(key, args, {k: x for k, x in kwargs.items() if x is not None}, asking.name)
    kwargs = {k: x for k, x in kwargs.items() if k not in ("out", "_stacklevel")}
    if key != "dropout" and kwargs.pop("inplace", False):
        key += "_"
    rule = of_nn and RULES.get("nn." + key) or RULES.get(key)
    if rule is not None:
        made = rule(*args, **kwargs)
        if made is not NotImplemented:
            return made
    if key not in table() or of_nn and key not in OF_NN:
        raise NotImplementedError(f"torchshim: {asking.name} under __torch_dispatch__")
    return by_schema(key, args, kwargs, f"{asking.name} with these arguments under __torch_dispatch__", _FACTORIES)


def by_schema(key, args, kwargs, refused, factories, whole=False):
    """The operator `key`, in the overload whose schema takes a function's arguments; `factories` are told where to make their results.
    NotImplementedError that says `refused` where none does. `whole`: operators that are taken apart are asked too."""
    kwargs = dict(kwargs)
    requires_grad = kwargs.pop("requires_grad", False)
    if key in factories:
        kwargs |= {"device": as_device(kwargs.get("device") or get_default_device()), "pin_memory": bool(kwargs.get("pin_memory"))}
        if key in ("zeros", "ones", "empty", "rand", "randn") and args and not isinstance(args[0], (list, tuple)):
            args = (tuple(args),)
        if kwargs.get("layout") is strided:
            kwargs.pop("layout")
    elif key in _LIKE:
        kwargs["pin_memory"] = bool(kwargs.get("pin_memory"))
        if isinstance(kwargs.get("device"), str):
            kwargs["device"] = as_device(kwargs["device"])
    found = chosen(key, args, {k: x for k, x in kwargs.items() if x is not None or key == "clamp"}, whole=whole)
    if found is None:
        raise NotImplementedError(f"torchshim: {refused}")
    overload, given, named = found
    made = call(operator(f"{key}.{overload}" if overload != "default" else key), given, named)
    if requires_grad:
        made.requires_grad_()
    return _named(key, made)


def _named(key, made):
    """Several results as the named tuple that the function returns."""
    if not isinstance(made, tuple):
        return made
    kind = getattr(torch.return_types, key, None)
    return made if kind is None else kind(made)


def _unseen_property(asking, args):
    if args[0].is_complex():
        raise NotImplementedError(f"torchshim: {asking.name} under __torch_dispatch__")
    return NotImplemented


def rule(*names, of_nn=False):
    """A decorator: what functions of these names do; of_nn: those of nn.functional, where others of the name have other arguments."""
    def keep(f):
        RULES.update({"nn." * of_nn + name: f for name in names or (f.__name__.lstrip("_"),)})
        return f
    return keep


# -- shapes -----------------------------------------------------------------------------------------------------------------
def _ints(values):
    return [whole(n) for n in (values[0] if len(values) == 1 and isinstance(values[0], (list, tuple)) else values)]


def _viewable(t, size):
    with unseen():
        try:
            torch.empty_strided(t.shape, t.stride(), device="meta", dtype=t.dtype).view([n.__index__() for n in size])
            return True
        except RuntimeError:
            return False


def reshape(input, *shape):
    """A view where one is possible, else a copy."""
    given = size = _ints(shape)
    if -1 in size:
        rest = -math.prod(size)
        size = [input.numel() // rest if n == -1 and rest else n for n in size]
    if _viewable(input, size):
        return do("view", input, list(given))
    return do("_unsafe_view", do("clone", input, memory_format=FORMATS["contiguous_format"]), size)


rule("reshape")(lambda input, *shape, **named: reshape(input, *shape, *named.values()))


@rule("reshape_as", "view_as")
def _view_as(self, other):
    return do("view", self, list(other.shape))


@rule()
def _expand_as(self, other):
    return do("expand", self, list(other.shape))


@rule()
def _broadcast_to(input, size):
    return do("expand", input, _ints((size,)))


@rule()
def _flatten(input, start_dim=0, end_dim=-1):
    n = input.ndim
    a, b = start_dim % max(n, 1), end_dim % max(n, 1)
    if n == 0:
        return reshape(input, [1])
    if a == b:
        return input
    return reshape(input, [*input.shape[:a], math.prod(input.shape[a:b + 1]), *input.shape[b + 1:]])


@rule()
def _unflatten(input, dim, sizes):
    d = dim % input.ndim
    known = -math.prod(sizes) if -1 in sizes else 0
    sizes = [input.shape[d] // known if n == -1 and known else n for n in sizes]
    return do("view", input, [*input.shape[:d], *sizes, *input.shape[d + 1:]])


@rule()
def _ravel(input):
    return reshape(input, [-1])


@rule()
def _contiguous(self, memory_format=FORMATS["contiguous_format"]):
    if self.is_contiguous(memory_format=memory_format):
        return self
    return do("clone", self, memory_format=memory_format)


@rule("T.__get__")
def _turned(self):
    return do("permute", self, list(range(self.ndim))[::-1])


@rule("mT.__get__", "mH.__get__", "adjoint")
def _matrix_turned(self):
    return do("transpose.int", self, -2, -1)


@rule("H.__get__")
def _adjoint(self):
    return do("transpose.int", self, 0, 1)


@rule("data.__get__")
def _data(self):
    return do("detach", self)


@rule("movedim", "moveaxis")
def _movedim(input, source, destination):
    n = input.ndim
    src, dst = [[d % n for d in ([x] if isinstance(x, int) else x)] for x in (source, destination)]
    order = [None] * n
    for s, d in zip(src, dst):
        order[d] = s
    rest = iter([d for d in range(n) if d not in src])
    return do("permute", input, [next(rest) if d is None else d for d in order])


@rule()
def _transpose(input, dim0, dim1):
    return do("transpose.int", input, dim0, dim1)


@rule()
def _narrow(input, dim, start, length):
    return do("slice.Tensor", input, dim, start, start + length)


@rule("split")
def _split(tensor, split_size_or_sections=None, dim=0, split_size=None):
    n = split_size if split_size_or_sections is None else split_size_or_sections
    return tuple(do("split.Tensor", tensor, n, dim) if isinstance(n, int) else do("split_with_sizes", tensor, list(n), dim))


@rule()
def _chunk(input, chunks, dim=0):
    return tuple(do("split.Tensor", input, -(-input.shape[dim] // chunks), dim))


@rule("unbind")
def _unbind(input, dim=0):
    return tuple(do("unbind.int", input, dim))


@rule("__iter__")
def _iter(self):
    return iter(do("unbind.int", self, 0))


@rule()
def _permute(input, *dims):
    return do("permute", input, _ints(dims))


@rule("squeeze")
def _squeeze(input, dim=None):
    if dim is None:
        return do("squeeze", input)
    return do("squeeze.dim", input, dim) if isinstance(dim, int) else do("squeeze.dims", input, list(dim))


@rule()
def _hstack(tensors):
    return do("cat", list(tensors), 0 if tensors[0].ndim == 1 else 1)


@rule()
def _vstack(tensors):
    return do("cat", [do("unsqueeze", t, 0) if t.ndim == 1 else t for t in tensors], 0)


@rule()
def _meshgrid(*tensors, indexing="ij"):
    if indexing != "ij":
        return NotImplemented
    ts = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    if any([t.dtype is not ts[0].dtype for t in ts]):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    shape = [t.numel() for t in ts]
    wide = [[-1 if k == j else 1 for j in range(len(ts))] for k in range(len(ts))]
    return tuple([do("expand", do("view", t, p), shape) for t, p in zip(ts, wide)])


@rule("cat")
def _cat(tensors, dim=0, axis=None):
    return do("cat", list(tensors), dim if axis is None else axis)


@rule("stack")
def _stack(tensors, dim=0, axis=None):
    return do("stack", list(tensors), dim if axis is None else axis)


# -- arithmetic ---------------------------------------------------------------------------------------------------------------
@rule("__rtruediv__", "__rdiv__")
def _rdiv(self, other):
    return do("mul.Tensor", do("reciprocal", self), other)


@rule("__rpow__")
def _rpow(self, other):
    return do("pow.Scalar", other, self) if not isinstance(other, Tensor) else do("pow.Tensor_Tensor", other, self)


@rule("square")
def _square(input):
    return do("pow.Tensor_Scalar", input, 2)


@rule("isfinite")
def _isfinite(input):
    finite = do("ne.Scalar", do("abs", input), math.inf)
    return do("mul.Tensor", do("eq.Tensor", input, input), finite)


@rule("where")
def _where(condition, input=None, other=None):
    if input is None:
        return tuple(do("unbind.int", do("nonzero", condition), 1))
    like = next((x for x in (input, other) if isinstance(x, Tensor)), None)
    if like is None:
        return NotImplemented

    def tensor(x):
        return x if isinstance(x, Tensor) else do("scalar_tensor", x, dtype=torch.result_type(like, x), layout=strided, device=like.device)
    return do("where.self", condition, tensor(input), tensor(other))


@rule("outer", "ger")
def _outer(input, vec2):
    return do("mul.Tensor", do("view", input, [input.shape[0], 1]), vec2)


@rule("matmul", "__rmatmul__")
def _matmul(input, other):
    a, b = input, other
    if a.ndim == b.ndim == 1:
        return do("dot", a, b)
    if a.ndim == 2 and b.ndim == 1:
        return do("mv", a, b)
    if a.ndim == 1 and b.ndim == 2:
        made = do("mm", do("unsqueeze", a, 0), b)
        return do("squeeze_.dim", made, 0)
    if a.ndim == b.ndim == 2:
        return do("mm", a, b)
    if a.ndim >= 3 and b.ndim <= 2:
        return _folded(a, b)
    if a.ndim < 3:
        turned = do("transpose.int", b, -2, -1)
        lies = all([turned.stride(k) == turned.stride(k + 1) * turned.shape[k + 1] for k in range(turned.ndim - 2)])
        if a.requires_grad or a.ndim == 1 and (lies or not b.numel()):
            made = _folded(do("transpose.int", b, -2, -1), do("t", a) if a.ndim == 2 else a)
            return RULES["contiguous"](do("transpose.int", made, -2, -1)) if a.ndim == 2 else made
    batch = list(torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    n, rows = math.prod(batch), list(a.shape[-2:]) if a.ndim > 1 else [1, a.shape[0]]
    left = reshape(do("expand", a, [*batch, *rows]), [n, *rows])
    right = reshape(do("expand", b, [*batch, *b.shape[-2:]]), [n, *b.shape[-2:]])
    return do("_unsafe_view", do("bmm", left, right), [*batch, *a.shape[-2:-1], b.shape[-1]])


def _folded(a, b):
    """The product of a stack, as one matrix, and a matrix or a vector."""
    folded = reshape(a, [math.prod(a.shape[:-1]), a.shape[-1]])
    return do("_unsafe_view", do("mm" if b.ndim == 2 else "mv", folded, b), [*a.shape[:-1], *b.shape[1:]])


@rule("linear")
def _linear(input, weight, bias=None):
    if bias is None:
        return _matmul(input, do("t", weight))
    if input.ndim == 2:
        return do("addmm", bias, input, do("t", weight))
    if not input.is_contiguous():
        return do("add.Tensor", _matmul(input, do("t", weight)), bias)
    folded = reshape(input, [math.prod(input.shape[:-1]), input.shape[-1]])
    return do("view", do("addmm", bias, folded, do("t", weight)), [*input.shape[:-1], weight.shape[0]])


# -- reductions -----------------------------------------------------------------------------------------------------------------
def _reduced(name, overload):
    def reduce(input, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
        dim, keepdim = dim if axis is None else axis, keepdim if keepdims is None else keepdims
        named = {} if dtype is None else {"dtype": dtype}
        if dim is None:
            return do(name, input, **named)
        dims = list(dim) if isinstance(dim, (list, tuple)) else [dim]
        return do(f"{name}.{overload}", input, dims, keepdim, **named)
    return reduce


RULES["sum"], RULES["mean"] = _reduced("sum", "dim_IntList"), _reduced("mean", "dim")


def _spread_of(name):
    def spread(input, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None):
        dim = dim if axis is None else axis
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = correction if unbiased is None else int(unbiased)
        if correction is None and dim is not None:
            correction = 1
        named = {"correction": correction, "keepdim": keepdim}
        made = do(f"{name}.correction", input, None if dim is None else [dim] if isinstance(dim, int) else list(dim), **named)
        return _named(name, made)
    return spread


RULES.update({name: _spread_of(name) for name in ("var", "std", "var_mean", "std_mean")})


@rule("norm")
def _norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    if dtype is not None or p not in ("fro", None) and not isinstance(p, (int, float)):
        return NotImplemented
    order = 2 if p in ("fro", None) else p
    return do("linalg_vector_norm", input, order, None if dim is None else [dim] if isinstance(dim, int) else list(dim), keepdim)


RULES["linalg_vector_norm"] = lambda x, ord=2, dim=None, keepdim=False, *, dtype=None: do(
    "linalg_vector_norm", x, ord, None if dim is None else [dim] if isinstance(dim, int) else list(dim), keepdim,
    **({} if dtype is None else {"dtype": dtype}))


def _extreme(name, *args, **kwargs):
    if len(args) > 1 and isinstance(args[1], Tensor) or "other" in kwargs:
        return do(_extremes[name], args[0], args[1] if len(args) > 1 else kwargs["other"])
    return NotImplemented


_extremes = {"max": "maximum", "min": "minimum"}
for _n in _extremes:
    RULES[_n] = functools.partial(_extreme, _n)
