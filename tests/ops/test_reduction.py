"""Reductions: values, dtypes, gradients at ties and zeros, grad_fn names and error texts. Expectations are PyTorch 2.13's."""
import math

import pytest

import torchshim as torch
from torchshim.engine.compile import policy

nan, inf = math.nan, math.inf


def leaf(data):
    return torch.tensor(data, requires_grad=True)


def grad_of(f, data):
    x = leaf(data)
    f(x).sum().backward()
    return x.grad.tolist()


def test_sums_of_integers_are_int64_and_halves_accumulate_in_float32():
    assert torch.tensor([200, 100], dtype=torch.uint8).sum().item() == 300
    assert torch.tensor([True, True]).sum().dtype == torch.int64
    assert torch.tensor([3, 2], dtype=torch.int32).prod().dtype == torch.int64
    assert torch.tensor([3, 2], dtype=torch.int32).cumsum(0).dtype == torch.int64
    assert torch.ones(4097, dtype=torch.bfloat16).sum().item() == 4096.0      # one at a time would stop at 256
    assert torch.ones(2, 3).sum(dtype=torch.float64).dtype == torch.float64


@pytest.mark.parametrize("call, shape", [
    (lambda x: x.sum(0), (3, 4)), (lambda x: x.sum((0, -1)), (3,)), (lambda x: x.sum([0, 1], keepdim=True), (1, 1, 4)),
    (lambda x: x.mean(-1, True), (2, 3, 1)), (lambda x: x.amax((0, 2)), (3,)), (lambda x: x.sum(()), ()), (lambda x: x.var(1), (2, 4)),
    (lambda x: x.argmax(keepdim=True), (1, 1, 1)), (lambda x: x.all([]), (2, 3, 4)), (lambda x: x.sum(axis=0, keepdims=True), (1, 3, 4)),
    (lambda x: x.max(1, keepdim=True).indices, (2, 1, 4)), (lambda x: x.norm(dim=(0, 1)), (4,))])
def test_shapes(call, shape):
    assert tuple(call(torch.ones(2, 3, 4)).shape) == shape


def test_extremes_share_or_choose_their_gradient():
    rows = [[1., 1., 3., 3.], [2., 2., 2., 0.]]
    assert grad_of(lambda x: x.max(), rows) == [[0, 0, 0.5, 0.5], [0, 0, 0, 0]]
    assert grad_of(lambda x: x.max(1).values, rows) == [[0, 0, 1, 0], [1, 0, 0, 0]]
    third = pytest.approx(1 / 3)
    assert grad_of(lambda x: x.amax(1), rows) == [[0, 0, 0.5, 0.5], [third, third, third, 0]]
    assert grad_of(lambda x: x.min(1)[0], rows) == [[1, 0, 0, 0], [0, 0, 0, 1]]
    assert grad_of(lambda x: x.cummax(1)[0], [[1., 3., 3., 2.]]) == [[1, 1, 2, 0]]


def test_nan():
    x = torch.tensor([[1., nan, 3.], [2., 5., 5.]])
    assert torch.equal(x.max(1).indices, torch.tensor([1, 1])) and x.amax(1).isnan().tolist() == [True, False]
    assert x.nansum().item() == 16.0 and x.nanmean(1).tolist() == [2.0, 4.0]
    assert x.median(1).indices.tolist() == [1, 1] and x.nanmedian(1).values.tolist() == [1.0, 5.0]
    assert x.cummax(1).indices.tolist() == [[0, 1, 1], [0, 1, 2]]
    g = leaf([[1., nan, 3.], [2., 2., 1.]])
    for _ in range(3):                                  # also once the program is compiled
        grad, = torch.autograd.grad((g.amax(1) * torch.tensor([1., 2.])).sum(), [g])
        assert grad.isnan().tolist() == [[True] * 3, [False] * 3] and grad[1].tolist() == [1, 1, 0]


def test_gradients_at_zero():
    assert grad_of(lambda x: x.prod(), [2., 0., 3.]) == [0, 6, 0]
    assert grad_of(lambda x: x.prod(), [0., 0., 3.]) == [0, 0, 0]
    assert grad_of(lambda x: x.cumprod(0), [2., 0., 3.]) == [1, 8, 0]
    for p in (1, 2, 3, 1.5):
        assert grad_of(lambda x: x.norm(p), [0., 0.]) == [0, 0]
    assert grad_of(lambda x: x.std(), [1., 1.]) == [0, 0]
    assert grad_of(lambda x: x.norm(inf), [3., -3., 1.]) == [0.5, -0.5, 0]


