"""The gradients of dispatched operators: for each its node's name and, by the names of its tensor arguments, what they are.

A formula gets the call: its arguments by name, `g` the cotangent (`gs`: of several results), `y` the result where it was saved, `results`.
"""
from __future__ import annotations

import dis
import math
import types

from ..engine import context
from .python import do, tensors_in

FORMULAS: dict = {}

#: Operators whose results have no history.
WITHOUT = frozenset("""eq ne lt le gt ge argmax argmin zeros_like ones_like empty_like full_like rand_like randn_like randint_like new_zeros
    new_ones new_empty new_full new_empty_strided nonzero isnan isinf isneginf isposinf signbit logical_and logical_or logical_xor
    logical_not logical_and_ logical_or_ bitwise_and bitwise_or bitwise_xor bitwise_not floor_divide detach detach_ _local_scalar_dense
    equal count_nonzero any all multinomial bernoulli lift_fresh lift_fresh_copy zero_ resize_""".split())


#: Of what formulas ask only for its shape: it may be written before backward.
_SHAPES_OF = {name: frozenset({"self"}) for name in """sum mean expand view _unsafe_view squeeze unsqueeze select slice diagonal gather
    index index_select split unsafe_split split_with_sizes unbind _to_copy copy copy_ topk sort""".split()}
_SHAPES_OF["native_batch_norm"] = frozenset({"running_mean", "running_var"})           # it writes to them itself
_SHAPES_OF |= {"cat": frozenset({"tensors"}), "stack": frozenset({"tensors"}), "embedding": frozenset({"weight"})}


class Formula:
    """See the module."""

    def __init__(self, node, joint, only, shapes, each):
        self.node, self.each, self.joint, self.only = node, each, joint, only
        self.of = {name: {*_names(f.__code__, f.__globals__)} for name, f in (*each.items(), (None, joint)) if f is not None}
        used = {n for names in self.of.values() for n in names}
        self.result, self.reads = "y" in used, used - {"y", "g", "gs", "needs", "results"} - shapes
        self.saves, self.first = "results" in used, ()               # first: the results with a history that it reads, in torch's order

    def asked(self, call):
        """What the gradients that are needed of a call ask for: names of arguments, and "y" and "results"."""
        return {n for name, names in self.of.items() for n in names
                if name is None or any([t.requires_grad for t in tensors_in([getattr(call, name)])])}

    def outputs(self, n):
        """The numbers of the results that have a history."""
        return range(n) if self.only is None else self.only


    def gradients(self, call):
        """{argument: its gradient} of those that are needed."""
        if self.joint is not None:
            return self.joint(call)
        return {name: self.each[name](call) for name in sorted(self.each) if call.needs.get(name)}


#: What asks a tensor for no elements.
_OF_SHAPE = frozenset("shape ndim dtype layout device numel stride is_complex".split())


def _names(code, space):
    """The attributes that a formula reads, and functions of the call `a` that it hands this on to; not of what it asks its shape for."""
    steps = list(dis.get_instructions(code))
    for step, following in zip(steps, [*steps[1:], None]):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            if following is None or following.opname not in ("LOAD_ATTR", "LOAD_METHOD") or following.argval not in _OF_SHAPE:
                yield step.argval
        elif step.opname == "LOAD_GLOBAL":
            f = space.get(step.argval)
            if isinstance(f, types.FunctionType) and f.__code__.co_varnames[:1] == ("a",):
                yield from _names(f.__code__, f.__globals__)
    for c in code.co_consts:
        if hasattr(c, "co_names"):
            yield from _names(c, space)


def _add(names, node, joint=None, only=None, **each):
    for name in names.split():
        FORMULAS[name] = Formula(node, joint, only, _SHAPES_OF.get(name.partition(".")[0], frozenset()), each)


def _once(name):
    """Refuse a gradient of a gradient: the formula's results have no history."""
    if context.grad is True:
        raise NotImplementedError(f"torchshim: the second gradient of aten.{name} under __torch_dispatch__")


