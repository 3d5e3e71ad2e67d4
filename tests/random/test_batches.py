"""Protects random fills under vmap: which numbers an example gets depends on how the batch lies, and torch refuses some. All values are
torch 2.13's, with seed 0."""
import pytest

import torchshim as torch
from torchshim.func import vmap

FILLS = {"normal": lambda t: t.normal_(), "uniform": lambda t: t.uniform_(), "integers": lambda t: t.random_(0, 100),
         "exponential": lambda t: t.exponential_(), "by a tensor": lambda t: t.bernoulli_(torch.full((5,), 0.5))}
#: in_dims, strides of the batch, and what the examples 0 and 1 begin with for each fill
DIFFERENT = [
    (2, (1, 20, 4), {"normal": (1.541, -1.0845), "uniform": None, "integers": None, "exponential": None, "by a tensor": (1, 1)}),
    (-1, (1, 4, 24), {"normal": (1.541, 0.1919), "uniform": (0.4963, 0.4194), "integers": (44, 24), "exponential": (3.5083, 0.2562),
                      "by a tensor": (1, 1)})]
SAME = {"normal": (-1.1258, -1.1524, -0.2506), "uniform": (0.4963, 0.7682, 0.0885), "integers": (44, 39, 33),
        "exponential": (3.5083, 1.2304, 0.615), "by a tensor": (1, 0, 1)}


def batch(at):
    return torch.zeros(6, 5, 4) if at == 2 else torch.zeros(5, 6, 4).transpose(0, 1)


