"""torch.utils."""
from ..dropin import missing_attribute as _missing_attribute
from ..tensor.core.copying import swap as swap_tensors

__getattr__ = _missing_attribute(__name__, lazy=(
    "_config_module", "_contextlib", "_python_dispatch", "_pytree", "_triton", "benchmark", "bundled_inputs", "checkpoint", "collect_env", "cpp_extension",
    "data", "deterministic", "dlpack", "flop_counter", "hooks", "mobile_optimizer", "model_zoo", "module_tracker", "tensorboard", "weak"))
