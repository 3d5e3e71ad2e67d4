"""The options every program is compiled with."""
_options = {"xla_allow_excess_precision": False}


def compiler_options():
    """XLA options that keep torch's rounding: bf16/f16 round after every operation."""
    return _options
