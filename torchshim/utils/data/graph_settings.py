"""Settings of a pipe and of all that it draws from: seeds, shuffling, and which part of the samples is whose."""
from __future__ import annotations

import inspect
import warnings

from ... import Generator
from .datapipes.iter.sharding import SHARDING_PRIORITIES, _ShardingIterDataPipe
from .graph import traverse_dps
from .sampler import drawn_seed

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph):
    """The pipes of a graph, each once, the last of the chain first."""
    found = {}

    def visit(graph):
        for number, (pipe, below) in graph.items():
            if number not in found:
                found[number] = pipe
                visit(below)
    visit(graph)
    return list(found.values())


def pipes(datapipe):
    """A pipe and those that it draws from."""
    return get_all_graph_pipes(traverse_dps(datapipe))


def _has(pipe, *methods):
    return all([inspect.ismethod(getattr(pipe, m, None)) for m in methods])


def apply_shuffle_settings(datapipe, shuffle=None):
    """Let all shufflers shuffle or not; one is added with a warning if there is none. None changes nothing. Returns the pipe to use."""
    if shuffle is None:
        return datapipe
    shufflers = [p for p in pipes(datapipe) if _has(p, "set_shuffle", "set_seed")]
    if not shufflers and shuffle:
        warnings.warn("`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware that the "
                      "default buffer size might not be sufficient for your task.", stacklevel=2)
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for p in shufflers:
        p.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe, rng):
    """Give each pipe that takes one a seed from a Generator."""
    for p in pipes(datapipe):
        if _has(p, "set_seed"):
            p.set_seed(drawn_seed(rng))
    return datapipe


def apply_shuffle_seed(datapipe, rng):
    """`apply_random_seed` by its old name."""
    warnings.warn("`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. Please use "
                  "`apply_random_seed` instead.", FutureWarning, stacklevel=2)
    return apply_random_seed(datapipe, rng)


def apply_sharding(datapipe, num_of_instances, instance_id, sharding_group=SHARDING_PRIORITIES.DEFAULT):
    """Let the pipes that divide samples take part `instance_id` of `num_of_instances`; RuntimeError where one draws from another."""
    def visit(graph, above):
        for pipe, below in graph.values():
            divides = isinstance(pipe, _ShardingIterDataPipe) or _has(pipe, "apply_sharding")
            if divides:
                if above is not None:
                    raise RuntimeError("Sharding twice on a single pipeline is likely unintended and will cause data loss. Sharding "
                                       f"already applied to {above} while trying to apply to {pipe}")
                group = {"sharding_group": sharding_group} if len(inspect.signature(pipe.apply_sharding).parameters) > 2 else {}
                pipe.apply_sharding(num_of_instances, instance_id, **group)
            visit(below, pipe if divides else above)
    visit(traverse_dps(datapipe), None)
    return datapipe


def seeded(datapipe, seed):
    """Seed the pipes by what the loader drew."""
    shared = Generator()
    shared.manual_seed(seed)
    apply_random_seed(datapipe, shared)
