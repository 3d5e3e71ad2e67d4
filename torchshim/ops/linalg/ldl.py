"""Symmetric indefinite factorizations, A = L D L^T, with the pivots of Bunch and Kaufman (1977) as LAPACK's sytrf and hetrf store them:
pivots[k] = p > 0 for a 1 x 1 block whose row was exchanged with p, both of a 2 x 2 block are -p. XLA has no such routine: these are loops.
"""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from .. import promotion as P
from ..loops import while_loop
from ..registry import op
from .common import DECLARED, LINALG, columns, inexact, kernel, square

ALPHA = (1 + math.sqrt(17)) / 8


def _size(x):
    return jnp.abs(jnp.real(x)) + jnp.abs(jnp.imag(x)) if jnp.iscomplexobj(x) else jnp.abs(x)


def _swapped(n, i, j):
    """The order of n rows with two exchanged."""
    rows = jnp.arange(n)
    return jnp.where(rows == i, j, jnp.where(rows == j, i, rows))


def _factor(A, hermitian):
    """(LD, pivots, info) of one matrix, from its lower triangle."""
    n = A.shape[0]
    turned = jnp.conj if hermitian else (lambda x: x)
    rows = jnp.arange(n)
    S = jnp.tril(A) + turned(jnp.tril(A, -1)).T
    S = jnp.where(jnp.eye(n, dtype=bool), jnp.real(S).astype(A.dtype), S) if hermitian else S

    def step(state):
        k, S, out, pivots, info = state
        sizes = jnp.where(rows >= k, _size(S[:, k]), -1)
        here, below = sizes[k], jnp.where(rows > k, sizes, -1)
        worst = jnp.argmax(below)
        column = jnp.maximum(below[worst], 0)
        row = jnp.max(jnp.where((rows >= k) & (rows != worst), _size(S[:, worst]), 0))
        empty = jnp.maximum(here, column) == 0
        stay = empty | (here >= ALPHA * column) | (here * row >= ALPHA * column * column)
        single = stay | (_size(S[worst, worst]) >= ALPHA * row)
        p = jnp.where(stay, k, worst)
        kk = jnp.where(single, k, k + 1)
        order = _swapped(n, kk, p)
        S = S[order][:, order]
        k1 = jnp.minimum(k + 1, n - 1)
        x1, x2 = S[:, k], S[:, k1]
        a, b, c = S[k, k], S[k1, k1], S[k1, k]
        det = jnp.where(single, 1, a * b - c * turned(c))
        w1 = jnp.where(single, x1 / jnp.where(a == 0, 1, a), (x1 * b - x2 * c) / det)
        w2 = jnp.where(single, 0, (x2 * a - x1 * turned(c)) / det)
        under = rows > jnp.where(single, k, k + 1)
        w1, w2 = jnp.where(under & ~empty, w1, 0), jnp.where(under, w2, 0)
        S = S - w1[:, None] * turned(x1)[None] - w2[:, None] * turned(x2)[None]
        first = jnp.where(under, w1, jnp.where(rows == k, a, jnp.where((rows == k1) & ~single, c, 0)))
        out = jnp.where(rows[None] == k, first[:, None], out)
        out = jnp.where((rows[None] == k1) & ~single, jnp.where(under, w2, jnp.where(rows == k1, b, 0))[:, None], out)
        pivots = jnp.where(rows == k, jnp.where(single, p + 1, -(p + 1)), jnp.where((rows == k1) & ~single, -(p + 1), pivots))
        info = jnp.where(empty & (info == 0), k + 1, info)
        return k + jnp.where(single, 1, 2), S, out, pivots.astype(np.int32), info.astype(np.int32)
    start = (jnp.asarray(0), S, jnp.zeros_like(A), jnp.zeros(n, np.int32), jnp.zeros((), np.int32))
    return while_loop(lambda state: state[0] < n, step, start)[2:]


def batched(f, *args):
    """f over the leading dimensions of matrices (and of vectors one dimension lower)."""
    for _ in range(args[0].ndim - 2):
        f = jax.vmap(f)
    return f(*args)


