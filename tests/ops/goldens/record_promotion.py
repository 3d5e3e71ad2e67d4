"""Writes promotion.json: the dtype that PyTorch 2.13 gives for every pair of operands.

Run where PyTorch is installed:  python tests/ops/goldens/record_promotion.py

OPERANDS are tensors of every dtype (``float16``), 0-d tensors (``float16 0-d``) and Python numbers.
``tables[operation]`` holds one string for each left operand, one letter for each right operand:
a letter of CODES, ``!`` where PyTorch raises, ``?`` where it merely lacks a kernel for
uint16, uint32, uint64 or complex32, or answers with complex32, ``.`` for two Python numbers.
"""

import json
import pathlib
import string

import torch

DTYPES = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
).split()
NUMBERS = {"True": True, "2": 2, "2.5": 2.5, "1j": 1j}
OPERANDS = DTYPES + [d + " 0-d" for d in DTYPES] + list(NUMBERS)
CODES = dict(zip(DTYPES, string.ascii_letters))


def operand(name, torch):
    """The tensor or number called ``name``."""
    if name in NUMBERS:
        return NUMBERS[name]
    dtype, _, scalar = name.partition(" ")
    return torch.ones(() if scalar else (2,), dtype=getattr(torch, dtype))


def in_place(method):
    def run(torch, a, b):
        if not isinstance(a, torch.Tensor) or a.ndim < getattr(b, "ndim", 0):
            raise TypeError("nothing to write to")
        return getattr(a, method)(b)

    return run


OPERATIONS = {
    "result_type": lambda torch, a, b: torch.result_type(a, b),
    "add": lambda torch, a, b: a + b,
    "mul": lambda torch, a, b: a * b,
    "sub": lambda torch, a, b: a - b,
    "div": lambda torch, a, b: a / b,
    "eq": lambda torch, a, b: a == b,
    "lt": lambda torch, a, b: a < b,
    "pow": lambda torch, a, b: a**b,
    "where": lambda torch, a, b: torch.where(torch.tensor([True, False]), a, b),
    "add_": in_place("add_"),
    "mul_": in_place("mul_"),
    "div_": in_place("div_"),
}


def outcome(torch, operation, left, right):
    """The dtype's name, "!" for an error, "?" for a missing kernel, "." for two numbers."""
    if left in NUMBERS and right in NUMBERS:
        return "."
    try:
        result = OPERATIONS[operation](torch, operand(left, torch), operand(right, torch))
    except (RuntimeError, TypeError) as e:
        return "?" if any(k in str(e) for k in ("for 'UInt", "ComplexHalf")) else "!"
    name = str(getattr(result, "dtype", result)).removeprefix("torch.")
    return "?" if name == "complex32" else name


def record():
    tables = {}
    for operation in OPERATIONS:
        rows = []
        for left in OPERANDS:
            found = [outcome(torch, operation, left, right) for right in OPERANDS]
            rows.append("".join(CODES.get(f, f) for f in found))
        tables[operation] = rows
    return {"operands": OPERANDS, "codes": CODES, "tables": tables}


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_name("promotion.json")
    path.write_text(json.dumps(record(), indent=1) + "\n")