def _times(g, x):
    return do("mul.Tensor", g, x)


def _maybe(g, alpha):
    return g if alpha == 1 else do("mul.Tensor", g, alpha)


def _neg(g):
    return do("neg", g)


def _column_major(t):
    return t.stride(0) == 1 and t.stride(1) == t.shape[0]


def _first_of_mm(g, a, b):
    """The gradient of the first of two matrices."""
    if _column_major(a):
        return do("t", do("mm", b, do("t", g)))
    return do("mm", g, do("t", b))


def _second_of_mm(g, a, b):
    if _column_major(b):
        return do("t", do("mm", do("t", g), a))
    return do("mm", do("t", a), g)


def _summed_to(g, shape):
    lead = g.ndim - len(shape)
    dims = [*range(lead), *[d + lead for d, n in enumerate(shape) if n == 1 and g.shape[d + lead] != 1]]
    if not dims:
        return g
    g = do("sum.dim_IntList", g, dims, True)
    return do("view", g, list(shape)) if lead else g


def _reshaped(g, shape):
    from .decomposed import reshape
    return reshape(g, list(shape))


def _dims(dim, ndim):
    dims = range(ndim) if dim is None or dim == [] else dim if isinstance(dim, list) else [dim]
    return sorted([d % ndim if ndim else 0 for d in dims])


def _unsqueezed(g, dims, keepdim, ndim, given=None):
    """What a reduction took away, put back. given: the dimensions as they were said, of which one alone is not counted anew."""
    if not keepdim and ndim:
        dims = given if isinstance(given, list) and len(given) == 1 else dims
        for d in dims:
            g = do("unsqueeze", g, d)
    return g


def _spread(a, dim, keepdim):
    g = _unsqueezed(a.g, _dims(dim, a.self.ndim), keepdim, a.self.ndim, dim)
    return do("expand", g, list(a.self.shape))


def _mean_dim(a):
    n = math.prod([a.self.shape[d] for d in _dims(a.dim, a.self.ndim)]) if a.self.ndim else 1
    return do("div.Scalar", _spread(a, a.dim, a.keepdim), n)


def _chosen(a, indices, dim, keepdim):
    """The gradient of values taken from places along a dimension."""
    g = a.gs[0]
    if not keepdim and a.self.ndim:
        g, indices = do("unsqueeze", g, dim), do("unsqueeze", indices, dim)
    return do("scatter.src", do("new_zeros", g, list(a.self.shape)), dim, indices, g)


def _amax(a):
    dims = _dims(a.dim, a.self.ndim)
    kept = [1 if d in dims else n for d, n in enumerate(a.self.shape)]
    back = lambda t: t if a.keepdim else do("view", t, kept)
    mask = do("eq.Tensor", back(a.y), a.self)
    g = back(a.g)
    return do("mul.Tensor", do("div.Tensor", g, do("sum.dim_IntList", mask, dims, True)), mask)


def _max(a):
    both = do("logical_and", do("isnan", a.self), do("isnan", a.y))
    mask = do("logical_or_", do("eq.Tensor", a.self, a.y), both)
    return do("mul.Tensor", mask, do("div.Tensor", a.g, do("sum", mask)))


def _var(a):
    n = math.prod([a.self.shape[d] for d in _dims(a.dim, a.self.ndim)])
    return n, 1 if a.correction is None else a.correction


def _var_back(a, g):
    n, correction = _var(a)
    dims = _dims(a.dim, a.self.ndim)
    if a.dim is None or a.dim == []:
        apart = do("sub.Tensor", a.self, do("mean", a.self))
    else:
        g = _unsqueezed(g, dims, a.keepdim, a.self.ndim, a.dim)
        apart = do("sub.Tensor", a.self, do("mean.dim", a.self, a.dim, True))
    return do("mul.Tensor", do("mul.Scalar", g, 2 / (n - correction)), apart)


def _std_back(a):
    g = do("div.Tensor", a.g, do("mul.Scalar", a.y, 2))
    return _var_back(a, do("masked_fill_.Scalar", g, do("eq.Scalar", a.y, 0), 0))


