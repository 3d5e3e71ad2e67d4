"""Activations whose form in place takes more than what their declarations say."""
from __future__ import annotations

from ...tensor.api.bind import FUNCTIONS, NAMESPACES


def _scaled(declared):
    def elu_(input, alpha=1.0, scale=1, input_scale=1):
        """nn.functional.elu in place; `scale` is a factor of the result, `input_scale` one of what the exponential is taken of."""
        if scale == input_scale == 1:
            return declared(input, alpha)
        return input.copy_(FUNCTIONS["where"](input > 0, input * scale, (input * input_scale).expm1() * (alpha * scale)))

    elu_.__module__, elu_.__qualname__ = "torchshim.nn.functional", "elu_"
    return elu_


NAMESPACES["nn.functional"]["elu_"] = _scaled(NAMESPACES["nn.functional"]["elu_"])
