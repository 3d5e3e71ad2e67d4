"""torch.export.passes: changes of programs."""
from __future__ import annotations

from .. import Tensor, device as as_device
from ..utils import _pytree as pytree

__all__ = ["move_to_device_pass"]


def move_to_device_pass(ep, location):
    """The program with its parameters, buffers, constants and devices elsewhere. location: a device, or {from: to}."""
    def moved(d):
        if isinstance(location, dict):
            return as_device(location[str(d)]) if str(d) in location else d
        return as_device(location)

    def of(x):
        if isinstance(x, as_device):
            return moved(x)
        return x.to(moved(x.device)) if isinstance(x, Tensor) and x.device != moved(x.device) else x
    for name, t in ep.state_dict.items():
        t.data = of(t.data)
    for name, t in ep.constants.items():
        ep.constants[name] = of(t)
    for node in ep.graph.nodes:
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": moved(node.kwargs["device"])}
        if node.op != "output" and "val" in node.meta:
            node.meta["val"] = pytree.tree_map(of, node.meta["val"])
    ep.graph_module.recompile()
    return ep
