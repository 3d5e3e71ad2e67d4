"""einsum, tensordot, Fourier transforms and a few more as calls of ATen's operators; see `decomposed`."""
from __future__ import annotations

import math

from .. import Tensor, complex64, complex128, float64
from .decomposed import RULES, reshape, rule
from .layers import _closed, _each
from .python import _NUMBERS_AS_TENSORS, call, chosen, do, operator


# -- sums of products ---------------------------------------------------------------------------------------------------------
def _labels(text, ndim):
    """The dimensions' labels of an operand, "." and a number for those of an ellipsis; how many these are."""
    text = text.replace(" ", "")
    head, dots, tail = text.partition("...")
    free = ndim - len(head) - len(tail) if dots else 0
    return [*head, *[f".{k}" for k in range(free)], *tail], free


def _operands_of(equation, operands):
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if len(texts) != len(operands):
        raise NotImplementedError("torchshim: einsum with another number of operands than its equation has, under __torch_dispatch__")
    found = [_labels(t, x.ndim) for t, x in zip(texts, operands)]
    free = max([n for _, n in found])
    if any([n not in (0, free) for _, n in found]):
        raise NotImplementedError("torchshim: einsum with ellipses of several lengths under __torch_dispatch__")
    names = [n for n, _ in found]
    dots = [f".{k}" for k in range(free)]
    if arrow:
        out = [n for part in right.replace(" ", "").partition("...") for n in (dots if part == "..." else part)]
    else:
        every = [n for each in names for n in each if n[0] != "."]
        out = dots + sorted([n for n in set(every) if every.count(n) == 1])
    return names, out


@rule("einsum")
def _einsum(equation, *operands):
    operands = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    if not isinstance(equation, str):
        raise NotImplementedError("torchshim: einsum with lists of dimensions under __torch_dispatch__")
    names, out = _operands_of(equation, operands)
    order = out + sorted({n for each in names for n in each} - set(out))
    uses = {n: sum([n in each for each in names]) for n in order}
    if len(operands) > 1 and any([uses[n] == 1 for n in order[len(out):]]):
        raise NotImplementedError("torchshim: einsum that sums a dimension of one operand alone under __torch_dispatch__")
    made = []
    for x, each in zip(operands, names):
        for n in list(dict.fromkeys(each)):
            while each.count(n) > 1:           # a dimension that stands twice is a diagonal, which comes last
                first, second = [k for k, m in enumerate(each) if m == n][:2]
                x = do("diagonal", x, 0, first, second)
                each = [m for k, m in enumerate(each) if k not in (first, second)] + [n]
                if len(each) > 1:
                    x = do("permute", x, [*range(first), len(each) - 1, *range(first, len(each) - 1)])
                    each = [*each[:first], n, *each[first:-1]]
                else:
                    x = do("permute", x, [0])
        for n in [n for n in order if n not in each]:
            x = do("unsqueeze", x, x.ndim)
            each = [*each, n]
        made.append(do("permute", x, [each.index(n) for n in order]))
    total = made[0]
    for x in made[1:]:
        over = []
        for d in range(len(out), len(order)):
            if total.shape[d] != 1 and x.shape[d] != 1:
                uses[order[d]] -= 1
                if uses[order[d]] == 1:
                    over.append(d)
        total = _pair(total, x, over) if over else do("mul.Tensor", total, x)
    if len(order) > len(out):
        if len(made) > 1:
            return do("view", total, list(total.shape[:len(out)]))
        return do("sum.dim_IntList", total, list(range(len(out), len(order))))
    return total


def _pair(left, right, over):
    """The sum of a product over some dimensions, which stay with size 1."""
    both, ones, others = [], [], []
    for d in range(left.ndim):
        a, b = left.shape[d] != 1, right.shape[d] != 1
        if d not in over:
            (both if a and b else ones if a else others).append(d)
    size = lambda t, dims: [t.shape[d] for d in dims]
    shape = [*size(left, both), *size(left, ones), *[1] * len(over), *size(right, others)]
    n, rows, inner, columns = [math.prod(x) for x in (size(left, both), size(left, ones), size(left, over), size(right, others))]
    a = reshape(do("permute", left, both + ones + over + others), [n, rows, inner])
    b = reshape(do("permute", right, both + over + others + ones), [n, inner, columns])
    order = both + ones + over + others
    return do("permute", do("view", do("bmm", a, b), shape), [order.index(d) for d in range(len(order))])