def test_variance():
    x = torch.tensor([1., 2., 4.])
    assert x.var().item() == pytest.approx(7 / 3) and x.var(unbiased=False).item() == pytest.approx(14 / 9)
    assert torch.var(x, correction=2).item() == pytest.approx(14 / 3) and x.std(False).item() == pytest.approx((14 / 9) ** 0.5)
    assert [t.item() for t in torch.var_mean(x, 0)] == [pytest.approx(7 / 3), pytest.approx(7 / 3)]
    with pytest.warns(UserWarning, match=r"var\(\): degrees of freedom is <= 0"):
        assert math.isnan(torch.ones(1).var().item())
    assert torch.tensor([1 + 1j, -1j]).var().dtype == torch.float32


@pytest.mark.parametrize("call, name", [
    (lambda x: x.sum(), "SumBackward0"), (lambda x: x.sum(0), "SumBackward1"), (lambda x: x.mean(), "MeanBackward0"),
    (lambda x: x.mean(0), "MeanBackward1"), (lambda x: x.prod(0), "ProdBackward1"), (lambda x: x.var(), "VarBackward0"),
    (lambda x: torch.std_mean(x)[0], "StdMeanBackward0"), (lambda x: x.max(), "MaxBackward1"), (lambda x: x.max(0)[0], "MaxBackward0"),
    (lambda x: x.min(), "MinBackward1"), (lambda x: torch.max(x, x), "MaximumBackward0"), (lambda x: x.amax(), "AmaxBackward0"),
    (lambda x: x.norm(), "LinalgVectorNormBackward0"), (lambda x: x.median(0)[0], "MedianBackward1"),
    (lambda x: x.logsumexp(0), "LogsumexpBackward0"), (lambda x: x.cumsum(0), "CumsumBackward0"), (lambda x: x.trace(), "TraceBackward0"),
    (lambda x: x.diff(), "SubBackward0"), (lambda x: x.quantile(0.5), "SqueezeBackward4")])
def test_grad_fn_names(call, name):
    assert type(call(torch.ones(3, 3, requires_grad=True)).grad_fn).__name__ == name


