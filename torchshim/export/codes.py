"""The numbers by which .pt2 archives name dtypes, layouts and memory formats, and how they write devices and numbers."""
from __future__ import annotations

import math

import torchshim as torch

_NAMED = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8, "complex32": 9, "complex64": 10,
          "complex128": 11, "bool": 12, "bfloat16": 13, "uint16": 28, "float8_e4m3fn": 29, "float8_e5m2": 30, "float8_e4m3fnuz": 31,
          "float8_e5m2fnuz": 32, "float8_e8m0fnu": 33, "uint32": 34, "uint64": 35}
NUMBERS = {getattr(torch, name): n for name, n in _NAMED.items()}
_DTYPES = {n: d for d, n in NUMBERS.items()}
LAYOUTS = {getattr(torch, name): n for name, n in dict(sparse_coo=1, sparse_csr=2, sparse_csc=3, sparse_bsr=4, sparse_bsc=5, strided=7).items()}
FORMATS = {getattr(torch, name): n for name, n in dict(
    contiguous_format=1, channels_last=2, channels_last_3d=3, preserve_format=4).items()}


def dtype_of(n):
    """The dtype of a number; NotImplementedError where there is none."""
    if n not in _DTYPES:
        raise NotImplementedError(f"torchshim: an exported program with dtype number {n}")
    return _DTYPES[n]


def named(table, n):
    """What has a number in LAYOUTS or FORMATS; NotImplementedError where nothing has."""
    found = next((x for x, m in table.items() if m == n), None)
    if found is None:
        raise NotImplementedError(f"torchshim: an exported program with layout or memory format number {n}")
    return found


def device_of(said):
    """The device of {"type": ..., "index": ...}."""
    return torch.device(said["type"]) if said["index"] is None else torch.device(said["type"], said["index"])


def device_written(d):
    """A device as JSON."""
    return {"type": d.type, "index": d.index}


def float_written(x):
    """A float as JSON can hold it."""
    return x if math.isfinite(x) else "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
