"""Modules of settings: kept, read back, and set for a while. What they would tune is not here, so none changes a result."""
from __future__ import annotations

import contextlib
import sys
import types


class ConfigModule(types.ModuleType):
    """A module whose public variables are its settings."""

    def __setattr__(self, name, value):
        if not name.startswith("_") and name not in self.__dict__:
            raise AttributeError(f"{self.__name__.replace('torchshim', 'torch', 1)}.{name} does not exist")
        super().__setattr__(name, value)

    def patch(self, arg1=None, arg2=None, **kwargs):
        """A context or decorator in which settings (a dict, keywords, or a name and a value) are others."""
        return _patched(self, {arg1: arg2} if isinstance(arg1, str) else {**(arg1 or {}), **kwargs})

    def shallow_copy_dict(self):
        """The settings as a dict."""
        return {k: v for k, v in vars(self).items() if not k.startswith("_") and not isinstance(v, types.ModuleType)}

    get_config_copy = to_dict = shallow_copy_dict

    def load_config(self, settings):
        """Set what `shallow_copy_dict` gave."""
        self.__dict__.update(settings)


@contextlib.contextmanager
def _patched(module, changes):
    before = {k: getattr(module, k) for k in changes}
    for k, v in changes.items():
        setattr(module, k, v)
    try:
        yield
    finally:
        for k, v in before.items():
            setattr(module, k, v)


def install_config_module(module):
    """Make a module one of settings."""
    (sys.modules[module] if isinstance(module, str) else module).__class__ = ConfigModule
