"""embedding and one_hot."""
from __future__ import annotations

import numpy as np

from ...engine import TRACED, context, warn
from ...ops.nn import embedding as ops
from ...ops.promotion import c_name
from ...ops.registry import T
from ...tensor.api.bind import call, type_name
from ...tensor.core.handle import TensorBase, read
from ...tensor.core.write import born_written
from ...tensor.api.picking import in_range, picked
from ...tensor.core.tensor import tensor_from
from .common import known


def _out_of_range(_):
    return IndexError("index out of range in self")


def _not_in_nothing(i, rows):
    """torch's error for an index into a matrix without elements, where another kernel looks."""
    return RuntimeError(f"INDICES element is out of DATA bounds, id={i} axis_dim={rows}" if rows else
                        "index_select(): self indexing axis dim should be positive")


def _renormed_in_range(indices, weight):
    shape = list(weight._ts_meta.shape)
    in_range(indices, -shape[0], shape[0],
             lambda i: IndexError(f"select(): index {i} out of range for tensor of size {shape} at dimension 0"))


def _renorm(weight, indices, max_norm, norm_type):
    """Scale down the longer ones of the rows, unseen by gradients and tangents."""
    held = weight.detach()
    held.copy_(call(ops.renormed_rows, (held, indices, float(max_norm), float(norm_type))))


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """weight[input]. padding_idx: a row without gradient; max_norm: rows that are longer are scaled down in place first."""
    if padding_idx is not None and padding_idx and not -weight.size(0) <= padding_idx < weight.size(0):
        raise AssertionError("Padding_idx must be within num_embeddings")
    if not isinstance(weight, TensorBase) or not isinstance(input, TensorBase):
        bad, what, at = (weight, "weight", 1) if not isinstance(weight, TensorBase) else (input, "indices", 2)
        raise TypeError(f"embedding(): argument '{what}' (position {at}) must be Tensor, not {type_name(bad)}")
    if weight._ts_meta.ndim < 2:
        if weight.requires_grad and context.grad and not weight._ts_meta.ndim:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        raise RuntimeError("'weight' must be 2-D")
    rows = weight._ts_meta.shape[0]
    padding_idx = -1 if padding_idx is None else padding_idx % rows if rows else 0
    whole = c_name(input._ts_meta.dtype) in ("Long", "Int")
    if max_norm is not None:
        if not whole:
            raise RuntimeError("Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
                               f"torch.{c_name(input._ts_meta.dtype)}Tensor instead (while checking arguments for embedding_renorm_)")
        d = weight._ts_meta.dtype
        if d.kind in "iub":
            raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {c_name(d)} instead.")
        _renormed_in_range(input, weight)
    if weight._ts_meta.ndim == 2 and whole:    # what is refused anyway leaves no check behind
        in_range(input, 0, rows, _out_of_range if weight._ts_meta.numel else lambda i: _not_in_nothing(i, rows))
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    layout = (T, T, padding_idx, bool(scale_grad_by_freq), False)
    if sparse:
        from . import sparse_gradients
        if sparse_gradients.wanted(weight):
            return sparse_gradients.embedding(weight, input, padding_idx, scale_grad_by_freq,
                                              lambda weight: picked(ops.embedding, (weight, input), layout))
    return picked(ops.embedding, (weight, input), layout)


def one_hot(tensor, num_classes=-1):
    """A new last dimension with 1 at each number's place; num_classes=-1: the largest number plus one (looks at the values)."""
    if tensor._ts_meta.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not tensor._ts_meta.numel:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return call(ops.one_hot, (tensor, num_classes))
    if num_classes == -1 and read(tensor).extra is TRACED and "transform" in context.modes:
        raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.")
    a = known(read(tensor)) if num_classes != -1 else tensor.detach()._ts_host()
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
    elif num_classes > 0:
        in_range(tensor, 0, num_classes, lambda i: RuntimeError("Class values must be non-negative." if i < 0 else
                                                                "Class values must be smaller than num_classes."))
    return born_written(call(ops.one_hot, (tensor, num_classes)), 2)


