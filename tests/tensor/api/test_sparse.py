"""Dense tensors answer as torch's do where sparse ones are wanted; what is not implemented says its name."""
import pytest

import torchshim as torch

X = torch.eye(2)


def test_dense_answers():
    assert X.dense_dim() == 2 and X.sparse_dim() == 0 and X.to_dense() is not X and torch.dequantize(X.double()).dtype == torch.float32
    with pytest.raises(RuntimeError, match="^indices expected sparse coordinate tensor layout but got Strided"):
        X.indices()
    assert X.clone().apply_(lambda v: v + 1).tolist() == [[2, 1], [1, 2]]
    assert torch.spmm(X, X).tolist() == X.tolist()


def test_what_is_not_implemented():
    with pytest.raises(NotImplementedError, match="torch.Tensor.to_sparse"):
        X.to_sparse()
    with pytest.raises(NotImplementedError, match="torch.sparse_coo_tensor"):
        torch.sparse_coo_tensor([[0], [0]], [1.], (2, 2))
    assert torch.sparse_coo_tensor.__unimplemented__
