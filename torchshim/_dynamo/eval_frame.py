"""torch.compile. Every program is recorded and compiled by XLA where it repeats (see `torchshim.engine`), so that a function is as fast
without it; here it is called as it is, with the same answers. Options are checked as torch checks them and change nothing. A backend of the
program's own gets the function's graphs (see `capture`).
"""
from __future__ import annotations

import functools

from .. import compiler
from ..compiler import region
from ..nn import Module
from .backends import registry
from .exc import InvalidBackend

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def check_if_dynamo_supported():
    """Nothing is refused: torch.compile takes functions as they are, on each Python."""


def is_dynamo_supported():
    """True."""
    return True


class OptimizedModule(Module):
    """What `torch.compile` makes of a module (`compiled`), or `torch.compiler.disable`: it calls `_orig_mod`, and has its attributes."""

    def __init__(self, mod, dynamo_ctx=None, compiled=True):
        super().__init__()
        self.__dict__["dynamo_ctx"] = dynamo_ctx
        self.__dict__["_ts_seen"] = set() if compiled else None
        self._orig_mod = mod
        self.training = mod.training

    def forward(self, *args, **kwargs):
        if self._ts_seen is None:
            return region.disabled(self._orig_mod.__call__)(*args, **kwargs)
        return region.call(self._orig_mod, self._ts_seen, args, kwargs, self.dynamo_ctx)

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name in ("_orig_mod", "training") or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self):
        return type(self), (self._orig_mod, self.dynamo_ctx, self._ts_seen is not None)


def check_backend(backend):
    """What a backend of the program's own is called with; None for a name of torch's. InvalidBackend for a name that nobody knows."""
    if isinstance(backend, str):
        found = registry.own.get(backend)
        if found is None and backend not in registry.BACKENDS + registry.DEBUG:
            raise InvalidBackend(backend)
        return found
    return backend if callable(backend) else None


def _graphs(backend, model, fullgraph, options):
    from .graphs import shared
    return shared(backend, model, fullgraph, {"options": options} if options else {})


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, name=None, disable=False,
            recompile_limit=None, isolate_recompiles=False, shapes_spec=None):
    """The function or module as it is, in the form that torch gives it (a module becomes an OptimizedModule).

    Without `model`: a decorator. RuntimeError for an unknown mode or for both mode and options; InvalidBackend.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    own = check_backend(compiler.get_default_backend() if backend is None else backend)
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options,
                                 disable=disable)
    graphs = None if own is None or disable else _graphs(own, model, fullgraph, options)
    if isinstance(model, Module):
        return model if disable else OptimizedModule(model, graphs)
    assert callable(model), f"A callable function is expected, but {type(model)} is provided."
    if disable or isinstance(model, type):
        return model

    seen = set()

    @functools.wraps(model)
    def compile_wrapper(*args, **kwargs):
        return region.call(model, seen, args, kwargs, graphs)
    compile_wrapper._torchdynamo_orig_callable, compile_wrapper._torchdynamo_graphs = model, graphs
    return compile_wrapper
