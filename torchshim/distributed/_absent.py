"""Names that libraries import whether or not they will use them: what needs more than one process says so when it is made or called."""
from __future__ import annotations

from ..dropin.names import to_torch


def _refuse(module, name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(f"torchshim: {to_torch(module)}.{name}; torch.distributed has one process here")
    return refuse


def absent_class(module, name, bases=()):
    """A class `module.name` that nothing is an instance of: making one raises NotImplementedError."""
    made = {"__new__": _refuse(module, name), "__module__": module, "__doc__": "NotImplementedError.", "__unimplemented__": True}
    return type(name, bases, made)


def absent_function(module, name):
    """A function `module.name` that raises NotImplementedError."""
    f = _refuse(module, name)
    f.__name__ = f.__qualname__ = name
    f.__module__, f.__doc__, f.__unimplemented__ = module, "NotImplementedError.", True
    return f


def absent_names(module, classes="", functions=""):
    """{name: what refuses}, for a module of which nothing works: names of classes and of functions, with spaces between."""
    return {**{name: absent_class(module, name) for name in classes.split()},
            **{name: absent_function(module, name) for name in functions.split()}}
