"""Parameters that several fuzzers share."""
from ..utils.fuzzer import FuzzedParameter, ParameterAlias

SMALLEST, LARGEST = 16, 16 * 1024 ** 2
POWERS_OF_TWO = [2 ** k for k in range(4, 25)]
STEPS = {1: 0.8, 2: 0.06, 4: 0.06, 8: 0.04, 16: 0.04}


def sizes(largest=LARGEST, kind="pow2", some=POWERS_OF_TWO, share=0.2):
    """k0, k1, k2: any size, or one of `some`."""
    first, second = ("k_any_{}", 1 - share), (f"k_{kind}_{{}}", share)
    pairs = (first, second) if kind == "pow2" else (second, first)
    return [[FuzzedParameter(f"k_any_{i}", minval=SMALLEST, maxval=largest, distribution="loguniform") for i in range(3)],
            [FuzzedParameter(f"k_{kind}_{i}", distribution={n: 1.0 / len(some) for n in some}) for i in range(3)],
            [FuzzedParameter(f"k{i}", distribution={ParameterAlias(name.format(i)): p for name, p in pairs}, strict=True)
             for i in range(3)]]


def dimensions(name):
    """One to three."""
    return FuzzedParameter(name, distribution={1: 0.3, 2: 0.4, 3: 0.3}, strict=True)


def steps(*names):
    """The steps of slices."""
    return [FuzzedParameter(f"{name}_{i}", distribution=STEPS) for i in range(3) for name in names]


def random_value():
    """A seed."""
    return FuzzedParameter("random_value", minval=0, maxval=2 ** 32 - 1, distribution="uniform")


def sparse():
    """How full a sparse tensor is, and whether it is coalesced."""
    return [FuzzedParameter("density", distribution={0.1: 0.4, 0.05: 0.3, 0.01: 0.3}),
            FuzzedParameter("coalesced", distribution={True: 0.5, False: 0.5}), random_value()]


#: How large tensors may be.
BOUNDS = {"min_elements": 4 * 1024, "max_elements": 32 * 1024 ** 2}
MEMORY = {"probability_contiguous": 0.75, "max_allocation_bytes": 2 * 1024 ** 3}
K, X_STEPS = ("k0", "k1", "k2"), ("x_step_0", "x_step_1", "x_step_2")
