"""Products of vectors and matrices: matmul and its relatives, linear layers. `contractions` has those over several dimensions.

float32 products keep full precision on every device unless `set_float32_matmul_precision` allows less; so do those of attention and of
recurrent layers.
"""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import meta_of
from . import promotion as P
from .common import at_once, size_at, wide
from .layout import broadcast_shapes
from .casts import cast
from .registry import SB, SF, common_of, op, shown

_PRECISIONS = {"highest": jax.lax.Precision.HIGHEST, "high": jax.lax.Precision.HIGH, "medium": jax.lax.Precision.DEFAULT}


def precision():
    """What set_float32_matmul_precision allows."""
    return _PRECISIONS[P.matmul_precision]


# -- what does not fit ------------------------------------------------------------------------------------------------------
def same_dtype(a, b):
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {P.cpp_name(a.dtype)} != "
                           f"{P.cpp_name(b.dtype)}")


def refuse_bool(a, kernel, *sizes):
    """`sizes`: those of the product; where one is 0 the kernel is not asked."""
    if a.dtype == np.bool_ and 0 not in sizes:
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def refuse_bool_alone(added, common, *sizes):
    """torch's error where a product of nothing (`common` is 0) is added to bools: they are multiplied by the number 1."""
    if added.dtype == np.bool_ and not common and 0 not in sizes:
        raise RuntimeError("result type Long can't be cast to the desired output type Bool")


def _no_product(a, b):
    return RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")


def same_matrices(a, b):
    if a.dtype != b.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {P.c_name(a.dtype)} and {P.c_name(b.dtype)}")


def fits_mm(a, b, rows=None):
    """Two matrices; `rows`: the left one's rows after folding its leading dimensions."""
    rows = a.shape[0] if rows is None else rows
    if a.shape[-1] != b.shape[0]:
        raise _no_product((rows, a.shape[-1]), b.shape)
    same_dtype(a, b)
    refuse_bool(a, "addmm_impl_cpu_", rows, a.shape[-1], b.shape[1])


def fits_mv(mat_shape, mat, vec, size=None):
    rows, columns = mat_shape
    if columns != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({rows if size is None else size}), mat ({rows}x{columns}), vec ({vec.shape[0]})")
    if mat.dtype != vec.dtype:
        name = P.c_name(vec.dtype)
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {name}, {P.c_name(mat.dtype)}, and {name}")
    refuse_bool(mat, "addmv_impl_cpu", *mat.shape)


def misfit(text, name, a, b, *expected):
    """An error of operands with other numbers of dimensions than these, which vmap tells in words of its own (`of_batch`)."""
    error = RuntimeError(text)
    error.of_batch = "Got wrong shapes for dot" if name == "dot" else (
        f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {a.ndim}and b has dim {b.ndim}but expected them to have dim "
        f"{expected[0]} and dim {expected[1]}")
    return error


def fits_dot(a, b):
    if a.ndim != 1 or b.ndim != 1:
        raise misfit(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors", "dot", a, b)
    if a.dtype != b.dtype:
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {P.c_name(a.dtype)} and {P.c_name(b.dtype)}")
    if a.shape != b.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{a.shape[0]}] and src [{b.shape[0]}] to have the same number of "
                           f"elements, but got {a.shape[0]} and {b.shape[0]} elements respectively")
    refuse_bool(a, "dot")


def fits_bmm(batch, a, b, kernel="bmm"):
    if a.shape[-1] != b.shape[-2] or b.shape[:-2] != a.shape[:-2] and len(b.shape) == 3 == len(a.shape):
        want = [batch, a.shape[-1]]
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: {want} but got: "
                           f"{[batch if len(b.shape) != 3 else b.shape[0], b.shape[-2]]}.")
    if a.dtype != b.dtype:
        if kernel == "bmm" and a.dtype == np.bool_:
            raise NotImplementedError("\"bmm\" not implemented for 'Bool'")
        raise RuntimeError(f"expected scalar type {P.c_name(a.dtype)} but found {P.c_name(b.dtype)}")
    refuse_bool(a, kernel, batch, *a.shape, *b.shape)


