"""The engine: values, the trace trie, execution tiers and the cache of compiled programs.

It knows JAX and nothing of torch: an operator is anything with `name`, `resolve(layout, metas, kinds) -> Instance`.
"""
from .compile.cache import use_persistent_cache
from .compile.instance import Instance, Plan, VjpOp
from .record.meta import Meta, contiguous_strides, is_contiguous, meta_of
from .compile.run import device_name, wrap
from .record.trace import TRACED, Context, State, Trace, Value, array_of, counters, default_device, literal, record, user_site, value_of
from .compile.report import explain, stats

use_persistent_cache()
context = Context()


def flush():
    """Compute every value of this thread's trace that is still held."""
    context.trace.flush()


boundary = flush
