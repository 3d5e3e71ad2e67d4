"""Protects the elementwise operators: values at special points, torch's derivatives where they differ from JAX's (ties, kinks,
zeros), result dtypes, grad_fn names, error texts, in-place rules, Python's operators, and that numbers never recompile.

Every expectation is what PyTorch 2.13 (CPU) prints for the same lines.
"""
import math
import operator

import numpy as np
import pytest

import torchshim as torch

inf, nan = math.inf, math.nan


def leaf(*values, dtype=None):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def gradient(f, *values):
    xs = [torch.tensor(v, requires_grad=True) for v in values]
    f(*xs).sum().backward()
    return [x.grad.tolist() for x in xs]


@pytest.mark.parametrize("f, xs, want", [
    (torch.abs, [[-1.0, 0.0, 2.0]], [[-1, 0, 1]]),
    (torch.maximum, [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]], [[0, 0.5, 1], [1, 0.5, 0]]),
    (torch.minimum, [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]], [[1, 0.5, 0], [0, 0.5, 1]]),
    (torch.fmax, [[1.0, 2.0, nan], [2.0, 2.0, 2.0]], [[0, 1, 0], [1, 0, 1]]),
    (lambda x: x.clamp(0, 1), [[-1.0, 0.0, 0.5, 1.0, 2.0]], [[0, 1, 1, 1, 0]]),
    (lambda x: x.clamp(min=1), [[0.0, 1.0, 2.0]], [[0, 1, 1]]),
    (lambda x, y: x ** y, [[0.0, 2.0], [0.0, 3.0]], [[0, 12], [0, 8 * math.log(2)]]),
    (lambda x: 0 ** x, [[0.0, 1.0, 2.0]], [[0, 0, 0]]),
    (lambda x: x ** 0, [[0.0, 1.0]], [[0, 0]]),
    (torch.round, [[0.5, 1.7]], [[0, 0]]),
    (torch.sign, [[-2.0, 0.0]], [[0, 0]]),
    (lambda x, y: torch.remainder(x, y), [[5.0, -5.0], [3.0, 3.0]], [[1, 1], [-1, 2]]),
    (lambda x, y: torch.xlogy(x, y), [[0.0, 2.0], [0.0, 1.0]], [[0, 0], [nan, 2]]),
    (lambda x, y: torch.atan2(x, y), [[0.0, 1.0], [0.0, 0.0]], [[0, 0], [0, -1]]),
    (lambda x, y: torch.where(x > 1, x, y), [[1.0, 2.0], [3.0, 4.0]], [[0, 1], [1, 0]]),
])
def test_gradient_conventions(f, xs, want):
    for got, expected in zip(gradient(f, *xs), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_values_at_special_points():
    x = torch.tensor([-inf, -0.5, 0.0, 0.5, inf, nan])
    same = lambda t, want: np.testing.assert_array_equal(np.array(t.tolist()), np.array(want))
    same(torch.sign(x), [-1, -1, 0, 1, 1, 0])
    same(torch.clamp(x, -0.25, 0.25), [-0.25, -0.25, 0, 0.25, 0.25, nan])
    same(torch.round(torch.tensor([0.5, 1.5, 2.5, -0.5])), [0, 2, 2, -0.0])
    same(torch.nan_to_num(x, nan=7.0), [np.finfo("f4").min, -0.5, 0, 0.5, np.finfo("f4").max, 7])
    same(torch.tensor([7.0, -7.0, 7.0, -7.0]) % torch.tensor([3.0, 3.0, -3.0, -3.0]), [1, 2, -2, -1])
    same(torch.fmod(torch.tensor([7.0, -7.0]), 3), [1, -1])
    same(torch.tensor([7.0, -7.0, 1.0]) // torch.tensor([2.0, 2.0, 0.0]), [3, -4, inf])
    same(torch.tensor([7, -7]) // 2, [3, -4])
    same(torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc"), [3, -3])
    same(torch.tensor([1, -1]) << 70, [0, 0])
    same(torch.tensor([1, -1]) >> 70, [0, -1])
    same(torch.digamma(torch.tensor([0.0, -0.0])), [-inf, inf])


def test_powers():
    i = torch.tensor([-2, 3])
    assert (i ** 2).tolist() == [4, 9] and (i ** 2).dtype is torch.int64
    assert (i ** 2.0).dtype is torch.float32          # 2.0 is not 2 for integers
    assert (i ** 7).tolist() == [-128, 2187]
    assert (i ** torch.tensor([-1, -1])).tolist() == [0, 0]
    assert (torch.tensor([True]) ** 2).dtype is torch.int64
    with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed."):
        i ** -1
    # 0.5 as a number is a root, as a tensor it is a power, however few elements there are
    odd = torch.tensor([-inf, -0.0])
    assert str((odd ** 0.5).tolist()) == "[nan, -0.0]"
    for e in (torch.tensor(0.5), torch.full((1,), 0.5), torch.full((2,), 0.5)):
        assert str((odd ** e).tolist()) == str([(x ** e).flatten()[0].item() for x in odd]) == "[inf, 0.0]"


def test_result_dtypes():
    i, b, f, h = torch.tensor([1]), torch.tensor([True]), torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.bfloat16)
    assert (i / 2).dtype is torch.float32 and (i + 2.5).dtype is torch.float32 and (i + True).dtype is torch.int64
    assert (b + b).dtype is torch.bool and (b + 1).dtype is torch.int64 and (h * 2.5).dtype is torch.bfloat16
    assert (h + f).dtype is torch.float32 and (h + torch.tensor(1.0)).dtype is torch.bfloat16
    assert torch.addcmul(i, i, i, value=2.5).tolist() == [3]      # a value does not promote
    assert torch.clamp(i, 0.5).dtype is torch.float32             # a bound does
    assert torch.where(b, 1, 2.0).dtype is torch.float32
    assert (f + 1j).dtype is torch.complex64


def test_grad_fn_names():
    x = leaf(1.0, 2.0)
    name = lambda t: type(t.grad_fn).__name__
    for got, want in ((x + 1, "AddBackward0"), (2 - x, "RsubBackward1"), (2 / x, "MulBackward0"), (x ** 2, "PowBackward0"),
                      (x ** x, "PowBackward1"), (2 ** x, "PowBackward2"), (x % 2, "RemainderBackward0"), (x % x, "RemainderBackward1"),
                      (x // 2, "NotImplemented"), (2 % x, "NotImplemented"), (x.clamp(0), "ClampBackward1"),
                      (torch.clamp(x, x), "ClampBackward0"), (torch.div(x, 2, rounding_mode="floor"), "DivBackward2"),
                      (torch.lerp(x, x, 0.5), "LerpBackward0"), (torch.lerp(x, x, x), "LerpBackward1"),
                      (torch.xlogy(2.0, x), "XlogyBackward1"), (x.square(), "PowBackward0"), (abs(x), "AbsBackward0")):
        assert name(got) == want


def test_an_operator_without_a_derivative_works_forward_and_refuses_backward():
    y = leaf(3.0, 4.0) // 2
    assert y.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
        y.sum().backward()


@pytest.mark.parametrize("f, error, text", [
    (lambda x, i, b: b - b, RuntimeError, "Subtraction, the `-` operator, with two bool tensors is not supported."),
    (lambda x, i, b: 1 - b, RuntimeError, "Subtraction, the `-` operator, with a bool tensor is not supported."),
    (lambda x, i, b: ~x, TypeError, r"~ \(operator.invert\) is only implemented on integer and Boolean-type tensors"),
    (lambda x, i, b: x & x, NotImplementedError, "\"bitwise_and_cpu\" not implemented for 'Float'"),
    (lambda x, i, b: i.add_(2.5), RuntimeError, "result type Float can't be cast to the desired output type Long"),
    (lambda x, i, b: i.bitwise_and_(2.5), RuntimeError, "result type Float can't be cast to the desired output type Long"),
    (lambda x, i, b: i // 0, RuntimeError, "ZeroDivisionError"),
    (lambda x, i, b: (i // (i - i)).tolist(), RuntimeError, "ZeroDivisionError"),
    (lambda x, i, b: x + "a", TypeError, r"unsupported operand type\(s\) for \+: 'Tensor' and 'str'"),
    (lambda x, i, b: x.add("a"), TypeError, r"add\(\): argument 'other' \(position 1\) must be Tensor, not str"),
    (lambda x, i, b: torch.maximum(x, 2.0), TypeError, r"maximum\(\): argument 'other' \(position 2\) must be Tensor, not float"),
    (lambda x, i, b: torch.add(i, i, alpha=1.5), RuntimeError, "For integral input tensors, argument alpha must not be a floating point"),
    (lambda x, i, b: torch.clamp(x), RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None"),
    (lambda x, i, b: torch.div(x, x, rounding_mode="up"), RuntimeError, "div expected rounding_mode to be one of None, 'trunc', or 'floor' "
     "but found 'up'"),
    (lambda x, i, b: torch.lerp(x, x.double(), 0.5), RuntimeError, "expected dtype float for `end` but got dtype double"),
    (lambda x, i, b: torch.where(i, x, x), RuntimeError, "where expected condition to be a boolean tensor, but got a tensor with dtype "
                                                         "Long"),
    (lambda x, i, b: (x + 0j).abs_(), RuntimeError, "In-place abs is not supported for complex tensors."),
    (lambda x, i, b: x + torch.ones(3), RuntimeError, r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton"),
])
def test_errors(f, error, text):
    with pytest.raises(error, match=text):
        f(torch.tensor([1.0, 2.0]), torch.tensor([1, 2]), torch.tensor([True, False]))


def test_in_place_operators_write_and_keep_their_history():
    x = leaf(1.0, 2.0)
    y = x * 1
    same = y
    y += 1
    y *= x
    y -= 0.5
    y **= 2
    assert y is same and y.tolist() == [2.25, 30.25]
    y.sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [9.0, 55.0])      # 2 (x (x + 1) - 0.5) (2 x + 1)


def test_in_place_saves_what_was_there_before():
    x, w = leaf(3.0), leaf(2.0)
    y = x * 1
    y.mul_(w)                                  # w's gradient needs the value that is overwritten
    y.sum().backward()
    assert w.grad.tolist() == [3.0] and x.grad.tolist() == [2.0]
    z = x.exp()
    z.mul_(2)                                  # exp's own backward needs its result
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        z.sum().backward()


def test_numpy_operands():
    x = torch.tensor([1.0, 2.0])
    assert (x * np.float32(2)).dtype is torch.float32 and (np.float64(2) * x).tolist() == [2, 4]
    assert (x + np.array([1.0, 1.0])).dtype is torch.float64
    assert (x == np.array([1.0, 3.0])).tolist() == [True, False]


@pytest.mark.parametrize("other", [None, "a", object(), [1, 2]])
def test_foreign_operands(other):
    x = torch.tensor([1.0, 2.0])
    assert (x == other) is False and (x != other) is True
    for op in (operator.sub, operator.truediv, operator.pow, operator.matmul, operator.lt):
        with pytest.raises(TypeError):
            op(x, other)
        with pytest.raises(TypeError):
            op(other, x)


def test_changing_numbers_do_not_recompile(free_compiles):
    x = torch.tensor([1.0, 2.0])

    def step(k):
        return (((x * k + k) / (k + 1)).clamp(max=k) ** (k + 0.25) + torch.add(x, x, alpha=k)).tolist()
    for k in range(1, 4):
        step(float(k))
    before = torch.stats()["compiles"]
    results = [step(float(k)) for k in range(4, 12)]
    assert torch.stats()["compiles"] == before and len(set(map(tuple, results))) == 8


def test_strides_follow_the_operands():
    t = torch.arange(6.0).reshape(2, 3).t()
    assert (t + 1).stride() == (1, 3) and (t + t).stride() == (1, 3) and t.exp().stride() == (1, 3)
    assert (t + torch.ones(3, 2)).stride() == (1, 3)


def test_second_derivatives():
    x = leaf(0.5, -0.75, dtype=torch.float64)
    for f, second in ((torch.sin, lambda v: -np.sin(v)), (lambda t: t ** 3, lambda v: 6 * v),
                      (torch.tanh, lambda v: -2 * np.tanh(v) / np.cosh(v) ** 2),
                      (torch.exp, np.exp), (torch.reciprocal, lambda v: 2 / v ** 3)):
        g, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        h, = torch.autograd.grad(g.sum(), x)
        np.testing.assert_allclose(h.tolist(), second(np.array([0.5, -0.75])), rtol=1e-12)


def test_nearness():
    a = torch.tensor([1.0, nan])
    assert torch.isclose(a, a).tolist() == [True, False] and torch.allclose(a, a, equal_nan=True)
    assert torch.equal(torch.ones(2), torch.ones(2)) and not torch.equal(torch.ones(2), torch.ones(3))
    with pytest.raises(RuntimeError, match="Float did not match Double"):
        torch.isclose(a, a.double())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_of_half_types_see_the_rounded_result_as_torch_saves_it(dtype):
    x, g = torch.linspace(-3, 3, 101).to(dtype), torch.linspace(1, 2, 101).to(dtype)
    for f, by_result in ((torch.exp, lambda y: y), (torch.tanh, lambda y: 1 - y * y)):
        leaf = x.clone().requires_grad_()
        y = f(leaf)
        y.backward(g)
        assert leaf.grad.tolist() == (g.float() * by_result(y.detach().float())).to(dtype).tolist()


def test_complex_log1p_near_zero_and_far_away():
    z = torch.tensor([1e-19 + 1e-18j, 1e250 + 1e250j, -1 + 2j], dtype=torch.complex128)
    expected = np.array([1e-19 + 1e-18j, 575.9928468387914 + 0.7853981633974483j, 0.6931471805599453 + 1.5707963267948966j])
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(torch.log1p(z).numpy(), part), getattr(expected, part), rtol=1e-12)


def test_a_known_zero_divisor_raises_at_the_call():
    x = torch.arange(1, 4)
    for zero in (torch.zeros_like(x), torch.tensor([1, 0, 1])):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            torch.fmod(x, zero)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (x // (x - x)).tolist()


@pytest.mark.parametrize("f, end", [(torch.xlogy, 0.0), (torch.special.xlog1py, -1.0)])
def test_where_the_cotangent_is_zero_so_is_the_gradient_of_what_is_multiplied_by_a_logarithm(f, end):
    """torch makes that gradient with the same function: an infinite logarithm, or none, makes no nan of what a mask took away."""
    xs, ys = [2.0, 2.0, 2.0, 0.0, 2.0, nan], [end, inf, end - 1, end - 1, nan, end + 1]
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x, y = (torch.tensor(v, dtype=dtype, requires_grad=True) for v in (xs, ys))
        for _ in range(4):
            (f(x, y) * torch.zeros(6, dtype=dtype)).sum().backward()
            np.testing.assert_array_equal(x.grad.float().numpy(), np.float32([0, 0, 0, 0, nan, 0]))
            x.grad = None
    x = torch.tensor([[2.0, 1.0]], requires_grad=True)
    f(x, torch.full((3, 1), end)).mul(torch.tensor([[0.0, 1.0]])).sum().backward()
    assert x.grad.tolist() == [[0.0, -inf]] and not np.signbit(x.grad.numpy()[0, 0])
    x.grad = None
    f(x, end).mul(torch.tensor([[0.0, 1.0]])).sum().backward()
    assert x.grad.tolist() == [[0.0, -inf]]


@pytest.mark.parametrize("f, want, gradients", [
    (torch.xlogy, [-0.6171875, 2.84375, -10.0625, 0.91796875],
     [[-1.4296875, 2.171875, -7.25, 1.0703125], [1.6171875, 0.4140625, 197.0, 0.2099609375]]),
    (torch.special.xlog1py, [0.03662109375, 3.140625, 0.0888671875, 1.125],
     [[0.08544921875, 2.390625, 0.06396484375, 1.3125], [0.185546875, 0.349609375, 5.90625, 0.16015625]])])
def test_half_types_round_the_logarithm_and_each_step_of_its_gradients(f, want, gradients):
    x, y, g = (torch.tensor(v, dtype=torch.bfloat16) for v in ([0.3, 1.7, 2.9, 0.77], [0.13, 5.3, 0.031, 3.3], [0.7, 1.3, 2.1, 0.9]))
    out = f(x.requires_grad_(), y.requires_grad_())
    assert out.tolist() == want and [t.tolist() for t in torch.autograd.grad(out, (x, y), g)] == gradients


def test_remainders_of_many_numbers_are_the_c_librarys():
    """Above some numbers they are computed by way of float64; what is not finite, or too large a quotient, is not."""
    rng = np.random.default_rng(0)
    x, y = [rng.standard_normal((2, 300)).astype(np.float32) * 50 for _ in range(2)]
    for a, b in ((None, None), (np.inf, 1), (np.nan, 2), (-4, 2), (-0.0, 3), (1, 0), (2, np.inf), (1e30, 1e-30), (-5, np.nan)):
        if a is not None:
            x[1, 7], y[1, 7] = a, b
        with np.errstate(all="ignore"):
            wanted = np.fmod(x, y)
        for made in (torch.fmod(torch.tensor(x), torch.tensor(y)), torch.fmod(torch.tensor(x.T.copy()).t(), torch.tensor(y))):
            assert np.array_equal(made.numpy(), wanted, equal_nan=True) and np.array_equal(np.signbit(made.numpy()), np.signbit(wanted))
