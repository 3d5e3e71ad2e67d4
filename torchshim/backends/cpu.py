"""torch.backends.cpu."""
import functools
import os
import pathlib
import platform


@functools.cache
def _flags():
    """What the processor says it can do; nothing where the system does not tell."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), ()))


def get_cpu_capability():
    """The instructions that PyTorch's kernels would use on this processor, "AVX512", "AVX2" or "DEFAULT"; ATEN_CPU_CAPABILITY chooses
    fewer.

    The kernels here are XLA's and NumPy's, which choose by themselves. Libraries ask in order to know how images of bytes are resized
    (directly, with weights in fixed point, where there is AVX2), and that is done here as PyTorch does it with AVX2.
    """
    wanted = os.environ.get("ATEN_CPU_CAPABILITY")
    if platform.machine() not in ("x86_64", "AMD64") or wanted == "default":
        return "DEFAULT"
    flags = _flags()
    if wanted != "avx2" and {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"} <= flags:
        return "AVX512"
    return "AVX2" if {"avx2", "fma"} <= flags else "DEFAULT"
