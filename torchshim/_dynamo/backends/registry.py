"""Backends by name. Those of torch's own mean XLA, which compiles what repeats without being asked (see `..eval_frame`)."""
from __future__ import annotations

from ..exc import InvalidBackend

BACKENDS = ("cudagraphs", "inductor", "openxla", "tvm")
DEBUG = ("aot_eager", "aot_eager_decomp_partition", "aot_eager_decomp_partition_crossref", "aot_eager_decomp_partition_with_mode",
         "aot_eager_default_partitioner", "aot_ts", "eager", "eager_debug", "eager_noexcept", "pre_dispatch_eager", "ts")
own: dict = {}                                 # {name: a backend that the program has registered}
_tags: dict = {}


def register_backend(compiler_fn=None, name=None, tags=()):
    """Let `torch.compile` find `compiler_fn(gm, example_inputs)` by a name, its own if there is no other. Without it, a decorator."""
    if compiler_fn is None:
        return lambda f: register_backend(f, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"Expected callable compiler function, got {type(compiler_fn)}")
    name = name or compiler_fn.__name__
    if name in own:
        raise AssertionError(f"duplicate name: {name}")
    own[name], _tags[name] = compiler_fn, set(tags)
    compiler_fn._tags = tuple(tags)
    return compiler_fn


def as_it_is(gm, fake_tensor_inputs, **options):
    """A backend that gives the graph as it is."""
    return gm.forward


def lookup_backend(compiler_fn):
    """The function that a name stands for; torch's own give the graph as it is. InvalidBackend where nobody knows it."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn in own:
        return own[compiler_fn]
    if compiler_fn not in BACKENDS + DEBUG:
        raise InvalidBackend(compiler_fn)
    return as_it_is


def list_backends(exclude_tags=("debug", "experimental")):
    """The names of backends, without those that have one of the tags."""
    without = set(exclude_tags or ())
    found = [*BACKENDS, *(() if "debug" in without else DEBUG), *[n for n in own if not without & _tags[n]]]
    return sorted(found)