def stacks(batch1, batch2):
    for name, x in (("batch1", batch1), ("batch2", batch2)):
        if x.ndim != 3:
            raise misfit(f"{name} must be a 3D tensor", "bmm", batch1, batch2, 3, 3)


def stacks_added(self, batch1, batch2, dims):
    """`stacks` where `self` is added to the product, which has so many dimensions: it is asked first whether that expands."""
    expandable(self.shape, tuple([size_at(x, d) for x, d in ((batch1, 0), (batch1, 1), (batch2, 2))[3 - dims:]]), self.dtype)
    if dims == 3 and self.dtype != batch1.dtype:
        raise RuntimeError(f"Input dtypes must be the same, got: input {P.cpp_name(self.dtype)}, batch1: {P.cpp_name(batch1.dtype)}, "
                           f"batch2: {P.cpp_name(batch2.dtype)}")
    stacks(batch1, batch2)


def expandable(shape, target, dtype=None):
    """torch's errors where a tensor does not expand to a shape."""
    if len(shape) > len(target):
        raise RuntimeError(f"expand({P.type_name(dtype)}{{{shown(shape)}}}, size={shown(target)}): the number of sizes provided "
                           f"({len(target)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    for i, (n, t) in enumerate(zip(reversed(shape), reversed(target))):
        if n != t and n != 1:
            raise RuntimeError(f"The expanded size of the tensor ({t}) must match the existing size ({n}) at non-singleton dimension "
                               f"{len(target) - 1 - i}.  Target sizes: {shown(target)}.  Tensor sizes: {shown(shape)}")


def product(a, b, out=None):
    """a @ b; out: the dtype of the result where it is not the operands'."""
    return jnp.matmul(a, b, precision=precision(), preferred_element_type=out)


# -- matmul -------------------------------------------------------------------------------------------------------------------
def _matmul_name(inst):
    """What torch's decomposition ends with."""
    a, b = (m.ndim for m in inst.in_metas[:2])
    if a == 1 and b == 1:
        return "DotBackward0"
    if a == 2 and b <= 2:
        return "MmBackward0" if b == 2 else "MvBackward0"
    return "SqueezeBackward4" if a == 1 and b == 2 else "UnsafeViewBackward0"


def _matmul_back(inst, needs):
    """Likewise what its gradients end with."""
    own, first = inst.grad_fn_name, needs[0]
    if own == "UnsafeViewBackward0":
        return "MmBackward0" if inst.in_metas[first].ndim == 2 else "ViewBackward0"
    return own if own == "MmBackward0" or own == "MvBackward0" and first else "MulBackward0"


def _turned(inst, needs):
    """One matrix with a batch of its own that wants a gradient, times a stack: torch multiplies the transposed ones,
    and turns the result."""
    a, b = inst.in_metas
    if 0 in needs and a.ndim == 3 == b.ndim and a.shape[0] == 1 != b.shape[0]:
        return "TransposeBackward0" if 1 in (a.shape[1], b.shape[2]) else "CloneBackward0"
    return None


def fits_matmul(a, b):
    if not a.ndim or not b.ndim:
        raise at_once(RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D"))
    if a.ndim == 1 and b.ndim == 1:
        return fits_dot(a, b)
    if a.ndim >= 2 and b.ndim == 1:
        return fits_mv((math.prod(a.shape[:-1]), a.shape[-1]), a, b)
    if b.ndim == 2:
        return fits_mm(a, b, math.prod(a.shape[:-1]))
    if a.ndim == 1:
        return fits_mv((math.prod(b.shape[:-2]) * b.shape[-1], b.shape[-2]), b, a)
    batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
    expand = lambda x: jax.ShapeDtypeStruct((math.prod(batch),) + x.shape[-2:], x.dtype)
    fits_bmm(math.prod(batch), expand(a), expand(b))


def _folded(inst):
    """Stacks of matrices times one matrix, or one vector, are one large matrix to torch, and a vector times a matrix has a row. Stacks
    times stacks have one dimension of matrices, or are copies that have their common dimensions."""
    a, b = inst.in_metas[:2]
    if a.ndim > 2 and b.ndim > 2:
        batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
        if a.ndim == 3 == b.ndim and a.shape[0] == 1 != b.shape[0]:    # turned, so that the stack is a copy
            return {0: None, 1: None}
        return {k: (math.prod(batch), *m.shape[-2:]) if m.shape[:-2] == batch and leading_is_one(m, 2) else None
                for k, m in enumerate((a, b))}
    if a.ndim == 1 and b.ndim == 2:
        return {0: (1, *a.shape)}
    return {0: (math.prod(a.shape[:-1]), a.shape[-1]) if leading_is_one(a) else None} if a.ndim > 2 and b.ndim in (1, 2) else {}


def leading_is_one(m, last=1):
    """Whether the dimensions of a stack before the `last` ones are one in memory."""
    return all([m.strides[k] == m.strides[k + 1] * m.shape[k + 1] for k in range(m.ndim - last - 1)])


def _factors(inst):
    """What the kernel of a matrix product calls its operands."""
    a, b = inst.in_metas[:2]
    return (("self", "tensor" if a.ndim == 1 else "vec") if b.ndim == 1 else ("self", "mat2") if a.ndim > 1 or b.ndim == 2
            else ("vec", "self"))


def _layer_seen(inst):
    """The weight is transposed first, whether that is seen or not."""
    return {**_folded(inst), 1: inst.in_metas[1].shape[::-1]}


def _layer_factors(inst):
    x, weight = inst.in_metas[:2]
    if len(inst.in_metas) > 2 and weight.ndim == 2 and (x.ndim == 2 or x.contiguous):
        return "mat1", "mat2", "self"
    return (*_factors(inst), "other")[:len(inst.in_metas)]


def _fold_words(metas, wanted):
    """Whether torch makes one matrix of a stack depends on strides and on who wants a gradient, and on that how it refuses a product."""
    a, b = metas
    if not a.ndim or not b.ndim or a.shape[-1] == b.shape[max(b.ndim - 2, 0)]:
        return None
    if a.ndim == 3 == b.ndim and b.shape[0] == 1 != a.shape[0] and wanted[1]:
        return _no_product((a.shape[0] * a.shape[1], a.shape[2]), b.shape[1:])
    if a.ndim == 3 == b.ndim and a.shape[0] == 1 != b.shape[0] and wanted[0]:
        return _no_product((b.shape[0] * b.shape[2], b.shape[1]), a.shape[:0:-1])
    folds = all([a.strides[d] == a.strides[d + 1] * a.shape[d + 1] for d in range(a.ndim - 2)])
    if a.ndim > 2 >= b.ndim and not wanted[1] and a.numel and not folds:
        batch = math.prod(a.shape[:-2])
        return RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: {[batch, a.shape[-1]]} but got: "
                            f"{[batch, b.shape[max(b.ndim - 2, 0)]]}.")
    return None


def _layer_words(metas, wanted):
    """Likewise of a layer, which multiplies with its turned weight, and adds the bias to the product where that takes no kernel for both."""
    x, weight, *bias = metas
    if bias and (x.ndim == 2 or one_matrix(x, bias[0])):
        return None
    return _fold_words((x, meta_of(weight.shape[::-1], weight.dtype, weight.device)), wanted)


@op("matmul(Tensor self, Tensor other) -> Tensor", grad=_matmul_name, grad_back=_matmul_back, aliases=("linalg.matmul",), seen=_folded,
    in_steps=True, saved_as=_factors, words=_fold_words, grad_for=_turned, factors=("self", "other"))
def matmul(self, other):
    """Matrix product of the last two dimensions; the others broadcast."""
    fits_matmul(self, other)
    return product(self, other)


@op("mm(Tensor self, Tensor mat2) -> Tensor", grad="MmBackward0", grad_back="Mm", factors=("self", "mat2"))
def mm(self, mat2):
    """Product of two matrices."""
    if self.ndim != 2:
        raise misfit("self must be a matrix", "mm", self, mat2, 2, 2)
    if mat2.ndim != 2:
        raise misfit("mat2 must be a matrix", "mm", self, mat2, 2, 2)
    fits_mm(self, mat2)
    return product(self, mat2)


@op("bmm(Tensor self, Tensor mat2) -> Tensor", grad="BmmBackward0", plain_gradients=True, factors=("self", "mat2"))
def bmm(self, mat2):
    """Products of two stacks of matrices."""
    stacks(self, mat2)
    fits_bmm(self.shape[0], self, mat2)
    return product(self, mat2)


@op("mv(Tensor self, Tensor vec) -> Tensor", grad="MvBackward0", plain_gradients=True, factors=("self", "vec"))
def mv(self, vec):
    """Product of a matrix and a vector."""
    if self.ndim != 2 or vec.ndim != 1:
        if not self.ndim:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        raise misfit(f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}", "mv", self, vec, 2, 1)
    fits_mv(self.shape, self, vec)
    return product(self, vec)


@op("dot(Tensor self, Tensor tensor) -> Tensor", grad="DotBackward0", factors=("self", "tensor"))
def dot(self, tensor):
    """Inner product of two vectors."""
    fits_dot(self, tensor)
    return product(self, tensor)


@op("vdot(Tensor self, Tensor other) -> Tensor", grad="VdotBackward0", factors=("self", "other"))
def vdot(self, other):
    """Inner product of two vectors, the first one conjugated."""
    fits_dot(self, other)
    return product(jnp.conj(self), other)


def _inner_seen(inst):
    """The matrices, or the vectors, as which torch sees what it multiplies."""
    a, b = inst.in_metas
    if not a.ndim or not b.ndim:
        return {}
    rows = [(math.prod(m.shape[:-1]), m.shape[-1]) for m in (a, b)]
    shapes = [(n,) for _, n in rows] if _of_vectors(a, b) else [rows[0], rows[1][::-1]]
    seen = {k: s for k, (m, s) in enumerate(zip((a, b), shapes)) if m.ndim < 3 or m.contiguous}
    return {**seen, 0: None} if b.shape[-1] == 1 else seen             # what a dimension of one element meets is summed: a copy


def _of_vectors(a, b):
    return math.prod(a.shape[:-1]) == 1 == math.prod(b.shape[:-1])


@op("inner.matrix(Tensor self, Tensor other) -> Tensor",
    grad=lambda inst: ("MulBackward0" if () in [m.shape for m in inst.in_metas] else "DotBackward0" if _of_vectors(*inst.in_metas)
                       else "MmBackward0"), seen=_inner_seen,
    saved_as=lambda inst: ("self", "other" if () in [m.shape for m in inst.in_metas] else "tensor" if _of_vectors(*inst.in_metas) else
                           "mat2"), factors=("self", "other"))
def inner(self, other):
    """Sum of products over the last dimension of both, as a matrix of the dimensions of one by those of the other, or one number where there
    is one of each; with a number, the product."""
    if not self.ndim or not other.ndim:
        d = P.result_type([x.dtype for x in (self, other) if x.ndim], [x.dtype for x in (self, other) if not x.ndim], ())
        return self.astype(d) * other.astype(d)
    if self.shape[-1] != other.shape[-1]:
        raise at_once(RuntimeError("inner() the last dimension must match on both input tensors but got shapes "
                                   f"{shown(self.shape)} and {shown(other.shape)}"))
    if self.dtype != other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    refuse_bool(self, *(("dot",) if _of_vectors(self, other) else ("addmm_impl_cpu_", *self.shape, *other.shape)))
    made = jnp.tensordot(self, other, ((self.ndim - 1,), (other.ndim - 1,)), precision=precision())
    return made.reshape(() if _of_vectors(self, other) else (math.prod(self.shape[:-1]), math.prod(other.shape[:-1])))


def vector(name, x, of):
    if x.ndim != 1:
        raise RuntimeError(f"{of}: Expected 1-D argument {name}, but got {x.ndim}-D")


# -- products added to something ----------------------------------------------------------------------------------------------
def added(self, a, b, beta, alpha, total=None, stacked=False):
    """beta * self + alpha * a @ b, for half types in float32 and rounded once, as torch's kernels make it. The tangents, and so the
    gradients, are those of torch's formulas, whose steps are each rounded: a product's gradient is scaled by alpha, not what it is of.
    `total` makes the sum in place of `blended`; `stacked`: of the products of two stacks of matrices."""
    half = P.compute_dtype(self.dtype) != self.dtype
    refuse_bool_alone(self, a.shape[-1], *a.shape[:-1], b.shape[-1])
    if not half and alpha.__class__ is int:
        return blended(self, product(a, b), beta, alpha)
    numbers = [x for x in (beta, alpha) if x.__class__ is not int]

    def scales(numbers):
        given = iter(numbers)
        return [x if x.__class__ is int else next(given) for x in (beta, alpha)]

    @jax.custom_jvp
    def whole(self, a, b, *numbers):
        return (total or blended)(self, product(a, b, jnp.float32 if half else None), *scales(numbers)).astype(self.dtype)

    @whole.defjvp
    def tangent(primals, tangents):
        (_, a, b, *numbers), (self_t, a_t, b_t, *_) = primals, tangents
        beta, alpha = scales(numbers)
        if alpha.__class__ is not int:
            a_t, b_t = [(wide(t) * cast(alpha, wide(t).dtype)).astype(t.dtype) for t in (a_t, b_t)]
        made = product(a_t, b) + product(a, b_t)
        return whole(*primals), blended(self_t, made.sum(0) if stacked else made, beta, 1)
    return whole(self, a, b, *numbers)


def blended(self, made, beta, alpha):
    """beta * self + alpha * made; a beta of 0 leaves self out, nan and all. The default 1 comes as the static number."""
    if not jnp.iscomplexobj(made) and (jnp.iscomplexobj(alpha) or jnp.iscomplexobj(beta)):
        raise RuntimeError(f"value cannot be converted to type {P.cpp_name(made.dtype)} without overflow")
    d = made.dtype
    made, self = wide(made), jnp.broadcast_to(wide(self), made.shape)
    if alpha.__class__ is not int:
        made = made * cast(alpha, made.dtype)
    if beta.__class__ is not int:
        b = cast(beta, self.dtype)
        self = jnp.where(b == 0, jnp.zeros_like(self), self * b)
    return (self + made).astype(d)


def same_as_self(self, other):
    if self.dtype != other.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {P.c_name(self.dtype)} and {P.c_name(other.dtype)}")


@op("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    passing=lambda inst: ("self",) if inst.layout[3].__class__ is int else (), grad="AddmmBackward0", inplace=True,
    factors=("mat1", "mat2"))
def addmm(self, mat1, mat2, beta, alpha):
    """beta * self + alpha * mat1 @ mat2."""
    same_as_self(self, mat2)
    same_matrices(mat1, mat2)
    for name, x in (("mat1", mat1), ("mat2", mat2)):
        if x.ndim != 2:
            raise misfit(f"{name} must be a matrix, got {x.ndim}-D tensor", "mm", mat1, mat2, 2, 2)
    fits_mm(mat1, mat2)
    expandable(self.shape, (mat1.shape[0], mat2.shape[1]), self.dtype)
    return added(self, mat1, mat2, beta, alpha)


@op("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", grad="AddmvBackward0", inplace=True,
    factors=("mat", "vec"),
    plain_gradients=True,
    variant=lambda self, mat, *rest: _addmv_by_columns if mat.dtype in (P.float16, P.bfloat16) and _by_columns(mat) else None)
def addmv(self, mat, vec, beta, alpha, total=None):
    """beta * self + alpha * mat @ vec."""
    if self.ndim > 1 or mat.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}")
    if self.ndim and self.shape[0] not in (1, mat.shape[0]):
        raise RuntimeError(f"size mismatch, got input ({self.shape[0]}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})")
    if self.dtype != vec.dtype or mat.dtype != vec.dtype:
        raise RuntimeError("addmv input tensors must have the same dtype, but got "
                           f"{P.c_name(self.dtype)}, {P.c_name(mat.dtype)}, and {P.c_name(vec.dtype)}")
    fits_mv(mat.shape, mat, vec, self.shape[0] if self.ndim else 1)
    return added(self, mat, vec, beta, alpha, total or (_half_gemv if P.compute_dtype(self.dtype) != self.dtype else None))


