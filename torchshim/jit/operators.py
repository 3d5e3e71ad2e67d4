"""The operators that TorchScript's source names: `torch.f` is aten::f, of tensors or of numbers,
strings and lists; `ops.prim.f` the rest."""
from __future__ import annotations

import builtins
import math
import operator as python
import warnings

from .. import Tensor
from ..tensor.core.device import device
from ..tensor.core.dtype import ALL as DTYPES
from ..tensor.core.layout import ALL as LAYOUTS
from ..tensor.core.memory_format import FORMATS

#: TorchScript writes dtypes, layouts and memory formats as numbers.
_SCALARS = dict(enumerate("uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool".split()))
_SCALARS.update({15: "bfloat16", 23: "float8_e5m2", 24: "float8_e4m3fn", 27: "uint16", 28: "uint32", 29: "uint64"})
_NUMBER_OF = {name: n for n, name in _SCALARS.items()}
_LAYOUTS = dict(enumerate("strided sparse_coo sparse_csr _mkldnn sparse_csc sparse_bsr sparse_bsc".split()))
_FORMATS = dict(enumerate("contiguous_format preserve_format channels_last channels_last_3d".split()))


def _dtype(n):
    return DTYPES[_SCALARS[n]] if type(n) is int else n


def _options(kwargs):
    """Keyword arguments with dtypes and the like for their numbers, without those that say nothing."""
    out = {}
    for k, v in kwargs.items():
        if v is None and k in ("dtype", "layout", "device", "pin_memory", "memory_format") or k == "pin_memory" and v is False:
            continue
        if k == "dtype":
            v = _dtype(v)
        elif k == "layout" and type(v) is int:
            v = LAYOUTS[_LAYOUTS[v]]
        elif k == "memory_format" and type(v) is int:
            v = FORMATS[_FORMATS[v]]
        out[k] = v
    return out


def _raise(message, kind="builtins.RuntimeError"):
    from . import Error
    raise Error(f"The following operation failed in the TorchScript interpreter.\n{kind.removeprefix('builtins.')}: {message}\n")


def show(x):
    """What str() and format() give there: a float of no fraction ends with its point."""
    if builtins.type(x) is float and math.isfinite(x) and x == int(x) and abs(x) < 1e15:
        return f"{int(x)}."
    if isinstance(x, (list, tuple)):
        inner = ", ".join([repr(v) if isinstance(v, str) else show(v) for v in x])
        return f"[{inner}]" if isinstance(x, list) else f"({inner})"
    return str(x)


def _format(text, *args):
    parts = text.split("{}")
    return "".join([p + (show(args[i]) if i < min(len(parts) - 1, len(args)) else "{}" if i < len(parts) - 1 else "") for i,
                    p in enumerate(parts)])


def _slice(x, *args):
    if isinstance(x, Tensor):
        return _aten("slice")(x, *args)
    start, end, step = (*args, *(None, None, 1)[len(args):])
    return x[start:end:step]


def _to(x, *args, **kwargs):
    if args and isinstance(args[0], Tensor):
        return x.to(args[0], *args[1:3])
    names = ["non_blocking", "copy", "memory_format"]
    where = {}
    rest = list(args)
    if rest and (isinstance(rest[0], (device, str)) or rest[0] is None and len(rest) > 1 and type(rest[1]) is int):
        where["device"] = rest.pop(0)
        if rest and type(rest[0]) is not bool:
            where["dtype"] = rest.pop(0)
    elif rest and type(rest[0]) is not bool:
        where["dtype"] = rest.pop(0)
    return x.to(**_options({**where, **dict(zip(names, rest)), **kwargs}))


def _upsample(mode, dims):
    def upsample(x, size, *args):
        from ..nn.functional import interpolate
        align = args[0] if mode not in ("nearest", "nearest-exact") else None
        scales = args[0 if align is None else 1:] or (None,)
        if size is not None and not (scales and isinstance(scales[0], list)):
            factors = None
            if any(s is not None for s in scales):
                raise NotImplementedError("torchshim: upsampling with both size and scales in a TorchScript archive")
        else:
            factors = scales[0]
        return interpolate(x, size if factors is None else None, factors, mode, align)
    return upsample


