"""torch.utils."""
import os as _os

from ..dropin import missing_attribute as _missing_attribute
from ..tensor.core.copying import swap as swap_tensors



def set_module(obj, mod):
    """Let an object say that it comes from a module; TypeError unless that is named by a str."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


#: Where PyTorch keeps what cmake wants; there is nothing there.
cmake_prefix_path = _os.path.join(_os.path.dirname(_os.path.dirname(__file__)), "share", "cmake")

__getattr__ = _missing_attribute(__name__, elsewhere={
    "get_cpp_backtrace": "cpp_backtrace", "ThroughputBenchmark": "throughput_benchmark",
    "rename_privateuse1_backend": "backend_registration", "generate_methods_for_privateuse1_backend": "backend_registration"}, lazy=(
    "backcompat", "backend_registration", "cpp_backtrace", "file_baton", "serialization", "throughput_benchmark", "_config_module",
    "_contextlib", "_import_utils", "_python_dispatch", "_pytree", "_sympy", "_triton", "benchmark", "bundled_inputs", "checkpoint", "collect_env", "cpp_extension",
    "data", "deterministic", "dlpack", "flop_counter", "hooks", "mobile_optimizer", "model_zoo", "module_tracker", "tensorboard", "weak"))
