"""The fast mode of gradcheck: a Jacobian is looked at along one random direction of its inputs, weighed by random numbers for its outputs."""
from __future__ import annotations

from ..tensor.api.bind import FUNCTIONS

_ALIKE = ("Fast gradcheck failed but element-wise differences are small. This means that the\ntest might've passed in slow_mode!\n\n"
          "If you are adding a new operator, please file an issue and then use one of the\nworkarounds. The workaround depends on how "
          "your test invokes gradcheck/gradgradcheck:\n\nIf the test\n- manually invokes gradcheck/gradgradcheck, then call "
          "gradcheck/gradgradcheck\n  with `fast_mode=False` as a keyword argument.\n- is OpInfo-based (e.g., in "
          "test_ops_gradients.py), then modify the OpInfo for the test\n  to have `gradcheck_fast_mode=False`\n- is a Module test (e.g., "
          "in common_nn.py), then modify the corresponding\n  module_test entry to have `gradcheck_fast_mode=False`")


def numbers(t):
    """What a tensor holds as an array; NumPy has no bfloat16."""
    return (t.float() if t.dtype.name == "bfloat16" else t).numpy(force=True)


def directions(inputs, outs):
    """A direction for each input, as one array for each of its axes, and the weights of each output's elements: torch's, which come from a
    generator of their own."""
    from ..random.generator import Generator   # which imports this package
    generator = Generator()

    def vector(t):
        v = FUNCTIONS["rand"](t.numel(), generator=generator, device="cpu").to(t.dtype.to_real() if t.is_complex() else t.dtype)
        return numbers(v / v.norm())
    return [(vector(x), vector(x) if x.is_complex() else None) for x in inputs], [vector(o) for o in outs]


def weighed(gradient, along):
    """An input's gradient along its direction, the axes of a complex one apart."""
    real, imag = along
    return gradient @ real if imag is None else gradient.real @ real + 1j * (gradient.imag @ imag)


def in_full(numerical, analytical, rtol, atol):
    """What torch adds to the message of a mismatch: the Jacobians, which may be alike after all."""
    text = ("\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. See: "
            "https://github.com/pytorch/pytorch/issues/53876 for more background \nabout fast mode. Below, we recompute numerical and "
            f"analytical jacobians in slow mode:\n\nNumerical:\n {numerical}\nAnalytical:\n{analytical}\n\n"
            f"The max per-element difference (slow mode) is: {(numerical - analytical).abs().max()}.\n")
    return text + _ALIKE if analytical.allclose(numerical, rtol, atol) else text