@op("linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    **DECLARED, grad="NotImplemented", strides=columns(0))
def linalg_ldl_factor_ex(self, hermitian, check_errors):
    """L and D in one matrix, the pivots, and per matrix the place of the first zero block of D."""
    name = "torch.linalg.ldl_factor_ex"
    square(name, self)
    inexact(name, self)
    kernel("ldl_factor_kernel_cpu", self)
    if not self.size:
        return self, jnp.zeros(self.shape[:-1], np.int32), jnp.zeros(self.shape[:-2], np.int32)
    hermitian = hermitian and jnp.iscomplexobj(self)
    return batched(lambda A: _factor(A, hermitian), self)


def _solve(LD, pivots, B, hermitian):
    """A^-1 B for one matrix."""
    n = LD.shape[0]
    turned = jnp.conj if hermitian else (lambda x: x)
    rows = jnp.arange(n)

    def forward(state):
        k, B = state
        single = pivots[k] > 0
        k1 = jnp.minimum(k + 1, n - 1)
        B = B[_swapped(n, jnp.where(single, k, k1), jnp.abs(pivots[k]) - 1)]
        under = (rows > jnp.where(single, k, k + 1))[:, None]
        B = B - jnp.where(under, LD[:, k][:, None] * B[k], 0) - jnp.where(under & ~single, LD[:, k1][:, None] * B[k1], 0)
        a, b, c = LD[k, k], LD[k1, k1], LD[k1, k]
        det = jnp.where(single, 1, a * b - c * turned(c))
        top = jnp.where(single, B[k] / a, (B[k] * b - B[k1] * turned(c)) / det)
        low = (B[k1] * a - B[k] * c) / det
        B = jnp.where((rows == k1)[:, None] & ~single, low, jnp.where((rows == k)[:, None], top, B))
        return k + jnp.where(single, 1, 2), B

    def backward(state):
        k, B = state
        single = pivots[k] > 0
        k0 = jnp.maximum(k - 1, 0)
        under = (rows > k)[:, None]
        gathered = lambda j: jnp.sum(jnp.where(under, turned(LD[:, j])[:, None] * B, 0), 0)
        here, before = B[k] - gathered(k), B[k0] - gathered(k0)
        B = jnp.where((rows == k0)[:, None] & ~single, before, jnp.where((rows == k)[:, None], here, B))
        return k - jnp.where(single, 1, 2), B[_swapped(n, k, jnp.abs(pivots[k]) - 1)]
    B = while_loop(lambda state: state[0] < n, forward, (jnp.asarray(0), B))[1]
    return while_loop(lambda state: state[0] >= 0, backward, (jnp.asarray(n - 1), B))[1]


@op("ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", **LINALG, grad="NotImplemented",
    nondiff=("pivots",), strides=columns())
def ldl_solve(LD, pivots, B, hermitian):
    """X with A X = B, from A's factorization."""
    name = "torch.linalg.ldl_solve"
    if B.ndim < 2:
        raise RuntimeError(f"{name}: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead")
    square(name, LD, "LD")
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError(f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                           f"{list(pivots.shape)} instead")
    if P.kind_of(pivots.dtype) != 1:
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {P.c_name(pivots.dtype)}")
    if LD.dtype != B.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {P.c_name(B.dtype)} and A of type "
                           f"{P.c_name(LD.dtype)} instead.")
    if LD.shape[-2] != B.shape[-2]:
        raise RuntimeError(f"Incompatible matrix sizes for {name}: each A matrix is {LD.shape[-1]} by {LD.shape[-1]} but each b matrix is "
                           f"{B.shape[-2]} by {B.shape[-1]}")
    inexact(name, LD)
    kernel("ldl_solve_kernel_cpu", LD)
    batch = jnp.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    LD, B = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (LD, B))
    pivots = jnp.broadcast_to(pivots, batch + pivots.shape[-1:])
    if not B.size:
        return B
    hermitian = hermitian and jnp.iscomplexobj(LD)
    return batched(lambda LD, pivots, B: _solve(LD, pivots, B, hermitian), LD, pivots, B)