def _logsumexp(a):
    dims = _dims(a.dim, a.self.ndim)
    g, y = [_unsqueezed(x, dims, a.keepdim, a.self.ndim, a.dim) for x in (a.g, a.y)]
    return do("mul.Tensor", g, do("exp", do("sub.Tensor", a.self, y)))


def _pow_number(a):
    if a.exponent == 0:
        return do("zeros_like", a.self)
    p = do("pow.Tensor_Scalar", a.self, float(a.exponent) - 1)
    return do("mul.Tensor", a.g, do("mul.Scalar", p, float(a.exponent)))


def _pow_base(a):
    p = do("mul.Tensor", a.exponent, do("pow.Tensor_Tensor", a.self, do("sub.Tensor", a.exponent, 1)))
    return do("mul.Tensor", a.g, do("masked_fill.Scalar", p, do("eq.Scalar", a.exponent, 0), 0))


def _pow_exponent(a):
    made = do("mul.Tensor", a.y, do("log", a.self))
    return do("mul.Tensor", a.g, do("masked_fill.Scalar", made, do("eq.Scalar", a.self, 0), 0))


def _clamped(a):
    zero = do("scalar_tensor", 0.0, dtype=a.g.dtype, layout=a.g.layout, device=a.g.device)
    masks = [do(f"{how}.Scalar", a.self, x) for how, x in (("ge", a.min), ("le", a.max)) if x is not None]
    mask = masks[0] if len(masks) == 1 else do("logical_and_", *masks)
    return do("where.self", mask, a.g, zero)


def _where(a, first):
    zero = do("scalar_tensor", 0, dtype=a.g.dtype, layout=a.g.layout, device=a.g.device)
    return do("where.self", a.condition, *((a.g, zero) if first else (zero, a.g)))


def _at_indices(a):
    zeros = do("new_zeros", a.g, list(a.self.shape), dtype=a.self.dtype, layout=a.self.layout, device=a.self.device)
    return do("index_put", zeros, a.indices, a.g, True)


def _cut(a):
    """The parts of a cotangent that belong to what was joined."""
    d, at, parts = a.dim % a.g.ndim, 0, []
    for t in a.tensors:
        if tuple(t.shape) == (0,):             # which may stand beside any others
            parts.append(do("zeros", [0], dtype=a.g.dtype, layout=a.g.layout, device=a.g.device))
            continue
        n = t.shape[d] if t.ndim else 0
        parts.append(do("slice.Tensor", a.g, d, at, at + n))
        at += n
    return parts


def _missing_filled(a, shapes):
    return [do("zeros", list(s), dtype=a.self.dtype, device=a.self.device) if g is None else g for g, s in zip(a.gs, shapes)]


def _split_shapes(a, sizes):
    d = a.dim % a.self.ndim
    return [[*a.self.shape[:d], n, *a.self.shape[d + 1:]] for n in sizes]


def _split_back(a):
    n, d = a.split_size, a.dim
    whole = a.self.shape[d]
    sizes = [min(n, whole - k) for k in range(0, whole, n)] or [0]
    return do("cat", _missing_filled(a, _split_shapes(a, sizes)), d)


def _unbound(a):
    d = a.dim % a.self.ndim
    return do("stack", _missing_filled(a, [[n for k, n in enumerate(a.self.shape) if k != d]] * len(a.gs)), a.dim)


def _squeezed_back(a, dims):
    g = a.g
    for d in sorted([d % a.self.ndim for d in dims]) if a.self.ndim else ():
        if a.self.shape[d] == 1:
            g = do("unsqueeze", g, d)
    return g


def _sliced(a):
    d = a.dim
    start = 0 if a.start is None else a.start
    end = 2 ** 63 - 1 if a.end is None else a.end
    return do("slice_backward", a.g, list(a.self.shape), d, start, end, a.step)


