"""Differences, covariances, quantiles, integrals, distances and what arranges as calls of ATen's operators; see `decomposed`."""
from __future__ import annotations

import itertools
import math

import torchshim as torch

from .. import Tensor
from ..autograd.grad_mode import grad_mode
from ..engine import warn
from ..tensor.core.layout import strided
from .decomposed import RULES, _ints, reshape, rule
from .python import do


def _part(x, dim, start, end=None):
    return do("slice.Tensor", x, dim, start) if end is None else do("slice.Tensor", x, dim, start, end)


def _is_true(flag):
    """Whether a 0-d tensor is true: torch compares it with ones."""
    return do("equal", flag, do("new_ones", flag, [], dtype=torch.bool, layout=strided, device=flag.device))


def _number(x, like, dtype=None):
    return do("scalar_tensor", x, dtype=like.dtype if dtype is None else dtype, layout=strided, device=like.device)


def _as(x, dtype):
    return do("_to_copy", x, dtype=dtype, layout=strided, device=x.device)


def _turned(x):
    """The conjugate, which is the tensor itself where it is real."""
    return do("_conj", x) if x.is_complex() else x


def _spread_to(*tensors):
    """Tensors that are broadcast to one shape; those that have it stay."""
    shape = list(torch.broadcast_shapes(*[t.shape for t in tensors]))
    return [t if list(t.shape) == shape else do("expand", t, shape) for t in tensors]


def _listed(tensors):
    """Tensors that are given one by one, or in one list."""
    return tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors


RULES["broadcast_tensors"] = lambda *tensors: tuple(_spread_to(*_listed(tensors)))


# -- differences, integrals -----------------------------------------------------------------------------------------------------
@rule()
def _diff(input, n=1, dim=-1, prepend=None, append=None):
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    parts = [t for t in (prepend, input, append) if t is not None]
    made = do("cat", parts, dim) if n and len(parts) > 1 else input
    if not n:
        return do("copy_", do("zeros_like", input), input)
    for left in range(made.shape[dim] - 1, max(made.shape[dim] - 1 - n, -1), -1):
        first, second = _part(made, dim, 0, left), _part(made, dim, 1, left + 1)
        made = do("logical_xor", second, first) if made.dtype is torch.bool else do("sub.Tensor", second, first)
    return made


def _sides(y, dim):
    return _part(y, dim, 0, -1), _part(y, dim, 1)


