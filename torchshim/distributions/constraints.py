"""What arguments and samples must satisfy: `constraint.check(value)` is a tensor of booleans, one for each event."""
from __future__ import annotations

import numpy as np

import torchshim as torch

from ..engine import Asked, context, value_of
from ..engine.direct import SMALL
from ..autograd.levels import everywhere
from ..tensor.api.looked_up import again, called
from ..tensor.core.dispatch import wrap
from ..tensor.core.handle import TensorBase, look, meta

__all__ = ["Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than", "greater_than_eq",
           "independent", "integer_interval", "interval", "half_open_interval", "is_dependent", "less_than", "lower_cholesky",
           "lower_triangular", "MixtureSameFamilyConstraint", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
           "positive_semidefinite", "positive_definite", "positive_integer", "real", "real_vector", "simplex", "square", "stack",
           "symmetric", "unit_interval"]


class Constraint:
    """A region of space; `event_dim` dimensions at the end make one event. `_shown`: the attributes that repr shows."""
    is_discrete = False
    event_dim = 0
    _shown = ()
    _looks = False             # whether `check` decides by values what it computes

    def check(self, value):
        """Which events of value are within."""
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__[1:] + "(" + ", ".join([f"{n}={getattr(self, n)}" for n in self._shown]) + ")"


def all_within(constraint, value):
    """Whether all events of value are within, found out at once: of small values by what was computed for such constraints before."""
    bounds = []
    key = _key(constraint, bounds)
    if (key is None or value.__class__ is not torch.Tensor or value._ts_extra is not None or any(context.modes.values())
            or meta(value).numel > SMALL or meta(value).device == "meta"):
        return everywhere(constraint.check(value))
    array, check = look(value), _AllWithin(constraint, key)
    with Asked(context):
        direct = context.trace.direct
        if direct is None or array.__class__ is not np.ndarray:
            return bool(constraint.check(value).all())
        made = None if bounds else again(direct, check, [array], (meta(value),))
        if made is not None:
            return bool(made[0])
        # without history, and as it is now: of a view, something may be recorded
        return bool(called(direct, check, (wrap(value_of(array, meta(value))), *bounds), {}))


class _AllWithin:
    """A constraint's check, which equals that of others that compute the same."""
    __slots__ = ("constraint", "key")

    def __init__(self, constraint, key):
        self.constraint, self.key = constraint, key

    def __call__(self, value, *bounds):
        return self.constraint.check(value).all()

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return other.__class__ is _AllWithin and self.key == other.key


def _key(constraint, bounds):
    """What tells the constraint's check from others, but for its tensors, which are appended to `bounds`; None of a constraint that looks
    at values, or that is not known."""
    cls, key = constraint.__class__, []
    if cls.__module__ != __name__ or constraint._looks:
        return None
    for x in constraint.__dict__.values():
        if isinstance(x, Constraint):
            x = _key(x, bounds)
            if x is None:
                return None
        elif isinstance(x, TensorBase):
            bounds.append(x)
            x = None
        elif not isinstance(x, (int, float)):
            return None
        key += x.__class__, x
    return (cls, *key)


class _Dependent(Constraint):
    """Depends on other arguments: it cannot be checked by itself."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint):
    """Whether the constraint depends on other arguments."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of a distribution or transform that gives a constraint; of the class it is a dependent constraint."""

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn):
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def _all_but(result, kept):
    """All along the dimensions behind the first `kept`."""
    return result.reshape(result.shape[:kept] + (-1,)).all(-1)


def _check_constraint(base_constraint):
    if not isinstance(base_constraint, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")


class _IndependentConstraint(Constraint):
    """A constraint whose last batch dimensions belong to the event."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        _check_constraint(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got {type(reinterpreted_batch_ndims).__name__}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_but(result, result.dim() - self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """A constraint on the mixture's events that all components share."""

    def __init__(self, base_constraint):
        _check_constraint(base_constraint)
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_but(result, value.dim() - self.event_dim)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Bounded(Constraint):
    """Between bounds: the subclass names those it has, and says which comparisons hold."""
    _shown = ("lower_bound", "upper_bound")

    def __init__(self, *bounds, **named):
        given = dict(zip(self._shown, bounds), **named)
        if len(bounds) > len(self._shown) or given.keys() != set(self._shown):
            raise TypeError(f"{type(self).__name__}() takes {' and '.join(self._shown)}")
        self.__dict__.update(given)
        super().__init__()


def _if_whole(value, within):
    """`within`, where value has no fraction; integers need no look."""
    return within if not value.is_floating_point() and not value.is_complex() else (value % 1 == 0) & within


class _IntegerInterval(_Bounded):
    is_discrete = True

    def check(self, value):
        return _if_whole(value, (self.lower_bound <= value) & (value <= self.upper_bound))


class _IntegerLessThan(_Bounded):
    is_discrete = True
    _shown = ("upper_bound",)

    def check(self, value):
        return _if_whole(value, value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    is_discrete = True
    _shown = ("lower_bound",)

    def check(self, value):
        return _if_whole(value, value >= self.lower_bound)


class _Real(Constraint):
    def check(self, value):
        return value == value


class _GreaterThan(_Bounded):
    _shown = ("lower_bound",)

    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(_Bounded):
    _shown = ("lower_bound",)

    def check(self, value):
        return self.lower_bound <= value


class _LessThan(_Bounded):
    _shown = ("upper_bound",)

    def check(self, value):
        return value < self.upper_bound


class _Interval(_Bounded):
    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return _all_but(value.tril() == value, value.dim() - 2)


class _LowerCholesky(_LowerTriangular):
    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value):
        tolerance = torch.finfo(value.dtype).eps * value.size(-1) * 10     # a row's norm is a sum of so many squares
        norms = torch.linalg.norm(value.detach(), dim=-1)
        return super().check(value) & (norms - 1.0).abs().le(tolerance).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        return torch.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    _looks = True

    def check(self, value):
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return torch.linalg.eigvalsh(value).ge(0).all(-1) if everywhere(symmetric) else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return torch.linalg.cholesky_ex(value).info.eq(0) if everywhere(symmetric) else symmetric


class _Several(Constraint):
    """A constraint for each part along a dimension."""

    def __init__(self, cseq, dim=0):
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim
        super().__init__()

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        return max(c.event_dim for c in self.cseq)

    def _check_dim(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Several):
    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value):
        self._check_dim(value)
        parts = value.split(self.lengths, self.dim)
        return torch.cat([c.check(v) for c, v in zip(self.cseq, parts)], self.dim)


class _Stack(_Several):
    @property
    def event_dim(self):
        dim = super().event_dim
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        self._check_dim(value)
        return torch.stack([c.check(v) for v, c in zip(value.unbind(self.dim), self.cseq)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
