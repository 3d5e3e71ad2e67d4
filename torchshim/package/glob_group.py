"""Patterns of names: `*` within a part, `**` over any number of parts."""
from __future__ import annotations

import re

__all__ = ["GlobGroup"]


class GlobGroup:
    """Names that match one of `include` and none of `exclude`; parts are divided by `separator`."""

    def __init__(self, include, *, exclude=(), separator="."):
        self._dbg = f"GlobGroup(include={include}, exclude={exclude})"
        self.separator = separator
        self.include = self._all(include, separator)
        self.exclude = self._all(exclude, separator)

    def __str__(self):
        return self._dbg

    __repr__ = __str__

    def matches(self, candidate):
        """Whether a name is among them."""
        candidate = self.separator + candidate
        return any([p.fullmatch(candidate) for p in self.include]) and all([not p.fullmatch(candidate) for p in self.exclude])

    @classmethod
    def _all(cls, patterns, separator):
        return [cls._compiled(p, separator) for p in ([patterns] if isinstance(patterns, str) else patterns)]

    @staticmethod
    def _compiled(pattern, separator):
        whole = re.escape(separator)

        def part(text):
            if text == "**":
                return f"({whole}[^{separator}]+)*"
            if "**" in text:
                raise ValueError("** can only appear as an entire path segment")
            return whole + f"[^{separator}]*".join([re.escape(x) for x in text.split("*")])
        return re.compile("".join([part(text) for text in pattern.split(separator)]))
