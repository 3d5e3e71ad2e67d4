"""Random sparse tensors to measure with."""
from __future__ import annotations

import math
from numbers import Number

from .... import Size, cat, float32, long, rand, randint, randn_like, sparse_coo_tensor, tensor
from .fuzzer import FuzzedTensor

__all__ = ["FuzzedSparseTensor"]


class FuzzedSparseTensor(FuzzedTensor):
    """A random COO tensor; sparse_dim, density and coalesced are names of parameters."""

    def __init__(self, name, size, min_elements=None, max_elements=None, dim_parameter=None, sparse_dim=None, nnz=None, density=None,
                 coalesced=None, dtype=float32, cuda=False):
        super().__init__(name=name, size=size, min_elements=min_elements, max_elements=max_elements, dim_parameter=dim_parameter,
                         dtype=dtype, cuda=cuda)
        self._density, self._coalesced, self._sparse_dim = density, coalesced, sparse_dim

    @staticmethod
    def sparse_tensor_constructor(size, dtype, sparse_dim, nnz, is_coalesced):
        """nnz values at random places; twice as many that are not coalesced."""
        size = [size] * sparse_dim if isinstance(size, Number) else size
        if all([n <= 0 for n in size[:sparse_dim]]) and nnz != 0:
            raise AssertionError("invalid arguments")
        shape = [nnz, *size[sparse_dim:]]
        values = rand(size=shape, dtype=dtype, device="cpu") if dtype.is_floating_point else randint(1, 127, size=shape, dtype=dtype)
        places = rand(sparse_dim, nnz, device="cpu")
        places.mul_(tensor(size[:sparse_dim]).unsqueeze(1).to(places))
        places = places.to(long)
        if not is_coalesced:
            values, places = cat([values, randn_like(values)], 0), cat([places, places], 1)
        made = sparse_coo_tensor(places, values, Size(size))
        return made.coalesce() if is_coalesced else made

    def _make_tensor(self, params, state):
        size, _, _ = self._get_size_and_steps(params)
        nnz = math.ceil(sum(size) * params["density"])
        if nnz > sum(size):
            raise AssertionError("nnz cannot exceed total number of elements")
        sparse_dim = min(params["sparse_dim"] if self._sparse_dim else len(size), len(size))
        t = self.sparse_tensor_constructor(list(size), self._dtype, sparse_dim, nnz, params["coalesced"])
        t = t.cuda() if self._cuda else t
        return t, {"numel": int(t.numel()), "shape": t.size(), "is_coalesced": t.is_coalesced(), "density": params["density"],
                   "sparsity": 1.0 - params["density"], "sparse_dim": t.sparse_dim(), "dense_dim": t.dense_dim(),
                   "is_hybrid": len(size[t.sparse_dim():]) > 0, "dtype": str(self._dtype)}
