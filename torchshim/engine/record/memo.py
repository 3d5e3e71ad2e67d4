"""A memo that forgets: what code that never repeats leaves behind stays bounded."""
from __future__ import annotations

import itertools


class Memo(dict):
    """A dict of at most `cap` entries: when it is full, the older half goes before another entry comes in.

    An entry that was forgotten is made again when it is asked for, so it must mean what its key says and nothing more.
    Look up with `get` (a plain dict's), add with `keep`. Threads may share one: two that make the same entry get one of them.
    """
    __slots__ = ("cap",)

    def __init__(self, cap):
        self.cap = cap

    def keep(self, key, value):
        """Remember `value`; returns what is remembered under `key`, which may be another thread's."""
        if len(self) >= self.cap:
            for old in list(itertools.islice(self, self.cap // 2)):
                self.pop(old, None)
        return self.setdefault(key, value)
