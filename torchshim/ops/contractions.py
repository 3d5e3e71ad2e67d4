"""Contractions: tensordot, Kronecker products, chains of matrices, einsum."""
from __future__ import annotations

import math
import string

import jax.numpy as jnp
import numpy as np

from ..engine import meta_of
from . import promotion as P
from .common import wrap_dims
from .layout import elementwise_strides
from .products import precision, product, refuse_bool
from .casts import cast
from .registry import op, shown
from .views import view_strides


def _as_matrices(inst):
    """What torch multiplies are views where the dimensions that are summed up are one's last and the other's first."""
    (a, b), (dims, others) = inst.in_metas, [[d % m.ndim for d in dims] for m, dims in zip(inst.in_metas, inst.layout[2:])]
    n = len(dims)
    common = math.prod(a.shape[a.ndim - n:])
    seen = {0: (math.prod(a.shape[:a.ndim - n]), common)} if a.contiguous and dims == [*range(a.ndim - n, a.ndim)] else {}
    return {**seen, 1: (common, math.prod(b.shape[n:]))} if b.contiguous and others == [*range(n)] else seen


@op("tensordot.dims(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", grad="ViewBackward0", seen=_as_matrices,
    factors=("self", "other"))
def tensordot(self, other, dims_self, dims_other):
    """Sum of products over pairs of dimensions."""
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    if self.dtype != other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    a, b = (wrap_dims(d, x.ndim) if d else () for d, x in ((dims_self, self), (dims_other, other)))
    for i, j, d, e in zip(a, b, dims_self, dims_other):
        n, m = self.shape[i], other.shape[j]
        if n != m and 1 not in (n, m):
            raise RuntimeError(f"contracted dimensions need to match, but first has size {n} in dim {d} and second has size {m} in dim {e}")
        if m == 1 and n != 1:
            self = jnp.sum(self, i, keepdims=True, dtype=self.dtype)
        elif n == 1 and m != 1:
            other = jnp.sum(other, j, keepdims=True, dtype=other.dtype)
    refuse_bool(self, *(("dot",) if len(a) == self.ndim == other.ndim else ("addmm_impl_cpu_", *self.shape, *other.shape)))
    return jnp.tensordot(self, other, (a, b), precision=precision())


def _kron_strides(inst, self, other):
    """torch multiplies views in which dimensions of one alternate with those of the other, and sees the product as the result."""
    n = max(self.ndim, other.ndim)
    a, b = [(1,) * (n - m.ndim) + m.shape for m in (self, other)]
    shapes = tuple([k for s in a for k in (s, 1)]), tuple([k for s in b for k in (1, s)])
    seen = [meta_of(shape, m.dtype, m.device, view_strides(m, shape)) for m, shape in zip((self, other), shapes)]
    wide = tuple([s * t for s, t in zip(*shapes)])
    strides = view_strides(meta_of(wide, self.dtype, self.device, elementwise_strides(seen, wide)), inst.out_metas[0].shape)
    if strides is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                           "contiguous subspaces). Use .reshape(...) instead.")
    return strides


@op("kron(Tensor self, Tensor other) -> Tensor", grad="UnsafeViewBackward0", promote="arith", elementwise=False, strides=_kron_strides,
    bare=(0, 1))
def kron(self, other):
    """Kronecker product."""
    n = max(self.ndim, other.ndim)
    a = (1,) * (n - self.ndim) + self.shape
    b = (1,) * (n - other.ndim) + other.shape
    x = self.reshape([k for s in a for k in (s, 1)])
    y = other.reshape([k for s in b for k in (1, s)])
    return (x & y if x.dtype == np.bool_ else x * y).reshape([s * t for s, t in zip(a, b)])


kron.common_dtype = lambda layout, metas: P.promote(metas[0].dtype, metas[1].dtype)        # both have as many dimensions in the end


