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


def test_what_a_function_of_elements_may_return():
    for dtype, results in ((torch.int64, ("str", None, [1], 1j)), (torch.float32, ("str", None, [1], 1j))):
        for r in results:
            said = f"'{type(r).__name__}' object cannot be interpreted as an integer" if dtype is torch.int64 else "must be real number, not"
            with pytest.raises(TypeError, match=said):
                torch.ones(2, dtype=dtype).apply_(lambda x: r)
            with pytest.raises(TypeError, match=said):
                torch.ones(2, dtype=dtype).map_(torch.ones(2, dtype=dtype), lambda x, y: r)
    assert torch.arange(1, 3).apply_(lambda x: 1.5).tolist() == [1, 1] and torch.ones(2).apply_(lambda x: torch.tensor(3)).tolist() == [3, 3]
