"""Protects the choice among overloads: which one takes a call's arguments, and PyTorch 2.13's texts when none does."""
import pytest

import torchshim as torch

X = torch.arange(6.0).reshape(2, 3)
VAR = ("expected one of:\n"
       " * (Tensor input, tuple of ints dim, bool unbiased = True, bool keepdim = False, *, Tensor out = None)\n"
       " * (Tensor input, tuple of ints dim = None, *, Number correction = None, bool keepdim = False, Tensor out = None)\n"
       " * (Tensor input, bool unbiased = True)\n")
MAX = ("expected one of:\n * (Tensor input, *, Tensor out = None)\n{}"
       " * (Tensor input, Tensor other, *, Tensor out = None)\n"
       " * (Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None)\n")


@pytest.mark.parametrize("call, text", [
    (lambda: torch.max(X, keepdim=True), "max() received an invalid combination of arguments - got (Tensor, keepdim=bool), but "
     + MAX.format("")),
    (lambda: torch.max(X, dim=1, foo=2), "max() received an invalid combination of arguments - got (Tensor, foo=int, dim=int), but "
     + MAX.format("      didn't match because some of the keywords were incorrect: foo, dim\n")),
    (lambda: torch.max(X, dim=None), "max() received an invalid combination of arguments - got (Tensor, dim=NoneType), but "
     + MAX.format("")),
    (lambda: torch.max(), "max() received an invalid combination of arguments - got (), but " + MAX.format("")),
    (lambda: torch.var(X, 1.5), "var() received an invalid combination of arguments - got (Tensor, float), but " + VAR
     + "      didn't match because some of the arguments have invalid types: (Tensor, !float!)\n"),
    (lambda: torch.var(X, True, False), "var() received an invalid combination of arguments - got (Tensor, bool, bool), but " + VAR),
    (lambda: torch.var(X, unbiased=True, correction=1),
     "var() received an invalid combination of arguments - got (Tensor, correction=int, unbiased=bool), but " + VAR),
    (lambda: torch.median(X, True), "median(): argument 'dim' (position 2) must be int, not bool"),
    (lambda: X.median(dim=1.5), "median(): argument 'dim' must be int, not float"),
    (lambda: torch.median(X, 1, True, None), "median() takes from 2 to 3 positional arguments but 4 were given"),
    (lambda: torch.trapz(X, 2.0), "trapz() received an invalid combination of arguments - got (Tensor, float), but expected one of:\n"
     " * (Tensor y, *, float dx = 1, int dim = -1)\n * (Tensor y, Tensor x, *, int dim = -1)\n"),
])
def test_what_no_overload_takes(call, text):
    with pytest.raises(TypeError) as e:
        call()
    assert str(e.value) == text


def test_which_overload_is_called():
    assert torch.max(X).item() == 5.0 and torch.max(X, 1).values.tolist() == [2.0, 5.0] and torch.max(X, -X).tolist() == X.tolist()
    assert torch.max(X, dim=torch.tensor(1)).indices.tolist() == [2, 2] and torch.max(X, other=X).tolist() == X.tolist()
    assert torch.max(X, torch.tensor(1.0)).tolist() == [[1.0, 1.0, 2.0], [3.0, 4.0, 5.0]]      # a tensor is an operand first
    assert torch.var(X, False).item() == pytest.approx(35 / 12) and torch.var(X, 0, False, True).tolist() == [[2.25] * 3]
    assert torch.var(X, 0, correction=0).tolist() == [2.25] * 3 and torch.var(X, [0], True).tolist() == [4.5] * 3
    assert torch.sort(X, stable=True, dim=0).indices.tolist() == torch.sort(X, 0).indices.tolist()
    for k in range(3):                                                                         # what was chosen by types is chosen again
        assert torch.max(X, k % 2).values.shape == ((3,) if k % 2 == 0 else (2,))


@pytest.mark.parametrize("dim", [torch.tensor(1), torch.tensor([1]), (torch.tensor(1),)])
def test_tensors_of_one_integer_are_dimensions(dim):
    """Also where a declaration looks at its arguments before they are converted, and where a list is overloaded with a truth."""
    x = torch.arange(24.0).reshape(2, 3, 4)
    for f in (torch.var, torch.std, torch.sum, torch.mean, torch.linalg.norm, torch.linalg.vector_norm):
        assert f(x, dim=dim).tolist() == f(x, dim=1).tolist()
    assert x.std(dim).tolist() == x.std(1).tolist() and torch.std_mean(x, dim)[1].tolist() == x.mean(1).tolist()