def _by_columns(mat):
    return mat.ndim == 2 and mat.strides[0] == 1 and mat.strides[1] >= max(1, mat.shape[0])


def _addmv_by_columns(self, mat, vec, beta, alpha):
    def total(self, made, beta, alpha):
        made = made if alpha.__class__ is int else made * cast(cast(alpha, self.dtype), made.dtype)
        beta = beta if beta.__class__ is int else cast(cast(beta, self.dtype), made.dtype)
        return blended(_scaled(self, beta), made.astype(self.dtype), 1, 1)
    return addmv.body(self, mat, vec, beta, alpha, total)


def _half_gemv(self, made, beta, alpha):
    """As BLAS is spoken to: both factors are half numbers and self is scaled, and rounded, first; not for alpha = 1 in float16."""
    d = self.dtype
    beta, alpha = [x if x.__class__ is int else cast(x, d).astype(made.dtype) for x in (beta, alpha)]
    if beta.__class__ is not int and not (alpha.__class__ is int and d == P.float16):
        self, beta = _scaled(self, beta), 1
    return blended(self, made, beta, alpha)


def _scaled(self, beta):
    """beta * self, rounded; zeros for a beta of 0."""
    return self if beta.__class__ is int else jnp.where(beta == 0, 0, wide(self) * beta).astype(self.dtype)


