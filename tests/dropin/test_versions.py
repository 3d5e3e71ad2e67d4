"""``torch.__version__`` passes the checks that scripts and libraries make on it.

The expectations about ``TorchVersion`` were taken from PyTorch 2.13 and, for the order of versions,
from PEP 440's own examples.
"""

import itertools
import pickle

import pytest

from torchshim.dropin.versions import TORCH_VERSION, TORCHSHIM_VERSION, TorchVersion, version_key

# One ascending order; equal spellings share a row.
ASCENDING = [
    ["0.9"],
    ["1.0.dev3"],
    ["1.0a1.dev1"],
    ["1.0a1", "1.0.alpha1", "1.0-A.1"],
    ["1.0a1.post1"],
    ["1.0b2", "1.0beta2", "v1.0b2"],
    ["1.0rc1.dev4"],
    ["1.0rc1", "1.0c1", "1.0-preview_1"],
    ["1.0", "1", "1.0.0", " 1.0 "],
    ["1.0+abc"],
    ["1.0+abc.5"],
    ["1.0+abc.7", "1.0+ABC-7"],
    ["1.0+5"],
    ["1.0+5.0"],
    ["1.0.post1.dev2"],
    ["1.0.post1", "1.0-1", "1.0.r1", "1.0.0rev1"],
    ["1.0.15"],
    ["1.1.dev1"],
    ["1.9"],
    ["1.10"],
    ["2!0.1"],
]


def test_order():
    rows = list(enumerate(ASCENDING))
    for (i, left), (j, right) in itertools.product(rows, rows):
        for a, b in itertools.product(left, right):
            v = TorchVersion(a)
            assert (v < b, v <= b, v > b, v >= b, v == b) == (i < j, i <= j, i > j, i >= j, i == j), (a, b)


@pytest.mark.parametrize("text", ["", "foo", "1.", "1..2", "1.0x", "1.0+", "1.0+a b", "1.0 0"])
def test_not_a_version(text):
    assert version_key(text) is None


def test_agrees_with_packaging():
    packaging = pytest.importorskip("packaging.version")
    flat = [text for row in ASCENDING for text in row]
    for a, b in itertools.product(flat, flat):
        left, right = packaging.Version(a), packaging.Version(b)
        assert (TorchVersion(a) < b) == (left < right)
        assert (TorchVersion(a) == right) == (left == right)
        assert (right <= TorchVersion(a)) == (right <= left)


def test_compared_as_pytorch_does():
    v = TorchVersion("2.13.0")
    assert v > "2.9" and v >= "2.13" and v < "2.13.1" and v < "3" and v == "2.13"
    assert v > (2, 9) and v >= (2, 13) and v == (2, 13, 0) and v < [2, 14] and v > ("2", "9")
    assert "2.9" < v and (2, 9) < v and "2.13" == v
    assert v >= "2.13.0.dev20260101" and v > "2.13.0rc1" and v < "2.13.0+cpu"
    # What is no version compares as text, or not at all.
    assert v < "foo" and not v > "foo" and v > "" and v != "foo"
    assert v != None and v != 2  # noqa: E711
    for other in (3, None, (), [2, "x!"]):
        with pytest.raises(TypeError, match="not supported between instances of 'TorchVersion' and"):
            v > other
    # As PyTorch's: != and the hash are those of str.
    assert v != "2.13" and hash(v) == hash("2.13.0")


def test_is_a_plain_string_too():
    v = TORCH_VERSION
    assert isinstance(v, str) and v == "2.13.0" and str(v) == "2.13.0" and repr(v) == "'2.13.0'"
    assert [int(part) for part in v.split(".")[:2]] == [2, 13]
    assert {v: 1}["2.13.0"] == 1 and f"{v}" == "2.13.0" and v.startswith("2.")
    assert pickle.loads(pickle.dumps(v)) == v and type(pickle.loads(pickle.dumps(v))) is TorchVersion
    assert version_key(TORCHSHIM_VERSION) < version_key(v)


def test_the_configuration_is_an_attribute_that_nobody_has_to_ask_for():
    import torchshim
    assert "torchshim on JAX" in vars(torchshim)["__config__"].show()
