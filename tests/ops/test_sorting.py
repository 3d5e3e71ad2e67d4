"""Sorting, ranks, quantiles, searching, distinct elements. Expectations are PyTorch 2.13's."""
import math

import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.interpret import orders

nan, inf = math.nan, math.inf


def test_sort_is_stable_and_nan_is_largest():
    x = torch.tensor([[2, 1, 2, 1], [0, 3, 3, 0]])
    r = x.sort(1)
    assert r.values.tolist() == [[1, 1, 2, 2], [0, 0, 3, 3]] and r.indices.tolist() == [[1, 3, 0, 2], [0, 3, 1, 2]]
    assert x.sort(1, descending=True).indices.tolist() == [[0, 2, 1, 3], [1, 2, 0, 3]]
    assert x.argsort(0, descending=True).tolist() == [[0, 1, 1, 0], [1, 0, 0, 1]]
    y = torch.tensor([nan, 1., -inf])
    assert y.sort().indices.tolist() == [2, 1, 0] and y.sort(descending=True).indices.tolist() == [0, 1, 2]
    assert type(r) is torch.return_types.sort and torch.tensor(3.).sort().indices.item() == 0
    assert torch.tensor([True, False]).sort().values.dtype == torch.bool
    assert torch.ones(4, 3).t().sort().values.stride() == (1, 3)


def test_gradients_go_back_to_their_places():
    x = torch.tensor([3., 1., 2.], requires_grad=True)
    w = torch.tensor([10., 20., 30.])
    for call, expected in ((lambda: (x.sort().values * w).sum(), [30, 10, 20]), (lambda: (x.topk(2).values * w[:2]).sum(), [10, 0, 20]),
                           (lambda: x.kthvalue(2).values, [0, 0, 1]), (lambda: x.median(), [0, 0, 1]), (lambda: x.msort().sum(), [1, 1, 1]),
                           (lambda: x.quantile(0.25), [0, 0.5, 0.5])):
        grad, = torch.autograd.grad(call(), x)
        assert grad.tolist() == pytest.approx(expected)


def test_topk():
    x = torch.tensor([1., 4., 3., nan])
    assert x.topk(2).indices.tolist() == [3, 1] and x.topk(2, largest=False).values.tolist() == [1, 3]
    assert torch.topk(x, 0).values.tolist() == []
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        x.topk(5)


def test_medians_modes_quantiles():
    x = torch.tensor([[4., 1., 3., 2.], [1., 1., 2., 2.]])
    assert x.median().item() == 2 and x.median(1).values.tolist() == [2, 1]
    assert x.mode(1).values.tolist() == [1, 1] and x.mode(1).indices.tolist() == [1, 1]
    assert x.quantile(0.5, 1).tolist() == [2.5, 1.5]
    assert x.quantile(torch.tensor([0., 1.]), dim=1).tolist() == [[1, 1], [4, 2]]
    assert [x[0].quantile(0.4, interpolation=i).item() for i in ("linear", "lower", "higher", "midpoint", "nearest")] == \
        [pytest.approx(2.2), 2, 3, 2.5, 2]
    y = torch.tensor([1., nan, 3.])
    assert math.isnan(y.quantile(0.5).item()) and y.nanquantile(0.5).item() == 2 and y.nanmedian().item() == 1


def test_searching():
    edges = torch.tensor([1., 2., 3.])
    x = torch.tensor([[0.5, 1.], [2.5, 9.]])
    assert (torch.searchsorted(edges, x).tolist() == [[0, 0], [2, 3]]
            and torch.searchsorted(edges, x, right=True).tolist() == [[0, 1], [2, 3]])
    assert torch.bucketize(x, edges, out_int32=True).dtype == torch.int32 and torch.searchsorted(edges, 2).item() == 1
    assert torch.searchsorted(x, torch.tensor([[1.], [3.]])).tolist() == [[1], [1]]
    assert torch.isin(torch.tensor([1, 2, 3]), torch.tensor([3, 1])).tolist() == [True, False, True]
    assert torch.isin(torch.arange(5), torch.arange(0, 100, 2), invert=True).tolist() == [False, True, False, True, False]
    with pytest.raises(RuntimeError, match="side can only be 'left' or 'right' but got foo"):
        torch.searchsorted(edges, x, side="foo")


