"""What XLA is told, so that each operator's result is what that operator gives alone.

Two things stand against it. XLA's algebraic simplifier turns `mask * x` into a selection (a NaN or an infinity vanishes) and
`log(exp(x))` into `x`; an option of each compile keeps it out. On CPU, LLVM contracts `x*x - y*y` into one rounding, so that what is
exactly 0 becomes -3e-8 and its root NaN; only a flag of the whole process prevents that, which the script runner sets (`dropin.runner`).
"""
_options = {"xla_allow_excess_precision": False, "xla_disable_hlo_passes": "algsimp"}


def compiler_options():
    """The options every program is compiled with: bf16 and f16 round after every operation, nothing is simplified away."""
    return _options
