"""Transforms made of others: one after the other, in each batch element, part by part."""
from __future__ import annotations

import functools
import operator

import torchshim as torch

from . import constraints
from ._transform import Transform
from .utils import _sum_rightmost, lazy_property


class ComposeTransform(Transform):
    """Several transforms, the first first."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else parts

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @staticmethod
    def _space(own, start, steps):
        """The constraint `own`, with as many event dimensions as walking over `steps`, (from, to) spaces, from `start` needs."""
        dim = start
        for near, far in steps:
            dim = max(dim + far.event_dim - near.event_dim, far.event_dim)
        return constraints.independent(own, dim - own.event_dim) if dim > own.event_dim else own

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        return self._space(self.parts[0].domain, self.parts[-1].codomain.event_dim, [(p.codomain, p.domain) for p in reversed(self.parts)])

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        return self._space(self.parts[-1].codomain, self.parts[0].domain.event_dim, [(p.domain, p.codomain) for p in self.parts])

    @lazy_property
    def bijective(self):
        return all(p.bijective for p in self.parts)

    @lazy_property
    def sign(self):
        return functools.reduce(operator.mul, [p.sign for p in self.parts], 1)

    @property
    def inv(self):
        if self._inv is None:
            self._inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def _again(self, cache_size):
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return torch.zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        terms, dim = [], self.domain.event_dim
        for part, x, y in zip(self.parts, points, points[1:]):
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(x, y), dim - part.domain.event_dim))
            dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape):
        return functools.reduce(lambda s, p: p.forward_shape(s), self.parts, shape)

    def inverse_shape(self, shape):
        return functools.reduce(lambda s, p: p.inverse_shape(s), reversed(self.parts), shape)

    def __repr__(self):
        return type(self).__name__ + "(\n    " + ",\n    ".join([repr(p) for p in self.parts]) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions belong to the event."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _again(self, cache_size):
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y):
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)


class _Several(Transform):
    """A transform for each part along a dimension."""

    def __init__(self, tseq, dim=0, cache_size=0):
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq), dim

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    def _check(self, x, size, what, name="tensor"):
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for {name} with {x.dim()} dimensions")
        if x.size(self.dim) != size:
            raise AssertionError(f"x.size({self.dim}) = {x.size(self.dim)} must equal {what} {size}")


class CatTransform(_Several):
    """Transforms of parts of given lengths along a dimension."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self):
        """All lengths together."""
        return sum(self.lengths)

    def _again(self, cache_size):
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x):
        self._check(x, self.length, "length")
        return x.split(self.lengths, self.dim)

    def _call(self, x):
        return torch.cat([t(part) for t, part in zip(self.transforms, self._parts(x))], dim=self.dim)

    def _inverse(self, y):
        return torch.cat([t.inv(part) for t, part in zip(self.transforms, self._parts(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = [_sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim)
                 for t, a, b in zip(self.transforms, self._parts(x), self._parts(y))]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Several):
    """A transform for each place along a dimension."""

    def _again(self, cache_size):
        return StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, x):
        self._check(x, len(self.transforms), "len(transforms)")
        return x.unbind(self.dim)

    def _call(self, x):
        return torch.stack([t(part) for t, part in zip(self.transforms, self._parts(x))], dim=self.dim)

    def _inverse(self, y):
        return torch.stack([t.inv(part) for t, part in zip(self.transforms, self._parts(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        return torch.stack([t.log_abs_det_jacobian(a, b) for t, a, b in zip(self.transforms, self._parts(x), self._parts(y))], dim=self.dim)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