def test_distinct_elements():
    x = torch.tensor([[2, 1], [2, 1], [0, 5]])
    assert torch.unique(x).tolist() == [0, 1, 2, 5]
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True, dim=0)
    assert values.tolist() == [[0, 5], [2, 1]] and inverse.tolist() == [1, 1, 0] and counts.tolist() == [1, 2]
    assert torch.unique_consecutive(torch.tensor([1, 1, 2, 1]), return_counts=True)[1].tolist() == [2, 1, 1]
    assert torch.unique(x, return_inverse=True)[1].tolist() == [[2, 1], [2, 1], [0, 3]]
    assert len(torch.unique(torch.tensor([nan, nan]))) == 2
    y = torch.unique(torch.ones(3, requires_grad=True))
    with pytest.raises(NotImplementedError, match="the derivative for '_unique2' is not implemented."):
        y.sum().backward()


@pytest.mark.parametrize("call, error, text", [
    (lambda: torch.ones(3).kthvalue(4), RuntimeError, "kthvalue(): selected number k out of range for dimension 0"),
    (lambda: torch.ones(2, dtype=torch.int64).quantile(0.5), RuntimeError, "quantile() input tensor must be either float or double dtype"),
    (lambda: torch.ones(2).quantile(1.5), RuntimeError, "quantile() q must be in the range [0, 1] but got 1.5"),
    (lambda: torch.zeros(0, 2).mode(0), IndexError, "mode(): Expected reduction dim 0 to have non-zero size."),
    (lambda: torch.tensor([True]).median(), NotImplementedError, "\"median_cpu\" not implemented for 'Bool'"),
    (lambda: torch.ones(2).sort(3), IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 3)"),
    (lambda: torch.bucketize(torch.ones(1), torch.ones(2, 2)), RuntimeError, "boundaries tensor must be 1 dimension, but got dim(2)")])