def check_addr(self, vec1, vec2, beta, alpha):
    kind = P.kind_of(common_of([self, vec1, vec2], []))
    for name, x in (("beta", beta), ("alpha", alpha)):
        if x is SB and kind:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if x is SF and kind < 2:
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")


@op("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", grad="AddrBackward0", promote="arith",
    elementwise=False, inplace=True, half_steps=True, check=check_addr, factors=("vec1", "vec2"))
def addr(self, vec1, vec2, beta, alpha, half=None):
    """beta * self + alpha * outer(vec1, vec2)."""
    vector("vec1", vec1, "addr")
    vector("vec2", vec2, "addr")
    expandable(self.shape, (vec1.shape[0], vec2.shape[0]), self.dtype)
    if self.dtype == np.bool_:
        made = vec1[:, None] & vec2[None, :]
        made = made if alpha.__class__ is int else made & (alpha != 0)
        return made | (jnp.broadcast_to(self, made.shape) if beta.__class__ is int else self & (beta != 0))
    if half is None:
        return blended(self, vec1[:, None] * vec2[None, :], beta, alpha)
    rounded = lambda x: x.astype(half).astype(self.dtype)
    made = (vec1 if alpha.__class__ is int else rounded(rounded(cast(alpha, self.dtype)) * vec1))[:, None] * vec2[None, :]
    return blended(rounded(_scaled(self, beta if beta.__class__ is int else rounded(cast(beta, self.dtype)))), rounded(made), 1, 1)


