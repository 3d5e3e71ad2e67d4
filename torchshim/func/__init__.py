"""torch.func: functions that make functions: gradients, products with Jacobians, batching.

`vmap` runs the function once on tensors that hold JAX tracers. The derivatives run it on ordinary tensors and walk the graph
that it leaves, so that what they do is recorded and compiled like everything else and may branch on values; inside `vmap`
the same code runs on tracers.
"""
from ..dropin import missing_attribute as _missing_attribute
from ..tensor.api import docs as _docs
from .transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from .models import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .vmap import vmap
from .functionalize import functionalize
from .rearrange import rearrange

__all__ = ["grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "linearize", "vmap", "functional_call", "functionalize",
           "rearrange", "replace_all_batch_norm_modules_", "stack_module_state"]

_docs.complete({"torch.func.": globals()})
__getattr__ = _missing_attribute(__name__)
