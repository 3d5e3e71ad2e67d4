"""Protects the promise that CPU random numbers are PyTorch's own: every value and
the generator's whole state, against goldens.json (see record_goldens.py), and the
texts of the errors."""

import copy
import hashlib
import json
import pathlib
import pickle
import struct

import ml_dtypes
import numpy as np
import pytest

from torchshim.random import permute
from torchshim.random.streams import DEFAULT_SEED, Stream, fill_order, in_memory_order

GOLDENS = json.loads(pathlib.Path(__file__).with_name("goldens.json").read_text())


def dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def draw(stream, name, a):
    a = dict(a)
    n = a["n"]
    if "dtype" in a:
        a["dtype"] = dtype(a["dtype"])
    k = np.arange(n)
    if name == "bernoulli_tensor":
        return stream.bernoulli_tensor((k % 65 / 64).astype(a["dtype"]))
    if name == "poisson":
        return stream.poisson((k % 30 / 2).astype(a["dtype"]))
    if name == "standard_gamma":
        return stream.standard_gamma(((1 + k % 160) / 32).astype(a["dtype"]))
    if name == "rrelu_noise":
        return stream.rrelu_noise((k % 5 - 2.0).astype(a["dtype"]), a["lower"], a["upper"])
    if name == "multinomial":
        weights = (np.arange(n * a["rows"]) % 13 % 7).astype(a["dtype"]).reshape(a["rows"], n)
        return stream.multinomial(weights, a["n_sample"], a["replacement"])
    return getattr(stream, name)(**a)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


@pytest.mark.parametrize("case", GOLDENS["cases"], ids=lambda c: f"{c['seed']}-{c['draws'][0][0]}")
@pytest.mark.filterwarnings("ignore:.*out of bounds")
def test_equals_recorded_draws(case):
    stream = Stream(case["seed"])
    values = b"".join(draw(stream, name, a).tobytes() for name, a in case["draws"])
    assert digest(values) == case["values"]
    assert digest(stream.get_state()) == case["state"]


def test_well_known_digits():
    assert Stream(0).normal(3).tolist() == pytest.approx([1.5410, -0.2934, -2.1788], abs=1e-4)
    assert Stream(0).randperm(10).tolist() == [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]


@pytest.mark.parametrize("sizes", [[1] * 700, [623, 1, 1], [5, 3000, 2], [7, 2041, 100000, 3]])
def test_words_do_not_depend_on_how_they_are_asked_for(sizes):
    together, apart = Stream(5), Stream(5)
    parts = [apart.uniform(n) for n in sizes]
    assert (together.uniform(sum(sizes)) == np.concatenate(parts)).all()
    assert together.get_state() == apart.get_state()


def test_an_odd_normal_waits_for_the_next_scalar_draw():
    stream = Stream(1)
    pair = Stream(1).normal(2)
    assert stream.normal(1) == pair[0]
    stream.normal(20)  # a block leaves it alone
    assert stream.normal(1) == pair[1]
    stream.normal(1)
    stream.manual_seed(1)
    assert stream.normal(1) == pair[0]


def test_complex_draws_real_and_imaginary_parts_in_turn():
    assert (Stream(1).uniform(9, dtype="c8").view("f4") == Stream(1).uniform(18)).all()
    expected = Stream(1).normal(18, std=2**-0.5)
    assert (Stream(1).normal(9, dtype="c8").view("f4") == expected).all()


def test_strided_targets_are_filled_in_memory_order():
    shape, strides = (2, 3, 1, 4), (1, 2, 99, 6)
    values = np.arange(24)
    array = in_memory_order(values, shape, strides)
    assert array.shape == shape
    assert (array.ravel()[fill_order(shape, strides)] == values).all()
    assert array[1, 0, 0, 0] == 1 and array[0, 1, 0, 0] == 2 and array[0, 0, 0, 1] == 6


def test_state_round_trips_through_every_copy():
    stream = Stream(7)
    stream.normal(3)
    stream.uniform(1000)
    copies = [stream.clone(), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream)), Stream()]
    copies[-1].set_state(np.frombuffer(stream.get_state(), np.uint8))
    expected = stream.normal(5).tolist()
    for other in copies:
        assert other.initial_seed() == 7
        assert other.normal(5).tolist() == expected
        assert other.get_state() == stream.get_state()


def test_the_layout_of_the_state():
    stream = Stream()
    assert len(stream.get_state()) == 5056
    assert struct.unpack_from("<QiiQ", stream.get_state()) == (DEFAULT_SEED, 1, 1, 0)
    stream.uniform(3)
    assert struct.unpack_from("<QiiQ", stream.get_state()) == (DEFAULT_SEED, 622, 1, 3)
    stream.uniform(621)
    assert struct.unpack_from("<QiiQ", stream.get_state()) == (DEFAULT_SEED, 1, 1, 624)


@pytest.mark.parametrize("place, form, value", [
    (12, "<i", 0), (8, "<i", 0), (8, "<i", 625), (16, "<Q", 625), (8, "<i", 100)])
