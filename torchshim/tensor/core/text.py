"""repr of tensors: what `printing` needs, gathered from the tensor."""
from __future__ import annotations

import numpy as np

from ...engine import array_of, half
from . import printing
from .dtype import get_default_dtype
from .handle import read, tangent_of


def tensor_text(t, tensor_contents=None):
    """The text of repr(t)."""
    v = read(t)
    m = v.meta
    device = t.device
    kind = "tensor" if type(t).__name__ in ("Tensor", "Parameter", "Buffer") else type(t).__name__
    try:
        name = None if t.grad_fn is None else type(t.grad_fn).__name__
    except RuntimeError:                       # a view whose history is lost
        name = "Invalid"
    data = None
    if m.device != "meta" and tensor_contents is None:
        a = array_of(v)
        data = None if _traced(a) else np.asarray(a) if m.dtype is not half.COMPLEX_HALF else half.unpack(np.asarray(a))
        if data is None:
            tensor_contents = f"<{a}>"
    text = printing.format_tensor(
        data, dtype=t.dtype.name, requires_grad=t.requires_grad, grad_fn_name=name, device=str(device),
        default_dtype=get_default_dtype().name, shape=m.shape, kind=kind, tensor_contents=tensor_contents,
        tangent=tangent_of(t))
    parameter = t.__dict__.get("_is_param") or getattr(type(t), "_ts_mark", None) == "_is_param"
    return f"Parameter({text})" if parameter and kind != "tensor" else text      # a subclass's


def _traced(a):
    import jax
    return isinstance(a, jax.core.Tracer)
