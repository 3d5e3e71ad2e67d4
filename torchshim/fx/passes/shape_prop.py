"""Run a graph and keep at each step what kind of tensor it made."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

from ... import Size, Tensor, channels_last, channels_last_3d, contiguous_format, dtype, memory_format
from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor."""
    shape: Size
    dtype: dtype
    requires_grad: bool
    stride: tuple
    memory_format: Optional[memory_format]
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result, include_contiguity=True):
    """A tensor's TensorMetadata."""
    formats = (contiguous_format, channels_last, channels_last_3d) if include_contiguity else ()
    found = next((f for f in formats if _fits(result, f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), found, result.is_quantized, {})


def _fits(t, fmt):
    needed = {channels_last: 4, channels_last_3d: 5}.get(fmt)
    return (needed is None or t.dim() == needed) and t.is_contiguous(memory_format=fmt)


class ShapeProp(Interpreter):
    """`propagate(*args)` runs the module; each step's `meta` gets "tensor_meta", the TensorMetadata of its tensors in their containers, and
    "type". RuntimeError at the step that fails. fake_mode: NotImplementedError unless None.
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError("torchshim: ShapeProp(fake_mode=)")
        self.real_module = self.module

    def run_node(self, n):
        """What one step makes."""
        try:
            result = super().run_node(n)
        except Exception as e:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from e
        found = []

        def seen(x):
            if not isinstance(x, Tensor):
                return x
            found.append(x)
            return _extract_tensor_metadata(x)
        meta = map_aggregate(result, seen)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Run the module on arguments; returns its result."""
        return super().run(*args)
