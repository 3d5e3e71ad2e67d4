"""What counts as compiled: a call of what `torch.compile` made, unless `torch.compiler.set_stance` or `disable` says otherwise.

Nothing is computed otherwise there; programs that ask `torch.compiler.is_compiling()` hear what they would hear from PyTorch, which
traces such a call.
"""
from __future__ import annotations

import functools
import threading

from .. import Tensor
from ..tensor.core.overriding import plainly

STANCES = ("default", "eager_on_recompile", "fail_on_recompile", "force_eager", "eager_then_compile", "aot_eager_then_compile")
_MOST = 64                             # signatures that a function's calls are told apart by


class _Inside(threading.local):
    compiling = False


_inside = _Inside()
_stance = "default"


def is_compiling():
    """Whether the caller runs inside a function or module that `torch.compile` made."""
    return _inside.compiling


def _signature(args, kwargs):
    return tuple([(a.shape, a.dtype) if isinstance(a, Tensor) else type(a) for a in (*args, *kwargs.values())])


def call(fn, seen, args, kwargs, graphs=None):
    """fn(*args, **kwargs) as a compiled call; `seen` holds the signatures of those before. graphs: where a backend of the program's own gets
    the function's graphs.

    RuntimeError for a new one under the stance fail_on_recompile.
    """
    if _inside.compiling or _stance == "force_eager":
        return fn(*args, **kwargs)
    if len(seen) < _MOST or _stance != "default":
        signature = _signature(args, kwargs)
        if signature not in seen:
            if _stance == "fail_on_recompile":
                code = getattr(fn if hasattr(fn, "__code__") else getattr(fn, "forward", None), "__code__", None)
                where = code and (f" filename: '{code.co_filename}', function name: '{code.co_name}', line number: {code.co_firstlineno}")
                raise RuntimeError(f"Detected recompile when torch.compile stance is 'fail_on_recompile'.{where or ''}")
            if _stance == "eager_on_recompile":
                return fn(*args, **kwargs)
            if _stance.endswith("eager_then_compile") and not seen:
                seen.add(signature)
                return fn(*args, **kwargs)
            seen.add(signature)
    _inside.compiling = True
    try:
        return fn(*args, **kwargs) if graphs is None else graphs.call(fn, args, kwargs)
    finally:
        _inside.compiling = False


class running:
    """A block in which what was compiled runs."""

    def __enter__(self):
        self.before, _inside.compiling = _inside.compiling, False

    def __exit__(self, *exc):
        _inside.compiling = self.before


def disabled(fn):
    """The function, with `is_compiling` false in it."""
    @functools.wraps(fn)
    def _fn(*args, **kwargs):
        if not _inside.compiling:
            return fn(*args, **kwargs)
        with running(), plainly():
            return fn(*args, **kwargs)
    _fn._torchdynamo_orig_callable, _fn._torchdynamo_disable = fn, True
    return _fn


def _set(stance):
    global _stance
    before, _stance = _stance, stance
    return before


def _forbid(what):
    if _inside.compiling:
        raise AssertionError(f"Attempt to trace forbidden callable {what}")


class set_stance:
    """A call, context or decorator that says what counts as compiled: `force_eager` nothing, `eager_on_recompile` only calls with shapes
    and dtypes that were compiled before, `fail_on_recompile` raises RuntimeError for others, `eager_then_compile` all but a function's
    first.

    RuntimeError for other stances; AssertionError inside a compiled function.
    """

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        _forbid(set_stance)
        if force_backend is not None and stance != "default":
            raise RuntimeError("non-default stance cannot have force_backend set")
        if stance not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance 'DynamoStance(stance='{stance}', "
                               f"skip_guard_eval_unsafe={skip_guard_eval_unsafe}, backend={force_backend!r})'")
        self.stance = stance
        self.prev = _set(stance)

    def __enter__(self):
        _set(self.stance)

    def __exit__(self, *exc):
        _set(self.prev)

    def __call__(self, fn):
        _set(self.prev)

        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            _forbid(wrapper)
            before = _set(self.stance)
            try:
                return fn(*args, **kwargs)
            finally:
                _set(before)
        return wrapper