def _with_indices(name):
    """A pooling that gives its places too."""
    def pool(*args, **kwargs):
        from ..nn import functional as F
        return getattr(F, name)(*args, **kwargs, return_indices=True)
    return pool


def _embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                   include_last_offset=False, padding_idx=None):
    from ..nn.functional import embedding_bag
    kind = ("sum", "mean", "max")[mode]
    padding_idx = None if padding_idx is not None and padding_idx < 0 else padding_idx
    return (embedding_bag(indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq, mode=kind, sparse=sparse,
                          per_sample_weights=per_sample_weights, include_last_offset=include_last_offset, padding_idx=padding_idx),
            None, None, None)


def _setting(name):
    def f(*args):
        import torchshim
        return getattr(torchshim, name)(*args)
    return f


def _of_functional(name):
    def f(*args, **kwargs):
        from ..nn import functional as F
        return getattr(F, name)(*args, **kwargs)
    return f


def _pad(mode):
    def pad(x, padding):
        from ..nn.functional import pad as f
        return f(x, padding, mode)
    return pad


def _loss(name, at):
    """A loss whose reduction is a number at position `at`."""
    def loss(*args, **kwargs):
        from ..nn import functional as F
        from inspect import signature
        kinds = {0: "none", 1: "mean", 2: "sum"}
        f = getattr(F, name)
        names = _ORDER[name]
        given = dict(zip(names, args)) | kwargs
        if type(given.get("reduction", 1)) is int:
            given["reduction"] = kinds[given.get("reduction", 1)]
        return f(**{k: v for k, v in given.items() if k in signature(f).parameters})
    return loss


_ORDER = {"nll_loss": "input target weight reduction ignore_index",
          "cross_entropy": "input target weight reduction ignore_index label_smoothing",
          "mse_loss": "input target reduction", "l1_loss": "input target reduction", "smooth_l1_loss": "input target reduction beta",
          "huber_loss": "input target reduction delta", "binary_cross_entropy": "input target weight reduction",
          "binary_cross_entropy_with_logits": "input target weight pos_weight reduction", "kl_div": "input target reduction log_target",
          "soft_margin_loss": "input target reduction", "multilabel_margin_loss": "input target reduction",
          "cosine_embedding_loss": "input1 input2 target margin reduction", "margin_ranking_loss": "input1 input2 target margin reduction",
          "hinge_embedding_loss": "input target margin reduction",
          "triplet_margin_loss": "anchor positive negative margin p eps swap reduction",
          "poisson_nll_loss": "input target log_input full eps reduction"}
_ORDER = {k: v.split() for k, v in _ORDER.items()}


def _mixed(name, plain):
    """Of tensors aten's, else Python's."""
    def f(*args, **kwargs):
        if any([isinstance(a, Tensor) for a in args]):
            return _aten(name)(*args, **_options(kwargs))
        return plain(*args, **kwargs)
    return f


def _typed(at):
    """aten's, with a dtype at position `at`."""
    def wrapped(name):
        def f(*args, **kwargs):
            if len(args) > at:
                args, kwargs = args[:at], {**kwargs, "dtype": args[at]}
            return _aten(name)(*args, **_options(kwargs))
        return f
    return wrapped


def _number_to_tensor(x):
    from .. import tensor
    return tensor(x)


def _pick(f):
    return lambda a, b=None: f(a) if b is None else f(a, b)


def _nothing_left(x):
    if x is None:
        _raise("Unwrapping null optional")
    return x


def _get_item(x, i):
    return x[i]


def _set_item(x, i, v):
    x[i] = v
    return x


def _changed(name):
    def f(x, *args):
        getattr(x, name)(*args)
        return x
    return f


def _size(x, dim=None):
    return list(x.size()) if dim is None else x.size(dim)


_STRINGS = """capitalize casefold center count endswith expandtabs find index isalnum isalpha isdecimal isdigit isidentifier islower
    isnumeric isprintable isspace istitle isupper join ljust lower lstrip partition replace rfind rindex rjust rpartition rsplit rstrip
    split splitlines startswith strip swapcase title upper zfill""".split()
