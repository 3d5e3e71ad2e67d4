"""What `trace` makes of a module."""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute
from ._script import Standing


class TracedModule(Standing):
    """What `trace` makes of a module's parts."""

    def __init__(self, code):
        super().__init__(code, TracedModule)

    @classmethod
    def _part(cls, m):
        return TracedModule(m)

    def _get_name(self):
        return self.original_name


class TopLevelTracedModule(TracedModule):
    """What `trace` makes of a module."""


__getattr__ = _missing_attribute(__name__)
