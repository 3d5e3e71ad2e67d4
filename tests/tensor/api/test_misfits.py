"""Protects what PyTorch 2.13's argument parser says of calls that it refuses: arguments given by name are not called by position, names of
types are compared piece by piece, and keywords come in the order of its hash table."""
import pytest

import torchshim as torch
from torchshim.tensor.api.misfits import hashed

X = torch.arange(12.0).reshape(3, 4)
F = torch.nn.functional
WRONG = "      didn't match because some of the arguments have invalid types: "
SUM = (" * (Tensor input, *, torch.dtype dtype = None)\n"
       " * (Tensor input, tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None)\n")
ALL = (" * (Tensor input, *, Tensor out = None)\n{}"
       " * (Tensor input, tuple of ints dim = None, bool keepdim = False, *, Tensor out = None)\n"
       " * (Tensor input, int dim, bool keepdim = False, *, Tensor out = None)\n")
ADDMM = (" * (Tensor input, Tensor mat1, Tensor mat2, *, Number beta = 1, Number alpha = 1, Tensor out = None)\n"
         " * (Tensor input, Tensor mat1, Tensor mat2, torch.dtype out_dtype, *, Number beta = 1, Number alpha = 1, Tensor out = None)\n")


def said(call):
    with pytest.raises(TypeError) as e:
        call()
    return str(e.value)


@pytest.mark.parametrize("call, text", [
    (lambda: torch.softmax(X, dim="a"), "softmax(): argument 'dim' must be int, not str"),
    (lambda: torch.softmax(X, "a"), "softmax(): argument 'dim' (position 2) must be int, not str"),
    (lambda: X.softmax(dim="a"), "softmax(): argument 'dim' must be int, not str"),
    (lambda: torch.exp(input=2), "exp(): argument 'input' must be Tensor, not int"),
    (lambda: torch.add(X, other="a"), "add(): argument 'other' must be Tensor, not str"),
    (lambda: torch.add(X, [1], alpha=2), "add(): argument 'other' (position 2) must be Tensor, not list"),
    (lambda: F.relu(input=2), "relu(): argument 'input' (position 1) must be Tensor, not int"),                        # it hands it on
    (lambda: F.gelu(input=2), "gelu(): argument 'input' must be Tensor, not int"),
    (lambda: torch.topk(X, 1, out=(X, 2)), "expected Tensor as element 1 in argument 5, but got int"),
    (lambda: torch.addcmul(X, X, value=2), 'addcmul() missing 1 required positional arguments: "tensor2"')])
def test_one_signature(call, text):
    assert said(call) == text


@pytest.mark.parametrize("call, got, options", [
    (lambda: torch.sum(X, dim="a"), "sum() - Tensor, dim=str", SUM),
    (lambda: torch.all(X, ["a"], False), "all() - Tensor, list, bool", ALL.format(WRONG + "(Tensor, !list of [str]!, !bool!)\n")),
    (lambda: torch.all(X, [1], False, out=(X, X)), "all() - Tensor, list, bool, out=tuple", ALL.format("")),
    (lambda: torch.addmm(X, 1.5, X, beta=2, alpha=2), "addmm() - Tensor, float, Tensor, alpha=int, beta=int", ADDMM),
    (lambda: X.all("a"), "all() - str", f" * ()\n{WRONG}(!str!)\n * (tuple of ints dim = None, bool keepdim = False)\n"
                                        " * (int dim, bool keepdim = False)\n"),
    (lambda: X.fill_((1,)), "fill_() - tuple", f" * (Tensor value)\n{WRONG}(!tuple of (int,)!)\n * (Number value)\n{WRONG}"
                                               "(!tuple of (int,)!)\n"),
    (lambda: X.view(dtype=(2, 3)), "view() - dtype=tuple, ",
     f" * (torch.dtype dtype)\n{WRONG}(!dtype=tuple of (int, int)!, )\n * (tuple of ints size)\n"
     "      didn't match because some of the keywords were incorrect: dtype\n"),
    (lambda: X.index_fill(dim=1, index=X[0], value=None), "index_fill() - index=Tensor, value=NoneType, dim=int, ",
     f" * (int dim, Tensor index, Tensor value)\n{WRONG}(dim=int, index=Tensor, !value=NoneType!, )\n"
     f" * (int dim, Tensor index, Number value)\n{WRONG}(dim=int, index=Tensor, !value=NoneType!, )\n"),
    (lambda: torch.tensor_split(X, 1.5, 0), "tensor_split() - Tensor, float, int", "".join(
        f" * (Tensor input, {p}, int dim = 0)\n{WRONG}(Tensor, !float!, !int!)\n"                    # what has a default has no type
        for p in ("tuple of ints indices", "Tensor tensor_indices_or_sections", "int sections")))])
def test_several_signatures(call, got, options):
    name, got = got.split(" - ")
    assert said(call) == f"{name} received an invalid combination of arguments - got ({got}), but expected one of:\n{options}"


def test_the_order_of_keywords_is_that_of_a_hash_table():
    assert hashed(["dim", "index", "value"]) == ["index", "value", "dim"]      # "value" falls into the slot of "dim"
    assert hashed(["condition", "input", "other"]) == ["other", "input", "condition"]
    assert hashed(["beta", "alpha", "nonsense"]) == ["nonsense", "alpha", "beta"]


def test_methods_without_arguments_speak_as_those_of_c():
    x = torch.ones(2, 2)
    for call, text in ((lambda: x.conj(1), "TensorBase.conj() takes no arguments (1 given)"),
                       (lambda: x.t(2, 3), "TensorBase.t() takes no arguments (2 given)"),
                       (lambda: x.ravel(nonsense=1), "TensorBase.ravel() takes no keyword arguments")):
        with pytest.raises(TypeError) as raised:
            call()
        assert str(raised.value) == text
