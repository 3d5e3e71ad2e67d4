"""Dense tensors answer as torch's do where sparse ones are wanted; what is not implemented says its name."""
import pytest

import torchshim as torch

X = torch.eye(2)


def test_dense_answers():
    assert X.dense_dim() == 2 and X.sparse_dim() == 0 and X.to_dense() is X and torch.dequantize(X.double()).dtype == torch.float32
    with pytest.raises(RuntimeError, match="^indices expected sparse coordinate tensor layout but got Strided"):
        X.indices()
    assert X.clone().apply_(lambda v: v + 1).tolist() == [[2, 1], [1, 2]]
    assert torch.spmm(X, X).tolist() == X.tolist()


def test_elements_mapped_by_python():
    assert X.clone().map_(torch.arange(2.0), lambda a, b: a + b).tolist() == [[1, 1], [0, 2]]
    with pytest.raises(TypeError, match="map_: expected torch.FloatTensor for 'other'"):
        X.clone().map_(X.double(), lambda a, b: a)


def test_sparse_tensors_have_no_memory_format():
    for like in (torch.empty_like, torch.zeros_like):
        with pytest.raises(RuntimeError, match="memory format option is only supported by strided tensors"):
            like(X.to_sparse(), memory_format=torch.preserve_format)
