"""What a pipe is: a dataset with methods that make further pipes of it, registered by `functional_datapipe`."""
from __future__ import annotations

import functools
import pickle
from typing import TypeVar

from ..dataset import Dataset, IterableDataset
from ._hook_iterator import _SnapshotState, conditional, counted, single

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
#: Methods whose results are not traced as data frames, even of streams of data frames.
UNTRACABLE_DATAFRAME_PIPES = ["batch", "groupby", "_dataframes_as_tuples", "trace_as_dataframe"]


class DataChunk(list[_T]):
    """A batch: a list, also as `items`."""

    def __init__(self, items):
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent=""):
        """Its elements as text."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def __iter__(self):
        yield from super().__iter__()

    def raw_iterator(self):
        """Its elements."""
        yield from self.items


def _made(cls, frames, traced, source, *args, **kwargs):
    """The pipe that a method makes."""
    pipe = cls(source, *args, **kwargs)
    if traced and isinstance(pipe, IterDataPipe) and (frames or isinstance(source, DFIterDataPipe)):
        return pipe.trace_as_dataframe()
    return pipe


class _Functional:
    """The methods of both kinds of pipes."""

    def __getattr__(self, attribute_name):
        made = self.functions.get(attribute_name)
        if made is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}")
        return functools.update_wrapper(functools.partial(made, self), made, assigned=("__doc__",))

    @classmethod
    def register_function(cls, function_name, function):
        """Let pipes have a method."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Let pipes have a method that makes a pipe of a class of them; of streams of data frames, and with enable_df_api_tracing, the pipe
        is traced as a data frame."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        traced = function_name not in UNTRACABLE_DATAFRAME_PIPES
        function = functools.partial(_made, cls_to_register, enable_df_api_tracing, traced)
        cls.functions[function_name] = functools.update_wrapper(function, cls_to_register, assigned=("__doc__",))

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
    _number_of_samples_yielded = 0
    _snapshot_state = _SnapshotState.NotStarted
    _fast_forward_iterator = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name, hook in (("__iter__", single), ("__next__", counted), ("reset", conditional)):
            if name in vars(cls):
                setattr(cls, name, hook(vars(cls)[name]))

    @single
    def __iter__(self):
        return self

    @conditional
    def reset(self):
        """Called when an iterator is made."""


class MapDataPipe(_Functional, Dataset[_T_co]):
    """Samples by key or number. A subclass has `__getitem__`, most have `__len__`."""
    functions: dict = {}


class DFIterDataPipe(IterDataPipe):
    """A stream of data frames."""

    def _is_dfpipe(self):
        return True


class _DataPipeSerializationWrapper:
    """A pipe that is pickled as bytes of its own: what libraries recognise pipes by that were sent to a worker. len() is the pipe's."""

    def __init__(self, datapipe):
        self._datapipe = datapipe

    def __getstate__(self):
        return pickle.dumps(self._datapipe)

    def __setstate__(self, state):
        self._datapipe = pickle.loads(state)

    def __len__(self):
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe):
    def __init__(self, datapipe):
        super().__init__(datapipe)
        self._datapipe_iter = None

    def __iter__(self):
        self._datapipe_iter = iter(self._datapipe)
        return self

    def __next__(self):
        return next(self._datapipe_iter)


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe):
    def __getitem__(self, index):
        return self._datapipe[index]