@rule("tensordot")
def _tensordot(a, b, dims=2, out=None):
    if isinstance(dims, Tensor):
        return NotImplemented
    if isinstance(dims, int):
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left, right = [[d] if isinstance(d, int) else list(d) for d in dims]
    left, right = [d % a.ndim for d in left], [d % b.ndim for d in right]
    rows, columns = [d for d in range(a.ndim) if d not in left], [d for d in range(b.ndim) if d not in right]
    n = math.prod([a.shape[d] for d in left])
    x = reshape(do("permute", a, rows + left), [math.prod([a.shape[d] for d in rows]), n])
    y = reshape(do("permute", b, right + columns), [n, math.prod([b.shape[d] for d in columns])])
    return reshape(do("mm", x, y), [*[a.shape[d] for d in rows], *[b.shape[d] for d in columns]])


# -- Fourier transforms -------------------------------------------------------------------------------------------------------
_FORWARD, _BACK = {None: 0, "backward": 0, "ortho": 1, "forward": 2}, {None: 2, "backward": 2, "ortho": 1, "forward": 0}


def _sized(x, d, n):
    """With n elements along a dimension: the first ones, or zeros after them."""
    if n is None or n == x.shape[d]:
        return x
    if n < x.shape[d]:
        return do("slice.Tensor", x, d, 0, n)
    pad = [0] * (2 * x.ndim)
    pad[2 * (x.ndim - 1 - d) + 1] = n - x.shape[d]
    return do("constant_pad_nd", x, pad)


def _transform(inverse):
    def fft(input, n=None, dim=-1, norm=None):
        d = dim % input.ndim
        x = _sized(input, d, n)
        if x.is_complex():
            return do("_fft_c2c", x, [d], (_BACK if inverse else _FORWARD)[norm], not inverse)
        if not x.is_floating_point():
            raise NotImplementedError("torchshim: the Fourier transform of integers under __torch_dispatch__")
        made = do("_fft_r2c", x, [d], (_BACK if inverse else _FORWARD)[norm], False)
        return do("_conj", made) if inverse else made
    return fft


RULES |= {"fft_fft": _transform(False), "fft_ifft": _transform(True)}


@rule("fft_rfft")
def _rfft(input, n=None, dim=-1, norm=None):
    d = dim % input.ndim
    return do("_fft_r2c", _sized(input, d, n), [d], _FORWARD[norm], True)