_PLAIN = {
    "add": lambda a, b, alpha=1: a + b, "sub": lambda a, b, alpha=1: a - b, "mul": python.mul, "div": python.truediv,
    "truediv": python.truediv, "floordiv": python.floordiv, "floor_divide": python.floordiv, "remainder": python.mod, "fmod": math.fmod,
    "pow": lambda a, b: float(a ** b) if not isinstance(a, complex) else a ** b, "neg": python.neg, "abs": abs, "eq": python.eq,
    "ne": python.ne, "lt": python.lt, "le": python.le,
    "gt": python.gt, "ge": python.ge, "ceil": math.ceil, "floor": math.floor, "round": lambda x: float(round(x)), "sqrt": math.sqrt,
    "exp": math.exp, "log": math.log, "log2": math.log2, "log10": math.log10, "log1p": math.log1p, "sin": math.sin, "cos": math.cos,
    "tan": math.tan, "tanh": math.tanh, "asin": math.asin, "acos": math.acos, "atan": math.atan, "atan2": math.atan2, "sinh": math.sinh,
    "cosh": math.cosh, "isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite, "gcd": math.gcd, "__and__": python.and_,
    "__or__": python.or_, "__xor__": python.xor, "bitwise_not": python.invert, "min": _pick(min), "max": _pick(max), "sum": sum, "any": any,
    "all": all, "sort": lambda x, reverse=False: x.sort(reverse=reverse), "reverse": lambda x: x.reverse(), "clear": _changed("clear"),
    "copy": lambda x: x.copy(), "index": lambda x, *a: x.index(*a), "split": lambda x, *a: x.split(*a), "replace": lambda x,
    *a: x.replace(*a),
    "real": lambda x: x.real, "imag": lambda x: x.imag, "add_": lambda a, b: _changed("extend")(a, b), "mul_": lambda a, b: a.__imul__(b),
    "__lshift__": python.lshift, "__rshift__": python.rshift, "values": lambda x: list(x.values()), "count": lambda x, *a: x.count(*a)}
