"""What NaN, half types and unsigned targets make of rarely used arguments. Expectations are PyTorch 2.13's."""
import numpy as np
import pytest

import torchshim as torch
import torchshim.nn.functional as F

NAN, INF = float("nan"), float("inf")
X = torch.tensor([[1.0, INF, 2.0, NAN, 0.0], [1.0, NAN, 2.0, 5.0, 0.0]])


def same(made, expected):
    return torch.allclose(torch.as_tensor(made).double(), torch.tensor(expected, dtype=torch.float64), rtol=1e-5, atol=0, equal_nan=True)


def test_hinges_add_what_is_above_zero():
    """A NaN is not."""
    assert same(F.multi_margin_loss(X, torch.tensor([0, 0]), reduction="none"), [INF, 1.4])
    assert same(F.multi_margin_loss(X, torch.tensor([1, 1]), reduction="none", p=2), [0.0, 0.0])
    assert same(F.multilabel_margin_loss(X, torch.tensor([[0, -1, 0, 0, 0]] * 2), reduction="none"), [INF, 1.4])


@pytest.mark.parametrize("rows, made", [([0, 1], [NAN, 1.0]), ([1, 0], [2.0, NAN]), ([2, 0], [3.0, 5.0]), ([0, 2], [NAN, 5.0])])
def test_a_bag_begins_with_its_first_row(rows, made):
    """And goes on to those that are larger, which a NaN is not."""
    weight = torch.tensor([[NAN, 1.0], [2.0, NAN], [3.0, 5.0]])
    assert same(F.embedding_bag(torch.tensor([rows]), weight, mode="max"), [made])


def test_targets_of_rankings_are_negated_alone():
    """Without a sign they wrap around."""
    a, b = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 1.0, 5.0])
    assert F.margin_ranking_loss(a, b, torch.tensor([1, 1, 2], dtype=torch.uint8), 1.0, reduction="none").tolist() == [0.0, 256.0, 0.0]
    with pytest.raises(RuntimeError, match="Negation, the `-` operator, on a bool tensor"):
        F.margin_ranking_loss(a, b, torch.tensor([True, True, False]))


def test_pairs_that_are_neither_near_nor_far_cost_nothing():
    pairs = torch.tensor([[NAN, 1.0], [1.0, 2.0], [NAN, 2.0]]), torch.ones(3, 2)
    assert same(F.cosine_embedding_loss(*pairs, torch.tensor([0.5, 1.0, -1.0]), reduction="none"), [0.0, 0.05131674, NAN])


def test_ends_of_the_incomplete_gamma_functions():
    a, x = torch.tensor([NAN, NAN, NAN, INF, INF, 0.0]), torch.tensor([INF, 0.0, 1.0, NAN, INF, NAN])
    assert same(torch.igamma(a, x), [1.0, 0.0, NAN, 0.0, NAN, NAN])
    assert same(torch.igammac(a, x), [0.0, 1.0, NAN, 1.0, NAN, NAN])


@pytest.mark.parametrize("dtype, made", [
    (torch.bfloat16, [-2.0, -1.328125, -0.65234375, 0.0234375, 0.69921875]),
    (torch.float16, [-2.0, -1.3251953125, -0.6494140625, 0.025390625, 0.7001953125])])
def test_half_steps_of_linspace(dtype, made):
    """Difference, quotient, product and sum are each rounded."""
    assert torch.linspace(-2.0, 0.7, 5, dtype=dtype).tolist() == made
    expected = {torch.bfloat16: [1.2578125, 4.0, 12.8125, 40.75], torch.float16: [1.2587890625, 4.015625, 12.7890625, 40.78125]}[dtype]
    assert torch.logspace(0.1, 1.61, 4, dtype=dtype).tolist() == expected


def test_a_single_power_is_made_of_what_was_given():
    """Not of what the result's dtype holds of it."""
    assert torch.logspace(4.3, 0, 1, dtype=torch.int64).tolist() == [19952]
    assert torch.logspace(4.3, 0, 1, dtype=torch.bfloat16).tolist() == [19968.0]
    with pytest.raises(RuntimeError, match="value cannot be converted to type int8_t without overflow"):
        torch.logspace(2.2, 0, 1, dtype=torch.int8)


def test_half_factors_of_renorm_and_weights_of_cov():
    """A factor is rounded to half precision; weights of more precision give their own to a covariance."""
    x = torch.tensor([[3.0, 4.0, 5.0]], dtype=torch.bfloat16)
    assert torch.renorm(x, 1, 0, 1.0).tolist() == [[0.25, 0.333984375, 0.41796875]]
    c = torch.cov(torch.tensor([1.5, 2.0, 7.0], dtype=torch.float16), aweights=torch.tensor([0.3, 0.2, 0.7]))
    assert c.dtype is torch.float32 and abs(float(c) - 12.033537) < 1e-5


def test_numbers_of_numpy():
    """Whole ones divide, NumPy's bools are floats (they are none of Python's), and result_type knows both."""
    x = torch.tensor([4, 5], dtype=torch.int32)
    for three in (np.uint8(3), np.int64(3)):
        assert (x // three).tolist() == [1, 1] and (x % three).tolist() == [1, 2] and torch.fmod(x, three).dtype is torch.int32
        assert x.clone().floor_divide_(three).tolist() == [1, 1] and torch.result_type(x, three) is torch.int32
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x // np.int64(0)
    assert (x + np.True_).dtype is torch.result_type(x, np.float32(1)) is torch.result_type(np.True_, x) is torch.float32
    assert torch.full((1,), np.True_).dtype is torch.float32 and torch.tensor(np.True_).dtype is torch.bool
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Int"):
        x |= np.True_


def test_kron_of_a_number_in_a_tensor():
    """It has as many dimensions as the other in the end, and so a say in the dtype."""
    a, b = torch.ones((), dtype=torch.float64), torch.ones(2)
    assert torch.kron(a, b).dtype is torch.kron(b, a).dtype is torch.float64
    assert torch.kron(torch.ones((), dtype=torch.int64), torch.ones(2, dtype=torch.int8)).dtype is torch.int64
