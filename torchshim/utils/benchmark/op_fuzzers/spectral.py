"""For Fourier transforms."""
from .... import float64
from ..utils.fuzzer import FuzzedTensor, Fuzzer
from . import _parameters as P

__all__ = ["SpectralOpFuzzer"]
_LARGEST = 16 * 1024
#: Products of 2, 3 and 5.
REGULAR_SIZES = sorted([2 ** i * 3 ** j * 5 ** k for i in range(15) for j in range(9)
                        for k in range(7) if 16 < 2 ** i * 3 ** j * 5 ** k <= _LARGEST])


class SpectralOpFuzzer(Fuzzer):
    """A tensor x of one to three dimensions whose sizes are regular numbers with `probability_regular`."""

    def __init__(self, *, seed, dtype=float64, cuda=False, probability_regular=1.0):
        x = FuzzedTensor("x", P.K, ("step_0", "step_1", "step_2"), dim_parameter="ndim", dtype=dtype, cuda=cuda, **P.BOUNDS, **P.MEMORY)
        sizes = P.sizes(_LARGEST, "regular", REGULAR_SIZES, probability_regular)
        super().__init__([P.dimensions("ndim"), *sizes, P.steps("step")], [x], seed=seed)
