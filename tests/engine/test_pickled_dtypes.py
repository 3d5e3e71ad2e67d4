"""Protects arrays from pickles, as those of CIFAR10 and what workers send: their dtype is a copy of NumPy's own, which NumPy calls not built in.

The copy is equal to the original: what is remembered of the one by its value is remembered of the other.
"""
import pickle

import ml_dtypes
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.device import default_device
from torchshim.engine.interpret.rules import category
from torchshim.engine.record.meta import meta_of


def unpickled(x):
    """The array through a pickle."""
    x = pickle.loads(pickle.dumps(x))
    assert x.dtype.isbuiltin == 0
    return x


@pytest.mark.parametrize("name", ["int64", "uint8", "float32", "bool", "complex64"])
def test_a_meta_has_the_original(name):
    dtype = np.dtype(name)
    assert meta_of((3, 5, 7, 2, 1), unpickled(np.zeros(1, dtype)).dtype, default_device()).dtype is dtype


def test_a_meta_of_other_dtypes():
    for dtype in (np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.int4), torch.complex32.np):
        assert meta_of((2, 7, 5, 3), dtype, default_device()).dtype == dtype


@pytest.mark.parametrize("name, kind", [("int64", "int"), ("int8", "int"), ("uint8", "uint"), ("float32", "float"), ("bool", "bool")])
def test_numpy_computes_with_the_copy(name, kind):
    assert category.__wrapped__(unpickled(np.zeros(1, name)).dtype) == kind
    assert category.__wrapped__(np.dtype(ml_dtypes.int4)) == category.__wrapped__(np.dtype(">i8")) == "other"


def test_tensors_of_such_arrays():
    x = torch.from_numpy(unpickled(np.arange(6)).reshape(2, 3))
    assert (x.float() / 255).max(1).indices.tolist() == [2, 2] and x.argmax().item() == 5 and (x * 2).sum().item() == 30
    y = torch.from_numpy(unpickled(np.arange(6, dtype=np.float32)))
    assert y.as_strided((2, 2), (1, 2)).tolist() == [[0, 2], [1, 3]] and y.topk(2).indices.tolist() == [5, 4]
