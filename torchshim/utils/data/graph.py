"""Which pipes a pipe draws from: nested dicts of id: (pipe, those it draws from)."""
from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Collection

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

DataPipe = IterDataPipe | MapDataPipe


class _Finder(pickle.Pickler):
    """Goes through what is pickled of a pipe, up to the next pipes: `found`."""

    def __init__(self, root, only_datapipe, known):
        super().__init__(io.BytesIO(), protocol=pickle.HIGHEST_PROTOCOL)
        self.root, self.only_datapipe, self.known, self.found = root, only_datapipe, known, []

    def reducer_override(self, obj):
        if not isinstance(obj, DataPipe):
            return NotImplemented
        if obj is self.root or id(obj) in self.known:      # itself, or one that it is drawn from: what follows is looked at as its own
            return object, (), self._state(obj)
        self.known.add(id(obj))
        self.found.append(obj)
        return str, ()

    def _state(self, pipe):
        state = vars(pipe)
        if not self.only_datapipe:
            return pipe.__getstate__() if "__getstate__" in vars(type(pipe)) else state
        return {k: v for k, v in state.items() if isinstance(v, (*DataPipe.__args__, Collection))}


def _graph(pipe, only_datapipe, above):
    if not isinstance(pipe, DataPipe):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in above:
        return {}
    above = above | {id(pipe)}
    finder = _Finder(pipe, only_datapipe, set(above))
    finder.dump(pipe)
    below = {}
    for part in finder.found:
        below.update(_graph(part, only_datapipe, above))
    return {id(pipe): (pipe, below)}


def traverse_dps(datapipe):
    """The graph of a pipe: the pipes among its attributes, and in lists, tuples, sets and dicts there. RuntimeError for what is no pipe."""
    return _graph(datapipe, True, frozenset())


def traverse(datapipe, only_datapipe=None):
    """The same, through all attributes unless `only_datapipe`; they must be picklable then. Deprecated, as in PyTorch."""
    said = "`traverse` function is deprecated and will be removed after 1.13. Please use `traverse_dps` instead."
    if not only_datapipe:
        said += " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warnings.warn(said, FutureWarning, stacklevel=2)
    return _graph(datapipe, bool(only_datapipe), frozenset())