_TABLE = {
    "__is__": lambda a, b: a is b, "__isnot__": lambda a, b: a is not b, "__not__": python.not_, "__contains__": lambda box, x: x in box,
    "__getitem__": _get_item, "_set_item": _set_item, "__derive_index": lambda i, start, step: start + i * step,
    "__range_length": lambda lo, hi, step: len(range(lo, hi, step)), "len": len, "size": _size, "dim": lambda x: x.dim(),
    "append": _changed("append"), "extend": _changed("extend"), "insert": _changed("insert"), "pop": lambda x, *a: x.pop(*a),
    "remove": _changed("remove"), "list": list, "dict": dict, "keys": lambda x: list(x.keys()), "items": lambda x: list(x.items()),
    "get": lambda x, *a: x.get(*a), "setdefault": lambda x, *a: x.setdefault(*a), "update": _changed("update"),
    "popitem": lambda x: x.popitem(),
    "Delete": lambda x, i: x.__delitem__(i), "sorted": sorted, "format": _format, "percentFormat": lambda text, *a: text % a, "str": show,
    "int": int, "float": float, "bool": bool, "complex": complex, "Int": int, "Float": float, "Bool": bool, "IntImplicit": int,
    "FloatImplicit": float, "ScalarImplicit": lambda x: x.item(), "item": lambda x: x.item(), "ord": ord, "chr": chr, "hex": hex,
    "bin": bin,
    "oct": oct, "print": lambda *a: print(*[show(x) for x in a]), "slice": _slice, "to": _to, "device": device, "warn": lambda text,
    level=2: warnings.warn(text),
    "_unwrap_optional": _nothing_left, "softmax": _typed(2), "log_softmax": _typed(2), "factorial": math.factorial,
    "degrees": math.degrees, "radians": math.radians, "modf": math.modf, "divmod": divmod, "numpy_T": lambda x: x.T,
    "nonzero_numpy": lambda x: x.nonzero(as_tuple=True),
    "cross_entropy_loss": _loss("cross_entropy", 3), **{n: _loss(n, 2) for n in _ORDER if n != "cross_entropy"},
    "nll_loss2d": _loss("nll_loss", 3), "nll_loss_nd": _loss("nll_loss", 3),
    **{f"{kind}_pad{n}d": _pad("reflect" if kind == "reflection" else "replicate") for kind in ("reflection", "replication") for n in (1,
        2, 3)},
    "upsample_linear1d": _upsample("linear", 1), "upsample_bilinear2d": _upsample("bilinear", 2),
    "upsample_bicubic2d": _upsample("bicubic", 2),
    "upsample_trilinear3d": _upsample("trilinear", 3), **{f"upsample_nearest{n}d": _upsample("nearest", n) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d": _upsample("nearest-exact", n) for n in (1, 2, 3)}}
_TABLE.update({f"adaptive_max_pool{n}d": _with_indices(f"adaptive_max_pool{n}d") for n in (1, 2, 3)})
_TABLE.update({f"max_pool{n}d_with_indices": _with_indices(f"max_pool{n}d") for n in (1, 2, 3)}, embedding_bag=_embedding_bag,
              im2col=_of_functional("unfold"), col2im=_of_functional("fold"))
_TABLE.update({n: _setting(n) for n in ("is_autocast_enabled", "is_autocast_cpu_enabled", "is_grad_enabled", "set_grad_enabled")})
_PRIM = {
    "NumToTensor": _number_to_tensor, "RaiseException": _raise, "dtype": lambda x: _NUMBER_OF[x.dtype.name], "device": lambda x: x.device,
    "shape": lambda x: list(x.shape), "layout": lambda x: next(n for n, name in _LAYOUTS.items() if LAYOUTS[name] is x.layout),
    "min": _pick(min), "max": _pick(max), "abs": abs, "rangelist": lambda n: list(range(n)), "data": lambda x: x.data,
    "grad": lambda x: x.grad,
    "requires_grad": lambda x: x.requires_grad, "itemsize": lambda x: x.itemsize, "type": lambda d: d.type,
    "unchecked_unwrap_optional": _nothing_left,
    **{n: (lambda n: lambda x: getattr(x, n))(n)
       for n in "is_cuda is_sparse is_sparse_csr is_quantized is_mkldnn is_meta is_cpu is_nested".split()}}


def _aten(name):
    from .. import ops
    try:
        return getattr(ops.aten, name)
    except AttributeError:
        raise NotImplementedError(f"torchshim: aten::{name}, which a TorchScript archive asks for") from None


def operator(path):
    """What a dotted name below `torch` or `ops` means; where there is nothing, a function that raises NotImplementedError."""
    try:
        return _operator(path)
    except NotImplementedError as error:
        message = str(error)

    def missing(*args, **kwargs):
        raise NotImplementedError(message)
    return missing


def _operator(path):
    root, _, rest = path.partition(".")
    if root == "ops":
        space, _, name = rest.partition(".")
        if space == "prim":
            if name in _PRIM:
                return _PRIM[name]
            raise NotImplementedError(f"torchshim: prim::{name}, which a TorchScript archive asks for")
        if space != "aten":
            from ..library import _known
            if f"{space}::{name}" not in _known:
                raise NotImplementedError(f"torchshim: {space}::{name}, which a TorchScript archive asks for")
            return _known[f"{space}::{name}"]
        rest = name
    found = _TABLE.get(rest)
    if found is not None:
        return found(rest) if rest in ("softmax", "log_softmax") else found
    if rest in _STRINGS and rest not in _PLAIN:
        return lambda x, *args: _aten(rest)(x, *args) if isinstance(x, Tensor) else getattr(x, rest)(*args)
    if rest in _PLAIN:
        return _mixed(rest, _PLAIN[rest])
    if rest.startswith("__") or "." in rest or rest in ("from_file", "numpy", "apply_", "map_", "map2_", "register_hook"):
        raise NotImplementedError(f"torchshim: {path} in a TorchScript archive")
    kernel = _aten(rest)
    return lambda *args, **kwargs: kernel(*args, **_options(kwargs))