@pytest.mark.parametrize("call, error, text", [
    (lambda: torch.ones(2, dtype=torch.int64).mean(), RuntimeError, "mean(): could not infer output dtype. Input dtype must be either a "
     "floating point or complex dtype. Got: Long"),
    (lambda: torch.zeros(0, 3).max(), RuntimeError, "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
     "reduction dim with the 'dim' argument."),
    (lambda: torch.zeros(0, 3).max(0), IndexError, "max(): Expected reduction dim 0 to have non-zero size."),
    (lambda: torch.zeros(0, 3).argmax(), IndexError, "argmax(): Expected reduction dim to be specified for input.numel() == 0."),
    (lambda: torch.ones(2, 3).sum(2), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
    (lambda: torch.ones(2, 3).sum((0, -2)), RuntimeError, "dim 0 appears multiple times in the list of dims"),
    (lambda: torch.ones(2, dtype=torch.int64).var(), RuntimeError, "std and var only support floating point and complex dtypes"),
    (lambda: torch.zeros(0).norm(inf), RuntimeError, "linalg.vector_norm cannot compute the inf norm on an empty tensor because the "
     "operation does not have an identity"),
    (lambda: torch.ones(2).cumsum(), TypeError, 'cumsum() missing 1 required positional arguments: "dim"'),
    (lambda: torch.ones(2, 2, 2).trace(), RuntimeError, "trace: expected a matrix, but got tensor with dim 3")])
def test_errors(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == text


def test_one_dimension_only():
    for f in (torch.argmax, torch.prod, torch.cumsum, torch.median):
        with pytest.raises(TypeError, match="must be int, not tuple|invalid combination of arguments"):
            f(torch.ones(2, 3), (0, 1))


def test_empty_reductions():
    e = torch.zeros(0, 3)
    assert e.sum().item() == 0 and e.prod().item() == 1 and math.isnan(e.mean().item()) and e.all().item()
    assert e.logsumexp(0).tolist() == [-inf] * 3 and tuple(e.amax(1).shape) == (0,)


def test_out_and_named_tuples():
    x = torch.tensor([[1., 4.], [3., 2.]])
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    r = torch.max(x, 1, out=(values, indices))
    assert r.values is values and indices.tolist() == [1, 0]
    assert (type(r) is torch.return_types.max_out
            and repr(r) == "torch.return_types.max_out(\nvalues=tensor([4., 3.]),\nindices=tensor([1, 0]))")
    assert x.aminmax().min.item() == 1 and x.aminmax(dim=0).max.tolist() == [3, 4]


def test_scans_and_histograms():
    x = torch.tensor([1., 3., 6.])
    assert x.diff().tolist() == [2, 3] and x.diff(n=2).tolist() == [1] and x.diff(prepend=torch.zeros(1)).tolist() == [1, 2, 3]
    assert torch.tensor([True, False, False]).diff().tolist() == [True, False]
    assert x.logcumsumexp(0).tolist() == pytest.approx([1.0, 3.126928, 6.054985])
    assert not torch.signbit(torch.tensor([[-0.0, 1.0]]).logcumsumexp(1)).any() and torch.signbit(torch.tensor(-0.0).logcumsumexp(0))
    assert torch.histc(x, 5).tolist() == [1, 0, 1, 0, 1] and torch.histc(x, 2, 0, 6).tolist() == [1, 2]
    assert torch.bincount(torch.tensor([0, 2, 2])).tolist() == [1, 0, 2]
    assert torch.bincount(torch.tensor([0, 2, 2]), torch.tensor([.5, 1., 1.]), 4).tolist() == [0.5, 0, 2, 0]
    assert torch.cross(torch.tensor([1., 0, 0]), torch.tensor([0., 1, 0]), dim=0).tolist() == [0, 0, 1]


def test_backward_keeps_only_what_it_reads():
    x = torch.ones(3, 4, requires_grad=True)
    y = (x * 1).clone()
    r = y.max(1).values                       # reads the indices, not the input
    y.mul_(2)
    r.sum().backward()
    assert x.grad.sum().item() == 3


def test_second_derivatives():
    x = leaf([3., 4.])
    g, = torch.autograd.grad(x.norm(), x, create_graph=True)
    g[0].backward()
    assert x.grad.tolist() == pytest.approx([0.128, -0.096])


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian", "amax", "amin"])
def test_ties_divide_the_gradient_by_their_number(name):
    """g / n, which is not g * (1 / n) to the last digit."""
    x = torch.ones(7, requires_grad=True)
    third = torch.tensor(1 / 3)
    g, = torch.autograd.grad(getattr(x, name)(), x, third)
    assert g.tolist() == [(third / 7).item()] * 7


@pytest.mark.parametrize("name, at", [("max", 1), ("min", 0), ("median", 0), ("nanmedian", 0)])
def test_infinite_gradients_of_the_extreme_of_all_stay_where_it_is(name, at):
    for ct in (math.inf, math.nan):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        g, = torch.autograd.grad(getattr(x, name)(), x, torch.tensor(ct))
        assert g[1 - at] == 0 and str(g[at].item()) == str(ct)


def test_an_extreme_that_was_overwritten_has_no_place():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for name in ("max", "min", "median"):
        y = getattr(x * 1, name)()
        y.data.mul_(3)
        assert torch.autograd.grad(y, x)[0].tolist() == [0, 0]
    y = (x * 1).amax()
    y.data.mul_(3)
    assert torch.autograd.grad(y, x)[0].isnan().all()


@pytest.mark.parametrize("count", [lambda x: torch.linalg.vector_norm(x, 0), lambda x: x.norm(p=0), lambda x: x.norm(p=0, dim=0),
                                   lambda x: torch.dist(x, torch.zeros(3), 0)])
def test_a_norm_that_counts_leaves_the_gradient_undefined(count):
    """As in torch: `.grad` stays None, and what else the loss holds has its gradient, at every turn."""
    for _ in range(4):
        x = torch.tensor([3.0, 0.0, -4.0], requires_grad=True)
        y = x * 2
        y.retain_grad()
        count(y).backward()
        assert x.grad is y.grad is None
        with pytest.raises(RuntimeError, match="appears to not have been used"):
            torch.autograd.grad(count(x), x)
        with torch.autograd.graph.save_on_cpu():
            assert torch.autograd.grad(count(x), x, create_graph=True, allow_unused=True) == (None,)
        (count(x * 2) + x.sum()).backward()
        assert x.grad.tolist() == [1, 1, 1]
    out = count(x)
    assert out.item() == 2 and out.requires_grad
    out.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.backward()
    assert torch.func.grad(count)(x.detach()).tolist() == [0, 0, 0]


def test_the_distance_that_counts_has_nothing_to_negate():
    x, y = torch.ones(3, requires_grad=True), torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="Expected a proper Tensor but got None"):
        torch.dist(x, y, 0).backward()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.uint8])
@pytest.mark.parametrize("shape", [(3, 4, 5), (7,), (2, 3, 1, 4)])
def test_extremes_and_their_places_are_the_first_of_equal_ones(shape, dtype):
    x = torch.arange(math.prod(shape)).reshape(shape).mul(7).remainder(5).to(dtype)
    for y in (x, x.transpose(0, -1)):
        for d in range(-len(shape), len(shape)):
            rows = y.movedim(d, -1).reshape(-1, y.shape[d]).tolist()
            for f, best in ((torch.max, max), (torch.min, min)):
                for keep in (False, True):
                    values, at = f(y, d, keep)
                    assert values.movedim(d, -1).reshape(-1).tolist() == [best(r) for r in rows] if keep else values.dtype is dtype
                    assert at.sum().item() == sum([r.index(best(r)) for r in rows]) and at.dtype is torch.int64
                    assert values.shape == at.shape == torch.Size([1 if k == d % len(shape) else n for k, n in enumerate(y.shape)
                                                                   if keep or k != d % len(shape)])
    if dtype.is_floating_point:
        assert torch.tensor([[1.0, nan, nan, 2.0]], dtype=dtype).max(1).indices.tolist() == [1]


