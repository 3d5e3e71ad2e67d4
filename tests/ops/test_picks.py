"""Gathering and scattering of few elements on the host are what the general rules compute, also for places out of range."""
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.interpret import picks

F = np.dtype(np.float32)


@pytest.mark.parametrize("shape,taken,d", [((4, 5), (4, 3), 1), ((4, 5), (6, 5), 0), ((4, 5), (2, 3), 0), ((2, 3, 4), (2, 5, 3), 1),
                                           ((7,), (9,), 0), ((3, 1, 2), (3, 4, 2), 1), ((2, 3, 4), (1, 3, 9), 2)])
def test_gathering_and_its_gradient(shape, taken, d):
    rng = np.random.default_rng(0)
    a, index = rng.normal(size=shape).astype("f"), rng.integers(0, shape[d], taken)
    crop = tuple(slice(None) if k == d else slice(n) for k, n in enumerate(taken))
    for x in (a, np.asfortranarray(a)):
        np.testing.assert_array_equal(picks.gathered(x, d, index), np.take_along_axis(a[crop], index, d))
    ct = rng.integers(-9, 9, taken).astype("f")
    expected = np.zeros(shape, "f")
    for at in np.ndindex(*taken):
        expected[at[:d] + (index[at],) + at[d + 1:]] += ct[at]
    np.testing.assert_array_equal(picks.scattered_into_zeros(shape, taken, d, F)(index, ct)[0], expected)


def test_places_out_of_range_are_passed_over():
    x, index, values = np.zeros((3, 2), "f"), np.array([[0, -1], [5, 1]]), np.ones((2, 2), "f")
    np.testing.assert_array_equal(picks.scattered((3, 2), (2, 2), (2, 2), 0, F, True)(x, index, values)[0], [[1, 0], [0, 1], [0, 0]])
    rows = picks.scattered((3, 2), (2, 1), (2, 2), 0, F, True, True)(x, np.array([[7], [2]]), values)[0]
    np.testing.assert_array_equal(rows, [[0, 0], [0, 0], [1, 1]])
    assert not x.any()
    np.testing.assert_array_equal(picks.filled((3,), 0, 3, F)(np.zeros(3, "f"), np.array([-1, 0, 9]), np.array(2.))[0], [2, 0, 2])
    assert picks.outside(0, 3)(np.array([[1, 2], [3, -1]]))[0] == 3 and picks.outside(0, 3)(np.zeros((0, 2), int))[0] == 0


def test_rows_put_where_indices_count_from_behind():
    x = torch.arange(12.).view(3, 4)
    for again in range(2):
        out = x.index_put((torch.tensor([-1, 0]),), torch.tensor([[9.], [8.]]))
        assert out.tolist() == [[8.] * 4, [4., 5., 6., 7.], [9.] * 4]
    out = x.index_put((torch.tensor([[0], [2]]), torch.tensor([1, -1])), torch.tensor(5.))
    assert out.tolist() == [[0., 5., 2., 5.], [4., 5., 6., 7.], [8., 5., 10., 5.]]


def test_integers_remainders_of_zero_and_other_signs():
    x, y = torch.tensor([7, -7, 7, -7, 3]), torch.tensor([3, 3, -3, -3, 1])
    assert (x % y).tolist() == [1, 2, -2, -1, 0] and (x % -4).tolist() == [-1, -3, -1, -3, -1] and (x % 4).dtype is torch.int64
    assert (torch.tensor([200], dtype=torch.uint8) % 7).tolist() == [4]


def test_a_spread_tensor_is_seen_where_it_lies():
    x = torch.arange(3.)[:, None]
    wide = x.expand(2, 3, 4)
    assert wide.stride() == (0, 1, 0) and wide.sum(2).tolist() == [[0., 4., 8.]] * 2
    assert x.t().expand(2, -1).tolist() == [[0., 1., 2.]] * 2 and torch.tensor(5, dtype=torch.bfloat16).expand(2).tolist() == [5., 5.]


@pytest.mark.parametrize("taken", [(1, 1), (1, 3), (2, 1), (2, 3), (3, 4)])
@pytest.mark.parametrize("d", [0, 1])
@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
def test_an_index_smaller_than_its_values_takes_as_many_of_them_as_it_has(name, d, taken):
    x, values = torch.arange(12.0).reshape(3, 4), -torch.arange(1.0, 13.0).reshape(3, 4)
    index = (torch.arange(taken[0])[:, None] * 2 + torch.arange(taken[1])).remainder(x.shape[d])
    want = x.numpy().copy()
    for place in np.ndindex(taken):
        at = list(place)
        at[d] = int(index[place])
        want[tuple(at)] = values.numpy()[place] + (want[tuple(at)] if name == "scatter_add" else 0)
    assert getattr(x, name)(d, index, values).numpy().tolist() == want.tolist()
