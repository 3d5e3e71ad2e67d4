"""The few operators that backward itself needs."""
from __future__ import annotations

from ..engine import Instance, Operator, context, record, value_of
from ..ops.creation import ONES, ZEROS
from ..ops.layout import elementwise_strides


class _Add(Operator):
    """Sum of two cotangents."""
    name, grad = "add", "AddBackward0"

    def build(self, layout, metas, kinds):
        return Instance(self, (), lambda a, b: [(a + b).astype(a.dtype)], metas, "", metas[0].device,
                        (metas[0].strides if metas[0].dense else elementwise_strides(metas, metas[0].shape),), alike=())


ADD = _Add()

def zeros_value(meta):
    """Zeros of a meta, recorded."""
    if meta.device == "meta":
        return value_of(None, meta)
    return record(context, ZEROS, (meta, ()), ())[0]


def ones_value(meta):
    """Ones of a meta, recorded."""
    if meta.device == "meta":
        return value_of(None, meta)
    return record(context, ONES, (meta, ()), ())[0]
