"""Protects type promotion: the dtype of every pair of operands, and the values that go with it.

goldens/promotion.json holds PyTorch 2.13's answers for tensors of all dtypes, 0-d tensors and
Python numbers, written by ``python tests/ops/goldens/record_promotion.py``.
"""

import json
import pathlib

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import torchshim as torch

GOLDEN = json.loads(pathlib.Path(__file__).with_name("goldens").joinpath("promotion.json").read_text())
OPERANDS, TABLES = GOLDEN["operands"], GOLDEN["tables"]
NAMES = {code: name for name, code in GOLDEN["codes"].items()}
NUMBERS = {"True": True, "2": 2, "2.5": 2.5, "1j": 1j}


def operand(name, fill=1):
    if name in NUMBERS:
        return NUMBERS[name]
    dtype, _, scalar = name.partition(" ")
    return torch.full(() if scalar else (2,), fill, dtype=getattr(torch, dtype))


def in_place(method):
    def run(a, b):
        if not isinstance(a, torch.Tensor) or a.ndim < getattr(b, "ndim", 0):
            raise TypeError("nothing to write to")
        return getattr(a, method)(b)

    return run


OPERATIONS = {
    "result_type": torch.result_type,
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "sub": lambda a, b: a - b,
    "div": lambda a, b: a / b,
    "eq": lambda a, b: a == b,
    "lt": lambda a, b: a < b,
    "pow": lambda a, b: a**b,
    "where": lambda a, b: torch.where(torch.tensor([True, False]), a, b),
    "add_": in_place("add_"),
    "mul_": in_place("mul_"),
    "div_": in_place("div_"),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_dtype_of_every_pair(operation):
    wrong = []
    for left, row in zip(OPERANDS, TABLES[operation]):
        for right, code in zip(OPERANDS, row):
            # PyTorch refuses to promote the wide unsigned dtypes; to answer there is not wrong
            if code in ".?" or (code == "!" and "uint" in (left + right).replace("uint8", "")):
                continue
            expected = "an error" if code == "!" else NAMES[code]
            try:
                result = OPERATIONS[operation](operand(left), operand(right))
                got = str(getattr(result, "dtype", result)).removeprefix("torch.")
            except (RuntimeError, TypeError) as e:
                got = "an error" if code == "!" else repr(e)
            if got != expected:
                wrong.append(f"{left} {operation} {right}: expected {expected}, got {got}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:20])


def as_numpy(x):
    return np.asarray(x.to(torch.complex128).numpy())


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.sampled_from(["add", "sub", "mul", "where"]),
    st.sampled_from(OPERANDS),
    st.sampled_from(OPERANDS),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_values_of_mixed_operands(operation, left, right, a, b):
    """Small whole numbers are exact in every dtype, so the answer must be exact too."""
    code = TABLES[operation][OPERANDS.index(left)][OPERANDS.index(right)]
    assume(code not in ".?!")
    dtype = NAMES[code]
    x, y = operand(left, a), operand(right, b)
    p, q = (as_numpy(v) if isinstance(v, torch.Tensor) else np.asarray(v, complex) for v in (x, y))
    if operation == "where":
        expected = np.where([True, False], p, q)
    elif dtype == "bool":
        expected = {"add": p + q > 0, "mul": p * q > 0}[operation]
    else:
        expected = {"add": p + q, "sub": p - q, "mul": p * q}[operation]
    if dtype.startswith("uint"):
        expected = expected.real % 2 ** int(dtype[4:])
    got = OPERATIONS[operation](x, y)
    assert str(got.dtype) == "torch." + dtype
    assert np.array_equal(as_numpy(got), expected)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([o for o in OPERANDS if o not in NUMBERS]), min_size=2, max_size=4))
def test_cat_promotes_all_of_its_parts(names):
    dtypes = [name.split()[0] for name in names]
    assume(not {"uint16", "uint32", "uint64"} & set(dtypes))
    expected = getattr(torch, dtypes[0])
    for d in dtypes[1:]:
        expected = torch.promote_types(expected, getattr(torch, d))
    parts = [torch.ones(2, dtype=getattr(torch, d)) for d in dtypes]
    joined = torch.cat(parts)
    assert joined.dtype == expected
    assert as_numpy(joined).tolist() == [1] * (2 * len(parts))


def test_default_dtype_decides_what_numbers_become():
    whole = torch.ones(2, dtype=torch.int64)
    try:
        torch.set_default_dtype(torch.float64)
        assert (whole + 2.5).dtype == (whole / whole).dtype == torch.float64
        assert torch.result_type(whole, 1j) == torch.complex128
    finally:
        torch.set_default_dtype(torch.float32)
    assert (whole + 2.5).dtype == torch.float32


def test_complex_numbers_make_complex32_of_half_floats():
    half = torch.ones(2, dtype=torch.float16)
    assert torch.result_type(half, 1j) is torch.complex32 and torch.promote_types(torch.float16, torch.complex32) is torch.complex32
    assert (torch.eq(half, 1j).tolist() == [False, False]
            and torch.result_type(half, torch.ones(2, dtype=torch.complex64)) is torch.complex64)
    assert (half * 1j).dtype is torch.complex32 and (half * torch.tensor(1j)).dtype is torch.complex32
    assert (half.bfloat16() * 1j).dtype is (half * torch.ones(2, dtype=torch.complex64)).dtype is torch.complex64


def test_dtypes_without_tensors_have_names():
    assert torch.int4.itemsize == 1 and torch.int4.is_signed and not torch.uint7.is_signed and torch.finfo(torch.float16).tiny > 0
    with pytest.raises(NotImplementedError, match="torch.uint3"):
        torch.zeros(1, dtype=torch.uint3)
