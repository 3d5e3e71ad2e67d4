"""Protects subclasses of Tensor that people write: the names of what they keep are theirs."""
import pytest

import torchshim as torch

FREE = ("_meta", "_st", "_view", "_edge", "_extra", "_host", "_more", "_only", "_mark", "_storage_of", "_value", "_node", "_trace")


class Labelled(torch.Tensor):
    """Keeps attributes of the names that an implementation might want, as libraries' subclasses do."""

    @staticmethod
    def __new__(cls, data, **kept):
        return torch.as_tensor(data).as_subclass(cls)

    def __init__(self, data, **kept):
        for name in FREE:
            setattr(self, name, {"name": name})


@pytest.mark.parametrize("name", FREE)
def test_a_tensor_has_no_private_name_that_a_subclass_would_choose(name):
    assert not hasattr(torch.Tensor, name) and not hasattr(torch.nn.Parameter, name)


def test_a_subclass_keeps_attributes_of_any_name():
    x = Labelled([[1.0, 2.0], [3.0, 4.0]])
    y = x[0] * 2 + x.t()[1]
    assert type(y) is Labelled and y.tolist() == [4.0, 8.0]
    assert all(getattr(x, name) == {"name": name} for name in FREE)
    x[:, 1] = 7
    x.add_(1)
    assert x.tolist() == [[2.0, 8.0], [4.0, 8.0]] and x.shape == (2, 2) and x.stride() == (2, 1)
    assert "8." in repr(x)
    w = Labelled(torch.ones(2, requires_grad=True).detach())
    w.requires_grad_()
    (w * 3).sum().backward()
    assert w.grad.tolist() == [3.0, 3.0] and w._meta == {"name": "_meta"}


def test_a_parameter_of_a_subclass_keeps_them_too():
    p = torch.nn.Parameter(Labelled([1.0, 2.0]))
    for name in FREE:
        setattr(p, name, name)
    (p * 3).sum().backward()
    torch.optim.SGD([p], lr=1.0).step()
    assert p.tolist() == [-2.0, -1.0] and all(getattr(p, name) == name for name in FREE)
    assert isinstance(p, torch.nn.Parameter)


def test_methods_and_properties_of_a_subclass_hide_nothing():
    class Own(torch.Tensor):
        @property
        def _meta(self):
            return "mine"

        def _host(self):
            return "mine"

        def _more(self):
            return "mine"

    x = torch.arange(4.0).as_subclass(Own)
    x.requires_grad_()
    y = (x.view(2, 2)[1] * x[2:]).sum()
    y.backward()
    assert y.item() == 13 and x.grad.tolist() == [0, 0, 4, 6] and (x._meta, x._host(), x._more()) == ("mine",) * 3


def test_what_numpy_makes_of_a_subclass_is_one():
    """NumPy's functions, and operators that leave a NumPy array to it."""
    import numpy as np

    class Own(torch.Tensor):
        asked = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Own)
    for made, dtype in ((np.sin(x), torch.float32), (x + np.ones(2), torch.float64), (np.add(x, x), torch.float32)):
        assert type(made) is Own and made.dtype is dtype
    assert Own.asked.count("__array_wrap__") == 3 and type(np.sin(torch.ones(2))) is torch.Tensor


def test_a_subclass_may_have_slots():
    """Objects of such a class are laid out otherwise in Python, wherever they come from; a copy has what is in them."""
    import copy

    class Slotted(torch.Tensor):
        __slots__ = ["place"]
    x = Slotted(torch.arange(2.0))
    x.place = [1]
    assert type(x + 1) is Slotted and (x + 1).tolist() == [1, 2] and not hasattr(x + 1, "place")
    assert copy.copy(x).place is x.place and type(torch.nn.Parameter(x)) is Slotted
    y = torch.Tensor._make_subclass(Slotted, torch.ones(2), True)
    (y * y).sum().backward()
    assert type(y) is Slotted and y.grad.tolist() == [2, 2]
