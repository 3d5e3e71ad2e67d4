"""Transforms from the real numbers to what a constraint describes: `biject_to` one to one, `transform_to` as is cheap."""
from __future__ import annotations

from . import constraints, transforms
from .utils import is_number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Makers of transforms by the class of constraints."""

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Let factory(constraint) make the transform for a class of constraints; without factory a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not (isinstance(constraint, type) and issubclass(constraint, constraints.Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint):
        """The transform for a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _interval(c):
    low, high = c.lower_bound, c.upper_bound
    if is_number(low) and low == 0 and is_number(high) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _beyond(bound, sign):
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(bound, sign)])


def _register(registries, kinds, factory):
    for registry in registries:
        for kind in kinds:
            registry.register(kind, factory)


_both = (biject_to, transform_to)
_register(_both, [constraints.real], lambda c: transforms.identity_transform)
_register(_both, [constraints.greater_than, constraints.greater_than_eq], lambda c: _beyond(c.lower_bound, 1))
_register(_both, [constraints.less_than], lambda c: _beyond(c.upper_bound, -1))
_register(_both, [constraints.interval, constraints.half_open_interval], _interval)
_register(_both, [constraints.corr_cholesky], lambda c: transforms.CorrCholeskyTransform())
_register([biject_to], [constraints.simplex], lambda c: transforms.StickBreakingTransform())
_register([transform_to], [constraints.simplex], lambda c: transforms.SoftmaxTransform())
_register([transform_to], [constraints.lower_cholesky], lambda c: transforms.LowerCholeskyTransform())
_register([transform_to], [constraints.positive_definite, constraints.positive_semidefinite],
          lambda c: transforms.PositiveDefiniteTransform())


def _of_parts(to):
    to.register(constraints.independent, lambda c: transforms.IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims))
    to.register(constraints.cat, lambda c: transforms.CatTransform([to(x) for x in c.cseq], c.dim, c.lengths))
    to.register(constraints.stack, lambda c: transforms.StackTransform([to(x) for x in c.cseq], c.dim))


for _to in _both:
    _of_parts(_to)
