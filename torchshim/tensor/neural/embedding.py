"""embedding and one_hot."""
from __future__ import annotations

import numpy as np

from ...ops.nn import embedding as ops
from ...ops.registry import T
from ..bind import call, type_name
from ..dispatch import TensorBase, apply, read
from ..indexing import in_range
from .common import known


def _out_of_range(_):
    return IndexError("index out of range in self")


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """weight[input]. padding_idx: a row without gradient; max_norm: rows that are longer are scaled down in place first."""
    if not isinstance(weight, TensorBase) or not isinstance(input, TensorBase):
        bad, what, at = (weight, "weight", 1) if not isinstance(weight, TensorBase) else (input, "indices", 2)
        raise TypeError(f"embedding(): argument '{what}' (position {at}) must be Tensor, not {type_name(bad)}")
    if sparse:
        raise NotImplementedError("torchshim: embedding(sparse=True)")
    rows = weight._meta.shape[0] if weight._meta.ndim else 0
    if padding_idx is None:
        padding_idx = -1
    else:
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if weight._meta.ndim == 2 and input._meta.dtype.kind == "i":
        in_range(input, 0, rows, _out_of_range)
    if max_norm is not None:
        from ...autograd.modes import no_grad
        with no_grad():
            weight.copy_(call(ops.renormed_rows, (weight, input, float(max_norm), float(norm_type))))
    return apply(ops.embedding, (weight, input), (T, T, padding_idx, bool(scale_grad_by_freq), False))


def one_hot(tensor, num_classes=-1):
    """A new last dimension with 1 at each number's place; num_classes=-1: the largest number plus one (looks at the values)."""
    if tensor._meta.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not tensor._meta.numel:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return call(ops.one_hot, (tensor, num_classes))
    a = known(read(tensor)) if num_classes != -1 else tensor.detach()._host()
    if a is not None:
        if a.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes == -1:
            num_classes = int(a.max()) + 1
        elif num_classes < 1:
            raise RuntimeError("num_classes should be positive") if num_classes < 0 else RuntimeError(
                "Class values must be smaller than num_classes.")
        elif a.max() >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    return call(ops.one_hot, (tensor, num_classes))