def _check_addr_in_place(self, vec1, vec2):
    """In place nothing is expanded."""
    if vec1.ndim == vec2.ndim == 1:
        if self.ndim != 2:
            raise RuntimeError(f"2D tensor expected, got {self.ndim}D tensor for input")
        if self.shape != (*vec1.shape, *vec2.shape):
            raise RuntimeError(f"size mismatch, input: {shown(self.shape)}, v1: {shown(vec1.shape)}, v2: {shown(vec2.shape)}")


addr.inplace_check = _check_addr_in_place


@op("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", grad="AddbmmBackward0",
    plain_gradients=True, factors=("batch1", "batch2"))
def addbmm(self, batch1, batch2, beta, alpha):
    """beta * self + alpha * the sum of the products batch1[i] @ batch2[i]."""
    stacks_added(self, batch1, batch2, 2)
    (n, *rows), (m, *columns) = batch1.shape, batch2.shape
    if n != m:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {n} and {m}")
    if rows[1] != columns[0]:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({rows[0]}x{rows[1]} and {columns[0]}x{columns[1]})")
    same_as_self(self, batch2)
    same_matrices(batch1, batch2)
    fits_bmm(n, batch1, batch2, "addmm_impl_cpu_")
    if batch1.shape[0] == 1:
        return added(self, batch1[0], batch2[0], beta, alpha)
    if P.compute_dtype(self.dtype) != self.dtype:
        return added(self, batch1, batch2, beta, alpha, _one_by_one, stacked=True)
    return blended(self, jnp.einsum("bij,bjk->ik", batch1, batch2, precision=precision()), beta, alpha)