@rule("fft_irfft")
def _irfft(input, n=None, dim=-1, norm=None):
    d = dim % input.ndim
    last = 2 * (input.shape[d] - 1) if n is None else n
    return do("_fft_c2r", _sized(input, d, None if n is None else n // 2 + 1), [d], _BACK[norm], last)


@rule("fft_hfft")
def _hfft(input, n=None, dim=-1, norm=None):
    d = dim % input.ndim
    last = 2 * (input.shape[d] - 1) if n is None else n
    turned = do("clone", do("_conj", input))
    return do("_fft_c2r", _sized(turned, d, None if n is None else n // 2 + 1), [d], _FORWARD[norm], last)


def _all_dims(x, dim):
    return list(range(x.ndim)) if dim is None else [d % x.ndim for d in dim]


def _many(inverse, half):
    def fftn(input, s=None, dim=None, norm=None):
        if s is not None:
            raise NotImplementedError("torchshim: a Fourier transform of several dimensions with s= under __torch_dispatch__")
        dims = _all_dims(input, dim)
        how = (_BACK if inverse else _FORWARD)[norm]
        if half:
            return do("_fft_c2r", input, dims, how, 2 * (input.shape[dims[-1]] - 1)) if inverse else do("_fft_r2c", input, dims, how, True)
        if not input.is_complex():
            input = do("_to_copy", input, dtype=complex128 if input.dtype is float64 else complex64)
        return do("_fft_c2c", input, dims, how, not inverse)
    return fftn


for _i in (False, True):
    for _h in (False, True):
        _name, _f = f"fft_{'i' if _i else ''}{'r' if _h else ''}fft", _many(_i, _h)
        RULES[f"{_name}n"] = _f
        RULES[f"{_name}2"] = lambda input, s=None, dim=(-2, -1), norm=None, f=_f: f(input, s, dim, norm)


def _shifted(back):
    def shift(input, dim=None):
        dims = list(range(input.ndim)) if dim is None else [d % input.ndim for d in ([dim] if isinstance(dim, int) else dim)]
        return do("roll", input, [(input.shape[d] + back) // 2 for d in dims], dims)
    return shift


RULES |= {"fft_fftshift": _shifted(0), "fft_ifftshift": _shifted(1)}


# -- losses, layers --------------------------------------------------------------------------------------------------------------
@rule("kl_div")
def _kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    if log_target:
        apart = do("sub.Tensor", target, input)
        made = do("mul.Tensor", do("exp", target), apart)
    else:
        first = do("mul.Tensor", target, input)
        made = do("sub.Tensor", do("xlogy.Tensor", target, target), first)
    made = _closed(made, "sum" if reduction == "batchmean" else reduction)
    return do("div.Tensor", made, input.shape[0]) if reduction == "batchmean" and input.ndim else made


RULES |= {"softmin": lambda input, dim=None, _stacklevel=3, dtype=None: RULES["softmax"](do("neg", input), dim, dtype=dtype),
          "softsign": lambda input: do("div.Tensor", input, do("add.Tensor", do("abs", input), 1)),
          "tanhshrink": lambda input: do("sub.Tensor", input, do("tanh", input)),
          "dstack": lambda tensors: do("cat", [_deep(t) for t in tensors], 2),
          "column_stack": lambda tensors: do("cat", [t if t.ndim > 1 else reshape(t, [t.numel(), 1]) for t in tensors], 1),
          "block_diag": lambda *ts: do("block_diag", list(ts[0]) if len(ts) == 1 and not isinstance(ts[0], Tensor) else list(ts)),
          "tile": lambda input, *dims: do("repeat", input, _padded(input, dims))}


def _padded(x, dims):
    dims = list(dims[0]) if len(dims) == 1 and isinstance(dims[0], (list, tuple)) else list(dims)
    return [1] * (x.ndim - len(dims)) + dims


def _deep(t):
    while t.ndim < 2:
        t = do("unsqueeze", t, 0)
    return do("unsqueeze", t, -1) if t.ndim == 2 else t


@rule("max_pool1d")
def _max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    k = _each(kernel_size, 1)
    s = k if stride is None else _each(stride, 1)
    made = do("max_pool2d_with_indices", do("unsqueeze", input, -2), [1, *k], [1, *s], [0, *_each(padding, 1)],
              [1, *_each(dilation, 1)], ceil_mode)
    made = tuple([do("squeeze.dim", t, -2) for t in made])
    return made if return_indices else made[0]


@rule("avg_pool1d")
def _avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    k = _each(kernel_size, 1)
    s = k if stride is None else _each(stride, 1)
    made = do("avg_pool2d", do("unsqueeze", input, -2), [1, *k], [1, *s], [0, *_each(padding, 1)], ceil_mode, count_include_pad)
    return do("squeeze.dim", made, -2)


@rule("adaptive_avg_pool1d")
def _adaptive_avg_pool1d(input, output_size):
    return do("squeeze.dim", RULES["adaptive_avg_pool2d"](do("unsqueeze", input, -2), [1, *_each(output_size, 1)]), -2)


# -- results that are put somewhere --------------------------------------------------------------------------------------------------
def put(key, args, kwargs, said):
    """A call with `out`: by the overload that takes it."""
    from .schemas import schema, table, writes_out
    kwargs = dict(kwargs)
    out = kwargs.pop("out")
    if key == "matmul" and len(args) == 2 and args[0].ndim == args[1].ndim == 2:
        key = "mm"
    if key in RULES and key not in ("sum", "mean", "cat", "stack", "max", "min") or key not in table():
        raise NotImplementedError(f"torchshim: {said} with out= under __torch_dispatch__")
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    for overload in table()[key]:
        if not writes_out(key, overload) or overload == "Scalar_out" and key in _NUMBERS_AS_TENSORS:
            continue
        names = [a.name for a in schema(key, overload).arguments if a.mutated and a.kwarg_only]
        if len(names) != len(outs):
            continue
        found = chosen(key, args, {**kwargs, **dict(zip(names, outs))}, only=overload)
        if found is not None:
            call(operator(f"{key}.{found[0]}"), *found[1:])
            return out
    raise NotImplementedError(f"torchshim: {said} with these arguments and out= under __torch_dispatch__")
