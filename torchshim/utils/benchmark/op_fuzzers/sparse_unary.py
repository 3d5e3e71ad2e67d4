"""For operators of one sparse tensor."""
from .... import float32
from ..utils.fuzzer import FuzzedParameter, Fuzzer
from ..utils.sparse_fuzzer import FuzzedSparseTensor
from . import _parameters as P

__all__ = ["UnaryOpSparseFuzzer"]


class UnaryOpSparseFuzzer(Fuzzer):
    """A COO tensor x of one to three dimensions."""

    def __init__(self, seed, dtype=None, cuda=False):
        sparse_dim = FuzzedParameter("sparse_dim", distribution={1: 0.4, 2: 0.4, 3: 0.2}, strict=True)
        x = FuzzedSparseTensor("x", P.K, dim_parameter="dim_parameter", sparse_dim="sparse_dim", density="density", coalesced="coalesced",
                               dtype=dtype or float32, cuda=cuda, **P.BOUNDS)
        super().__init__([P.dimensions("dim_parameter"), sparse_dim, *P.sizes(), P.sparse()], [x], seed=seed)