def _steps(y, x, dim):
    """How far apart the points are along a dimension; y's own."""
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        x = do("view", x, [x.shape[0] if d == dim else 1 for d in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = do("view", x, [1] * (y.ndim - x.ndim) + list(x.shape))
    left, right = _sides(x, dim)
    return do("sub.Tensor", right, left)


@rule("trapezoid", "trapz")
def _trapezoid(y, x=None, *, dx=None, dim=-1):
    if not y.shape[dim]:
        return NotImplemented
    if x is not None:
        dim %= y.ndim
        apart = _steps(y, x, dim)
        left, right = _sides(y, dim)
        return do("div.Scalar", do("sum.dim_IntList", do("mul.Tensor", do("add.Tensor", left, right), apart), [dim]), 2)
    last, first = do("select.int", y, dim, -1), do("select.int", y, dim, 0)
    ends = do("mul.Scalar", do("add.Tensor", first, last), 0.5)
    return do("mul.Scalar", do("sub.Tensor", do("sum.dim_IntList", y, [dim]), ends), 1.0 if dx is None else float(dx))


@rule()
def _cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    if x is not None:
        dim %= y.ndim
        apart = _steps(y, x, dim)
        left, right = _sides(y, dim)
        return do("div.Scalar", do("cumsum", do("mul.Tensor", do("add.Tensor", left, right), apart), dim), 2)
    left, right = _sides(y, dim)
    return do("cumsum", do("mul.Scalar", do("add.Tensor", left, right), (1 if dx is None else dx) / 2), dim)


@rule()
def _gradient(input, *, spacing=1, dim=None, edge_order=1):
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(steps) != len(dims) or any([isinstance(s, Tensor) for s in steps]):
        raise NotImplementedError("torchshim: gradient with coordinates under __torch_dispatch__")
    made = []
    for d, step in zip(dims, steps):
        d %= input.ndim
        part = lambda start, end=None, d=d: _part(input, d, start, end)
        scaled = lambda start, end, by: do("mul.Scalar", part(start, end), by)
        left, right = part(0, -2), part(2)
        inner = do("div.Scalar", do("sub.Tensor", right, left), step)
        if edge_order == 1:
            a, b = part(0, 1), part(1, 2)
            before = do("div.Scalar", do("sub.Tensor", b, a), step)
            a, b = part(-2, -1), part(-1)
            after = do("div.Scalar", do("sub.Tensor", b, a), step)
        else:
            c, b, a = scaled(2, 3, 0.5), scaled(1, 2, 2), scaled(0, 1, -1.5)
            before = do("div.Scalar", do("sub.Tensor", do("add.Tensor", a, b), c), step)
            c, b, a = scaled(-1, None, 1.5), scaled(-2, -1, 2), scaled(-3, -2, 0.5)
            after = do("div.Scalar", do("add.Tensor", do("sub.Tensor", a, b), c), step)
        made.append(do("cat", [before, do("div.Scalar", inner, 2), after], d))
    return tuple(made)


# -- statistics -----------------------------------------------------------------------------------------------------------------
@rule()
def _cov(input, *, correction=1, fweights=None, aweights=None):
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions")
    x = input if input.ndim == 2 else do("view", input, [1, -1])
    n, w = x.shape[1], None
    for kind, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None:
            if n and not _is_true(do("ge.Scalar", do("min", weights), 0)):
                raise RuntimeError(f"cov(): {kind} cannot be negative")
            w = weights if w is None else do("mul.Tensor", w, weights)
    total = _number(n, x, torch.int64) if w is None else do("sum", w)
    if w is not None and n and not _is_true(do("ne.Scalar", total, 0)):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = do("div.Tensor", do("sum.dim_IntList", x if w is None else do("mul.Tensor", x, w), [1]), total)
    if w is None:
        freedom = _number(n - correction, x, torch.int64)
    elif aweights is None or not correction:
        freedom = do("sub.Scalar", total, correction)
    else:
        squares = do("mul.Scalar", do("sum", do("mul.Tensor", w, aweights)), correction)
        freedom = do("sub.Tensor", total, do("div.Tensor", squares, total))
    if _is_true(do("le.Scalar", freedom, 0)):
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
        freedom = do("zero_", freedom)
    x = do("sub.Tensor", x, do("unsqueeze", mean, 1))
    product = do("mm", x, _turned(do("t", x if w is None else do("mul.Tensor", x, w))))
    return do("squeeze", do("div.Tensor", product, freedom))


@rule()
def _corrcoef(input):
    if input.is_complex():
        raise NotImplementedError("torchshim: corrcoef of complex numbers under __torch_dispatch__")
    c = _cov(input)
    if not c.ndim:
        return do("div.Tensor", c, c)
    deviation = do("sqrt", do("diagonal", c))
    c = do("div.Tensor", c, do("view", deviation, [-1, 1]))
    return do("clamp", do("div.Tensor", c, do("view", deviation, [1, -1])), -1, 1)


_ROUNDED = {"lower": "floor_", "higher": "ceil_", "nearest": "round_"}


def _quantile_of(ignore):
    name = "nanquantile" if ignore else "quantile"

    def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
        if interpolation not in (*_ROUNDED, "linear", "midpoint"):
            raise RuntimeError("quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
                               f"{interpolation}")
        if not input.numel():
            raise RuntimeError(f"{name}() input tensor must be non-empty")
        if not isinstance(q, Tensor):
            if not 0 <= q <= 1:
                raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
            q = _number(q, input)
        if dim is None or not input.ndim:
            ordered = do("sort", RULES["flatten"](input))[0]
            shape = [1] * input.ndim if keepdim else []
        else:
            d = dim % input.ndim
            last = input if d == input.ndim - 1 else do("transpose.int", do("unsqueeze", input, -1), d, -1)
            ordered = do("sort", last)[0]
            shape = [1 if k == d else n for k, n in enumerate(input.shape) if k != d or keepdim]
        ordered = do("view", ordered, [*shape, ordered.shape[-1]])
        last = ordered.shape[-1] - 1
        if ignore:
            count = do("sum.dim_IntList", do("logical_not_", do("isnan", ordered)), [-1], True)
            ranks = do("mul.Tensor", q, do("sub.Scalar", count, 1))
            ranks = do("masked_fill_.Scalar", ranks, do("lt.Scalar", ranks, 0), 0)
        else:
            ranks = do("mul.Scalar", q, last)
            ranks, missing = _spread_to(ranks, do("any.dim", do("isnan", ordered), -1, True))
            ranks = do("masked_fill.Scalar", ranks, missing, last)
        if interpolation in _ROUNDED:
            ranks = do(_ROUNDED[interpolation], ranks)
        below = _as(ranks, torch.int64)
        made = do("gather", ordered, -1, below)
        if interpolation not in _ROUNDED:
            weights = do("full_like", ranks, 0.5) if interpolation == "midpoint" else do("sub.Tensor", ranks, below)
            above = do("gather", ordered, -1, _as(do("ceil_", ranks), torch.int64))
            made = do("lerp_.Tensor", made, above, weights)
        if not q.ndim:
            return do("squeeze_.dim", made, -1)
        return do("squeeze_.dim", do("transpose_", do("unsqueeze_", made, 0), 0, -1), -1)
    return quantile


RULES |= {"quantile": _quantile_of(False), "nanquantile": _quantile_of(True)}


@rule()
def _nanmean(input, dim=None, keepdim=False, *, dtype=None):
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    same = do("detach", input)
    count = do("sum.dim_IntList", do("logical_not_", do("ne.Tensor", same, same)), dims, keepdim)
    total = do("nansum", input, dims, keepdim, **({} if dtype is None else {"dtype": dtype}))
    return do("div.Tensor", total, count)


# -- distances, comparisons -------------------------------------------------------------------------------------------------------
_MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


@rule()
def _cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    mode = _MODES[compute_mode]
    rows, columns = x1.shape[-2], x2.shape[-2]
    if p != 2 or not (mode == 1 or mode is None and max(rows, columns) > 25) or not all([*x1.shape, *x2.shape]):
        return do("_cdist_forward", x1, x2, p, mode)
    batch = list(torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]))
    n, flat = math.prod(batch), []
    for x, count in ((x1, rows), (x2, columns)):
        spread = RULES["contiguous"](do("expand", x, [*batch, count, x.shape[-1]]))
        flat.append(do("view", spread, [n, count, x.shape[-1]]))
    return do("view", do("_euclidean_dist", *(flat if n != 1 else (x1, x2))), [*batch, rows, columns])


