"""functorch.compile: functions and their gradients as graphs. See `torchshim._functorch.aot_autograd`."""
from ..._functorch.aot_autograd import aot_function, aot_module, aot_module_simplified, make_boxed_compiler, make_boxed_func
from ..._functorch.compilers import (get_aot_graph_name, memory_efficient_fusion, nop, print_compile, simple_ts_compile, ts_compile)
from ..._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from ...dropin import missing_attribute as _missing_attribute

__all__ = ["aot_function", "aot_module", "aot_module_simplified", "default_partition", "get_aot_graph_name", "make_boxed_compiler",
           "make_boxed_func", "memory_efficient_fusion", "min_cut_rematerialization_partition", "nop", "print_compile",
           "simple_ts_compile", "ts_compile"]
__getattr__ = _missing_attribute(__name__)
