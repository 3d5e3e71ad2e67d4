"""torch._inductor.utils: what programs that measure compiling use."""
from __future__ import annotations

import contextlib

from ..dropin import missing_attribute as _missing_attribute


@contextlib.contextmanager
def fresh_cache(cache_entries=None, dir=None, delete=True):
    """A context and nothing more: programs that are compiled stay right, so none is forgotten."""
    yield


fresh_inductor_cache = fresh_cache

__getattr__ = _missing_attribute(__name__)
