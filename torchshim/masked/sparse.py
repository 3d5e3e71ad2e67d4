"""Masked tensors with sparse data: data and mask have the same indices, and functions go on on the values."""
from __future__ import annotations

from .. import Tensor
from ..tensor.api.bind import FUNCTIONS as F
from ..tensor.api.creation import tensor
from ..tensor.core.layout import ALL as LAYOUTS, strided

COO, CSR = LAYOUTS["sparse_coo"], LAYOUTS["sparse_csr"]


def places(s):
    """The tensors that say where the values of a sparse tensor lie."""
    return [s.indices()] if s.layout is COO else [s.crow_indices(), s.col_indices()]


def with_values(s, values):
    """A sparse tensor with the indices of `s` and other values."""
    if s.layout is COO:
        return F["sparse_coo_tensor"](s.indices(), values, s.size(), is_coalesced=True)
    return F["sparse_csr_tensor"](*places(s), values, s.size())


def aligned(data, mask):
    """Data and mask with the same indices: where there are more or fewer values than the mask has, those where it is true, or 0.

    TypeError for different layouts or one that is not supported, ValueError for different indices.
    """
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout not in (strided, COO, CSR):
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if data.layout is COO:
        data, mask = data.coalesce(), mask.coalesce()
    if data.layout is not strided and data.size() == mask.size():
        if data._nnz() != mask._nnz():
            there = mask.to_sparse_coo().coalesce()
            kept = there.values()
            there = F["sparse_coo_tensor"](there.indices()[:, kept], kept[kept], mask.size(), is_coalesced=True)
            data = data.to_dense().sparse_mask(there)
            data = data.coalesce() if mask.layout is COO else data.to_sparse_csr()
        if not all([F["equal"](a, b) for a, b in zip(places(data), places(mask))]):
            which = "COO tensors but do not have the same indices" if data.layout is COO else \
                "CSR tensors but do not share either crow or col indices"
            raise ValueError(f"data and mask are both sparse {which}.")
    return data, mask


def elementwise(func, operands, rest, kwargs):
    """A function of one or two tensors, the first of them sparse, on its values and those of the other. ValueError for other indices."""
    first = operands[0]
    values = [first.values()]
    for x in operands[1:]:
        if isinstance(x, Tensor) and x.layout is first.layout:
            if not all([F["equal"](a, b) for a, b in zip(places(first), places(x))]):
                raise ValueError(f"{str(first.layout)[6:]} indices must match. If you need support for this, please open an issue on "
                                 "Github.")
            if x.size() != first.size():
                raise ValueError("input1 and input2 must have the same size for binary functions.")
            x = x.values()
        values.append(x)
    return with_values(first, func(*values, *rest, **kwargs))


def converted(data, mask, layout):
    """Data and mask in another layout."""
    if data.layout is layout:
        return data, mask
    if layout is strided:
        return data.to_dense(), mask.to_dense()
    if layout is CSR and data.ndim != 2:
        raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {data.size()}")
    mask = mask.to_sparse_coo().coalesce() if layout is COO else mask.to_sparse_csr()
    return data.sparse_mask(mask), mask


def place_of(data, at):
    """Where value number `at` of sparse coordinates lies, as PyTorch's prototype counts it."""
    size = tensor(data.size())
    return (data.indices().unbind(1)[int(at)] * (data.numel() / size.cumprod(0))).sum()
