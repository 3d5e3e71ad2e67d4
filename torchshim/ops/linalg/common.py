"""What the operators of linear algebra share: torch's checks of matrices, the layouts of results, small matrix helpers."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from ...engine import contiguous_strides
from .. import promotion as P
from ..layout import broadcast_shapes
from ..products import product

LINALG = dict(namespace="linalg", method=False)
DECLARED = dict(function=False, method=False)      # for tensor/api/linalg.py to call: values decide about their errors


# -- what does not fit ------------------------------------------------------------------------------------------------------
def results_alone(inst):
    """What is `seen` of an operand that torch does not save, as its formula goes by the results."""
    return {0: None}


def product_back(inst, needs):
    """What names gradients that end with a product of matrices."""
    return "MmBackward0" if inst.in_metas[0].ndim == 2 else "UnsafeViewBackward0"


def matrix(name, A, what="A"):
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {what} must have at least 2 dimensions.")


def square(name, A, what="A"):
    matrix(name, A, what)
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"{name}{': ' * bool(name)}{what} must be batches of square matrices, but they are {A.shape[-2]} by "
                           f"{A.shape[-1]} matrices")


def inexact(name, A, half=True):
    """Floating point or complex; without `half` torch refuses the 16-bit types here and not in the kernel."""
    if P.kind_of(A.dtype) < 2:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {P.c_name(A.dtype)}")
    if not half and P.compute_dtype(A.dtype) != A.dtype:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {P.c_name(A.dtype)}")


#: Kernels that torch does not ask where there is nothing to do, whatever the dtype.
_LATE = {"cholesky_cpu", "lu_cpu", "linalg_eigh_cpu", "ldl_factor_kernel_cpu", "linalg_svd_cpu", "linalg.lu_solve_cpu"}


def kernel(name, A):
    """torch's CPU kernels of linear algebra exist for single and double precision."""
    if name in _LATE and 0 in A.shape:
        return
    if P.kind_of(A.dtype) < 2 or P.compute_dtype(A.dtype) != A.dtype:
        raise NotImplementedError(f"\"{name}\" not implemented for '{P.c_name(A.dtype)}'")


def same_dtype(name, a, b, first="A", second="B"):
    if a.dtype != b.dtype:
        raise RuntimeError(f"{name}: Expected {first} and {second} to have the same dtype, but found {first} of type {P.c_name(a.dtype)} "
                           f"and {second} of type {P.c_name(b.dtype)} instead")


def fits(name, A, B, left=True):
    """The sides of AX = B, or XA = B."""
    if (A.shape[-2] != B.shape[-2]) if left else (A.shape[-1] != B.shape[-1]):
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                           f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})")


# -- layouts ------------------------------------------------------------------------------------------------------------------
def column_strides(shape):
    """Strides of a batch of column-major matrices, as LAPACK writes them."""
    m, n = shape[-2:]
    return tuple(s * max(m, 1) * max(n, 1) for s in contiguous_strides(shape[:-2])) + (1, max(m, 1))


def columns(*which):
    """A declaration's `strides`: the results numbered in `which` (all without numbers) are column-major."""
    def strides(inst, *args):
        return [column_strides(m.shape) if m.ndim > 1 and (not which or k in which) else None for k, m in enumerate(inst.out_metas)]
    return strides


# -- matrices -----------------------------------------------------------------------------------------------------------------
def mT(x):
    return jnp.swapaxes(x, -1, -2)


def mH(x):
    return jnp.conj(mT(x)) if jnp.iscomplexobj(x) else mT(x)


def diag(x):
    return jnp.diagonal(x, axis1=-2, axis2=-1)


def on_diagonal(x):
    """The square matrices with the vectors x on their diagonals."""
    n = x.shape[-1]
    return jnp.where(jnp.eye(n, dtype=bool), x[..., None], jnp.zeros((), x.dtype))


def mm(*factors):
    """A product of matrices from left to right."""
    out = factors[0]
    for f in factors[1:]:
        out = product(out, f)
    return out


def real_dtype(d):
    return P.float64 if d == P.complex128 else P.float32 if d == P.complex64 else d


def broadcast_batch(*matrices):
    """The matrices with one common batch shape."""
    batch = broadcast_shapes([x.shape[:-2] for x in matrices])
    return tuple(jnp.broadcast_to(x, batch + x.shape[-2:]) for x in matrices)


def first_true(bad):
    """1 + the first place along the last dimension where `bad`, 0 where there is none: LAPACK's info."""
    n = bad.shape[-1]
    if not n:
        return jnp.zeros(bad.shape[:-1], jnp.int32)
    return jnp.where(bad.any(-1), jax.lax.argmax(bad, bad.ndim - 1, jnp.int32) + 1, 0).astype(jnp.int32)
