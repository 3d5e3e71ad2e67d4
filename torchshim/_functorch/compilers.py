"""torch._functorch.compilers: compilers that give a graph as it is. XLA compiles what repeats."""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute
from .aot_autograd import aot_function, aot_module, make_boxed_compiler
from .partitioners import min_cut_rematerialization_partition

__getattr__ = _missing_attribute(__name__)


def nop(fx_g, _):
    """The graph as it is."""
    from .aot_autograd import make_boxed_func
    return make_boxed_func(fx_g.forward)


ts_compile = nop
simple_ts_compile = nop


@make_boxed_compiler
def print_compile(fx_g, _):
    """The graph as it is, and its code is printed."""
    print(fx_g.code)
    return fx_g


def get_aot_graph_name():
    """The name of the graph that is being compiled; "model" is all of it."""
    return "model"


def memory_efficient_fusion(fn, **kwargs):
    """A module or function with its gradient as graphs, which XLA compiles as any other calls."""
    config = {"fw_compiler": ts_compile, "bw_compiler": ts_compile, "partition_fn": min_cut_rematerialization_partition, **kwargs}
    from ..nn import Module
    return aot_module(fn, **config) if isinstance(fn, Module) else aot_function(fn, **config)
