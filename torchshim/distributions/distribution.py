"""The base of all distributions."""
from __future__ import annotations

import torchshim as torch

from ..engine import warn
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A distribution of events of shape `event_shape`, `batch_shape` of them side by side.

    A subclass names, for `expand`, the tensors that begin with the batch shape (`_tensors`), the distributions it is made of
    (`_parts`) and what a copy keeps as it is (`_kept`).
    """
    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _parts = _kept = ()

    @staticmethod
    def set_default_validate_args(value):
        """Whether arguments and samples are checked where a distribution was not told."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()
        super().__init__()

    def _check_arguments(self):
        try:
            known = self.arg_constraints
        except NotImplementedError:
            warn(f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution "
                 "with `validate_args=False` to turn off validation.")
            return
        for name, constraint in known.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue                               # follows from one that is checked
            value = getattr(self, name)
            if not constraints.all_within(constraint, value):
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                                 f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}")

    def expand(self, batch_shape, _instance=None):
        """The same distribution with another batch shape, to which the present one broadcasts; memory is shared."""
        owner = next((c for c in type(self).__mro__ if "_tensors" in vars(c)), None)
        if owner is None:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        batch_shape = torch.Size(batch_shape)
        for name in owner._tensors:
            if name in self.__dict__:
                x = self.__dict__[name]
                new.__dict__[name] = x.expand(batch_shape + x.shape[len(self._batch_shape):])
        for name in owner._parts:
            part = getattr(self, name)
            setattr(new, name, part.expand(batch_shape + part.batch_shape[len(self._batch_shape):]))
        for name in owner._kept:
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must "
                                      "also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self):
        """The shape of the distributions side by side."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one event."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """Constraints by the names of the arguments."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self):
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self):
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape=torch.Size()):
        """Events of shape sample_shape + batch_shape + event_shape, without gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        """The same, differentiable by the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """The old name of sample((n,))."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample(torch.Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density, or of the probability, at `value`."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of what is not above `value`."""
        raise NotImplementedError

    def icdf(self, value):
        """The inverse of cdf."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All events along a first dimension; expand: over the batch."""
        raise NotImplementedError

    def entropy(self):
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self):
        """exp(entropy)."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=torch.Size()):
        return torch.Size(sample_shape) + self._batch_shape + self._event_shape

    def _check_value(self, value):
        """What log_prob and cdf begin with."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value):
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        got, event = value.size(), self._event_shape
        want = self._batch_shape + event if event else self._batch_shape
        if event and got[len(got) - len(event):] != event:
            raise ValueError(f"The right-most size of value must match event_shape: {got} vs {event}.")
        if got != want and any([i != 1 and j != 1 and i != j for i, j in zip(tuple(got)[::-1], tuple(want)[::-1])]):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {got} vs {torch.Size(want)}.")
        try:
            support = self.support
        except NotImplementedError:
            warn(f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution with "
                 "`validate_args=False` to turn off validation.")
            return
        if not constraints.all_within(support, value):
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                             f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def __repr__(self):
        own = [(n, self.__dict__[n]) for n in self.arg_constraints if n in self.__dict__]
        return type(self).__name__ + "(" + ", ".join([f"{n}: {x if x.numel() == 1 else x.size()}" for n, x in own]) + ")"
