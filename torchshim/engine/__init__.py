"""The engine: values, the trace trie, execution tiers and the cache of compiled programs.

It knows JAX and nothing of torch: an operator is an `Operator`, which makes an Instance for each kind of call.
"""
import logging

from . import execute, half, heap, pool
from .compile.batch import Batched, Example, example_of, innermost, is_example, of_batch, row_of
from .compile.cache import use_persistent_cache
from .compile.gradient import Plan, Reads, influences
from .compile.instance import Instance
from .compile.operator import Operator, VjpOp
from .compile.report import explain, stats
from .device import default_device, device_name, is_host
from .direct import Asked
from .execute import wrap
from .record.checks import expect
from .record.context import Context, steppers, writers
from .record.memory import CHUNK, Memory, allocated, alone, borrowed, different_bits, exposed, extent, present, same_bits
from .record.meta import Meta, contiguous_strides, is_contiguous, meta_of
from .record.trace import Trace, known, place_input, record, replace_last
from .record.trie import State, counters
from .record.value import TRACED, Immediate, NeedsNumbers, NeedsTracer, Value, array_of, literal, value_of
from .site import user_site, warn

use_persistent_cache()
if logging.getLogger("jax").level == logging.NOTSET:       # a program that logs its own doings wants none of JAX's, unless it says so
    logging.getLogger("jax").setLevel(logging.WARNING)
heap.keep()
context = Context(executor=execute)


def flush():
    """Compute every value of this thread's trace that is still held."""
    tr = context.trace
    state = tr.state
    if state is None or state.n_values or tr.values or tr.inputs or tr.backwards:      # else it is as good as a new one
        tr.flush()


boundary = flush