def test_impossible_states_are_refused(place, form, value):
    state = bytearray(Stream().get_state())
    struct.pack_into(form, state, place, value)
    with pytest.raises(RuntimeError, match="^Invalid mt19937 state$"):
        Stream().set_state(state)


def test_a_state_of_another_size_is_refused():
    with pytest.raises(RuntimeError, match="Expected a CPUGeneratorImplState of size 5056 but "
                       "found the input RNG state size to be 10$"):
        Stream().set_state(b"0123456789")


def test_seeds():
    for given, kept in ((-1, 2**64 - 1), (-2**63, 2**63), (np.int32(3), 3)):
        assert Stream(given).initial_seed() == kept
    assert Stream(2**32 + 5).uniform(9).tolist() == Stream(5).uniform(9).tolist()
    for refused in (2**64, -2**63 - 1):
        with pytest.raises(ValueError, match="^Overflow when unpacking long long$"):
            Stream(refused)
    for refused in (1.5, True, "3", None):
        with pytest.raises(RuntimeError, match="^manual_seed expected a long, but got "):
            Stream().manual_seed(refused)
    stream = Stream(0)
    seeds = {stream.seed() for _ in range(4)}
    assert len(seeds) == 4 and stream.initial_seed() in seeds


@pytest.mark.parametrize("name, args, error, text", [
    ("uniform", (2, 1), RuntimeError,
     "uniform_ expects to return a [from, to) range, but found from=2 > to=1"),
    ("uniform", (0, float("inf")), RuntimeError, "to is out of bounds for float"),
    ("uniform", (0, 7e4, np.float16), RuntimeError, "to is out of bounds for c10::Half"),
    ("uniform", (0, 1, np.int32), NotImplementedError,
     "\"check_uniform_bounds\" not implemented for 'Int'"),
    ("normal", (0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    ("normal", (0, 1, np.int32), NotImplementedError,
     "\"normal_kernel_cpu\" not implemented for 'Int'"),
    ("exponential", (0,), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
    ("cauchy", (0, -1), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=-1"),
    ("cauchy", (0, 1, np.uint8), RuntimeError, "Cauchy distribution is a continuous probability "
     "distribution. dtype must be a floating point but you specified unsigned char"),
    ("log_normal", (1, 0), RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
    ("geometric", (-0.1,), RuntimeError, "geometric_ expects p to be in (0, 1), but got p=-0.1"),
    ("bernoulli", (1.5,), RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=1.5"),
    ("random_from_to", (5, 5), RuntimeError,
     "random_ expects 'from' to be less than 'to', but got from=5 >= to=5"),
    ("random_from_to", (0, 300, np.uint8), RuntimeError, "to - 1 is out of bounds for unsigned char"),
    ("random_from_to", (-5, 3, bool), RuntimeError, "from is out of bounds for bool"),
    ("random_full", (np.uint16,), NotImplementedError,
     "\"random_kernel_cpu\" not implemented for 'UInt16'"),
])
def test_bad_arguments_fail_as_in_torch_and_draw_nothing(name, args, error, text):
    stream = Stream(0)
    before = stream.get_state()
    with pytest.raises(error) as caught:
        getattr(stream, name)(4, *args)
    assert str(caught.value) == text
    assert stream.get_state() == before


@pytest.mark.parametrize("weights, n_sample, replacement, text", [
    ([1.0, 2.0], 3, False, "cannot sample n_sample > prob_dist.size(-1) samples without replacement"),
    ([1.0], 0, False, "cannot sample n_sample <= 0 samples"),
    ([0.0, 0.0], 2, True, "invalid multinomial distribution (sum of probabilities <= 0)"),
    ([1.0, -1.0], 1, False, "probability tensor contains either `inf`, `nan` or element < 0"),
    ([1.0, -1.0], 3, True, "invalid multinomial distribution (encountering probability entry < 0)"),
    ([1, 2], 2, True, "multinomial only supports floating-point dtypes for input, got: Long"),
    ([[[1.0]]], 1, True, "prob_dist must be 1 or 2 dim"),
])
def test_bad_weights(weights, n_sample, replacement, text):
    with pytest.raises(RuntimeError) as caught:
        Stream().multinomial(weights, n_sample, replacement)
    assert str(caught.value) == text


def test_floats_warn_beyond_their_precision():
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        Stream().random_from_to(3, 0, 2**30, np.float32)


def test_dropout_factors():
    stream = Stream(2)
    noise = stream.dropout_noise(1000, 0.25, np.float32)
    assert set(noise.tolist()) == {0.0, float(np.float32(1) / np.float32(0.75))}
    assert ((noise != 0) == Stream(2).dropout_mask(1000, 0.25)).all()
    before = stream.get_state()
    assert (stream.dropout_noise(5, 0) == 1).all() and (stream.dropout_noise(5, 1) == 0).all()
    assert stream.get_state() == before


@pytest.mark.parametrize("n", [2, 3, 65, 1000, 5000])
def test_permutations_are_those_of_swaps_in_turn(n):
    """Both ways of computing them: with LAPACK's exchange of rows, and all at once where there is none."""
    words = np.random.default_rng(n).integers(0, 2**32, n - 1, dtype=np.uint32)
    order = list(range(n))
    for i, word in enumerate(words.tolist()):
        k = i + word % (n - i)
        order[i], order[k] = order[k], order[i]
    assert permute.shuffled(n, words).tolist() == order
    assert permute._all_at_once(permute._targets(n, words)).tolist() == order


def test_words_looked_at_and_all_taken_are_not_drawn_again():
    """Normals asked for by the thousand look ahead; where what was looked at is used up, the twister stands where it is to stand."""
    for n in (1024, 1008):
        stream, plain, drawn = Stream(5), Stream(5), []
        draw = stream._engine._draw
        stream._engine._draw = lambda k: drawn.append(k) or draw(k)
        plain._made_ahead = lambda k: None
        for _ in range(63):
            np.testing.assert_array_equal(stream.normal(n), plain.normal(n))
        assert sum(drawn) < 63 * n + (1 << 14), "words were drawn twice"
        assert stream.get_state() == plain.get_state()
        np.testing.assert_array_equal(stream.uniform(7), plain.uniform(7))


def test_normals_made_ahead_change_nothing(monkeypatch):
    """Neither values nor states, whatever is drawn between."""
    plain, ahead, choose = Stream(3), Stream(3), np.random.default_rng(0)
    monkeypatch.setattr(plain, "_made_ahead", lambda n: None)
    draws = [lambda s: s.normal(64), lambda s: s.normal(1024, 2.0, 0.5), lambda s: s.normal(16), lambda s: s.normal(100),
             lambda s: s.uniform(48), lambda s: s.uniform(7), lambda s: s.normal(5), lambda s: s.random_from_to(3, 0, 10),
             lambda s: s.bernoulli(5000, 0.5), lambda s: s.poisson(np.ones(5)), lambda s: s.normal(5000), lambda s: s.randperm(5)]
    looked = 0
    for k in range(600):
        draw = draws[0 if k < 40 else choose.integers(3) if choose.random() < 0.8 else choose.integers(len(draws))]
        np.testing.assert_array_equal(draw(plain), draw(ahead))
        looked += ahead._engine._before is not None
        if k % 7 == 0:
            assert plain.get_state() == ahead.get_state()
    assert looked > 100


def test_slopes_of_rrelu_lie_between_float32_bounds():
    """torch rounds the bounds to the tensor's precision before it draws."""
    import torchshim as torch
    torch.manual_seed(11)
    out = torch.nn.functional.rrelu(-torch.ones(3), 0.1, 0.6, True)
    assert out.tolist() == [-0.19616687297821045, -0.5426462292671204, -0.4357737600803375]
    with pytest.raises(NotImplementedError, match="not implemented for 'Half'"):
        torch.rrelu(torch.ones(2).half(), training=True)
    with pytest.raises(NotImplementedError, match="binomial_cpu"):
        torch.binomial(torch.ones(2).half(), torch.ones(2).half())


def test_complex_numbers_are_neither_deviations_nor_probabilities():
    import torchshim as torch
    z = torch.ones(2, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="normal expects standard deviation to be non-complex"):
        torch.normal(z, z)
    with pytest.raises(NotImplementedError, match="bernoulli_tensor_cpu_self_"):
        torch.bernoulli(z)


def test_one_sample_of_many_double_weights(monkeypatch):
    """PyTorch 2.13's samples; who wins a close race is decided by the C library's bits, whatever the quick ones are."""
    import torchshim as torch

    def drawn():
        g = torch.Generator()
        g.manual_seed(0)
        p = torch.rand(500, 1000, dtype=torch.float64, generator=g)
        return torch.multinomial(p, 1, True, generator=g).flatten().tolist()
    exact = drawn()
    assert exact[:8] == [602, 114, 97, 906, 850, 912, 88, 449] and sum(exact) == 254208
    from torchshim.random import categorical
    from torchshim.random.streams import Stream
    quick, asked = Stream.nearly_exponential, []
    monkeypatch.setattr(Stream, "nearly_exponential", lambda self, n: (np.ones(n), quick(self, n)[1]))
    monkeypatch.setattr(categorical, "libm", lambda f, x, libm=categorical.libm: (asked.append(1), libm(f, x))[1])
    g = torch.Generator()
    g.manual_seed(0)
    torch.rand(500, 1000, dtype=torch.float64, generator=g)
    close = torch.multinomial(torch.ones(8, 1000, dtype=torch.float64), 1, True, generator=g).flatten().tolist()
    monkeypatch.undo()
    g.manual_seed(0)
    torch.rand(500, 1000, dtype=torch.float64, generator=g)
    assert len(asked) == 8 and close == torch.multinomial(torch.ones(8, 1000, dtype=torch.float64), 1, True, generator=g).flatten().tolist()