def test_a_diagonal_gives_its_gradient_back():
    x = torch.zeros(3, 2, 4, requires_grad=True)
    y = torch.diagonal(x, 1, 0, 2)
    y.backward(torch.arange(1.0, 1 + y.numel()).reshape(y.shape))
    expected = torch.zeros(3, 2, 4)
    for k in range(3):
        expected[k, :, k + 1] = torch.tensor([1.0 + k, 1.0 + k + 3])
    assert x.grad.tolist() == expected.tolist() and x.grad.is_contiguous()


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_logcumsumexp_of_infinite_complex_numbers(dtype):
    inf, nan = math.inf, math.nan
    x = torch.tensor([complex(-inf, 4), complex(-inf, 1), 1.2 + 2.1j, complex(inf, 0), complex(inf, 1), complex(inf, 3), complex(nan, 2)],
                     dtype=dtype)
    parts = [(z.real, z.imag) for z in x.logcumsumexp(0).tolist()]
    assert parts[:2] == [(-inf, 0)] * 2 and parts[2] == pytest.approx((1.2, 2.1)) and parts[3] == (inf, 0)
    assert parts[4] == pytest.approx((inf, math.pi / 4)) and parts[5][0] == inf
    assert all([math.isnan(v) for v in (parts[5][1], *parts[6])])
    x = torch.tensor([1 + 1j, 2 + 1j], dtype=dtype, requires_grad=True)
    x.logcumsumexp(0)[1].abs().backward()
    assert x.grad.tolist() == [pytest.approx(0.246862 + 0.106726j, abs=1e-4), pytest.approx(0.671041 + 0.290110j, abs=1e-4)]


def test_variances_are_summed_in_double_precision():
    """Rounded once, as torch accumulates: a square may be infinite in single precision."""
    x = torch.tensor([[1.0, 1e30, 2.0, -3.0]], requires_grad=True)
    assert torch.std(x).item() == 5.000000075237331e29 and torch.autograd.grad(torch.std(x), x)[0][0, 1].item() == 0.5000000596046448
    y = torch.arange(7.0) * 0.37 % 1.1 + 100
    assert y.var().item() == 0.10929504781961441 and y.std().item() == 0.33059802651405334
    assert torch.var_mean(y)[1].item() == 100.32428741455078


@pytest.mark.parametrize("shape, dim", [((70_001,), None), ((3, 5), 1), ((2, 3, 4), (1, 2)), ((2, 66_000), -1), ((4, 5), ()), ((3, 4), 0)])
@pytest.mark.parametrize("correction", [1, 0, 2.5, 100_000])
def test_variances_by_blocks_are_those_of_the_program(monkeypatch, shape, dim, correction):
    """Rows are gone through in blocks, whose moments are put together; too few numbers give infinity."""
    found = []
    for tier in ("operators", "compiled"):
        monkeypatch.setattr(policy, "tier", tier)
        torch.manual_seed(0)
        x = torch.randn(shape) * 3 + 50
        found.append([f(x, dim, correction=correction) for f in (torch.var, torch.std)])
        found[-1] += torch.var_mean(x, dim, correction=correction, keepdim=True)
        found[-1] = [t.tolist() for t in found[-1]]
    assert found[0] == found[1]


def test_nothing_is_divided_by_zero_where_nothing_is_divided():
    x, zero = torch.ones(2, 0, dtype=torch.int64), torch.zeros(2, 1, dtype=torch.int64)
    assert [f(x, zero).shape for f in (torch.fmod, torch.remainder, torch.floor_divide)] == [(2, 0)] * 3
    assert (x // 0).shape == (2, 0)


def test_whether_bools_are_true():
    assert torch._is_all_true(torch.tensor([True, True])).item() and torch._is_all_true(torch.ones(0, dtype=torch.bool)).item()
    assert not torch.tensor([[True], [False]])._is_all_true().item() and torch._is_any_true(torch.tensor([[True], [False]])).item()
    for f in (torch._is_all_true, torch._is_any_true):
        with pytest.raises(RuntimeError, match=r"self.scalar_type\(\) == at::kBool INTERNAL ASSERT FAILED"):
            f(torch.ones(2))