def near(t, numbers):
    torch.testing.assert_close(t, torch.tensor(numbers, dtype=t.dtype), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("at, strides, firsts", DIFFERENT)
def test_different_numbers_follow_the_memory_of_the_batch(name, at, strides, firsts):
    torch.manual_seed(0)
    got = vmap(FILLS[name], at, randomness="different")(batch(at))
    assert got.stride() == strides and got.shape == (4, 6, 5)
    torch.manual_seed(0)
    plain = FILLS[name](batch(at).movedim(at, 0))
    assert torch.equal(got, plain)
    if firsts[name] is not None:
        near(got[0, 0, :2], firsts[name])


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("at, strides", [(2, (1, 20, 4)), (-1, (1, 4, 24))])
def test_the_same_numbers_are_those_of_a_new_example(name, at, strides):
    torch.manual_seed(0)
    got = vmap(FILLS[name], at, randomness="same")(batch(at))
    assert got.stride() == strides and (got == got[0]).all()
    near(got[0, 0, :3], SAME[name])


def test_views_of_examples_and_nested_batches_are_filled_where_they_lie():
    def filled(f, x, in_dims=0):
        torch.manual_seed(0)
        return vmap(f, in_dims, randomness="different")(x)
    got = filled(lambda t: t.t().normal_(), torch.zeros(4, 5, 6))
    assert got.stride() == (30, 1, 6)
    near(got.flatten()[:3], [1.541, 0.4033, -0.8567])
    x = torch.zeros(6, 4, 5)
    got = filled(lambda t: t[1:3].normal_(), x, 1)
    near(got.flatten()[:3], [1.541, -0.2934, -2.1788])
    assert got.stride() == (5, 20, 1) and torch.equal(x[1], got[:, 0]) and not x[0].any()
    inner = {}
    for a in ("different", "same"):
        for b in ("different", "same"):
            def nested(x, a=a, b=b):
                return vmap(vmap(lambda t: t.normal_(), randomness=a), 1, randomness=b)(x)
            torch.manual_seed(0)
            try:
                inner[a, b] = nested(torch.zeros(3, 2, 6)).flatten()[:3]
            except RuntimeError as error:
                inner[a, b] = str(error)
    near(inner["different", "different"], [1.541, -0.2934, -2.1788])
    near(inner["different", "same"], [-1.1258, -1.1524, 0.5667])
    near(inner["same", "same"], [1.541, -0.2934, -2.1788])
    assert inner["same", "different"].startswith("vmap: Cannot ask for different inplace randomness on an unbatched tensor.")


def test_what_an_outer_vmap_batches_is_filled_for_it():
    torch.manual_seed(0)
    got = vmap(lambda a: vmap(lambda t: a.normal_() + t, randomness="same")(torch.zeros(3, 6)), randomness="different")(torch.zeros(2, 6))
    assert got.shape == (2, 3, 6) and torch.equal(got[:, 0], got[:, 1]) and not torch.equal(got[0], got[1])
    near(got[0, 0, :3], [1.541, -0.2934, -2.1788])


@pytest.mark.parametrize("at, of_p, randomness, shape, text", [
    (None, 0, "different", (4, 6, 5), "vmap: inplace bernoulli.self, .extra_args. is not possible because there exists a Tensor `other`"),
    (None, 0, "same", (4, 6, 5), "does not currently support same randomness with a batched tensor input"),
    (0, 0, "same", (4, 6, 5), "does not currently support same randomness with a batched tensor input"),
    (None, None, "different", (6, 5), "different inplace randomness on an unbatched tensor"),
    (0, None, "different", (2, 6, 5), "The expanded size of the tensor .1. must match the existing size .2. at non-singleton dimension 1.  "
                                      "Target sizes: .4, 1, 6, 5.."),
    (0, None, "same", (2, 6, 5), "the number of sizes provided .2. must be greater or equal")])
def test_probabilities_that_do_not_fit_are_refused(at, of_p, randomness, shape, text):
    x = torch.zeros(4, 6, 5) if at == 0 else torch.zeros(6, 5)
    with pytest.raises(RuntimeError, match=text):
        vmap(lambda t, p, u: t.bernoulli_(p), (at, of_p, 0), randomness=randomness)(x, torch.full(shape, 0.5), torch.zeros(4))


@pytest.mark.parametrize("at, of_p", [(0, 0), (0, 2), (2, 0), (2, 2), (2, None)])
def test_probabilities_of_a_batch_are_those_of_its_examples(at, of_p):
    p = torch.linspace(0, 1, 120 if of_p is not None else 30).reshape({0: (4, 6, 5), 2: (6, 5, 4), None: (6, 5)}[of_p])
    x = torch.zeros((4, 6, 5) if at == 0 else (6, 5, 4))
    torch.manual_seed(0)
    got = vmap(lambda t, q: t.bernoulli_(q), (at, of_p), randomness="different")(x.clone(), p)
    torch.manual_seed(0)
    assert torch.equal(got, x.movedim(at, 0).bernoulli_(p if of_p is None else p.movedim(of_p, 0)))


OUT = "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants as a workaround"


@pytest.mark.parametrize("randomness", ["error", "same", "different"])
@pytest.mark.parametrize("draw", [
    lambda t, y: torch.randn(3, out=y), lambda t, y: torch.rand(3, out=y), lambda t, y: torch.normal(y, y, out=y),
    lambda t, y: torch.normal(0.0, 1.0, (3,), out=y), lambda t, y: torch.bernoulli(y, out=y), lambda t, y: torch.bernoulli(t, out=t),
    lambda t, y: torch.randperm(3, out=torch.empty(3, dtype=torch.long)),
    lambda t, y: torch.multinomial(y, 2, out=torch.empty(2, dtype=torch.long))])
def test_random_numbers_are_written_to_no_given_tensor(draw, randomness):
    with pytest.raises(RuntimeError) as raised:
        vmap(lambda t: draw(t, torch.full((3,), 0.5)), randomness=randomness)(torch.full((2, 3), 0.5))
    assert str(raised.value) == OUT


def test_rrelu_is_refused_whatever_it_is_given():
    x = torch.ones(3)
    for f, name in ((torch.rrelu, "rrelu"), (torch.rrelu_, "rrelu_"), (torch.nn.functional.rrelu, "rrelu")):
        for g in (lambda t: f(x), f):
            with pytest.raises(RuntimeError, match=f"vmap: we do not yet support aten::{name}. Please file an issue"):
                vmap(g, randomness="same")(torch.ones(2, 3))


def test_masks_of_transposed_examples_are_drawn_as_torch_draws_them():
    """One mask for all examples is filled in the order of its indices, one for each in the order of the memory; the figures are torch's."""
    x = torch.ones(2, 3, 4, dtype=torch.float64)
    torch.manual_seed(3)
    same = torch.vmap(lambda v: torch.nn.functional.dropout(v.t(), 0.5), randomness="same")(x)
    assert same[0].ne(0).int().flatten().tolist() == same[1].ne(0).int().flatten().tolist() == [1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0]
    torch.manual_seed(3)
    each = torch.vmap(lambda v: torch.rand_like(v.t()), randomness="different")(x)
    torch.manual_seed(3)
    assert torch.equal(each, torch.rand(2, 3, 4, dtype=torch.float64).mT)


@pytest.mark.parametrize("draw, lie, dim, expected", [
    (torch.rand_like, lambda x: x.mT, 1, [0.4963, 0.0885, 0.3074, 0.4901, 0.4556, 0.3489, 0.7682, 0.132, 0.6341, 0.8964, 0.6323, 0.4017]),
    (torch.randn_like, lambda x: x, 1,
     [1.541, -0.2934, 0.4033, 0.838, -2.1788, 0.5684, -0.7193, -0.4033, -1.0845, -1.3986, -0.5966, 0.182]),
    (lambda t: torch.randint_like(t, 100), lambda x: x[..., :1].expand(2, 3, 2), 2, [44, 39, 33, 60, 63, 79, 27, 3, 97, 83, 1, 66]),
    (lambda t: torch.rand_like(t, memory_format=torch.contiguous_format), lambda x: x, 2,
     [0.4963, 0.7682, 0.0885, 0.132, 0.3074, 0.6341, 0.4901, 0.8964, 0.4556, 0.6323, 0.3489, 0.4017])])
def test_numbers_for_each_example_are_drawn_as_the_whole_batch_lies(draw, lie, dim, expected):
    torch.manual_seed(0)
    made = torch.vmap(draw, dim, randomness="different")(lie(torch.arange(12.).reshape(2, 3, 2)))
    assert [round(n, 4) for n in made.flatten().tolist()] == expected
