"""Calls that give an argument twice or in a form that torch's parser refuses: its words, and no silent choice of one of them."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F


def refusal(f):
    with pytest.raises(TypeError) as e:
        f()
    return str(e.value).splitlines()[0]


def test_axis_beside_dim():
    x = torch.ones(2)
    for name, call in {"sum": lambda: x.sum(axis=0, dim=0), "mean": lambda: torch.mean(x, axis=0, dim=0),
                       "softmax": lambda: x.softmax(axis=0, dim=0), "cumsum": lambda: x.cumsum(axis=0, dim=0),
                       "argmax": lambda: x.argmax(axis=0, dim=0)}.items():
        assert refusal(call) == f"{name}() got an unexpected keyword argument 'axis'"
    assert x.sum(axis=0).item() == 2 and x.cumsum(axis=0).tolist() == [1, 2]


def test_size_beside_sizes():
    for name in ("zeros", "ones", "empty"):
        for sizes in ((2,), ((2,),), (2, 3)):
            assert refusal(lambda: getattr(torch, name)(*sizes, size=(3,))) == f"{name}() got multiple values for argument 'size'"
    for name in ("rand", "randn"):
        said = f"{name}() received an invalid combination of arguments - got (int, size=tuple), but expected one of:"
        assert refusal(lambda: getattr(torch, name)(2, size=(2,))) == said
    assert torch.zeros(size=(3,)).tolist() == [0, 0, 0]


def test_numpys_names():
    """They stand for torch's where its parser reads the arguments; beside those they are unknown."""
    x, at = torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([[1], [0]])
    assert torch.gather(x, axis=1, index=at).tolist() == x.gather(axis=1, index=at).tolist() == [[2], [3]]
    assert torch.index_select(x, axis=0, index=torch.tensor([1])).tolist() == [[3, 4]]
    assert torch.take_along_dim(x, at, axis=1).tolist() == [[2], [3]]
    assert torch.cat([x, x], axis=1).shape == (2, 4) and torch.stack([x, x, x], axis=1).shape == (2, 3, 2)
    for call in (lambda: torch.cat([x], 0, axis=1), lambda: torch.cat([x], dim=1, axis=0), lambda: torch.cat([x], dim=0, axis=1)):
        assert refusal(call) == "cat() got an unexpected keyword argument 'axis'"
    assert refusal(lambda: torch.stack([x], dim=0, axis=1)) == "stack() got an unexpected keyword argument 'axis'"
    assert refusal(lambda: torch.amax(x, 0, keepdims=True, keepdim=True)) == "amax() got an unexpected keyword argument 'keepdims'"
    for call in (lambda: torch.split(x, 1, axis=0), lambda: torch.norm(x, axis=0)):
        assert "got an unexpected keyword argument 'axis'" in refusal(call)


def test_functions_of_pythons_say_so_without_their_input():
    for name in ("relu", "elu", "glu", "hardtanh", "leaky_relu"):
        assert refusal(getattr(F, name)) == f"{name}() missing 1 required positional argument: 'input'"
    assert refusal(F.gelu) == 'gelu() missing 1 required positional arguments: "input"'
    assert refusal(lambda: F.threshold()).endswith("missing 3 required positional arguments: 'input', 'threshold', and 'value'")


def test_alpha_stands_by_its_name():
    x = torch.ones(1)
    assert refusal(lambda: torch.add(x, x, 3)) == "add() takes 2 positional arguments but 3 were given"
    assert refusal(lambda: x.sub_(x, 3)) == "sub_() takes 1 positional argument but 2 were given"
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.add(x, 3, x).item() == 4


def test_old_constructor():
    said = refusal(lambda: torch.Tensor(2, dtype=torch.int32))
    assert said == "new() received an invalid combination of arguments - got (int, dtype=torch.dtype), but expected one of:"
    assert refusal(lambda: torch.Tensor(2, "x")) == (
        "new(): argument 'size' failed to unpack the object at pos 2 with error \"type must be tuple of ints,but got str\"")
    assert refusal(lambda: torch.Tensor(None)) == "new(): data must be a sequence (got NoneType)"
    assert torch.Tensor(size=(2, 3)).shape == (2, 3) and torch.Tensor(data=[1, 2]).tolist() == [1, 2]


def test_lengths_of_one_kind():
    """ctc_loss takes two tensors or two sequences."""
    x, y = torch.randn(3, 1, 3), torch.ones(1, 2, dtype=torch.long)
    assert refusal(lambda: F.ctc_loss(x, y, (3,), torch.tensor([1]))) == (
        "ctc_loss() received an invalid combination of arguments - got (Tensor, Tensor, tuple, Tensor, int, int, bool), but expected one of:")
    assert refusal(lambda: torch.ctc_loss(x, y, torch.tensor([3]), [1])) == (
        "ctc_loss() received an invalid combination of arguments - got (Tensor, Tensor, Tensor, list), but expected one of:")
    assert F.ctc_loss(x, y, [3], (1,)).item() == F.ctc_loss(x, y, torch.tensor([3]), torch.tensor([1])).item()


def test_words():
    assert "See github.com/pytorch/pytorch/pull/30531 for more information." in _warned(lambda: (torch.ones(2, requires_grad=True) * 2).grad)
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.autograd.Variable(torch.ones(2).long(), requires_grad=True)
    with pytest.raises(RuntimeError, match=r"expected 4D input and grid with same number of dimensions"):
        F.grid_sample(torch.ones(1, 1, 2, 2), torch.ones(1, 2, 2), align_corners=False)
    assert f"{torch.eye(2).to_sparse()}" == str(torch.eye(2).to_sparse()) and f"{torch.tensor(1.).to_sparse():.2f}" == "1.00"


def _warned(f):
    with pytest.warns(UserWarning) as w:
        f()
    return str(w[0].message)
