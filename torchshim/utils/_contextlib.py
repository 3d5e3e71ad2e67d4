"""torch.utils._contextlib: contexts that also decorate functions, generators step by step."""
from __future__ import annotations

import functools
import inspect

from ..autograd.grad_mode import _Decorating

__all__ = ["context_decorator"]


class _DecoratorContextManager(_Decorating):
    """Base class of contexts that decorate: `clone` makes the one that a call enters."""

    def __enter__(self):
        raise NotImplementedError

    def __exit__(self, *exc):
        raise NotImplementedError

    def clone(self):
        """A context like this one, for one call."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same without arguments: it decorates without being called, too."""

    def __new__(cls, orig_func=None):
        self = super().__new__(cls)
        if orig_func is None:
            return self
        self.__init__()
        return self(orig_func)


def context_decorator(ctx, func):
    """`func` within a context at each call: `ctx` is one that can be entered often, or makes one. RuntimeError for a class."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous "
                             "which interface to use.  If you intended to pass a context manager factory, rewrite your call as "
                             "context_decorator(lambda: ctx()); if you intended to pass a context manager directly, rewrite your call as "
                             "context_decorator(lambda: ctx)")
    if inspect.isclass(func):
        raise RuntimeError("Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the "
                           "context manager applied; additionally, decorating a class at definition-site will prevent use of the "
                           "identifier as a conventional type.  To specify which methods to decorate, decorate each of them individually.")
    make = ctx if callable(ctx) else lambda: ctx

    class entered(_Decorating):
        def clone(self):
            return make()
    return functools.wraps(func)(entered()(func))
