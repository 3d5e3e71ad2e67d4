"""What a pipe is: a dataset with methods that make further pipes of it, registered by `functional_datapipe`."""
from __future__ import annotations

import functools
import inspect
from typing import TypeVar

from ..dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "functional_datapipe", "guaranteed_datapipes_determinism",
           "non_deterministic"]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
_LACKING = {"demux", "fork", "groupby", "list_files", "mux", "open_files", "read_from_stream", "routed_decode", "trace_as_dataframe"}


class DataChunk(list[_T]):
    """A batch: a list, also as `items`."""

    def __init__(self, items):
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent=""):
        """Its elements as text."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self):
        """Its elements."""
        yield from self.items


def _shown(pipe):
    """The call that makes a pipe, as far as its attributes tell."""
    names = [n for n in sorted(inspect.signature(type(pipe)).parameters) if hasattr(pipe, n)]
    values = [getattr(pipe, n) for n in names]
    return f"{type(pipe).__name__}({', '.join([f'{n}={v.__name__ if inspect.isfunction(v) else repr(v)}' for n, v in zip(names, values)])})"


def _started(pipe):
    """The number of a new iterator of a pipe, which makes those before it invalid."""
    pipe._valid_iterator_id = 0 if pipe._valid_iterator_id is None else pipe._valid_iterator_id + 1
    pipe.reset()
    return pipe._valid_iterator_id


def _check(pipe, number):
    if pipe._valid_iterator_id != number:
        raise RuntimeError("This iterator has been invalidated because another iterator has been created from the same IterDataPipe: "
                           f"{_shown(pipe)}\nThis may be caused by multiple references to the same IterDataPipe. We recommend using `.fork()` if "
                           "that is necessary.\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free to comment on "
                           "this issue: https://github.com/pytorch/data/issues/45.")


class _Iterator:
    """An iterator of a pipe, while it is the pipe's last."""

    def __init__(self, iterator, pipe):
        self.iterator, self.pipe, self.number = iterator, pipe, _started(pipe)

    def __iter__(self):
        return self

    def __next__(self):
        _check(self.pipe, self.number)
        return next(self.iterator)

    def __getattr__(self, name):
        return getattr(self.iterator, name)


def _single(method):
    """An `__iter__` that resets the pipe, and ends the life of the iterator before."""
    if not inspect.isgeneratorfunction(method):
        return functools.wraps(method)(lambda self: _Iterator(method(self), self))

    @functools.wraps(method)
    def iterate(self):
        number = _started(self)
        try:
            for sample in method(self):
                yield sample
                _check(self, number)
        except Exception as e:
            said = e.args[0] if e.args and isinstance(e.args[0], str) else None
            if said is None:
                e.args = (f"\nThis exception is thrown by __iter__ of {_shown(self)}",)
            elif "thrown by __iter__ of" not in said and "single iterator per IterDataPipe constraint" not in said:
                e.args = (f"{said}\nThis exception is thrown by __iter__ of {_shown(self)}", *e.args[1:])
            raise
    return iterate


class _Functional:
    """The methods of both kinds of pipes."""

    def __getattr__(self, attribute_name):
        made = self.functions.get(attribute_name)
        if made is not None:
            return functools.partial(made, self)
        why = ": torchshim lacks it" if attribute_name in _LACKING else ""
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}{why}")

    @classmethod
    def register_function(cls, function_name, function):
        """Let pipes have a method."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Let pipes have a method that makes a pipe of a class of them."""
        if enable_df_api_tracing:
            raise NotImplementedError("torchshim: datapipes of data frames")
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register

    reduce_ex_hook = getstate_hook = str_hook = repr_hook = None

    def __getstate__(self):
        return vars(self) if self.getstate_hook is None else type(self).getstate_hook(vars(self))

    def __reduce_ex__(self, protocol):
        if self.reduce_ex_hook is not None:
            try:
                return type(self).reduce_ex_hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(protocol)

    @classmethod
    def set_getstate_hook(cls, hook_fn):
        """Let `hook_fn(attributes)` say what is pickled of each pipe of this kind; None ends it. RuntimeError if there is one already."""
        _set_hook(cls, "getstate_hook", hook_fn)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn):
        """The same for `__reduce_ex__`; what the hook raises NotImplementedError for is pickled without it."""
        _set_hook(cls, "reduce_ex_hook", hook_fn)

    def __repr__(self):
        return type(self).__qualname__ if self.repr_hook is None else type(self).repr_hook(self)

    def __str__(self):
        return type(self).__qualname__ if self.str_hook is None else type(self).str_hook(self)

    def __dir__(self):
        return [*super().__dir__(), *self.functions]


def _set_hook(cls, name, hook):
    kind = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
    if getattr(kind, name) is not None and hook is not None:
        raise RuntimeError(f"Attempt to override existing {name}")
    setattr(kind, name, hook)


class IterDataPipe(_Functional, IterableDataset[_T_co]):
    """A stream of samples. A subclass has `__iter__`, which calls `reset()` first; a pipe has one valid iterator at a time.

    RuntimeError from an iterator after another one of the same pipe was started.
    Follows https://docs.pytorch.org/docs/stable/data.html.
    """
    functions: dict = {}
    _valid_iterator_id = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__iter__" in vars(cls):
            cls.__iter__ = _single(vars(cls)["__iter__"])

    @_single
    def __iter__(self):
        return self

    def reset(self):
        """Called when an iterator is made."""


class MapDataPipe(_Functional, Dataset[_T_co]):
    """Samples by key or number. A subclass has `__getitem__`, most have `__len__`."""
    functions: dict = {}


class DFIterDataPipe(IterDataPipe):
    """A stream of data frames."""

    def _is_dfpipe(self):
        return True


_determinism = [False]


class guaranteed_datapipes_determinism:
    """From its making to the end of its context no pipe may be made that is marked as `non_deterministic`."""

    def __init__(self):
        self.prev, _determinism[0] = _determinism[0], True

    def __enter__(self):
        pass

    def __exit__(self, *exc):
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
            raise TypeError(f"{self.cls.__name__} is non-deterministic with the inputs, but you set 'guaranteed_datapipes_determinism'. You can "
                            "turn off determinism for this DataPipe if that is acceptable for your application")
        return self.cls(*args, **kwargs)


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
