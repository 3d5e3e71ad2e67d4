"""Protects indexing: any mixture of ints, slices, None, ``...``, masks, index tensors and lists.

Random index expressions are read, written and differentiated on the library and on NumPy.  Where
torch differs from NumPy (an int beside an index tensor is a plain selection; a list of lists is a
tuple), the expected answer is put together from NumPy's parts.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import torchshim as torch

quick = settings(max_examples=150, deadline=None, derandomize=True)
wide = st.integers(0, 2**31)


class Index:
    """One index expression: its torch form and what it reads from an array of element numbers."""

    def __init__(self, key, view, advanced, text):
        self.key = key  # for torch
        self.view = view  # the basic part, for NumPy; advanced dimensions are full slices
        self.advanced = advanced  # the rest: full slices and index arrays
        self.text = text

    def read(self, array):
        return array[self.view][self.advanced]

    def __repr__(self):
        return self.text


@st.composite
def index_cases(draw, advanced=True):
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    rng = np.random.default_rng(draw(wide))
    length = int(rng.integers(1, 4))  # that of all index tensors of one expression
    key, view, rest, texts = [], [], [], []
    dim = 0
    skipped = False
    used_mask = False
    while dim < len(shape):
        n = shape[dim]
        kinds = ["int", "slice", "slice", "all", "none", "tensor", "tensor", "list", "mask", "dots", "stop", "0-d"]
        kind = kinds[int(rng.integers(len(kinds)))]
        if not advanced and kind in ("tensor", "list", "mask"):
            kind = "slice"
        if kind in ("dots", "stop") and skipped or kind == "mask" and used_mask:
            kind = "int"
        if kind in ("int", "0-d"):
            i = int(rng.integers(-n, n))
            key.append(torch.tensor(i) if kind == "0-d" else i)
            view.append(i)
            texts.append(f"tensor({i})" if kind == "0-d" else str(i))
        elif kind in ("slice", "all"):
            ends = [None if rng.random() < 0.3 else int(rng.integers(-n - 1, n + 2)) for _ in range(2)]
            s = slice(None) if kind == "all" else slice(*ends, [None, 1, 2, 3][int(rng.integers(4))])
            key.append(s)
            view.append(s)
            rest.append(slice(None))
            texts.append(f"{s.start}:{s.stop}:{s.step}")
        elif kind == "none":
            key.append(None)
            view.append(None)
            rest.append(slice(None))
            texts.append("None")
            continue
        elif kind in ("tensor", "list"):
            size = (length,) if kind == "list" or rng.random() < 0.8 else (2, length)
            i = rng.integers(-n, n, size)
            key.append(i.tolist() if kind == "list" else torch.tensor(i.tolist()))
            view.append(slice(None))
            rest.append(i)
            texts.append(f"{i.tolist()}" if kind == "list" else f"tensor({i.tolist()})")
        elif kind == "mask":
            used_mask = True
            dims = 2 if dim + 1 < len(shape) and rng.random() < 0.4 else 1
            m = rng.random(shape[dim : dim + dims]) < 0.6
            key.append(torch.tensor(m.tolist()))
            view.extend([slice(None)] * dims)
            rest.append(m)
            texts.append(f"tensor({m.tolist()})")
            dim += dims - 1
        else:  # the dimensions from here, or some of them, are not spelt out
            skipped = True
            k = len(shape) - dim if kind == "stop" else int(rng.integers(0, len(shape) - dim + 1))
            if kind == "dots":
                key.append(Ellipsis)
                texts.append("...")
            view.extend([slice(None)] * k)
            rest.extend([slice(None)] * k)
            dim += k
            if kind == "stop":
                break
            continue
        dim += 1
    # a lone list whose elements are sequences would be taken for a tuple: not what is meant here
    key = key[0] if len(key) == 1 and rng.random() < 0.5 else tuple(key)
    case = Index(key, tuple(view), tuple(rest), f"x[{', '.join(texts)}] with x of shape {shape}")
    try:
        case.read(np.zeros(shape))
    except IndexError:  # masks and index tensors that do not broadcast
        assume(False)
    return shape, case, rng


def numbers(shape, rng):
    return np.round(rng.uniform(-2, 2, shape) * 8) / 8


def is_advanced(case):
    return any(isinstance(k, np.ndarray) for k in case.advanced)


@quick
@given(index_cases())
def test_reads_as_numpy(drawn):
    shape, case, rng = drawn
    a = numbers(shape, rng)
    x = torch.tensor(a.tolist(), dtype=torch.float64).reshape(shape)
    expected = case.read(a)
    got = x[case.key]
    assert tuple(got.shape) == expected.shape
    assert np.array_equal(got.numpy(), expected)


@quick
@given(index_cases(advanced=False))
def test_basic_indexing_is_a_view(drawn):
    shape, case, rng = drawn
    a = numbers(shape, rng)
    x = torch.tensor(a.tolist(), dtype=torch.float64).reshape(shape)
    part = x[case.key]
    expected = a[(*case.view, ...)]  # the dots keep NumPy from copying a single element
    if expected.size:
        start = (expected.__array_interface__["data"][0] - a.__array_interface__["data"][0]) // 8
        assert part.storage_offset() == start
        strides = [s // 8 for s, n in zip(expected.strides, expected.shape) if n > 1]
        assert [s for s, n in zip(part.stride(), expected.shape) if n > 1] == strides
    part += 5
    expected += 5
    assert np.array_equal(x.numpy(), a)
    assert x._version == part._version == 1


@quick
@given(index_cases(), st.booleans())
def test_writes_as_numpy(drawn, number):
    shape, case, rng = drawn
    a = numbers(shape, rng)
    places = case.read(np.arange(a.size).reshape(shape))
    assume(number or np.unique(places).size == places.size)
    x = torch.tensor(a.tolist(), dtype=torch.float64).reshape(shape)
    if number:
        value = 1.5
        x[case.key] = value
    else:
        value = numbers(tuple(n if rng.random() < 0.7 else 1 for n in places.shape), rng)
        x[case.key] = torch.tensor(value.tolist(), dtype=torch.float64).reshape(value.shape)
    flat = a.reshape(-1)
    flat[places.reshape(-1)] = np.broadcast_to(value, places.shape).reshape(-1)
    assert np.array_equal(x.numpy(), flat.reshape(shape))


@quick
@given(index_cases())
def test_gradient_of_a_read(drawn):
    shape, case, rng = drawn
    x = torch.tensor(numbers(shape, rng).tolist(), dtype=torch.float64).reshape(shape).requires_grad_()
    places = case.read(np.arange(x.numel()).reshape(shape))
    weights = numbers(places.shape, rng)
    x[case.key].backward(torch.tensor(weights.tolist(), dtype=torch.float64).reshape(places.shape))
    expected = np.zeros(x.numel())
    np.add.at(expected, places.reshape(-1), weights.reshape(-1))
    assert np.allclose(x.grad.numpy(), expected.reshape(shape), rtol=0, atol=1e-12)


@quick
@given(index_cases())
def test_gradient_of_a_write(drawn):
    shape, case, rng = drawn
    places = case.read(np.arange(int(np.prod(shape))).reshape(shape))
    assume(np.unique(places).size == places.size)
    x = torch.tensor(numbers(shape, rng).tolist(), dtype=torch.float64).reshape(shape).requires_grad_()
    some = tuple(n if rng.random() < 0.7 else 1 for n in places.shape)
    v = torch.tensor(numbers(some, rng).tolist(), dtype=torch.float64).reshape(some).requires_grad_()
    y = x * 2
    y[case.key] = v * 3
    weights = numbers(shape, rng)
    y.backward(torch.tensor(weights.tolist(), dtype=torch.float64).reshape(shape))
    expected = 2 * weights.reshape(-1)
    expected[places.reshape(-1)] = 0
    assert np.allclose(x.grad.numpy(), expected.reshape(shape), rtol=0, atol=1e-12)
    back = 3 * weights.reshape(-1)[places]
    for d, (n, m) in enumerate(zip(some, places.shape)):
        if n != m:
            back = back.sum(axis=d, keepdims=True)
    assert np.allclose(v.grad.numpy(), back, rtol=0, atol=1e-12)


def x234():
    return torch.arange(24.0).view(2, 3, 4)


# What NumPy does otherwise, or not at all.
SHAPES = {
    "x[0, :, [0, 1]]": (3, 2),
    "x[[0, 1], :, [0, 1]]": (2, 3),
    "x[[[0, 1], [1, 0]]]": (2, 4),
    "x[(0, (1, 2))]": (2, 4),
    "x[True]": (1, 2, 3, 4),
    "x[False]": (0, 2, 3, 4),
    "x[0, True]": (1, 3, 4),
    "x[True, 0]": (1, 3, 4),
    "x[..., ...]": (2, 3, 4),
    "x[()]": (2, 3, 4),
    "x[range(2)]": (2, 3, 4),
    "x[[]]": (0, 3, 4),
    "x[5:]": (0, 3, 4),
    "x[torch.tensor(0):torch.tensor(1)]": (1, 3, 4),
    "x[np.int64(1)]": (3, 4),
    "x[np.array([0, 1])]": (2, 3, 4),
    "x[torch.tensor(True)]": (1, 2, 3, 4),
    "x[torch.tensor([1, 0], dtype=torch.uint8)]": (1, 3, 4),
    "x[torch.tensor([1, 0], dtype=torch.int32)]": (2, 3, 4),
    "x[torch.tensor([True, True]), torch.tensor([0, 1])]": (2, 4),
    "x[:, [0, 1], None, [0, 1]]": (2, 2, 1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", SHAPES)
def test_shape_where_numpy_differs(text):
    assert tuple(eval(text, {"torch": torch, "np": np, "x": x234()}).shape) == SHAPES[text]


ERRORS = [
    ("x[2]", IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    ("x[-3]", IndexError, "index -3 is out of bounds for dimension 0 with size 2"),
    ("x[0, 5]", IndexError, "index 5 is out of bounds for dimension 1 with size 3"),
    ("x[[2]]", IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    ("x[:, [-4]]", IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
    ("x[0, 0, 0, 0]", IndexError, "too many indices for tensor of dimension 3"),
    ("x[::-1]", ValueError, "step must be greater than zero"),
    ("x[::0]", ValueError, "slice step cannot be zero"),
    ("x[1.0]", IndexError, "are valid indices (got float)"),
    ("x[torch.tensor([1.0])]", IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    ("x[torch.tensor([True])]", IndexError, "The shape of the mask [1] at index 0 does not match the shape of the "
     "indexed tensor [2, 3, 4] at index 0"),
    ("x[[0, 1], [0, 1, 2]]", IndexError, "shape mismatch: indexing tensors could not be broadcast together with "
     "shapes [2], [3]"),
    ("torch.tensor(3.0)[0]", IndexError, "invalid index of a 0-dim tensor"),
    ("x.__setitem__(0, torch.ones(5))", RuntimeError, "The expanded size of the tensor (4) must match the existing "
     "size (5) at non-singleton dimension 1.  Target sizes: [3, 4].  Tensor sizes: [5]"),
    ("x.__setitem__([5], 1)", IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    ("x.__setitem__(0, 'a')", TypeError, "can't assign a str to a torch.FloatTensor"),
]  # fmt: skip


@pytest.mark.parametrize("text, error, message", ERRORS)
def test_refused(text, error, message):
    x = x234()
    with pytest.raises(error) as caught:
        eval(text, {"torch": torch, "x": x})
    assert message in str(caught.value)
    assert x.sum().item() == 276.0  # still usable, and unchanged