RULES["pdist"] = lambda input, p=2: do("_pdist_forward", input, p)


@rule()
def _pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    apart = do("add.Scalar", do("sub.Tensor", x1, x2), eps)
    return do("norm.ScalarOpt_dim", apart, p, [max(x1.ndim, x2.ndim) - 1], keepdim)


@rule()
def _cosine_similarity(x1, x2, dim=1, eps=1e-8):
    common = torch.result_type(x1, x2)
    if not common.is_floating_point:
        return NotImplemented
    x1, x2 = [x if x.dtype is common else do("_to_copy", x, dtype=common) for x in (x1, x2)]
    if x1.shape != x2.shape:
        shape = list(torch.broadcast_shapes(x1.shape, x2.shape))
        x2, x1 = do("expand", x2, shape), do("expand", x1, shape)
    lengths = []
    for x in (x1, x2):
        lengths.append(do("clone", do("linalg_vector_norm", x, 2, [dim], True)))
    with grad_mode(False):
        least = do("scalar_tensor", eps, dtype=common, device=x1.device)
        for n in lengths:
            do("clamp_min_.Tensor", n, least)
    second = do("div.Tensor", x2, lengths[1])
    first = do("div.Tensor", x1, lengths[0])
    return do("sum.dim_IntList", do("mul.Tensor", first, second), [dim])


@rule()
def _isclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    close = do("eq.Tensor", input, other)
    inexact = input.is_floating_point() or input.is_complex()
    if equal_nan and inexact:
        first, second = do("isnan", input), do("isnan", other)
        close = do("bitwise_or_.Tensor", close, do("bitwise_and.Tensor", first, second))
    if not rtol and not atol:
        return close
    cast = other if inexact else do("_to_copy", other, dtype=torch.get_default_dtype())
    allowed = do("add.Scalar", do("abs", do("mul.Scalar", cast, rtol)), atol)
    apart = do("abs", do("sub.Tensor", input, cast))
    finite = RULES["isfinite"](apart)
    near = do("bitwise_and_.Tensor", finite, do("le.Tensor", apart, allowed))
    return do("bitwise_or_.Tensor", close, near)


