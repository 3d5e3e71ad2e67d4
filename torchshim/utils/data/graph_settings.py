"""Settings of a pipe and of all that it draws from: seeds, shuffling, and which part of the samples is whose."""
from __future__ import annotations

import functools
import inspect
import warnings

from ... import Generator
from ._utils.worker import get_worker_info
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .sampler import drawn_seed


def pipes(datapipe):
    """A pipe and the pipes among its attributes, each once, the last of the chain first."""
    found = {}

    def visit(x):
        if isinstance(x, (IterDataPipe, MapDataPipe)):
            if id(x) not in found:
                found[id(x)] = x
                for value in vars(x).values():
                    visit(value)
        elif isinstance(x, (list, tuple, set)):
            for value in x:
                visit(value)
        elif isinstance(x, dict):
            for value in x.values():
                visit(value)
    visit(datapipe)
    return list(found.values())


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


def apply_sharding(datapipe, num_of_instances, instance_id):
    """Let the pipes that divide samples take part `instance_id` of `num_of_instances`."""
    for p in pipes(datapipe):
        if _has(p, "apply_sharding"):
            p.apply_sharding(num_of_instances, instance_id)
    return datapipe


def seeded(datapipe, generator):
    """Draw the seed of a loader's pass from its stream, and seed the pipes by it."""
    shared = Generator()
    shared.manual_seed(drawn_seed(generator))
    apply_random_seed(datapipe, shared)


def _in_worker(then, worker_id):
    info = get_worker_info()
    apply_sharding(info.dataset, info.num_workers, worker_id)
    if then is not None:
        then(worker_id)


def sharding(worker_init_fn):
    """A worker_init_fn that lets the worker take its part before."""
    return functools.partial(_in_worker, worker_init_fn)
