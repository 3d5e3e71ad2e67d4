"""The grad modes under the name of their torch module."""
from .modes import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]

for _class in (enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled):
    _class.__module__ = __name__               # where torch has them: they print so, and pickles look for them
