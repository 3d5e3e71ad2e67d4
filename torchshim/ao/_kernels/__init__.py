"""torch.ops.quantized: operators of quantized tensors, with the roundings of PyTorch's kernels on x86.

Sums of products of levels are exact: they are computed in float32 where no sum can exceed what that holds, else in float64.
"""
from __future__ import annotations

import importlib

_KERNELS: dict = {}                            # {namespace: {name: function}}
_FILES = {"quantized": ("linear", "convolution", "elementwise", "normalization", "embedding", "recurrent"), "_quantized": ("linear",),
          "quantized_decomposed": ("decomposed",)}


def declare(*names, namespace="quantized"):
    """A decorator: the operators of these names."""
    def put(f):
        for name in names:
            _KERNELS.setdefault(namespace, {})[name] = f
        return f
    return put


def kernel(namespace, name):
    """What computes torch.ops.<namespace>.<name>, or None."""
    for file in _FILES[namespace]:
        importlib.import_module(f"{__name__}.{file}")
    return _KERNELS.get(namespace, {}).get(name)
