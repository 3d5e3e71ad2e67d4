"""Numbers between dtypes: conversions beyond an integer's range, and Python numbers that meet half types. From torch 2.13 on x86."""
import numpy as np
import pytest

import torchshim as torch
from torchshim.ops.casts import cast

VALUES = [-1.5, -129.0, 257.0, 70000.0, 2147483648.0, -2147483649.0, 3000000001.0, 4294967551.0, 9.3e18, 1.9e19, np.nan, np.inf, -np.inf]
LOW = -2 ** 31
WANT = {                                       # torch.tensor(VALUES, dtype=torch.float64).to(dtype)
    "uint8": [255, 127, 1, 112, 0, 255, 1, 255, 0, 0, 0, 0, 0],
    "int16": [-1, -129, 257, 4464, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    "int32": [-1, -129, 257, 70000, LOW, LOW, LOW, LOW, LOW, LOW, LOW, LOW, LOW],
    "int64": [-1, -129, 257, 70000, 2147483648, -2147483649, 3000000001, 4294967551] + [-2 ** 63] * 5,
    "uint32": [4294967295, 4294967167, 257, 70000, 2147483648, 2147483648, 3000000001, 0, 0, 0, 2147483648, 0, 2147483648],
    "uint64": [2 ** 64 - 1, 2 ** 64 - 129, 257, 70000, 2147483648, 2 ** 64 - 2147483649, 3000000001, 4294967551, 9300000000000000000, 0,
               2 ** 63, 0, 2 ** 63],
}


@pytest.mark.parametrize("dtype", WANT)
def test_floats_beyond_an_integer_wrap_as_torch_does(dtype):
    x = torch.tensor(VALUES, dtype=torch.float64)
    with np.errstate(all="raise"):
        assert x.to(getattr(torch, dtype)).tolist() == WANT[dtype]
    assert torch.zeros(len(VALUES), dtype=getattr(torch, dtype)).copy_(x).tolist() == WANT[dtype]


def test_the_compiled_cast_gives_the_same():
    import jax
    with jax.enable_x64(True):
        for dtype, want in WANT.items():
            assert jax.jit(lambda x, d=np.dtype(dtype): cast(x, d))(np.array(VALUES)).tolist() == want


@pytest.mark.parametrize("dtype, rounded", [("bfloat16", 0.10009765625), ("float16", 0.0999755859375)])
def test_a_number_is_rounded_to_a_half_type_first_except_by_products_and_quotients(dtype, rounded):
    x = torch.full((2,), 0.1, dtype=getattr(torch, dtype))
    assert (x == 0.1).all() and not (x - 0.1).any() and not (x > 0.1).any()
    assert torch.add(x * 0, x * 10, alpha=0.1).tolist() == [rounded] * 2
    y = torch.full((1,), 3.0, dtype=torch.bfloat16)
    assert (y * 0.3).item() == 0.8984375 and (y / 0.3).item() == 10.0 and (y * torch.tensor(70000) * 0).item() == 0
    assert torch.isnan(torch.ones(2, dtype=torch.float16) * 0 * torch.tensor([70000, 70000])).all()


def test_numbers_beyond_int64_are_floats_beside_floats():
    x = torch.ones(2)
    assert (x * 2 ** 63).tolist() == [2.0 ** 63] * 2 and (x < 2 ** 63).all() and (x + (2 ** 64 - 1)).tolist() == [2.0 ** 64] * 2
    assert (torch.ones(1, dtype=torch.int64) * (2 ** 64 - 1)).tolist() == [-1]


def test_tensors_in_a_sequence_are_numbers():
    assert torch.tensor([torch.ones(1), torch.zeros(1, 1)]).tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
        torch.tensor([torch.ones(2), torch.zeros(2)])


def _bits(t):
    return t.view(torch.uint8).tolist()


@pytest.mark.parametrize("dtype, want", [
    ("float8_e4m3fn", [126, 126, 126, 126, 126, 254, 254, 10]), ("float8_e5m2", [95, 95, 96, 124, 124, 252, 252, 37]),
    ("float8_e8m0fnu", [136, 136, 136, 157, 255, 157, 255, 121])])
def test_what_is_beyond_a_float8_type(dtype, want):
    """e4m3fn, which has no infinity, keeps its largest number; e8m0fnu drops the sign; both from tensors, lists and arrays, also compiled."""
    import jax
    d, values = getattr(torch, dtype), [448.0, 465.0, 500.0, 1e9, np.inf, -1e9, -np.inf, 0.01953125]
    x = torch.tensor(values, dtype=torch.float64)
    for made in (x.to(d), torch.tensor(values, dtype=d), torch.tensor(np.array(values), dtype=d), torch.empty(8, dtype=d).copy_(x),
                 torch.as_tensor(values, dtype=d), x.float().to(d)):
        assert _bits(made) == want
    with jax.enable_x64(True):
        assert np.asarray(jax.jit(lambda a: cast(a, d.np))(np.array(values))).view(np.uint8).tolist() == want
    assert torch.tensor([np.nan]).to(d).isnan().item()


def test_a_gradient_passes_where_a_float8_type_cut_off():
    x = torch.tensor([1e4, -1e4, 3.0], requires_grad=True)
    y = x.to(torch.float8_e4m3fn).float()
    assert y.tolist() == [448, -448, 3]
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_a_number_beyond_a_float8_type_fills_nothing(dtype):
    d = getattr(torch, dtype)
    for make in (lambda: torch.full((2,), 1e9, dtype=d), lambda: torch.zeros(2, dtype=d).fill_(1e9),
                 lambda: torch.full((2,), np.inf if "fn" in dtype else 1e9, dtype=d)):
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type c10::{dtype.capitalize()} without overflow"):
            make()