def _layer_norm(a):
    mask = [a.needs.get(n, False) for n in ("input", "weight", "bias")]
    _, mean, rstd = a.results
    return dict(zip(("input", "weight", "bias"), do("native_layer_norm_backward", a.g, a.input, a.normalized_shape, mean, rstd, a.weight,
                                                    a.bias, mask)))


def _batch_norm(a):
    mask = [a.needs.get(n, False) for n in ("input", "weight", "bias")]
    _, mean, invstd = a.results
    return dict(zip(("input", "weight", "bias"), do("native_batch_norm_backward", a.g, a.input, a.weight, a.running_mean, a.running_var,
                                                    mean,
                                                    invstd, a.training, a.eps, mask)))


def _convolution(a):
    mask = [a.needs.get(n, False) for n in ("input", "weight", "bias")]
    sizes = [0] if a.bias is None else list(a.bias.shape)
    return dict(zip(("input", "weight", "bias"), do("convolution_backward", a.g, a.input, a.weight, sizes, a.stride, a.padding, a.dilation,
                                                    a.transposed, a.output_padding, a.groups, mask)))


def _flash(a):
    made = do("_scaled_dot_product_flash_attention_for_cpu_backward", a.g, a.query, a.key, a.value, do("detach", a.results[0]),
              a.results[1],
              a.dropout_p, a.is_causal, attn_mask=a.attn_mask, scale=a.scale)
    return dict(zip(("query", "key", "value"), made))


def _pooled(a):
    return do("max_pool2d_with_indices_backward", a.gs[0], a.self, a.kernel_size, a.stride, a.padding, a.dilation, a.ceil_mode,
              a.results[1])


def _div_other(a):
    twice = do("div.Tensor", do("div.Tensor", a.self, a.other), a.other)
    return do("mul.Tensor", _neg(a.g), twice)


def _reciprocal(a):
    square = do("mul.Tensor", a.y, a.y)
    return do("mul.Tensor", _neg(a.g), square)


def _like(a, t):
    return do("_to_copy", a.g, dtype=t.dtype, layout=t.layout, device=t.device)


_add("add.Scalar", "AddBackward1", self=lambda a: a.g)
_add("sub.Scalar", "SubBackward1", self=lambda a: a.g)
_add("add.Tensor", "AddBackward0", self=lambda a: a.g, other=lambda a: _maybe(a.g, a.alpha))
_add("sub.Tensor", "SubBackward0", self=lambda a: a.g, other=lambda a: _maybe(_neg(a.g), a.alpha))
_add("rsub.Scalar rsub.Tensor", "RsubBackward1", self=lambda a: _maybe(_neg(a.g), a.alpha), other=lambda a: a.g)
_add("mul.Tensor", "MulBackward0", self=lambda a: _times(a.g, a.other), other=lambda a: _times(a.g, a.self))
_add("mul.Scalar", "MulBackward1", self=lambda a: do("mul.Scalar", a.g, a.other))
_add("div.Tensor", "DivBackward0", self=lambda a: do("div.Tensor", a.g, a.other), other=_div_other)
_add("div.Scalar", "DivBackward1", self=lambda a: do("div.Scalar", a.g, a.other))
_add("neg", "NegBackward0", self=lambda a: _neg(a.g))
_add("pow.Tensor_Scalar", "PowBackward0", self=_pow_number)
_add("pow.Tensor_Tensor", "PowBackward1", self=_pow_base, exponent=_pow_exponent)
_add("exp", "ExpBackward0", self=lambda a: _times(a.g, a.y))
_add("expm1", "Expm1Backward0", self=lambda a: _times(a.g, do("add.Tensor", a.y, 1)))
_add("log", "LogBackward0", self=lambda a: do("div.Tensor", a.g, a.self))
_add("log1p", "Log1PBackward0", self=lambda a: do("div.Tensor", a.g, do("add.Tensor", a.self, 1)))
_add("sqrt", "SqrtBackward0", self=lambda a: do("div.Tensor", a.g, do("mul.Scalar", a.y, 2)))
_add("rsqrt", "RsqrtBackward0", self=lambda a: _times(a.g, do("mul.Scalar", do("pow.Tensor_Scalar", a.y, 3), -0.5)))
_add("reciprocal", "ReciprocalBackward0", self=_reciprocal)
_add("sin", "SinBackward0", self=lambda a: _times(a.g, do("cos", a.self)))
_add("cos", "CosBackward0", self=lambda a: _times(a.g, _neg(do("sin", a.self))))
_add("abs", "AbsBackward0", self=lambda a: _times(a.g, do("sgn", a.self)))
_add("erf", "ErfBackward0", self=lambda a: _times(do("mul.Tensor", do("exp", _neg(do("pow.Tensor_Scalar", a.self, 2))),
                                                     2 / math.sqrt(math.pi)),
                                                  a.g))
