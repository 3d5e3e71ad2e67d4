"""The engine: values, the trace trie, execution tiers and the cache of compiled programs.

It knows JAX and nothing of torch: an operator is anything with `name`, `resolve(layout, metas, kinds) -> Instance`.
"""
from .compile.cache import use_persistent_cache
from .compile.instance import Instance, Plan, VjpOp
from .record.meta import Meta, contiguous_strides, is_contiguous, meta_of
from .device import default_device, device_name
from .record.trace import TRACED, Context, State, Trace, Value, array_of, counters, literal, record, use_executor, user_site, value_of
from .compile.report import explain, stats
from . import execute
from .execute import wrap

use_persistent_cache()
use_executor(execute)
context = Context()


def flush():
    """Compute every value of this thread's trace that is still held."""
    context.trace.flush()


boundary = flush
