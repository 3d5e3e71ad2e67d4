"""torch._inductor: the names that programs touch. XLA compiles here."""
from ..compiler import cudagraph_mark_step_begin
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("config", "utils"))
