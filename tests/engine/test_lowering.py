"""Programs for CPUs say differently what XLA gets wrong or does slowly; both tiers give the same."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import torchshim as torch
from torchshim.engine.compile import lowering, policy
from torchshim.engine.compile.options import compiler_options


@pytest.fixture(params=policy.TIERS[1:])
def tier(request):
    policy.pin(request.param)
    yield request.param
    policy.pin(None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_extremes_of_many_elements_are_nan_where_one_is(tier, dtype):
    """XLA's vectorised loop, for 4096 elements and more, loses a NaN."""
    x = torch.arange(61 * 83).reshape(61, 83).to(dtype)
    x[60, 5] = torch.nan
    y = x * 1
    assert y.max().isnan() and y.amin().isnan() and torch.linalg.vector_norm(y, torch.inf).isnan()
    assert y.amax(1).isnan().nonzero().tolist() == [[60]] and y.amin(0).isnan().nonzero().tolist() == [[5]]
    assert (y[:60] + 0).max() == y[59, 82]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_angle_of_zeros_that_are_constants_is_zero(tier, dtype):
    """XLA folds atan2 of twice the same constant zero to NaN."""
    x = torch.ones(3, dtype=dtype)
    zeros = torch.zeros_like(x)
    assert torch.atan2(zeros, zeros).tolist() == [0.0] * 3 and torch.atan2(zeros, -zeros).tolist() == torch.atan2(zeros, -x).tolist()
    assert torch.atan2(x.zero_(), x).tolist() == [0.0] * 3


@pytest.mark.parametrize("k", [0, 1, 5, 40, 50])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_orders_nan_and_equals(tier, k, largest):
    """Compiled, the first of equals; interpreted, torch's (tests/ops/test_sorting.py)."""
    x = torch.tensor([[float(7 * i % 13 - j) for i in range(50)] for j in range(3)])
    x[1, 7] = x[1, 30] = torch.nan
    x[2, 3], x[2, 4] = 0.0, -0.0
    values, index = x.topk(k, largest=largest)
    for row, got, at in zip(x.numpy(), values.numpy(), index.tolist()):
        key = np.where(np.isnan(row), np.inf, row)
        first = sorted(range(50), key=lambda i: (-key[i] if largest else key[i], i))[:k]
        assert at == first if tier == "compiled" else len(set(at)) == k and np.array_equal(row[at], row[first], equal_nan=True)
        np.testing.assert_array_equal(got, row[at])


def test_selection_from_many_elements_keeps_every_bit(tier):
    """NumPy's own selection branches for each element; ours blends bits."""
    which = torch.arange(6000) % 3 == 0
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int8, torch.bool, torch.complex64, torch.complex128):
        a, b = torch.arange(6000).to(dtype), torch.tensor(1).to(dtype)
        expected = np.where(which.numpy(), a.to(torch.complex128).numpy(), 1)
        np.testing.assert_array_equal(torch.where(which, a * b, b).to(torch.complex128).numpy(), expected)
    nan = torch.where(which, torch.full((6000,), torch.nan), torch.tensor(-0.0))
    assert nan.isnan().equal(which) and nan.signbit()[1]


def test_erf_reaches_one_and_keeps_zeros_and_nan(tier):
    x = torch.tensor([0.0, -0.0, 1e-30, 0.5, -1.0, 3.0, 3.95, 20.0, torch.inf, -torch.inf, torch.nan])
    y = torch.erf(x * 1)
    np.testing.assert_allclose(y[:6], [0, -0.0, 1.1283791671e-30, 0.5204998778, -0.8427007929, 0.9999779095], rtol=5e-7)
    assert y[6:10].tolist() == [1, 1, 1, -1] and y[10].isnan() and y[:2].signbit().tolist() == [False, True]


def test_running_sums_and_products_are_made_as_torch_makes_them(tier):
    """In float64, one by one where products of pieces overflow: no NaN that is not there."""
    x = torch.cat([torch.full((400,), 1e-3), torch.full((400,), 1e3)])
    running = (x * 1).cumprod(0)
    assert running[:3].allclose(torch.tensor([1e-3, 1e-6, 1e-9])) and running[20:].count_nonzero() == 0 and not running.isnan().any()
    assert (x[370:430] * 1).cumprod(0)[-1].allclose(torch.tensor(1.0))
    assert (x[:2] * 1).cumprod(0).tolist() == (x[:2].double() * 1).cumprod(0).float().tolist()
    assert torch.full((3000,), 0.1).cumsum(0)[-1] == 300
    assert not (x[370:430] * 1).prod().isnan()