def _order(sizes):
    """The cheapest tree of products of matrices, of which k has sizes[k] rows and sizes[k + 1] columns: nested pairs of numbers."""
    n = len(sizes) - 1
    if n == 3:                                 # of equal costs torch prefers the left of three, else the first
        a, b, c, d = sizes
        return (0, (1, 2)) if a * c * (b + d) > b * d * (a + c) else ((0, 1), 2)
    best = {(i, i): (0, i) for i in range(n)}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            costs = [best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            k = i + costs.index(min(costs))
            best[i, j] = min(costs), (best[i, k][1], best[k + 1, j][1])
    return best[0, n - 1][1]


def _within(tree):
    return {tree} if tree.__class__ is int else _within(tree[0]) | _within(tree[1])


def _products_alone(inst, wrt):
    """A matrix is kept where what it is multiplied with wants a gradient; of those in products there is what they gave."""
    shapes = [m.shape for m in inst.in_metas]
    sizes, kept = [s[-2] if len(s) == 2 else 1 for s in shapes] + [shapes[-1][-1] if len(shapes[-1]) == 2 else 1], set()
    stack = [_order(sizes)]
    while stack:
        pair = stack.pop()
        for one, other in (pair, pair[::-1]):
            if one.__class__ is not int:
                stack.append(one)
            elif not _within(other).isdisjoint(wrt):
                kept.add(one)
    return tuple([i for i in range(len(shapes)) if i not in kept])


@op("linalg_multi_dot(Tensor[] tensors) -> Tensor", grad="ViewBackward0", namespace="linalg", method=False, copied=_products_alone)
def multi_dot(tensors):
    """Product of several matrices in the cheapest order; the first and last may be vectors."""
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    for which, x in (("first", tensors[0]), ("last", tensors[-1])):
        if x.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {x.ndim}D")
    for i, x in enumerate(tensors[1:-1], 1):
        if x.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {x.ndim}D")
    for i, x in enumerate(tensors):
        if x.dtype != tensors[0].dtype:
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {P.cpp_name(tensors[0].dtype)} and "
                               f"tensor {i} {P.cpp_name(x.dtype)}")
    for i in range(n - 1):
        a, b = tensors[i], tensors[i + 1]
        if a.shape[-1] != b.shape[0]:
            raise RuntimeError(f"multi_dot(): tensors {i} and {i + 1} with shapes {shown(a.shape)} and {shown(b.shape)} cannot be "
                               "multiplied")
    refuse_bool(tensors[0], "addmm_impl_cpu_", *[s for x in tensors for s in x.shape])
    if n == 2:
        return product(*tensors)
    return jnp.linalg.multi_dot(tensors, precision=precision())


LABELS = string.ascii_uppercase + string.ascii_lowercase


def parsed(equation, shapes):
    """(labels of each operand, labels of the result) with '.' for the ellipsis; torch's errors."""
    left, arrow, right = equation.partition("->")
    position, inputs = 0, []
    for k, part in enumerate(left.split(",")):
        text = ""
        i = 0
        while i < len(part):
            c = part[i]
            if c == ".":
                if part[i:i + 3] != "..." or "." in text:
                    why = "more than once" if part[i:i + 3] == "..." else ""
                    raise RuntimeError(f"einsum(): found '.' for operand {k} " + ("for which an ellipsis was already found" if why else
                                                                                "that is not part of any ellipsis"))
                text += "."
                i += 3
                continue
            if c != " ":
                if c not in LABELS:
                    raise RuntimeError(f"einsum(): invalid subscript given at index {position + i} in the equation string, subscripts must "
                                       "be in [a-zA-Z]")
                text += c
            i += 1
        inputs.append(text)
        position += len(part) + 1
    if len(inputs) > len(shapes):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(inputs) < len(shapes):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    _check_sizes(inputs, shapes)
    every = "".join(inputs)
    if not arrow:
        return inputs, ("." if "." in every else "") + "".join(sorted(c for c in set(every) if c != "." and every.count(c) == 1))
    out = right.replace(" ", "").replace("...", "\0")
    if "." in out:
        raise RuntimeError("einsum(): found '.' for output that is not part of any ellipsis (...)")
    out = out.replace("\0", ".")
    for c in out:
        if c == ".":
            continue
        if c not in LABELS:
            raise RuntimeError(f"einsum(): invalid subscript given at index {len(left) + 2 + right.index(c)} in the equation string, "
                               "subscripts must be in [a-zA-Z]")
        if out.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
        if c not in every:
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")
    return inputs, out


def _check_sizes(inputs, shapes):
    seen = {}
    for k, (text, shape) in enumerate(zip(inputs, shapes)):
        named = len(text.replace(".", ""))
        if "." not in text and named != len(shape):
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
                               f"({len(shape)}) for operand {k} and no ellipsis was given")
        if named > len(shape):
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions "
                               f"({len(shape)}) for operand {k}")
        before = text.index(".") if "." in text else len(text)
        covered = len(shape) - named
        labels = list(text[:before]) + [None] * covered + list(text[before + 1:])
        here = {}
        for at, (c, n) in enumerate(zip(labels, shape)):
            if c is None:
                c = before + covered - at      # counted from the last dimension that an ellipsis covers
                if seen.get(c, 1) == 1:
                    seen[c] = n
                elif n not in (1, seen[c]):
                    raise RuntimeError(f"einsum(): dimension {at} covered by ellipsis in operand {k}has size {n} which does not broadcast "
                                       f"with previously seen ellipsis with size {seen[c]} for the respective dimension")
                continue
            if here.setdefault(c, n) != n:
                raise RuntimeError(f"einsum(): subscript {c} is repeated for operand {k} but the sizes don't match, {n} != {here[c]}")
            if seen.get(c, 1) == 1:
                seen[c] = n
            elif n not in (1, seen[c]):
                raise RuntimeError(f"einsum(): subscript {c} has size {n} for operand {k} which does not broadcast with previously seen "
                                   f"size {seen[c]}")


def _einsum_name(inst):
    inputs, out = parsed(inst.layout[0], [m.shape for m in inst.in_metas])
    if len(inputs) == 1:
        return "SumBackward1"
    summed = set("".join(inputs)) - set(out) - {"."}
    return "ViewBackward0" if summed else "MulBackward0"


