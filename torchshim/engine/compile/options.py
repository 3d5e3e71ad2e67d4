"""What XLA is told, so that each operator's result is what that operator gives alone.

XLA's algebraic simplifier turns `mask * x` into a selection (a NaN or an infinity vanishes) and `log(exp(x))` into `x`; an option of each
compile keeps it out. On CPU, LLVM contracts `x*x - y*y` into one rounding, so that what is exactly 0 becomes -3e-8 and its root NaN: no
option keeps it from that, `lowering` does. What moves reshapes past other operations relies on the simplifier to cancel them: without it, each
round adds to the last, thousands of transposes in the gradient of an unrolled cell. It stays out too.

On CPU, XLA's newer emitters make each kernel in an MLIR context of its own and keep them all until the whole program is compiled: of a
program of many small kernels that is 0.5 MB each, 240 MB of a sequence model's training step, and a good part of its compile. Their kernels
are the faster ones where arrays are large (a softmax's gradient takes 0.4 of the time), so they stay there. XLA dropped the switch with
jaxlib 0.11.

XLA also orders kernels so that they can run side by side. Small ones, one after the other, take up to a third less.
"""
import jaxlib

SMALL = 1 << 13            # elements of a program's largest array
_options = {"xla_allow_excess_precision": False, "xla_disable_hlo_passes": "algsimp,reshape-mover"}
_small = {**_options, "xla_cpu_enable_concurrency_optimized_scheduler": False}
if tuple([int(n) for n in jaxlib.__version__.split(".")[:2]]) < (0, 11):
    _small["xla_cpu_use_fusion_emitters"] = False


def compiler_options(small=False):
    """The options every program is compiled with: bf16 and f16 round after every operation, nothing is simplified away. small: whether its
    arrays are."""
    return _small if small else _options