UNARY = """exp exp2 expm1 log log1p log2 sin cos tan sinh cosh tanh asin atan asinh atanh sigmoid square rsqrt erf erfc erfinv lgamma
           digamma reciprocal i0""".split()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_operator_is_contracted_with_the_sum_after_it(dtype):
    """What is rounded when it is computed alone is rounded in a program: f(x) - (f(x) computed before) is exactly 0."""
    policy.pin("compiled")
    try:
        x = torch.arange(1, 2999).to(dtype) / 3001
        made = [lambda x: x * (x + 1), lambda x: x ** 3, lambda x: torch.cumprod(x + 0.5, 0), lambda x: torch.prod(x + 0.5),
                lambda x: torch.outer(x[:50], x[50:99]), lambda x: torch.view_as_real(torch.complex(x, 1 - x) * torch.complex(x, x))]
        made += [getattr(torch, name) for name in UNARY]
        alone = [f(x) for f in made]
        assert all(y.isfinite().all() for y in alone)
        differences = [f(x) - y for f, y in zip(made, alone)]
        assert [k for k, d in enumerate(differences) if d.any()] == []
    finally:
        policy.pin(None)


@pytest.mark.parametrize("loop", ["scan", "while", "cond"])
def test_nothing_is_contracted_inside_loops(loop):
    def step(x, y):
        return x * x - y * y

    def scan(x, y):
        return lax.scan(lambda total, r: (total + step(*r), r[0]), jnp.zeros(x.shape[1:], x.dtype), (x, y))

    def again(x, y):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + step(x, y)), (0, x * 0))[1:]

    def choose(x, y):
        return [lax.cond(x[0, 0] > 2, lambda: x + 1, lambda: step(x, y))]
    x = np.random.default_rng(0).random((3, 1000), np.float32)
    closed = jax.make_jaxpr({"scan": scan, "while": again, "cond": choose}[loop])(x, x)
    run = jax.jit(lambda zero, *args: lowering.applied(closed, args, lowering.Fence(zero)), compiler_options=compiler_options())
    with jax.enable_x64(True):
        assert not np.asarray(run(np.int64(0), x, x.copy())[0]).any()


@pytest.mark.parametrize("known", [True, False])
def test_writes_into_parts_copy_nothing(known):
    """A write is a call of its own in the program: neither repeated where a slice of it is read, nor computed number by number."""
    def step(x, k, i):
        x = lax.dynamic_update_slice(x, x[1:-1, 1:-1] + k * (x[2:, 1:-1] + x[:-2, 1:-1] - 2 * x[1:-1, 1:-1]), (1, 1))
        for to, of in ((0, 1), (79, 78)):
            x = lax.dynamic_update_slice(x, x[of:of + 1], (to, 0) if known else (i + to, i))
        return [x]
    with jax.enable_x64(True):
        x = np.random.default_rng(0).random((80, 80), np.float32)
        closed = jax.make_jaxpr(step)(x, np.float32(0.5), 0)
        run = jax.jit(lambda zero, *args: lowering.applied(closed, args, lowering.Fence(zero)), donate_argnums=1)
        made = run.lower(np.int64(0), x, np.float32(0.5), 0).compile(compiler_options=compiler_options())
        assert " copy(" not in made.as_text() and made.as_text().count(" call(") == 3
        expected = x.copy()
        expected[1:-1, 1:-1] += np.float32(0.5) * (x[2:, 1:-1] + x[:-2, 1:-1] - 2 * x[1:-1, 1:-1])
        expected[0], expected[-1] = expected[1], expected[-2]
        np.testing.assert_array_equal(made(np.int64(0), x, np.float32(0.5), 0)[0], expected)


def test_writes_into_parts_are_the_same_in_both_tiers(tier):
    x = torch.arange(6400.0).reshape(80, 80).requires_grad_()
    y = x * 1
    y[1:-1, 1:-1] += 0.5 * (y[2:, 1:-1] + y[:-2, 1:-1] - 2 * y[1:-1, 1:-1]) ** 2
    y[0] = y[1]
    for k in range(3):
        y[k:k + 7, k] = y[40, 3:10] * 2
    y.sum().backward()
    expected = x.detach().numpy().copy()
    expected[1:-1, 1:-1] += 0.5 * (expected[2:, 1:-1] + expected[:-2, 1:-1] - 2 * expected[1:-1, 1:-1]) ** 2
    expected[0] = expected[1]
    for k in range(3):
        expected[k:k + 7, k] = expected[40, 3:10] * 2
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    assert x.grad.sum() == 6421.0 and not x.grad[0].any() and x.grad[40, :5].tolist() == [1, 1, 1, 7, 7]        # torch's


@pytest.mark.parametrize("small", [True, False])
def test_a_sum_of_transposes_stays_one(small):
    """XLA moves transposes past sums, and its simplifier, which is off here, would cancel what comes of it: each of 25 rounds added a pair
    for each summand, and the chain of a recurrent cell's gradient overflowed the compiler's stack."""
    @jax.jit
    def gradient(xs, gs):
        terms = [(g.T @ x).T for x, g in zip(xs, gs)]
        return sum(terms[1:], terms[0])

    inputs = [[jnp.ones((4, 3))] * 8, [jnp.ones((4, 5))] * 8]
    text = gradient.lower(*inputs).compile(compiler_options(small)).as_text()
    assert text.count(" transpose(") + text.count(" copy(") <= 3 * 8
