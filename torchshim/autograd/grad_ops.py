"""The few operators that backward itself needs."""
from __future__ import annotations

from ..engine import Instance, Operator, context, record, value_of
from ..ops.creation import ONES, ZEROS
from ..ops.layout import elementwise_strides


class _Add(Operator):
    """Sum of two cotangents."""
    name, grad, elementwise = "add", "AddBackward0", True

    def build(self, layout, metas, kinds):
        m = metas[0]
        if m.numel < 2 and 0 in m.strides:     # repeated without memory, which a sum is not
            strides = None
        else:
            strides = m.strides if m.dense else elementwise_strides(metas, m.shape)
        return Instance(self, (), lambda a, b: [(a + b).astype(a.dtype)], metas, "", m.device, (strides,), alike=())

    def gradient_strides(self, inst, plan, saved, cts):
        return tuple([cts[0].strides] * len(plan.needs))       # the cotangent is passed on


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
