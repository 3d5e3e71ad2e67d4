"""What torch's graph calls the last operator of a batched function: its batching rule may end with another operator."""
from __future__ import annotations

_ENDS = {
    "AddmmBackward0": "AddBackward0", "AvgPool2DBackward0": "ViewBackward0", "AdaptiveAvgPool2DBackward0": "ViewBackward0",
    "ConvolutionBackward0": "ViewBackward0", "DotBackward0": "SqueezeBackward1", "EmbeddingBackward0": "PermuteBackward0",
    "MaxBackward1": "MaxBackward0", "MeanBackward0": "MeanBackward1", "MinBackward1": "MinBackward0", "MmBackward0": "UnsafeViewBackward0",
    "MvBackward0": "SqueezeBackward1", "NativeBatchNormBackward0": "TransposeBackward0", "NativeGroupNormBackward0": "ViewBackward0",
    "ProdBackward0": "ProdBackward1", "RollBackward0": "ViewBackward0", "SqueezeBackward1": "SqueezeBackward2",
    "SqueezeBackward4": "SqueezeBackward5", "SumBackward0": "SumBackward1", "TBackward0": "TransposeBackward0",
    "TraceBackward0": "SumBackward1"}
_LOSSES = {"BinaryCrossEntropyBackward0", "BinaryCrossEntropyWithLogitsBackward0", "HuberLossBackward0", "MseLossBackward0",
           "SmoothL1LossBackward0"}


def batched_name(node, ndim):
    """The name of a node of a batch, for the one that ends the function of an example, whose result has `ndim` dimensions.
    Of a sum of losses it is that of their mean; of a Function with a generated rule, that of the Function which torch makes of it."""
    name, function = type(node).__name__, getattr(node, "_ts_forward_cls", None)
    if function is not None and function.generate_vmap_rule:
        return f"Vmapped{function.__name__}Backward"
    if name.startswith("Vmapped"):
        return "Vmapped" + name
    inst = getattr(node, "_ts_inst", None)
    if ndim == 1 and name == "ViewBackward0" and inst is not None and inst.op.name == "linear":     # of one row with a bias
        return "AddBackward0"
    if name in _LOSSES:
        return "ViewBackward0" if ndim else "MeanBackward1"
    if name == "NllLossBackward0":
        return "WhereBackward0" if ndim else "DivBackward0"
    return _ENDS.get(name, name)