@rule()
def _cross(input, other, dim=None):
    if dim is None:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return do("linalg_cross", input, other, dim=dim)


RULES["matrix_exp"] = lambda input: do("linalg_matrix_exp", input)


@rule()
def _inner(input, other):
    if not input.ndim or not other.ndim:
        return do("mul.Tensor", input, other)
    a, b = [[*range(x.ndim - 1)] for x in (input, other)]
    n = input.shape[-1]
    left = do("view", do("permute", input, [*a, -1]), [math.prod(input.shape[:-1]), n])
    right = reshape(do("permute", other, [-1, *b]), [n, math.prod(other.shape[:-1])])
    return do("view", do("mm", left, right), [*input.shape[:-1], *other.shape[:-1]])


# -- what is taken and repeated -----------------------------------------------------------------------------------------------------
@rule()
def _take_along_dim(input, indices, dim=None):
    if dim is None:
        return do("gather", do("view", input, [-1]), 0, do("view", indices, [-1]))
    d = dim % input.ndim
    shapes = [[1 if k == d else n for k, n in enumerate(x.shape)] for x in (input, indices)]
    shape = list(torch.broadcast_shapes(*shapes))
    at = do("expand", indices, [indices.shape[d] if k == d else n for k, n in enumerate(shape)])
    x = do("expand", input, [input.shape[d] if k == d else n for k, n in enumerate(shape)])
    return do("gather", x, d, do("remainder.Scalar", at, input.shape[d]))


@rule()
def _repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    named = {} if output_size is None else {"output_size": output_size}
    if repeats is None:
        return do("repeat_interleave.Tensor", input, **named)
    x = RULES["flatten"](input) if dim is None else input
    d = 0 if dim is None else dim % x.ndim
    if not isinstance(repeats, Tensor):
        spread = do("expand", do("unsqueeze", x, d + 1), [*x.shape[:d + 1], repeats, *x.shape[d + 1:]])
        return RULES["flatten"](do("clone", spread, memory_format=torch.contiguous_format), d, d + 1)
    if repeats.numel() == 1 and repeats.ndim < 2:
        repeats = do("expand", reshape(repeats, [1]), [x.shape[d]])
    elif repeats.ndim != 1 or repeats.shape[0] != x.shape[d]:
        return NotImplemented
    return do("index_select", x, d, do("repeat_interleave.Tensor", repeats, **named))


@rule()
def _vander(x, N=None, increasing=False):
    n = x.shape[0] if N is None else N
    made = do("empty.memory_format", [x.shape[0], n], dtype=do("promote_types", x.dtype, torch.int64), layout=strided, device=x.device)
    if n > 0:
        do("fill_.Scalar", do("select.int", made, 1, 0), 1)
        if n > 1:
            do("copy_", _part(made, 1, 1), do("unsqueeze", x, 1))
            first, second = _part(made, 1, 1), _part(made, 1, 1)
            do("copy_", first, do("cumprod", second, 1))
    return made if increasing else do("flip", made, [1])


def _grid(tensors):
    n = len(tensors)
    shape = [t.shape[0] for t in tensors]
    return [do("expand", do("view", t, [-1 if j == k else 1 for j in range(n)]), shape) for k, t in enumerate(tensors)]


@rule()
def _combinations(input, r=2, with_replacement=False):
    if not r:
        return do("empty.memory_format", [0], dtype=input.dtype, layout=strided, device=input.device)
    n = input.shape[0]
    grids = _grid([input] * r)
    places = _grid([do("arange", n, dtype=torch.int64, layout=strided, device=input.device)] * r)
    mask = do("full", [n] * r, True, dtype=torch.bool, layout=strided, device=input.device)
    for a, b in itertools.pairwise(places):
        mask = do("mul_.Tensor", mask, do("le.Tensor" if with_replacement else "lt.Tensor", a, b))
    return do("stack", [do("masked_select", g, mask) for g in grids], 1)


@rule()
def _cartesian_prod(*tensors):
    tensors = _listed(tensors)
    if len(tensors) == 1:
        return tensors[0]
    return do("stack", [RULES["flatten"](g) for g in RULES["meshgrid"](*tensors)], 1)


@rule()
def _unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    made = (do("_unique2", input, sorted, return_inverse, return_counts) if dim is None
            else do("unique_dim", input, dim, sorted, return_inverse, return_counts))
    return _asked_for(made, return_inverse, return_counts)