_add("floor ceil round trunc sign sgn", "FloorBackward0", self=lambda a: do("zeros_like", a.g))
_add("tanh", "TanhBackward0", self=lambda a: do("tanh_backward", a.g, a.y))
_add("sigmoid", "SigmoidBackward0", self=lambda a: do("sigmoid_backward", a.g, a.y))
_add("relu", "ReluBackward0", self=lambda a: do("threshold_backward", a.g, a.y, 0))
_add("gelu", "GeluBackward0", self=lambda a: do("gelu_backward", a.g, a.self, approximate=a.approximate))
_add("silu", "SiluBackward0", self=lambda a: do("silu_backward", a.g, a.self))
_add("mish", "MishBackward0", self=lambda a: do("mish_backward", a.g, a.self))
_add("leaky_relu", "LeakyReluBackward0", self=lambda a: do("leaky_relu_backward", a.g, a.self, a.negative_slope, False))
_add("elu", "EluBackward0", self=lambda a: do("elu_backward", a.g, a.alpha, a.scale, a.input_scale, False, a.self))
_add("softplus", "SoftplusBackward0", self=lambda a: do("softplus_backward", a.g, a.self, a.beta, a.threshold))
_add("hardtanh", "HardtanhBackward0", self=lambda a: do("hardtanh_backward", a.g, a.self, a.min_val, a.max_val))
_add("hardswish", "HardswishBackward0", self=lambda a: do("hardswish_backward", a.g, a.self))
_add("hardsigmoid", "HardsigmoidBackward0", self=lambda a: do("hardsigmoid_backward", a.g, a.self))
_add("glu", "GluBackward0", self=lambda a: do("glu_backward", a.g, a.self, a.dim))
_add("clamp", "ClampBackward1", self=_clamped)
_add("where.self", "WhereBackward0", self=lambda a: _where(a, True), other=lambda a: _where(a, False))
_add("masked_fill.Scalar", "MaskedFillBackward0", self=lambda a: do("masked_fill.Scalar", a.g, a.mask, 0))
_add("sum", "SumBackward0", self=lambda a: do("expand", a.g, list(a.self.shape)))
_add("sum.dim_IntList", "SumBackward1", self=lambda a: _spread(a, a.dim, a.keepdim))
_add("mean", "MeanBackward0", self=lambda a: do("div.Scalar", do("expand", a.g, list(a.self.shape)), a.self.numel()))
_add("mean.dim", "MeanBackward1", self=_mean_dim)
_add("amax", "AmaxBackward0", self=_amax)
_add("amin", "AminBackward0", self=_amax)
_add("max", "MaxBackward1", self=_max)
_add("min", "MinBackward1", self=_max)
_add("max.dim", "MaxBackward0", only=(0,), self=lambda a: _chosen(a, a.results[1], a.dim, a.keepdim))
_add("min.dim", "MinBackward0", only=(0,), self=lambda a: _chosen(a, a.results[1], a.dim, a.keepdim))
_add("topk", "TopkBackward0", only=(0,), self=lambda a: _chosen(a, a.results[1], a.dim, True))
_add("sort", "SortBackward0", only=(0,), self=lambda a: _chosen(a, a.results[1], a.dim, True))
_add("var.correction", "VarBackward0", self=lambda a: _var_back(a, a.g))
_add("std.correction", "StdBackward0", self=_std_back)
_add("logsumexp", "LogsumexpBackward0", self=_logsumexp)
_add("cumsum", "CumsumBackward0", self=lambda a: do("flip", do("cumsum", do("flip", a.g, [a.dim]), a.dim), [a.dim]))
_add("mm", "MmBackward0", self=lambda a: _first_of_mm(a.g, a.self, a.mat2), mat2=lambda a: _second_of_mm(a.g, a.self, a.mat2))
_add("addmm", "AddmmBackward0", self=lambda a: _maybe(a.g, a.beta), mat1=lambda a: _maybe(_first_of_mm(a.g, a.mat1, a.mat2), a.alpha),
     mat2=lambda a: _maybe(_second_of_mm(a.g, a.mat1, a.mat2), a.alpha))