def _one_by_one(self, made, beta, alpha):
    """Each product of a stack is added, and the sum rounded, on its own."""
    one_more = lambda k, total: blended(total, made[k], 1, alpha).astype(self.dtype)
    return jax.lax.fori_loop(1, made.shape[0], one_more, blended(self, made[0], beta, alpha).astype(self.dtype))


@op("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", grad="BaddbmmBackward0", inplace=True,
    plain_gradients=True, factors=("batch1", "batch2"))
def baddbmm(self, batch1, batch2, beta, alpha):
    """beta * self + alpha * batch1 @ batch2."""
    stacks_added(self, batch1, batch2, 3)
    fits_bmm(batch1.shape[0], batch1, batch2, "baddbmm")
    return added(self, batch1, batch2, beta, alpha)


# -- layers -------------------------------------------------------------------------------------------------------------------
def _linear_name(inst):
    x, w = inst.in_metas[:2]
    bias = len(inst.in_metas) > 2
    if w.ndim == 1:
        return "AddBackward0" if bias else {1: "DotBackward0", 2: "MvBackward0"}.get(x.ndim, "UnsafeViewBackward0")
    if x.ndim == 2:
        return "AddmmBackward0" if bias else "MmBackward0"
    if not bias:
        return "SqueezeBackward4" if x.ndim == 1 else "UnsafeViewBackward0"
    return "ViewBackward0" if one_matrix(x, inst.in_metas[2]) else "AddBackward0"


