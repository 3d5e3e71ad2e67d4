"""The few operators that backward itself needs."""
from __future__ import annotations

import jax.numpy as jnp

from ..engine import Instance, context, record, value_of


class _Add:
    """Sum of two cotangents."""
    name, view, vjp_rule = "add", None, None

    def __init__(self):
        self.insts = {}

    def resolve(self, layout, metas, kinds):
        inst = self.insts.get(metas)
        if inst is None:
            inst = Instance(self, (), lambda a, b: [(a + b).astype(a.dtype)], metas, "", metas[0].device, (metas[0].strides,))
            inst.grad_fn_name = "AddBackward0"
            self.insts[metas] = inst
        return inst

    def grad_name(self, inst):
        return "AddBackward0"


class _Fill:
    """A constant of a given meta."""
    view = vjp_rule = None

    def __init__(self, name, make):
        self.name, self.make, self.insts = name, make, {}

    def resolve(self, layout, metas, kinds):
        inst = self.insts.get(layout)
        if inst is None:
            m = layout[0]
            inst = Instance(self, layout, lambda: [self.make(m.shape, m.dtype)], (), "", m.device, (m.strides,))
            inst.diff_outs = ()
            self.insts[layout] = inst
        return inst


ADD = _Add()
ZEROS = _Fill("zeros", jnp.zeros)
ONES = _Fill("ones", jnp.ones)


def zeros_value(meta):
    """Zeros of a meta, recorded."""
    if meta.device == "meta":
        return value_of(None, meta)
    return record(context, ZEROS, (meta,), ())[0]


def ones_value(meta):
    """Ones of a meta, recorded."""
    if meta.device == "meta":
        return value_of(None, meta)
    return record(context, ONES, (meta,), ())[0]
