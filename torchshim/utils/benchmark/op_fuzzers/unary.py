"""For operators of one tensor."""
from .... import float32
from ..utils.fuzzer import FuzzedTensor, Fuzzer
from . import _parameters as P

__all__ = ["UnaryOpFuzzer"]


class UnaryOpFuzzer(Fuzzer):
    """A tensor x of one to three dimensions."""

    def __init__(self, seed, dtype=float32, cuda=False):
        x = FuzzedTensor("x", P.K, P.X_STEPS, dim_parameter="dim", dtype=dtype, cuda=cuda, **P.BOUNDS, **P.MEMORY)
        super().__init__([P.dimensions("dim"), *P.sizes(), P.steps("x_step"), P.random_value()], [x], seed=seed)
