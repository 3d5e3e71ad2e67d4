"""torch.cuda.jiterator: elementwise operators written in C++; refused (write them in Python: they become one program)."""
from . import _refused

__all__: list = []

_create_jit_fn = _refused.function("torch.cuda.jiterator", "_create_jit_fn")
_create_multi_output_jit_fn = _refused.function("torch.cuda.jiterator", "_create_multi_output_jit_fn")
