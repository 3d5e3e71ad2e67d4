"""torch.utils.flop_counter: PyTorch counts by seeing each ATen operator, those of a backward pass too. There are none to see here."""


class FlopCounterMode:
    """NotImplementedError."""
    __unimplemented__ = True

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        raise NotImplementedError("torchshim: FlopCounterMode sees PyTorch's ATen operators, which do not run here; "
                                  "jax.jit(f).lower(...).cost_analysis() tells what XLA counts for a JAX function")


def register_flop_formula(targets, get_raw=False):
    """NotImplementedError."""
    raise NotImplementedError("torchshim: register_flop_formula: there is no FlopCounterMode that would ask it")


register_flop_formula.__unimplemented__ = True
