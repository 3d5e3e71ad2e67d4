"""What a DataLoader's workers send and refuse, as PyTorch's do."""
import pytest

import torchshim as torch
from torchshim.utils.data import ConcatDataset, DataLoader, TensorDataset


class Threads(torch.utils.data.Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, k):
        return torch.get_num_threads()


def only(loader):
    [batch] = loader
    return batch


def test_workers_compute_on_one_thread():
    assert only(DataLoader(Threads(), batch_size=None, num_workers=1)) == 1


def test_sparse_samples_cross_processes():
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    y = only(DataLoader([x], batch_size=None, num_workers=1))
    assert y.layout == torch.sparse_coo and torch.equal(y.to_dense(), x.to_dense())


def test_a_history_stays_in_its_process():
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation, but one of the arguments requires grad"):
        list(DataLoader(TensorDataset(x), num_workers=1))                             # torch stacks into shared memory
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        list(DataLoader([x * 2], batch_size=None, num_workers=1))


def test_the_old_spelling_of_cumulative_sizes_warns():
    with pytest.warns(FutureWarning, match="renamed to `cumulative_sizes`"):
        assert ConcatDataset([[1, 2], [3]]).cummulative_sizes == [2, 3]