def _refuse_mode(mode, sparse, scale_grad_by_freq, per_sample_weights):
    """What bags refuse once their shapes are right."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and (sparse or scale_grad_by_freq):
        raise ValueError("max mode does not support scaling the gradient by the frequency" if scale_grad_by_freq else
                         "max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
                                  f"(got mode='{mode}'). Please open a feature request on GitHub.")


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """Sums, means or maxima of bags of rows: the rows of a 2-D input, or a 1-D input's parts that begin at `offsets`.

    per_sample_weights: factors, with mode "sum" only; include_last_offset: offsets end with the length; padding_idx: does not count.
    """
    if weight._ts_meta.dtype == np.int64 and input.is_floating_point():
        warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, "
             "and should now be `embedding_bag(input, weight, ...)`.")
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
                         f"same shape as the input ({input.shape})")
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
                             f"However, found offsets of type {type(offsets)}")
        _refuse_mode(mode, sparse, scale_grad_by_freq, per_sample_weights)
        bags, width = input.shape
        if not width:
            raise RuntimeError("step must be nonzero")         # in torch's arange for the offsets
        offsets = tensor_from(np.arange(bags) * width, input._ts_meta.device)
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        _refuse_mode(mode, sparse, scale_grad_by_freq, per_sample_weights)
        v = read(offsets)
        first = known(v)
        if first is None and v.extra is not TRACED and v.meta.device != "meta":
            first = offsets.detach()._ts_host()        # they are few, and wrong ones would go unnoticed
        if first is not None and first.size and first[0] != 0:
            raise RuntimeError(f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
                               f"got {first[0]}\n[ {offsets.type()}{{}} ]")
        if first is not None and first.size and first[-1] > input.shape[0]:
            raise RuntimeError(f"offsets[-1] can not be greater than input's length {input.shape[0]} but got offsets[-1] of {first[-1]}")
        if include_last_offset and not offsets.shape[0]:
            raise RuntimeError("include_last_offset: number of offset should be at least 1")
        bags = offsets.shape[0] - bool(include_last_offset)
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}")
        padding_idx %= rows
    _check_bag(input, weight, offsets, per_sample_weights)
    if max_norm is not None:
        _renormed_in_range(input, weight)
    # where torch goes through them one by one
    by_rows = mode == "max" or padding_idx is not None or c_name(weight._ts_meta.dtype) not in ("Float", "Half", "BFloat16")
    in_range(input, 0, rows, lambda i: RuntimeError(
        f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {i}" if by_rows else
        f"Index {_first_at(input, i)} of input takes value {i} which is not in the valid range [0, {rows})"))
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    padding_idx = -1 if padding_idx is None else padding_idx

    def compute(weight, per_sample_weights):
        return call(ops.embedding_bag, (weight, input, offsets, per_sample_weights, mode, padding_idx, bags, bool(scale_grad_by_freq)))
    if sparse:
        from . import sparse_gradients
        if sparse_gradients.wanted(weight):
            return sparse_gradients.embedding_bag(weight, per_sample_weights, input, offsets, mode, padding_idx, bags,
                                                  scale_grad_by_freq, compute)
    return compute(weight, per_sample_weights)


def bags(weight, indices, offsets, mode, include_last_offset, padding_idx):
    """What torch.embedding_bag returns beside its result; see there."""
    ids, starts, device = [t.detach()._ts_host() for t in (indices, offsets)] + [weight._ts_meta.device]
    count = len(starts) - bool(include_last_offset)
    if mode == 0 and padding_idx is None:
        none = np.zeros(len(starts), starts.dtype)
        return [tensor_from(a, device) for a in (np.zeros(0, ids.dtype), none, none.copy())]
    bag = np.searchsorted(starts[:count], np.arange(len(ids)), side="right") - 1
    kept = ids != padding_idx % weight.shape[0] if padding_idx is not None else np.ones(len(ids), bool)
    sizes = np.bincount(bag[kept], minlength=count).astype(ids.dtype)
    if mode != 2:
        return [tensor_from(a, device) for a in (bag.astype(ids.dtype), sizes, sizes.copy())]
    table, rows = weight.detach()._ts_host(), np.zeros((count, weight.shape[1]), ids.dtype)
    for k in range(count):
        mine = ids[kept & (bag == k)]
        if len(mine):
            rows[k] = mine[table[mine].argmax(0)]
    return [tensor_from(a, device) for a in (bag.astype(ids.dtype), sizes, rows)]


def _check_bag(indices, weight, offsets, per_sample_weights):
    """torch's errors for the dtypes of embedding_bag's arguments."""
    for t, name, position, kinds in ((indices, "indices", 1, ("Long", "Int")), (offsets, "indices", 1, ("Long", "Int")),
                                     (weight, "weight", 1, ("Half", "BFloat16", "Float", "Double"))):
        if c_name(t._ts_meta.dtype) not in kinds:
            said = c_name(t._ts_meta.dtype)
            said = f"CPU{said}Type" if said.startswith(("Bool", "BFloat", "Complex")) else f"torch.{said}Tensor"
            raise RuntimeError(f"Expected tensor for argument #{position} '{name}' to have one of the following scalar types: "
                               f"{', '.join(kinds)}; but got {said} instead (while checking arguments for embedding_bag)")
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        raise RuntimeError("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; "
                           f"but type torch.{c_name(weight._ts_meta.dtype)}Tensor does not equal "
                           f"torch.{c_name(per_sample_weights._ts_meta.dtype)}Tensor (while checking arguments for embedding_bag)")


def _first_at(indices, value):
    return int(np.argmax(indices.detach()._ts_host() == value))
