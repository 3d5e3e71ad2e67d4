"""Small helpers of the module classes that other libraries use too."""
from __future__ import annotations

import itertools
from collections import abc


def _ntuple(n, name="parse"):
    def parse(x):
        """A tuple as it is, a single value n times."""
        return tuple(x) if isinstance(x, abc.Iterable) else tuple(itertools.repeat(x, n))
    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n, name) for n, name in ((1, "_single"), (2, "_pair"), (3, "_triple"), (4, "_quadruple")))


def _reverse_repeat_tuple(t, n):
    """The elements from the last to the first, each n times: padding as functional.pad wants it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Strip a prefix ("module.") from the names of a state dict, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in list(metadata):
            if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
                metadata[key[len(prefix):]] = metadata.pop(key)