_add("bmm", "BmmBackward0", self=lambda a: do("bmm", a.g, do("transpose.int", a.mat2, 1, 2)),
     mat2=lambda a: do("bmm", do("transpose.int", a.self, 1, 2), a.g))
_add("baddbmm", "BaddbmmBackward0", self=lambda a: _maybe(a.g, a.beta),
     batch1=lambda a: _maybe(do("bmm", a.g, do("transpose.int", a.batch2, 1, 2)), a.alpha),
     batch2=lambda a: _maybe(do("bmm", do("transpose.int", a.batch1, 1, 2), a.g), a.alpha))
_add("mv", "MvBackward0", self=lambda a: do("mul.Tensor", do("unsqueeze", a.g, 1), do("unsqueeze", a.vec, 0)),
     vec=lambda a: do("mv", do("t", a.self), a.g))
_add("dot", "DotBackward0", self=lambda a: _times(a.tensor, a.g), tensor=lambda a: _times(a.self, a.g))
_add("t", "TBackward0", self=lambda a: do("t", a.g))
_add("transpose.int", "TransposeBackward0", self=lambda a: do("transpose.int", a.g, a.dim0, a.dim1))
_add("permute", "PermuteBackward0", self=lambda a: do("permute", a.g, sorted(range(len(a.dims)), key=lambda k: a.dims[k] % len(a.dims))))
_add("view", "ViewBackward0", self=lambda a: _reshaped(a.g, a.self.shape))
_add("_unsafe_view", "UnsafeViewBackward0", self=lambda a: _reshaped(a.g, a.self.shape))
_add("expand", "ExpandBackward0", self=lambda a: _summed_to(a.g, a.self.shape))
_add("unsqueeze", "UnsqueezeBackward0", self=lambda a: do("squeeze.dim", a.g, a.dim))
_add("squeeze", "SqueezeBackward0", self=lambda a: _squeezed_back(a, range(a.self.ndim)))
_add("squeeze.dim squeeze.dims", "SqueezeBackward1", self=lambda a: _squeezed_back(a, a.dim if isinstance(a.dim, list) else [a.dim]))
_add("select.int", "SelectBackward0", self=lambda a: do("select_backward", a.g, list(a.self.shape), a.dim, a.index))
_add("slice.Tensor", "SliceBackward0", self=_sliced)
_add("diagonal", "DiagonalBackward0", self=lambda a: do("diagonal_backward", a.g, list(a.self.shape), a.offset, a.dim1, a.dim2))
_add("index.Tensor", "IndexBackward0", self=_at_indices)
_add("gather", "GatherBackward0", self=lambda a: do("scatter_add", do("new_zeros", a.g, list(a.self.shape)), a.dim, a.index, a.g))
_add("index_select", "IndexSelectBackward0",
     self=lambda a: do("index_add", do("new_zeros", a.g, list(a.self.shape), dtype=a.g.dtype, layout=a.g.layout, device=a.g.device),
                       a.dim, a.index, a.g))
