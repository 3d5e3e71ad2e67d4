"""What a transform is, and the inverse of one."""
from __future__ import annotations

from . import constraints


class Transform:
    """Base class: t(x), t.inv(y). cache_size=1: the last pair (x, y) is kept, so that the inverse of a result is its very argument."""
    bijective = False

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._inv = cache_size, None
        if cache_size:
            self._cached_x_y = None, None
        super().__init__()

    def __getstate__(self):
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self):
        """How many dimensions make one event, where argument and result agree."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self):
        """The inverse transform; its inverse is this one."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self):
        """Of the derivative: 1 or -1 for monotonic transforms."""
        raise NotImplementedError

    def _again(self, cache_size):
        """This transform with another cache size."""
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def with_cache(self, cache_size=1):
        """This transform with this cache size."""
        return self if self._cache_size == cache_size else self._again(cache_size)

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return not self == other

    def __call__(self, x):
        return self._remembered(0, x, self._call)

    def _inv_call(self, y):
        return self._remembered(1, y, self._inverse)

    def _remembered(self, side, given, compute):
        if not self._cache_size:
            return compute(given)
        if given is self._cached_x_y[side]:
            return self._cached_x_y[1 - side]
        made = compute(given)
        self._cached_x_y = (given, made) if side == 0 else (made, given)
        return made

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        """log |dy/dx|, one number for each event."""
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__ + "()"

    def forward_shape(self, shape):
        """The result's shape for an argument's."""
        return shape

    def inverse_shape(self, shape):
        """The argument's shape for a result's."""
        return shape


class _SameKind:
    """Equal to every transform of its class."""

    def __eq__(self, other):
        return isinstance(other, type(self))


class _InverseTransform(Transform):
    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self):
        return self._inv

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)