def _linear_back(inst, needs):
    """What their gradients end with."""
    own, first = inst.grad_fn_name, needs[0]
    if own in ("AddmmBackward0", "MmBackward0"):
        return ("MmBackward0", "TBackward0", "MulBackward0")[first]
    return ("ViewBackward0", "TBackward0")[first] if own in ("ViewBackward0", "UnsafeViewBackward0") and first < 2 else "MulBackward0"


def one_matrix(x, bias):
    """Whether torch adds a layer's bias in one kernel with the product where the input is no matrix."""
    return x.contiguous and (bias.ndim == 1 or bias.contiguous and sum([n != 1 for n in bias.shape]) == 1)


def _check_linear(input, weight, bias):
    """torch adds the bias in one kernel with the product where the rows lie one after the other, else in place."""
    if input.ndim > 2 and not input.contiguous and weight.ndim == 2 and input.dtype != weight.dtype and input.shape[-1] == weight.shape[1]:
        raise RuntimeError(f"expected scalar type {P.c_name(input.dtype)} but found {P.c_name(weight.dtype)}")
    if bias is not None and input.ndim and 0 < weight.ndim < 3 and (input.ndim == 2 or one_matrix(input, bias)):
        same_as_self(bias, weight)
        same_matrices(input, weight)
        if weight.ndim == 1:
            raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
    stacked = input.ndim > 2 and not input.contiguous
    if stacked and weight.ndim and input.shape[-1] == weight.shape[-1] and not leading_is_one(input):
        refuse_bool(input, "bmm", *input.shape, *weight.shape)
    if bias is not None and input.ndim not in (0, 2) and weight.ndim in (1, 2) and input.shape[-1] == weight.shape[-1]:
        _fits_layer(input, weight, bias)
    if bias is None or weight.ndim != 2 or not input.ndim or input.dtype != weight.dtype:
        return
    if not stacked:
        same_as_self(bias, weight)
        refuse_bool_alone(bias, input.shape[-1], *input.shape[:-1], weight.shape[0])
    elif not P.can_cast(bias.dtype, input.dtype):
        raise RuntimeError(f"result type {P.c_name(bias.dtype)} can't be cast to the desired output type {P.c_name(input.dtype)}")


def _fits_layer(input, weight, bias):
    """torch's refusals of a bias for an input that is no matrix: it is expanded to the product's rows, or added to the product in place."""
    if one_matrix(input, bias):
        expandable(bias.shape, (math.prod(input.shape[:-1]), weight.shape[0]), bias.dtype)
        return
    made = input.shape[:-1] + weight.shape[:-1]
    both = broadcast_shapes([made, bias.shape])
    if both != made:
        raise RuntimeError(f"output with shape {list(made)} doesn't match the broadcast shape {list(both)}")


@op("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", grad=_linear_name,
    grad_back=_linear_back, check=_check_linear, function=False,
    method=False, seen=_layer_seen, saved_as=_layer_factors, factors=("input", "weight"),
    words=_layer_words,
    variant=lambda input, weight, bias: _linear_in_steps if _adds_later(input, weight, bias) else None)
