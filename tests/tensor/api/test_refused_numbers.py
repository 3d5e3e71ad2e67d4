"""What torch refuses where a number belongs, or by the dtype of a result; and gradients by integers."""
import pytest

import torchshim as torch

WANTS = torch.tensor(0.5, requires_grad=True)


@pytest.mark.parametrize("made, text", [
    (lambda: torch.full((2,), WANTS), "full(): argument 'fill_value' (position 2) must be Number, not Tensor"),
    (lambda: torch.arange(WANTS), "arange(): argument 'end' (position 1) must be Number, not Tensor"),
    (lambda: torch.nn.functional.dropout(torch.ones(2), WANTS), "dropout(): argument 'p' (position 2) must be float, not Tensor"),
    (lambda: torch.ones(2).uniform_(0, WANTS), "uniform_(): argument 'to' (position 2) must be float, not Tensor"),
    (lambda: torch.ones(2).normal_(0, WANTS), "normal_(): argument 'std' (position 2) must be float, not Tensor"),
    (lambda: torch.ones(2).exponential_(WANTS), "exponential_(): argument 'lambd' (position 1) must be float, not Tensor"),
])
def test_a_tensor_that_wants_a_gradient_is_no_number(made, text):
    with pytest.raises(TypeError) as raised:
        made()
    assert str(raised.value) == text


def test_one_that_wants_none_is():
    assert torch.full((2,), WANTS.detach()).tolist() == [0.5, 0.5]
    assert torch.nn.functional.dropout(torch.ones(2), torch.tensor(0.0)).tolist() == [1, 1]
    with torch.no_grad():
        assert torch.full((2,), torch.tensor(3)).tolist() == [3, 3]


@pytest.mark.parametrize("f", [
    lambda x: x.sum(dtype=torch.int64), lambda x: x.sum(0, dtype=torch.int64), lambda x: x.prod(dtype=torch.int64),
    lambda x: torch.nansum(x, dtype=torch.int64), lambda x: x.cumsum(0, dtype=torch.int64), lambda x: x.cumprod(0, dtype=torch.int64),
])
def test_sums_of_integers_have_no_gradient(f):
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="^Autograd not support dtype: Long$"):
            f(x)
    with torch.no_grad():
        assert f(x).dtype == torch.int64
    assert f(x.detach()).dtype == torch.int64


def test_numbers_too_large_for_a_float_say_so():
    with pytest.raises(OverflowError, match="int too large to convert to float"):
        torch.tensor([1.0, 10 ** 400])
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        torch.tensor([1, 10 ** 400])
    with pytest.raises(TypeError, match="must be real number, not list"):
        torch.tensor([1, 2, []])
    with pytest.raises(TypeError, match="'list' object cannot be interpreted as an integer"):
        torch.tensor([1, 2, [3]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_ldexp_by_integers_has_an_integers_factor(dtype):
    """torch's formula is 2 to the power of the other tensor, in that one's dtype: 0 for a negative power."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=dtype, requires_grad=True)
    out = torch.ldexp(x, torch.tensor([3, -2, 4, -17]))
    out.sum().backward()
    assert x.grad.tolist() == [8.0, 0.0, 16.0, 0.0] and out.tolist()[:3] == [8.0, 0.5, 48.0]
    small = torch.ones(3, dtype=dtype, requires_grad=True)
    torch.ldexp(small, torch.tensor([6, 7, 8], dtype=torch.int8)).sum().backward()
    assert small.grad.tolist() == [64.0, -128.0, 0.0]


@pytest.mark.parametrize("name, dims, out", [("sum", "tuple of ints dim", ""), ("mean", "tuple of ints dim", ", Tensor out = None"),
                                             ("prod", "int dim", "")])
def test_dimensions_are_kept_of_a_reduction_along_some(name, dims, out):
    x = torch.ones(2, 3)
    with pytest.raises(TypeError) as raised:
        getattr(torch, name)(x, keepdim=True)
    assert str(raised.value) == (
        f"{name}() received an invalid combination of arguments - got (Tensor, keepdim=bool), but expected one of:\n"
        f" * (Tensor input, *, torch.dtype dtype = None{out})\n"
        f" * (Tensor input, {dims}, bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None)\n")
    with pytest.raises(TypeError, match=r"got \(keepdim=bool, \), but expected one of"):
        getattr(x, name)(keepdim=True)
    with pytest.raises(TypeError, match='missing 1 required positional arguments: "dim"'):
        getattr(x, name)(keepdim=True, dtype=torch.float64)
    assert getattr(x, name)(1, keepdim=True).shape == (2, 1) == getattr(x, name)(axis=1, keepdims=True).shape
    assert getattr(x, name)().ndim == 0 == getattr(x, name)(dtype=torch.float64).ndim
    if name != "prod":
        assert getattr(x, name)(None, keepdim=True).shape == (1, 1) == getattr(x, name)(axis=None, keepdim=True).shape
