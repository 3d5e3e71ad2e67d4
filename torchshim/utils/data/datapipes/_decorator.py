"""Decorators of pipes: methods of pipes, determinism, and checks of the types that annotations name."""
from __future__ import annotations

import functools
import inspect
from typing import get_type_hints

from .datapipe import IterDataPipe, MapDataPipe

_determinism = [False]
_validation = [True]


class functional_datapipe:
    """A decorator that makes a class of pipes a method of pipes of its kind: name, and the class's first argument is the pipe."""

    def __init__(self, name, enable_df_api_tracing=False):
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls):
        if issubclass(cls, IterDataPipe):
            IterDataPipe.register_datapipe_as_function(self.name, cls, enable_df_api_tracing=self.enable_df_api_tracing)
        elif issubclass(cls, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


class guaranteed_datapipes_determinism:
    """From its making to the end of its context no pipe may be made that is marked as `non_deterministic`."""

    def __init__(self):
        self.prev, _determinism[0] = _determinism[0], True

    def __enter__(self):
        pass

    def __exit__(self, exc_type, exc_value, traceback):
        _determinism[0] = self.prev


class non_deterministic:
    """A decorator for pipes that give other samples in each run; `@non_deterministic(f)`: if f(arguments) says so. TypeError where such a
    pipe is made while determinism is guaranteed, and for what is no class of IterDataPipe."""
    cls = None

    def __init__(self, arg):
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is found")
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args, **kwargs):
        if self.cls is None:
            if not (isinstance(args[0], type) and issubclass(args[0], IterDataPipe)):
                raise TypeError(f"Only `IterDataPipe` can be decorated, but {args[0].__name__} is found")
            self.cls = args[0]
            return self.deterministic_wrapper_fn
        if _determinism[0]:
            raise TypeError(f"{self.cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'. You can turn off "
                            "determinism for this DataPipe if that is acceptable for your application")
        return self.cls(*args, **kwargs)

    def deterministic_wrapper_fn(self, *args, **kwargs):
        """Makes the pipe, if it may be."""
        differs = self.deterministic_fn(*args, **kwargs)
        if not isinstance(differs, bool):
            raise TypeError("deterministic_fn of `non_deterministic` decorator is required to return a boolean value, but "
                            f"{type(differs)} is found")
        if _determinism[0] and differs:
            raise TypeError(f"{self.cls.__name__} is non-deterministic with the inputs, but you set 'guaranteed_datapipes_determinism'. "
                            "You can turn off determinism for this DataPipe if that is acceptable for your application")
        return self.cls(*args, **kwargs)


def argument_validation(f):
    """Check arguments that are annotated as pipes: TypeError for what is none. As in PyTorch 2.13 pipes have no `type`, and AttributeError
    says so of those that are (`IterDataPipe[int]` is not checked)."""
    signature, hints = inspect.signature(f), get_type_hints(f)

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            hint = hints.get(name)
            if isinstance(hint, type) and issubclass(hint, (IterDataPipe, MapDataPipe)):
                if not isinstance(value, IterDataPipe):
                    raise TypeError(f"Expected argument '{name}' as a IterDataPipe, but found {type(value)}")
                if not value.type.issubtype(hint.type):
                    raise TypeError(f"Expected type of argument '{name}' as a subtype of hint {hint.type}, but found {value.type}")
        return f(*args, **kwargs)
    return wrapper


class runtime_validation_disabled:
    """From its making to the end of its context `runtime_validation` checks nothing."""

    def __init__(self):
        self.prev, _validation[0] = _validation[0], False

    def __enter__(self):
        pass

    def __exit__(self, exc_type, exc_value, traceback):
        _validation[0] = self.prev


def runtime_validation(f):
    """An `__iter__` whose samples are checked by the pipe's `type`. As in PyTorch 2.13 pipes have none unless they are given one:
    AttributeError says so. TypeError for another method."""
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @functools.wraps(f)
    def wrapper(self):
        for sample in f(self):
            if _validation[0] and not self.type.issubtype_of_instance(sample):
                raise RuntimeError(f"Expected an instance as subtype of {self.type}, but found {sample}({type(sample)})")
            yield sample
    return wrapper
