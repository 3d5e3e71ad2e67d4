"""What XLA is told, so that each operator's result is what that operator gives alone.

Two things stand against it. XLA's algebraic simplifier turns `mask * x` into a selection (a NaN or an infinity vanishes) and
`log(exp(x))` into `x`; an option of each compile keeps it out. On CPU, LLVM contracts `x*x - y*y` into one rounding, so that what is
exactly 0 becomes -3e-8 and its root NaN; only a flag of the whole process prevents that, which only the owner of a process may set.
"""
import os
import platform

_options = {"xla_allow_excess_precision": False, "xla_disable_hlo_passes": "algsimp"}
_ISA_FLAG = "xla_cpu_max_isa"


def compiler_options():
    """The options every program is compiled with: bf16 and f16 round after every operation, nothing is simplified away."""
    return _options


def own_process():
    """Keep XLA from contracting a product with a sum, in this process and its children. To be called before JAX's backends start;
    a choice in the user's XLA_FLAGS stands."""
    flags = os.environ.get("XLA_FLAGS", "")
    if _ISA_FLAG not in flags and platform.machine().lower() in ("x86_64", "amd64"):      # AVX is the last set without fused multiply-add
        os.environ["XLA_FLAGS"] = f"{flags} --{_ISA_FLAG}=AVX".lstrip()