_add("cat", "CatBackward0", tensors=_cut)
_add("stack", "StackBackward0", tensors=lambda a: [do("select.int", a.g, a.dim, k) for k in range(len(a.tensors))])
_add("split.Tensor", "SplitBackward0", self=_split_back)
_add("unsafe_split.Tensor", "UnsafeSplitBackward0", self=_split_back)
_add("split_with_sizes", "SplitWithSizesBackward0", self=lambda a: do("cat", _missing_filled(a, _split_shapes(a, a.split_sizes)), a.dim))
_add("unbind.int", "UnbindBackward0", self=_unbound)
_add("flip", "FlipBackward0", self=lambda a: do("flip", a.g, a.dims))
_add("tril", "TrilBackward0", self=lambda a: do("tril", a.g, a.diagonal))
_add("triu", "TriuBackward0", self=lambda a: do("triu", a.g, a.diagonal))
_add("clone", "CloneBackward0", self=lambda a: a.g)
_add("alias", "AliasBackward0", self=lambda a: a.g)
_add("_to_copy", "ToCopyBackward0", self=lambda a: _like(a, a.self))
_add("copy copy_", "CopyBackwards", self=lambda a: do("zeros_like", a.g), src=lambda a: a.g)
_add("fill.Scalar", "FillBackward0", self=lambda a: do("zeros_like", a.g))
_add("constant_pad_nd", "ConstantPadNdBackward0", self=lambda a: do("constant_pad_nd", a.g, [-n for n in a.pad], 0))
_add("native_layer_norm", "NativeLayerNormBackward0", _layer_norm, only=(0,))
_add("native_batch_norm", "NativeBatchNormBackward0", _batch_norm, only=(0,))
_add("_softmax", "SoftmaxBackward0", self=lambda a: do("_softmax_backward_data", a.g, a.y, a.dim, a.self.dtype))
_add("_log_softmax", "LogSoftmaxBackward0", self=lambda a: do("_log_softmax_backward_data", a.g, a.y, a.dim, a.self.dtype))
_add("nll_loss_forward", "NllLossBackward0", only=(0,), self=lambda a: do("nll_loss_backward", a.g, a.self, a.target, a.weight, a.reduction,
                                                                          a.ignore_index, a.results[1]))
_add("mse_loss", "MseLossBackward0", self=lambda a: do("mse_loss_backward", a.g, a.self, a.target, a.reduction),
     target=lambda a: do("mse_loss_backward", a.g, a.target, a.self, a.reduction))
_add("smooth_l1_loss", "SmoothL1LossBackward0",
     self=lambda a: do("smooth_l1_loss_backward", a.g, a.self, a.target, a.reduction, a.beta))
_add("huber_loss", "HuberLossBackward0", self=lambda a: do("huber_loss_backward", a.g, a.self, a.target, a.reduction, a.delta))
_add("binary_cross_entropy", "BinaryCrossEntropyBackward0",
     self=lambda a: do("binary_cross_entropy_backward", a.g, a.self, a.target, a.weight, a.reduction))
_add("embedding", "EmbeddingBackward0",
     weight=lambda a: do("embedding_dense_backward", a.g, a.indices, a.weight.shape[0], a.padding_idx, a.scale_grad_by_freq))
_add("convolution", "ConvolutionBackward0", _convolution)
_add("max_pool2d_with_indices", "MaxPool2DWithIndicesBackward0", only=(0,), self=_pooled)
_add("avg_pool2d", "AvgPool2DBackward0", self=lambda a: do("avg_pool2d_backward", a.g, a.self, a.kernel_size, a.stride, a.padding,
                                                           a.ceil_mode,
                                                           a.count_include_pad, a.divisor_override))
_add("_adaptive_avg_pool2d", "AdaptiveAvgPool2DBackward0", self=lambda a: do("_adaptive_avg_pool2d_backward", a.g, a.self))
_add("_scaled_dot_product_flash_attention_for_cpu", "ScaledDotProductFlashAttentionForCpuBackward0", _flash, only=(0,))
FORMULAS["_scaled_dot_product_flash_attention_for_cpu"].first = (0,)
