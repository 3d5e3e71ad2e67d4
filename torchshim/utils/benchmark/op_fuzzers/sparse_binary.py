"""For operators of two sparse tensors."""
from .... import float32
from ..utils.fuzzer import FuzzedParameter, Fuzzer, ParameterAlias
from ..utils.sparse_fuzzer import FuzzedSparseTensor
from . import _parameters as P

__all__ = ["BinaryOpSparseFuzzer"]


class BinaryOpSparseFuzzer(Fuzzer):
    """COO tensors x and y of the same size, of one to three dimensions."""

    def __init__(self, seed, dtype=float32, cuda=False):
        sparse_dim = FuzzedParameter("sparse_dim", distribution={1: 0.4, 2: 0.4, 3: 0.2}, strict=True)
        ys = [FuzzedParameter(f"y_k{i}", distribution={ParameterAlias(f"k{i}"): 1.0}, strict=True) for i in range(3)]
        both = [FuzzedSparseTensor(name, size, dim_parameter="dim_parameter", sparse_dim="sparse_dim", density="density",
                                   coalesced="coalesced", dtype=dtype, cuda=cuda, **P.BOUNDS)
                                   for name, size in (("x", P.K), ("y", ("y_k0", "y_k1", "y_k2")))]
        super().__init__([P.dimensions("dim_parameter"), sparse_dim, *P.sizes(), ys, P.sparse()], both, seed=seed)