def test_errors(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == text


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
def test_a_long_median_found_by_counting_is_the_element_in_the_middle(dtype):
    x = (torch.arange(9000) * 7919 % 9001 - (0 if dtype == "uint8" else 4000)).to(getattr(torch, dtype))
    assert x.median().item() == x.sort().values[(9000 - 1) // 2].item()
    if x.is_floating_point():
        x[17] = float("nan")
        assert x.median().isnan()
        assert x.nanmedian().item() == x.sort().values[(8999 - 1) // 2].item()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int16", "int64", "bool"])
def test_a_sort_by_codes_keeps_equals_and_both_zeros_in_place(dtype):
    x = torch.tensor([2.0, -0.0, 1.0, 0.0, -1.0, 2.0, -0.0]).to(getattr(torch, dtype))
    for descending in (False, True):
        values, index = x.sort(descending=descending)
        key = lambda i: -x[i].item() if descending else x[i].item()
        assert index.tolist() == sorted(range(7), key=key)
        assert torch.equal(values.double().signbit(), x[index].double().signbit())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
@pytest.mark.parametrize("k", [0, 1, 5, 16, 17, 40])
def test_topk_takes_as_many_as_are_asked_for_each_once(dtype, k):
    x = (torch.arange(80).reshape(2, 40) * 7 % 11).to(getattr(torch, dtype))
    for dim in (1, 0):
        n = min(k, x.shape[dim])
        for largest in (False, True):
            values, index = x.topk(n, dim, largest=largest)
            expected = x.sort(dim, descending=largest)
            assert torch.equal(values, expected.values.narrow(dim, 0, n)) and torch.equal(x.gather(dim, index), values)
            assert all([len(set(places)) == n for places in index.movedim(dim, -1).tolist()])


def test_rows_of_sparse_matrices_both_ways():
    to_csr, to_coo = torch._convert_indices_from_coo_to_csr, torch._convert_indices_from_csr_to_coo
    rows, columns = torch.tensor([0, 0, 2, 3]), torch.tensor([1, 4, 0, 2])
    crow = to_csr(rows, 5)
    assert (crow.tolist() == [0, 2, 2, 3, 4, 4] and to_csr(rows[:0], 3).tolist() == [0] * 4
            and to_csr(rows, 5, out_int32=True).dtype == torch.int32)
    assert (to_coo(crow, columns).tolist() == [rows.tolist(), columns.tolist()]
            and to_coo(crow, columns, transpose=True)[0].tolist() == [1, 4, 0, 2])
    assert to_coo(torch.zeros(3, dtype=torch.int64), rows[:0]).shape == (2, 0)
    with pytest.raises(RuntimeError, match="supposed to be a vector, but got 2"):
        to_csr(rows[None], 5)
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        to_csr(rows.float(), 5)


@pytest.mark.parametrize("call", [torch.sort, torch.argsort, torch.cummax, torch.cummin, lambda x, d: torch.topk(x, 0, d)])
def test_an_empty_dimension_has_nothing_to_order(call):
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        made = call(torch.ones(2, 0, 3, dtype=dtype), 1)
        for r in made if isinstance(made, tuple) else (made,):
            assert r.shape == (2, 0, 3)


def test_searching_among_nan():
    """As torch's halving finds them: a comparison with a nan never leads to the left."""
    x = torch.tensor([1., 2., 3., float("nan"), float("nan")])
    v = torch.tensor([0.5, 2., 3., 9., float("nan")])
    assert torch.searchsorted(x, v).tolist() == [0, 1, 2, 5, 5]
    assert torch.searchsorted(x, v, right=True).tolist() == [0, 2, 5, 5, 5]
    assert torch.searchsorted(x[:3], v).tolist() == [0, 1, 2, 3, 3]


def test_nanmedian_of_nothing_speaks_of_median():
    with pytest.raises(IndexError, match=r"^median\(\): Expected reduction dim 1 to have non-zero size\.$"):
        torch.zeros(4, 0).nanmedian(1)


def test_which_of_equal_elements(monkeypatch):
    """Interpreted, the one that torch's algorithms leave there, none of which is stable: in arrays that are not large."""
    from torchshim.engine.compile import policy
    monkeypatch.setattr(policy, "tier", "operators")
    x = torch.tensor([(7 * k * k + 3 * k) % 5 for k in range(40)])
    assert x.topk(9)[1].tolist() == [32, 12, 14, 34, 17, 19, 24, 27, 29]
    assert x.topk(9, largest=False)[1].tolist() == [26, 15, 16, 20, 21, 25, 31, 36, 35]
    assert [x.kthvalue(k)[1].item() for k in (1, 9, 20, 40)] == [15, 1, 8, 39]
    assert x.mode()[1].item() == 6 and x.median(0)[1].item() == 18
    y = torch.arange(200) % 3
    assert y.topk(2)[1].tolist() == [5, 2]      # by a heap
    z = torch.tensor([1., nan, 0., nan, 1., nan])
    assert z.topk(2)[1].tolist() == [3, 5]
    few = [1, 0, 16, 5, 6, 15, 10, 11, 3, 8, 13, 17, 14, 12, 9, 7, 4, 2]
    assert x[:18].argsort().tolist() == few and torch.stack([x[:18]] * 2, 1).argsort(0)[:, 1].tolist() == few
    assert x[:18].argsort(stable=True).tolist()[:3] == [0, 1, 5] and x[:16].argsort().tolist()[:3] == [0, 1, 5]
    assert x[:20].bfloat16().sort(stable=False, descending=True)[1].tolist()[:5] == [19, 2, 4, 17, 7]
    assert torch.tensor([1., nan]).repeat(9).argsort().tolist()[:5] == [2, 16, 4, 6, 14]
    assert x[:1].expand(20).argsort().tolist() == list(range(20))


def test_a_number_has_one_leading_element_however_many_are_asked_for():
    assert torch.tensor(5.).topk(0)[0].shape == () and torch.zeros(0, dtype=torch.int8).median() == 0


def test_searching_what_is_in_no_order():
    """By halving, as torch does, whatever that finds."""
    x = torch.tensor([3., 1., 4., 1., 5., 9., 2., 6., 5., 3., 5.])
    assert torch.searchsorted(x, torch.arange(10.)).tolist() == [0, 0, 2, 2, 2, 4, 5, 5, 5, 5]


def test_extremes_so_far_of_long_rows():
    """Blocks without a new extreme are filled: the results are those of going through one after the other."""
    for n in (2048, 2048 + 77, 5000):
        x = torch.sin(torch.arange(3. * n) * 12.9898).reshape(3, n) * 7
        x[1, n // 2] = float("nan")
        x[2] = torch.sort(x[2])[0]
        for f, step in ((torch.cummax, lambda a, b: b >= a), (torch.cummin, lambda a, b: b <= a)):
            values, indices = f(x, 1)
            for row, v, i in zip(x.tolist(), values.tolist(), indices.tolist()):
                best, at = row[0], 0
                for k, y in enumerate(row):
                    if y != y or step(best, y):
                        best, at = y, k
                    assert i[k] == at and (v[k] == best or best != best and v[k] != v[k])


def test_selection_of_distinct_and_of_equal_elements():
    """What differs from all else is selected at once, the rest in torch's order."""
    x = torch.tensor([[3., 1, 4, 1.5, 9, 2], [5, 5, 5, 7, 7, 0]])
    assert x.topk(3)[1].tolist() == [[4, 2, 0], [4, 3, 1]] and x.topk(2, largest=False)[1].tolist() == [[1, 3], [5, 1]]
    assert x[0].kthvalue(2)[1].item() == 3 and x.kthvalue(1, 1)[1].tolist() == [1, 5]
    x[0, 1] = float("nan")
    assert x[0].topk(2)[1].tolist() == [1, 4] and x[0].topk(2, largest=False)[1].tolist() == [3, 5]


def test_what_topk_leaves_unsorted_lies_as_selection_left_it():
    """As in torch 2.13, where selecting is not done by a heap (which sorts)."""
    x = torch.tensor([3., 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4])
    v, i = torch.topk(x, 10, sorted=False)
    assert i.tolist() == [18, 11, 14, 12, 5, 10, 13, 7, 4, 8] and v.tolist() == x[i].tolist()
    assert torch.topk(x, 20, largest=False, sorted=False)[1].tolist() == [19, 1, 0, 3, 17, 16, 6, 15, 9, 10, 2, 4, 13, 8, 7, 12,
                                                                          14, 11, 18, 5]
    assert torch.topk(x, 10)[1].tolist() == [14, 12, 5, 18, 11, 13, 7, 10, 4, 8]


@pytest.mark.parametrize("low, high, dtype", [
    (0, 10, np.int64), (-5, 5, np.int64), (-5, 5, np.int8), (0, 70000, np.int32), (0, 1 << 40, np.int64),
    (-1 << 31, (1 << 31) - 1, np.int32), (1 << 62, (1 << 62) + 9, np.int64), (1 << 40, (1 << 40) + (1 << 32) - 1, np.int64),
    (1 << 63, (1 << 63) + 5, np.uint64), (0, 1 << 32, np.uint64)])
@pytest.mark.parametrize("n", [0, 1, 300, 5000])
def test_integers_sorted_by_digits_stay_in_order(n, low, high, dtype):
    a = np.random.default_rng(0).integers(low, high, n, dtype=dtype)
    assert (orders.stable_order(a) == a.argsort(kind="stable")).all()


@pytest.mark.parametrize("right, want", [(False, [7, 7, 0, 0, 0, 0, 2, 7, 7, 7, 7, 7, 0]), (True, [7, 7, 0, 0, 0, 2, 7, 7, 7, 7, 7, 7, 0])])
def test_searchsorted_in_no_order_halves_as_torch_does(right, want):
    """Whether the values are few, and each is looked for, or many, and each way is gone once."""
    s, v = torch.tensor([3., 1, 2, 2, 5, 0, 1]), torch.tensor([float("nan"), 9, -1, 0, .5, 1, 2, 2.5, 3, 4, 5, float("inf"), -float("inf")])
    assert torch.searchsorted(s, v, right=right).tolist() == want
    assert torch.cat([torch.searchsorted(s, x, right=right) for x in v.split(2)]).tolist() == want


def test_bincount_and_histc_of_few_and_of_none():
    assert torch.bincount((torch.arange(6, dtype=torch.int8) % 3) + 1, minlength=6).tolist() == [0, 2, 2, 2, 0, 0]
    assert torch.bincount(torch.arange(10)[::3]).tolist() == [1, 0, 0, 1, 0, 0, 1, 0, 0, 1]
    with pytest.raises(RuntimeError, match="bincount only supports 1-d non-negative integral inputs."):
        torch.bincount(torch.tensor([1, -3]))
    x = torch.tensor([-1., 0, .25, .5, 1, 2, float("nan")])
    assert torch.histc(x, 4, 0, 1).tolist() == [1, 1, 1, 1] and torch.histc(x[:3], 2, 3, 3).tolist() == [1, 2]
    assert torch.histc(torch.ones(5), 4).tolist() == [0, 0, 5, 0] and torch.histc(torch.zeros(0), 3).tolist() == [0, 0, 0]


def test_bincount_in_a_function_that_is_mapped():
    assert torch.vmap(lambda x: x + 1)(torch.bincount(torch.tensor([1, 1]))).tolist() == [1, 3]


@pytest.mark.parametrize("right", (False, True))
def test_searchsorted_of_many_values_is_that_of_few(right):
    """Many values are looked up by all halvings at once, few one after the other: in the same places, with and without order, nan,
    infinity."""
    torch.manual_seed(0)
    for n in (1, 2, 3, 4, 5, 31, 64, 1000):
        for sequence in (torch.randn(n).sort().values, torch.randn(n).cumsum(0), torch.randint(-5, 5, (n,)),
                         torch.randn(n).index_fill(0, torch.tensor([n // 2]), float("nan"))):
            values = torch.randn(5000) * 3
            if sequence.is_floating_point():
                values[::7], values[1::9], values[2] = float("nan"), sequence[n // 3], -float("inf")
            values = values.to(sequence.dtype)
            many = torch.searchsorted(sequence, values, right=right)
            few = torch.cat([torch.searchsorted(sequence, part, right=right) for part in values.split(3 if n == 64 else 500)])
            assert torch.equal(many, few)
            want, s = [], sequence.tolist()
            for v in values[:300].tolist():
                low, high = 0, n
                while low < high:
                    middle = (low + high) // 2
                    if (s[middle] > v) if right else (s[middle] >= v):
                        high = middle
                    else:
                        low = middle + 1
                want.append(low)
            assert many[:300].tolist() == want


@pytest.mark.parametrize("values, distinct, inverse", [
    ([nan, 0, 0, nan, nan, 1], [nan, 0, nan, nan, 1], [0, 1, 1, 2, 3, 4]), ([1, nan, 0, 2, nan, 0], [0, 1, nan, 2, nan, 0], [1, 2, 0, 3, 4, 5]),
    ([1, 1, nan, nan, 0, 0], [0, 1, nan, nan, 0], [1, 1, 2, 3, 0, 4]), ([-0.0, 0, nan, 0, -0.0], [0, nan, 0], [0, 0, 1, 2, 2])])
@pytest.mark.parametrize("columns", [1, 2])
def test_slices_with_nan_are_distinct_where_torchs_sort_leaves_them(values, distinct, inverse, columns):
    """A nan is not less than anything, nor is anything less: torch's algorithm shows in what it makes of that."""
    x = torch.tensor(values).reshape(-1, 1).expand(-1, columns)
    made, where, counts = torch.unique(x, dim=0, return_inverse=True, return_counts=True)
    assert made[:, 0].nan_to_num(7.0).tolist() == [7 if v != v else v for v in distinct] and where.tolist() == inverse
    assert counts.tolist() == [inverse.count(k) for k in range(len(distinct))]
