"""What torch does on symbolic sizes works on numbers; names of types."""
import torchshim as torch


def test_numbers():
    assert (torch.sym_int(-2.7), torch.sym_max(2, 3), torch.sym_min(2, 3.5), torch.sym_not(True)) == (-2, 3, 2., False)
    assert (torch.sym_ite(True, 1, 2), torch.sym_sum([1, 2]), torch.sym_sqrt(4), torch.sym_float(2)) == (1, 3, 2., 2.)


def test_names():
    assert torch.typename(torch.ones(1)) == "torch.FloatTensor" and torch.typename(3) == "int" and torch.typename(len) == "len"
    assert torch.get_device(torch.ones(1)) == -1