def _einsum_dtype(inputs, out, tensors):
    """The dtype of what torch computes operand by operand: `bmm` where a dimension of both is summed, else `sum` of each, and `mul`."""
    first = tensors[0].dtype
    if P.kind_of(first) >= 2 and all([x.dtype == first for x in tensors]):
        return first
    last = {c: k for k, text in enumerate(inputs) for c in text}
    sizes = [_label_sizes(text, x.shape) for text, x in zip(inputs, tensors)]
    made, so_far = tensors[0].dtype, dict(sizes[0])
    if any([c not in out and last[c] == 0 and n != 1 for c, n in so_far.items()]):
        made = _summed_dtype(made)
    for k, x in enumerate(tensors[1:], 1):
        ends = [(so_far.get(c, 1), sizes[k].get(c, 1)) for c in last if c not in out and last[c] == k]
        if any([a != 1 and b != 1 for a, b in ends]):
            if made == np.bool_ and all([all(x.shape) for x in tensors]):       # of nothing no product is asked for
                raise NotImplementedError("\"bmm\" not implemented for 'Bool'")
            mine = _summed_dtype(x.dtype) if any([b != 1 == a for a, b in ends]) else x.dtype
            made = _summed_dtype(made) if any([a != 1 == b for a, b in ends]) else made
            if mine != made:
                raise RuntimeError(f"expected scalar type {P.c_name(made)} but found {P.c_name(mine)}")
        else:
            made = P.promote(_summed_dtype(made) if any([a != 1 for a, b in ends]) else made,
                             _summed_dtype(x.dtype) if any([b != 1 for a, b in ends]) else x.dtype)
        for c, n in sizes[k].items():
            so_far[c] = max(so_far.get(c, 1), n) if n else 0
    return made


def _label_sizes(text, shape):
    """{label: size} of an operand; of the dimensions behind the ellipsis, how many elements they hold."""
    if "." not in text:
        return dict(zip(text, shape))
    before = text.index(".")
    more = len(shape) - len(text) + 1
    return {**dict(zip(text, shape[:before])), ".": math.prod(shape[before:before + more]),
            **dict(zip(text[before + 1:], shape[before + more:]))}


def _summed_dtype(dtype):
    return P.int64 if P.kind_of(dtype) < 2 else dtype


def _einsum_seen(inst):
    """Products without a sum are made of operands with all dimensions."""
    inputs, out = parsed(inst.layout[0], [m.shape for m in inst.in_metas])
    if len(inputs) == 2 and "." not in "".join(inputs) and set("".join(inputs)) != set(out):
        return _as_stacks(inputs, out, inst.in_metas)
    if len(inputs) == 1 or set("".join(inputs)) != set(out) or "." in out:
        return {}
    return {k: tuple([m.shape[labels.index(c)] if c in labels else 1 for c in out])
            for k, (labels, m) in enumerate(zip(inputs, inst.in_metas))}


def _as_stacks(inputs, out, metas):
    """The shapes of two operands as stacks of matrices, of which torch multiplies views where labels that go together lie together."""
    one, other = inputs
    if any([len({*labels}) < len(labels) for labels in inputs]) or {*one} ^ {*other} > {*out}:
        return {}
    alike = [c for c in one if c in other and c in out]
    summed, made = [c for c in one if c in other and c not in out], {}
    for k, (labels, m) in enumerate(zip(inputs, metas)):
        alone = [c for c in labels if c in out and c not in alike]
        groups = (alike, alone, summed) if k == 0 else (alike, summed, alone)
        if m.contiguous and all([labels.find("".join(g)) >= 0 for g in groups]) and len("".join(map("".join, groups))) == len(labels):
            made[k] = tuple([math.prod([m.shape[labels.index(c)] for c in g]) for g in groups])
    return made


def _pairs_alone(inst, wrt):
    """Several are multiplied from the left on: each is kept where one before it wants a gradient, the first where the second one does."""
    n = len(inst.in_metas)
    return tuple([i for i in range(n) if not {1 if i == 0 else k for k in range(max(i, 1))} & {*wrt}]) if n > 2 else ()


@op("einsum.parsed(str equation, Tensor[] tensors) -> Tensor", plain_gradients=True, grad=_einsum_name, seen=_einsum_seen, composed=True,
    copied=_pairs_alone, saved_as=lambda inst: ("self", *["other"] * (len(inst.in_metas) - 1)),
    factors=("tensors",))
def einsum(equation, tensors):
    """Einstein's summation."""
    inputs, out = parsed(equation, [x.shape for x in tensors])
    made = _einsum_dtype(inputs, out, tensors)
    tensors = [cast(x, made) for x in tensors]
    text = ",".join(inputs) + "->" + out
    return jnp.einsum(text.replace(".", "..."), *tensors, precision=precision(), optimize="optimal" if len(tensors) < 5 else "auto")
