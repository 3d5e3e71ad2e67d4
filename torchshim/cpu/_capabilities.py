"""What the processor can, by torch's names."""
from __future__ import annotations

import functools
import platform
import types

#: torch's names by those of Linux.
_FLAGS = {"clflush": "clflush", "sha": "sha_ni", "aes": "aes", "lzcnt": "abm", "bmi2": "bmi2", "bmi": "bmi1", "fma3": "fma", "avx": "avx",
          "avx2": "avx2", "avx512_f": "avx512f", "avx512_bw": "avx512bw", "avx512_cd": "avx512cd", "avx512_dq": "avx512dq",
          "avx512_vl": "avx512vl", "avx512_vnni": "avx512_vnni", "avx512_bf16": "avx512_bf16", "avx512_fp16": "avx512_fp16",
          "avx512_vbmi": "avx512vbmi", "avx512_vbmi2": "avx512_vbmi2", "avx512_bitalg": "avx512_bitalg", "avx512_ifma": "avx512ifma",
          "avx512_vpopcntdq": "avx512_vpopcntdq", "avx_vnni": "avx_vnni", "amx_bf16": "amx_bf16", "amx_int8": "amx_int8",
          "amx_tile": "amx_tile", "amx_fp16": "amx_fp16", "sse": "sse", "sse2": "sse2", "sse3": "pni", "ssse3": "ssse3", "sse4_1": "sse4_1",
          "sse4_2": "sse4_2", "fma4": "fma4", "popcnt": "popcnt", "rdrand": "rdrand", "rdseed": "rdseed", "f16c": "f16c", "xop": "xop"}


@functools.cache
def found():
    """See torch.cpu.get_capabilities."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            flags = next((line.partition(":")[2].split() for line in f if line.startswith(("flags", "Features"))), [])
    except OSError:
        flags = []
    kind = platform.machine().lower()
    told = {"architecture": "x86_64" if kind in ("x86_64", "amd64") else "aarch64" if kind in ("aarch64", "arm64") else kind}
    return types.MappingProxyType({**told, **{name: flag in flags for name, flag in _FLAGS.items()}})