@rule()
def _unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    return _asked_for(do("unique_consecutive", input, return_inverse, return_counts, dim), return_inverse, return_counts)


def _asked_for(made, *flags):
    kept = (made[0], *[x for x, flag in zip(made[1:], flags) if flag])
    return kept if len(kept) > 1 else kept[0]


@rule("normal")
def _normal(mean, std=1.0, size=None, *, generator=None, **options):
    kinds = ["Tensor" if isinstance(x, Tensor) else "float" for x in (mean, std)]
    if size is not None or "Tensor" not in kinds:
        return NotImplemented
    return do(f"normal.{'_'.join(kinds)}", mean, std, **({} if generator is None else {"generator": generator}))


RULES["lu_solve"] = lambda b, LU_data, LU_pivots: do("linalg_lu_solve", LU_data, LU_pivots, b)


# -- parts, orders, shapes ----------------------------------------------------------------------------------------------------------
@rule()
def _tensor_split(input, indices_or_sections=None, dim=0, *, indices=None, sections=None, tensor_indices_or_sections=None):
    given = next(x for x in (indices_or_sections, indices, sections, tensor_indices_or_sections) if x is not None)
    if isinstance(given, Tensor):
        return NotImplemented
    d, n = dim % input.ndim, input.shape[dim]
    if isinstance(given, int):
        each, more = divmod(n, given)
        ends = list(itertools.accumulate([each + (k < more) for k in range(given)]))
    else:
        ends = [*given, n]
    return tuple([do("slice.Tensor", input, d, a, b) for a, b in zip([0, *ends[:-1]], ends)])


def _split_at(dim):
    def split(input, indices_or_sections=None, *, indices=None, sections=None):
        d = 0 if dim == 1 and input.ndim == 1 else dim
        return _tensor_split(input, indices_or_sections, d, indices=indices, sections=sections)
    return split


RULES |= {"vsplit": _split_at(0), "hsplit": _split_at(1), "dsplit": _split_at(2)}
RULES |= {"fliplr": lambda input: do("flip", input, [1]), "flipud": lambda input: do("flip", input, [0]),
          "argwhere": lambda input: do("nonzero", input), "positive": lambda input: input,
          "msort": lambda input: do("sort", input, 0)[0],
          "nonzero": lambda input, as_tuple=False: tuple(do("unbind.int", do("nonzero", input), 1)) if as_tuple else do("nonzero", input)}


@rule()
def _argsort(input, dim=-1, descending=False, stable=False):
    return (do("sort.stable", input, stable=stable, dim=dim, descending=descending) if stable else do("sort", input, dim, descending))[1]


@rule()
def _float_power(input, exponent):
    tensors = [x for x in (input, exponent) if isinstance(x, Tensor)]
    two = any([x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex) for x in (input, exponent)])
    wide = torch.complex128 if two else torch.float64
    base, power = [do("_to_copy", x, dtype=wide) if isinstance(x, Tensor) and x.dtype is not wide else x for x in (input, exponent)]
    kind = "Tensor_Tensor" if len(tensors) == 2 else "Tensor_Scalar" if isinstance(input, Tensor) else "Scalar"
    return do(f"pow.{kind}", base, power)


@rule()
def _diag(input, diagonal=0):
    return do("diag_embed", input, diagonal) if input.ndim == 1 else do("diagonal_copy", input, diagonal)


@rule()
def _diagflat(input, offset=0):
    return do("diag_embed", reshape(input, [-1]), offset)


def _at_least(n):
    def atleast(*tensors):
        made = []
        for t in _listed(tensors):
            if not t.ndim:
                t = reshape(t, [1] * n)
            elif t.ndim < n:
                t = do("unsqueeze", t, 0) if t.ndim == 1 else t
                t = do("unsqueeze", t, -1) if n == 3 else t
            made.append(t)
        return made[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else tuple(made)
    return atleast


RULES |= {f"atleast_{_n}d": _at_least(_n) for _n in (1, 2, 3)}


@rule()
def _sum_to_size(self, *size):
    size = _ints(size)
    ahead = self.ndim - len(size)
    dims = [d for d in range(self.ndim) if d < ahead or size[d - ahead] == 1 and self.shape[d] != 1]
    made = do("sum.dim_IntList", self, dims, True) if dims else self
    return do("view", made, size) if ahead else made