def linear(input, weight, bias, in_steps=False):
    """input @ weight.T + bias: one operator, so that a layer is one record."""
    if not input.ndim or not weight.ndim:
        raise at_once(RuntimeError(f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"))
    if weight.ndim > 2:
        raise at_once(RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D"))
    rows = math.prod(input.shape[:-1])
    if weight.ndim == 1:
        fits_matmul(input, weight)
    else:
        fits_mm(input, jax.ShapeDtypeStruct(weight.shape[::-1], weight.dtype), rows)
    if bias is not None and weight.ndim == input.ndim == 2:
        expandable(bias.shape, (rows, weight.shape[0]), bias.dtype)
    if bias is None or in_steps or P.compute_dtype(input.dtype) == input.dtype:
        return _biased(input, weight, bias)
    return _biased_at_once(input, weight, bias)


def _biased(input, weight, bias, out=None):
    made = jax.lax.dot_general(input, weight, (((input.ndim - 1,), (weight.ndim - 1,)), ((), ())), precision=precision(),
                               preferred_element_type=out)
    if bias is None:
        return made
    whole = (wide(made) + wide(bias)).astype(input.dtype)
    return whole if whole.ndim == made.ndim else whole.reshape(made.shape)


@jax.custom_jvp
def _biased_at_once(input, weight, bias):
    """For half types: product and sum in float32, rounded once, with the tangents of the product that is rounded."""
    return _biased(input, weight, bias, jnp.float32)


@_biased_at_once.defjvp
def _biased_at_once_jvp(primals, tangents):
    return _biased_at_once(*primals), jax.jvp(_biased, primals, tangents)[1]


def _adds_later(input, weight, bias):
    """Whether torch adds the bias to a product that is rounded: it does but for two dimensions, or others of a contiguous input."""
    return bias is not None and input.dtype in (P.float16, P.bfloat16) and (
        weight.ndim != 2 or input.ndim != 2 and not (one_matrix(input, bias) and bias.contiguous))


def _linear_in_steps(input, weight, bias):
    return linear.body(input, weight, bias, in_steps=True)


linear.edges = (2, 0, 1)                   # torch's addmm has the bias first


def _bilinear_alone(inst, needs):
    """grad_for: torch's own operator below it has gradients of real results only."""
    if P.kind_of(inst.out.dtype) == 3:
        raise RuntimeError("_trilinear does not support automatic differentiation for outputs with complex dtype.")


@op("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", method=False, functional=True,
    grad=lambda inst: "ViewBackward0" if len(inst.in_metas) == 3 else "AddBackward0", out=False, grad_for=_bilinear_alone, composed=True,
    seen=lambda inst: {k: (math.prod(m.shape[:-1]), m.shape[-1]) for k, m in enumerate(inst.in_metas[:2]) if m.ndim})
def bilinear(input1, input2, weight, bias):
    """input1 @ weight[k] @ input2 for each k, + bias."""
    given = {"input1": input1, "input2": input2, "weight": weight, **({} if bias is None else {"bias": bias})}
    if len({x.dtype for x in given.values()}) > 1:
        raise RuntimeError("All tensors must have the same dtype, got "
                           + ", ".join([f"{k}: {P.cpp_name(x.dtype)}" for k, x in given.items()]))
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for i, (a, b) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if a != b:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {a} and {b}")
    for k, x in ((1, input1), (2, input2)):
        if size_at(weight, k) != size_at(x, -1):
            raise RuntimeError(f"bilinear(): input{k} size does not match weight size: got {x.shape[-1]} but expected {weight.shape[k]}")
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}")
    if not input1.shape[-1] or not input2.shape[-1]:
        k = input1.shape[-1] and input2.shape[-1]
        raise RuntimeError(f"cannot reshape tensor of 0 elements into shape [-1, {k}] because the unspecified dimension size -1 can be any "
                           "value and is ambiguous")
    refuse_bool(input1, "bmm", *input1.shape[:-1], *weight.shape)
    out = jnp.einsum("...i,kij,...j->...k", input1, weight, input2, precision=precision())
    return out if bias is None else out + bias
