"""Protects the text of a printed tensor: the same characters as PyTorch's, for every dtype and option.

goldens/printing.json holds texts of PyTorch 2.13, written by
``python tests/tensor/core/goldens/record_printing.py``.
"""

import base64
import json
import math
import pathlib

import ml_dtypes
import numpy as np
import pytest

import torchshim as torch
from torchshim.tensor.core import printing

GOLDEN = json.loads(pathlib.Path(__file__).with_name("goldens").joinpath("printing.json").read_text())


@pytest.fixture(autouse=True)
def default_options():
    printing.set_printoptions(profile="default")
    yield
    printing.set_printoptions(profile="default")


def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if "float8" in name or name == "bfloat16" else np.dtype(name)


def elements(case):
    """The array that a golden case describes."""
    dtype, shape = numpy_dtype(case["dtype"]), tuple(case["shape"])
    if "bytes" in case:
        return np.frombuffer(base64.b64decode(case["bytes"]), dtype).reshape(shape)
    if "ramp" in case:
        start, step = case["ramp"]
        return (start + step * np.arange(math.prod(shape))).astype(dtype).reshape(shape)
    if dtype.kind in "iub":  # through float64, the largest integers would be rounded
        return np.array([int(v) for v in case["values"]], dtype).reshape(shape)
    number = complex if dtype.kind == "c" else float
    return np.array([number(v) for v in case["values"]]).astype(dtype).reshape(shape)


def printed(case, data):
    how = case.get("how", {})
    with printing.printoptions(**case.get("options", {})):
        return printing.format_tensor(
            data,
            dtype=case["dtype"],
            shape=case["shape"],
            default_dtype=case.get("default_dtype", "float32"),
            **how,
        )


@pytest.mark.parametrize("group", ["chosen", "fuzzed"])
def test_text_is_torchs(group):
    assert len(GOLDEN[group]) >= 150
    for case in GOLDEN[group]:
        assert printed(case, elements(case)) == case["text"], case


def test_corners_alone_print_like_the_whole():
    """A caller may fetch only what is shown from a device."""
    summarised = 0
    for case in GOLDEN["chosen"] + GOLDEN["fuzzed"]:
        with printing.printoptions(**case.get("options", {})):
            indices = printing.corner_indices(case["shape"])
        if indices is not None:
            summarised += 1
            assert printed(case, elements(case)[np.ix_(*indices)]) == case["text"], case
    assert summarised > 30


def test_only_the_corners_of_a_large_tensor_are_read():
    endless = np.broadcast_to(np.float32(1.5), (10**6, 10**6, 10**5))
    text = printing.format_tensor(endless, dtype="float32")
    assert text.startswith("tensor([[[1.5000, 1.5000, 1.5000,  ..., 1.5000, 1.5000, 1.5000],\n")
    assert text.count("1.5000") == 6**3


def test_options_follow_torchs_calls():
    for step in GOLDEN["option_steps"]:
        printing.set_printoptions(**step["call"])
        assert printing.get_printoptions() == step["options"], step["call"]


def test_printoptions_restores_after_an_error():
    printing.set_printoptions(precision=3, sci_mode=False)
    before = printing.get_printoptions()
    with pytest.raises(KeyError), printing.printoptions(profile="full", sci_mode=True):
        assert printing.get_printoptions()["threshold"] == math.inf
        raise KeyError
    assert printing.get_printoptions() == before


def test_device_is_shown_unless_cpu():
    def show(data, **how):
        return printing.format_tensor(np.array(data, np.float64), dtype="float64", **how)

    assert show([1.5], device="cuda:0") == "tensor([1.5000], device='cuda:0', dtype=torch.float64)"
    assert show([[], []], device="cuda:1") == "tensor([], device='cuda:1', size=(2, 0), dtype=torch.float64)"
    assert show(2, device="cpu", default_dtype="float64") == "tensor(2.)"
    assert (
        printing.format_tensor(None, dtype="int64", shape=(2,), device="meta")
        == "tensor(..., device='meta', size=(2,), dtype=torch.int64)"
    )


def test_what_cannot_be_printed_is_refused():
    data = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(3, 2\)"):
        printing.format_tensor(data, dtype="float32", shape=(3, 2))
    with pytest.raises(ValueError, match="data or a shape"):
        printing.format_tensor(None, dtype="float32")
    printing.set_printoptions(edgeitems=-1, threshold=0)
    with pytest.raises(NotImplementedError, match="edgeitems=-1"):
        printing.format_tensor(data, dtype="float32")


@pytest.mark.parametrize("precision,said", [("a", "Format specifier missing precision"), (-1, "Format specifier missing precision"),
                                            (1.5, "Invalid format specifier '.1.5f' for object of type 'float'")])
def test_precisions_that_are_none(precision, said):
    printing.set_printoptions(precision=precision)
    try:
        with pytest.raises(ValueError, match=said):
            str(torch.arange(3.) * 1.3)
    finally:
        printing.set_printoptions(profile="default")
