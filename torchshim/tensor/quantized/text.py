"""What torch prints of a quantized tensor: its numbers, then how they are kept."""
from __future__ import annotations

from ..core import printing
from .base import PerTensor, dequantized, handles, host


@handles("__repr__", "__str__")
def text(s, *, tensor_contents=None):
    prefix = "tensor("
    indent = len(prefix)
    shape, device = tuple(s.shape), str(s.device)
    suffixes = [f"device='{device}'"] if device != "cpu" else []
    suffixes += [f"size={shape}", f"dtype={s._dtype}", f"quantization_scheme={s._q.scheme}"]
    if isinstance(s._q, PerTensor):
        suffixes += [f"scale={s._q.scale}", f"zero_point={s._q.zero_point}"]
    else:
        suffixes += [f"scale={s._q.scales}", f"zero_point={s._q.zero_points}", f"axis={s._q.axis}"]
    if tensor_contents is not None:
        shown = tensor_contents
    elif not s.numel():
        shown = "[]"
    else:
        shown = printing.bracketed(host(dequantized(s)), "float32", shape, indent)
    front = "Parameter containing:\n" if s.__dict__.get("_is_param") else ""
    return front + printing.with_suffixes(prefix + shown, suffixes, indent) + ")"
