"""torch.Size."""
from __future__ import annotations

_INTEGERS = frozenset((int,))
size_of = tuple.__new__      # of a class and of what is known to be integers: without the check of each


class Size(tuple):
    """A shape: a tuple of integers that prints as torch's and has `numel()`. sizes: an iterable of integers."""
    __module__ = "torchshim"
    __slots__ = ()

    def __new__(cls, sizes=(), /):
        sizes = tuple(sizes)
        if _INTEGERS.issuperset(map(type, sizes)):
            return size_of(cls, sizes)
        made = []
        for k, n in enumerate(sizes):
            try:
                made.append(n.__index__())
            except (AttributeError, TypeError):
                if getattr(type(n), "stands_for_sizes", False):
                    made.append(n)             # a size that differs among the parts of a nested tensor
                    continue
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {k} is '{type(n).__name__}')") from None
        return size_of(cls, made)

    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def numel(self):
        n = 1
        for k in self:
            n *= k
        return n

    def __getitem__(self, i):
        r = tuple.__getitem__(self, i)
        return size_of(Size, r) if isinstance(i, slice) else r

    def __add__(self, other):
        if not isinstance(other, tuple):
            adds = getattr(type(other), "__radd__", None)
            made = NotImplemented if adds is None else adds(other, self)
            if made is NotImplemented:
                raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
            return made
        made = tuple.__add__(self, other)
        return size_of(Size, made) if other.__class__ is Size else Size(made)

    def __radd__(self, other):
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(other + tuple(self))

    def __mul__(self, n):
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)
