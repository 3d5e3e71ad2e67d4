"""torch.utils.benchmark: Timer, tables that compare what it measured, and random tensors to measure with."""
from ...dropin import missing_attribute as _missing_attribute
from .utils.common import Measurement, TaskSpec, ordered_unique, select_unit, set_torch_threads, trim_sigfig, unit_to_english
from .utils.compare import Colorize, Compare
from .utils.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from .utils.sparse_fuzzer import FuzzedSparseTensor
from .utils.timer import Language, Timer, timer

__all__ = ["Colorize", "Compare", "FuzzedParameter", "FuzzedSparseTensor", "FuzzedTensor", "Fuzzer", "Language", "Measurement",
           "ParameterAlias", "TaskSpec", "Timer", "ordered_unique", "select_unit", "set_torch_threads", "timer", "trim_sigfig",
           "unit_to_english"]
__getattr__ = _missing_attribute(__name__, lazy=("op_fuzzers",))
