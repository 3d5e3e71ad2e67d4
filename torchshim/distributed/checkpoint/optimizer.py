"""Optimizers' states that are spread over processes: nothing here is."""
from .._absent import absent_function

__all__ = ["load_sharded_optimizer_state_dict"]
load_sharded_optimizer_state_dict = absent_function(__name__, "load_sharded_optimizer_state_dict")
