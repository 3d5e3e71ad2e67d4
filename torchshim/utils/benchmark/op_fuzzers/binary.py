"""For operators of two tensors."""
from .... import float32
from ..utils.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from . import _parameters as P

__all__ = ["BinaryOpFuzzer"]


class BinaryOpFuzzer(Fuzzer):
    """Tensors x and y of one to three dimensions; a fifth of y's sizes are 1."""

    def __init__(self, seed, dtype=float32, cuda=False):
        ys = [FuzzedParameter(f"y_k{i}", distribution={ParameterAlias(f"k{i}"): 0.8, 1: 0.2}, strict=True) for i in range(3)]
        x = FuzzedTensor("x", P.K, P.X_STEPS, dim_parameter="dim", dtype=dtype, cuda=cuda, **P.BOUNDS, **P.MEMORY)
        y = FuzzedTensor("y", ("y_k0", "y_k1", "y_k2"), P.X_STEPS, dim_parameter="dim", dtype=dtype, cuda=cuda, **P.MEMORY)
        super().__init__([P.dimensions("dim"), *P.sizes(), ys, P.steps("x_step", "y_step"), P.random_value()], [x, y], seed=seed)
