"""torch.compiler: what programs say to a compiler of Python. Here functions are called as they are (see `torch.compile`);
`region` tells what counts as compiled."""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute
from ..nn import Module
from .region import disabled, is_compiling as _in_region, set_stance

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "get_default_backend",
           "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_default_backend", "set_stance",
           "substitute_in_graph", "wrap_numpy"]


def compile(*args, **kwargs):
    """See `torch.compile`."""
    from .._dynamo.eval_frame import compile as make
    return make(*args, **kwargs)


_default_backend = "inductor"


def set_default_backend(backend):
    """What `torch.compile` takes where no backend is given: a name, a function, or None for torch's own. TypeError for all else."""
    global _default_backend
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string or callable, got {type(backend)}")
    _default_backend = "inductor" if backend is None else backend


def get_default_backend():
    """What `set_default_backend` was given last, "inductor" at first."""
    return _default_backend


def disable(fn=None, recursive=True, *, reason=None):
    """The function or module, not compiled even where a compiled one calls it; without one, a decorator."""
    if fn is None:
        return lambda f: disable(f, recursive, reason=reason)
    if isinstance(fn, type):
        return fn
    if isinstance(fn, Module):
        from .._dynamo.eval_frame import OptimizedModule
        return OptimizedModule(fn, compiled=False)
    assert callable(fn), f"A callable function is expected, but {type(fn)} is provided."
    return disabled(fn)


def allow_in_graph(fn):
    """The function (or the functions of a list) as it is. AssertionError for what cannot be called."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(f) for f in fn]
    assert callable(fn), "allow_in_graph expects a callable"
    return fn


def assume_constant_result(fn):
    """The function as it is: it is called each time."""
    return fn


def nested_compile_region(fn=None, **options):
    """The function as it is."""
    return (lambda f: f) if fn is None else fn


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False):
    """A decorator that leaves both functions as they are."""
    return lambda traceable_fn: traceable_fn


def is_compiling():
    """Whether the caller runs inside a function or module that `torch.compile` made, or is traced by torch.export."""
    return _in_region() or is_exporting()


is_dynamo_compiling = _in_region


def is_exporting():
    """Whether torch.export traces the caller."""
    import sys
    tracing = sys.modules.get(f"{__package__.partition('.')[0]}.export.tracing")
    return tracing is not None and tracing.depth[0] > 0


def reset():
    """Forget the graphs that backends of the program's own have got. What XLA has compiled stays right; see `torchshim.stats`."""
    import sys
    graphs = sys.modules.get(f"{__package__.partition('.')[0]}._dynamo.graphs")
    if graphs is not None:
        graphs.reset()


def cudagraph_mark_step_begin():
    """Nothing: there are no CUDA graphs whose memory is used again."""


def list_backends(exclude_tags=("debug", "experimental")):
    """Names that `torch.compile` takes."""
    from .._dynamo.backends.registry import list_backends as listed
    return listed(exclude_tags)


def wrap_numpy(fn):
    """A function of NumPy arrays as one of tensors."""
    import functools

    import numpy as np

    from .. import Tensor, from_numpy
    from ..utils._pytree import tree_map_only

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        args, kwargs = tree_map_only(Tensor, lambda t: t.numpy(), (args, kwargs))
        return tree_map_only(np.ndarray, from_numpy, fn(*args, **kwargs))
    return wrapped


__getattr__ = _missing_attribute(__name__, lazy=("config",))
