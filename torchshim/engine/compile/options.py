"""What XLA is told, so that each operator's result is what that operator gives alone.

XLA's algebraic simplifier turns `mask * x` into a selection (a NaN or an infinity vanishes) and `log(exp(x))` into `x`; an option of each
compile keeps it out. On CPU, LLVM contracts `x*x - y*y` into one rounding, so that what is exactly 0 becomes -3e-8 and its root NaN: no
option keeps it from that, `lowering` does.
"""
_options = {"xla_allow_excess_precision": False, "xla_disable_hlo_passes": "algsimp"}


def compiler_options():
    """The options every program is compiled with: bf16 and f16 round after every operation, nothing is simplified away."""
    return _options
