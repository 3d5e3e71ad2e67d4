"""torch.fx.experimental.optimization: modules made simpler for inference by changing their graphs."""
from __future__ import annotations

import copy

from ... import nn
from ...dropin import missing_attribute as _missing_attribute
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from .. import GraphModule, Transformer, symbolic_trace

_FUSED = ((nn.Conv1d, nn.BatchNorm1d, fuse_conv_bn_eval), (nn.Conv2d, nn.BatchNorm2d, fuse_conv_bn_eval),
          (nn.Conv3d, nn.BatchNorm3d, fuse_conv_bn_eval), (nn.Linear, nn.BatchNorm1d, fuse_linear_bn_eval))


def _called(node, modules):
    """The module that a step calls, else None."""
    return modules.get(node.target) if getattr(node, "op", None) == "call_module" else None


def fuse(model, inplace=False, no_trace=False):
    """The module with each batch norm folded into the convolution or linear layer before it, which nothing else uses; a GraphModule.

    model: a module in eval mode, copied unless `inplace`; traced unless it is a GraphModule and `no_trace`. A batch norm without running
    statistics stays.
    """
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules, graph = dict(traced.named_modules()), copy.deepcopy(traced.graph)
    for first_kind, second_kind, fused in _FUSED:
        for node in graph.nodes:
            before = node.args[0] if node.args else None
            first, second = _called(before, modules), _called(node, modules)
            if type(first) is not first_kind or type(second) is not second_kind or len(before.users) > 1 or not second.track_running_stats:
                continue
            parent, _, name = before.target.rpartition(".")
            modules[before.target] = fused(first, second)
            setattr(modules[parent], name, modules[before.target])
            node.replace_all_uses_with(before)
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model):
    """The module without its Dropout layers, a GraphModule."""
    class Remover(Transformer):
        def call_module(self, target, args, kwargs):
            return args[0] if isinstance(self.submodules[target], nn.Dropout) else super().call_module(target, args, kwargs)
    return Remover(symbolic_trace(model)).transform()


__getattr__ = _missing_attribute(__name__)
