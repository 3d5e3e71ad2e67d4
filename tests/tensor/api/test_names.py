"""Protects the names by which functions are known to `__torch_function__`, to traces and to pickles: libraries keep lists of them."""
import pickle

import pytest

import torchshim as torch
from torchshim import fx

METHODS = {"__getitem__": "__getitem__", "__setitem__": "__setitem__", "__delitem__": "__delitem__", "__pow__": "pow", "__ipow__": "pow_",
           "__neg__": "neg", "__abs__": "abs", "__pos__": "positive", "__rtruediv__": "__rdiv__", "__hash__": "__hash__", "split": "split",
           "pow_": "pow_", "polygamma": "polygamma", "__add__": "add", "__rsub__": "__rsub__", "__eq__": "eq"}


class Noted(torch.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.mark.parametrize("call, names", [
    (lambda x: x[0], "__getitem__"), (lambda x: x.__setitem__(0, 1.0), "__setitem__"), (lambda x: x ** 2, "pow"),
    (lambda x: 2 / x, "__rdiv__"), (lambda x: 1.0 in x, "__contains__"), (lambda x: list(x), "dim unbind __len__"),
    (lambda x: x.__ipow__(2), "pow_"), (lambda x: x.split(1), "split"), (lambda x: torch.linalg.inv(x), "linalg_inv"),
    (lambda x: torch.fft.fft2(x), "fft_fft2")])
def test_who_is_asked_hears_torchs_name(call, names):
    x = (torch.eye(3) * 2).as_subclass(Noted)
    Noted.seen = []
    call(x)
    assert Noted.seen == names.split()


def test_a_subclass_that_lists_its_functions_by_name_keeps_its_class():
    """pypose's Lie tensors take the class back in functions of a list of names."""
    class Kept(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            made = torch.Tensor.__torch_function__(func, [torch.Tensor if t is Kept else t for t in types], args, kwargs or {})
            return made.as_subclass(Kept) if func.__name__ in ("__getitem__", "clone") and isinstance(made, torch.Tensor) else made
    x = torch.ones(3, 2).as_subclass(Kept)
    assert type(x[0]) is type(x[1:]) is type(x.clone()) is Kept and type(x * 2) is torch.Tensor


def test_functions_of_namespaces_are_named_with_them_and_pickled_where_they_are():
    for f, name in ((torch.linalg.inv, "linalg_inv"), (torch.fft.rfftn, "fft_rfftn"), (torch.inverse, "inverse")):
        assert f.__name__ == name and pickle.loads(pickle.dumps(f)) is f
    graph = fx.symbolic_trace(lambda x: torch.linalg.det(torch.fft.fft(x))).graph
    assert [n.name for n in graph.nodes] == ["x", "fft_fft", "linalg_det", "output"]
    module = fx.GraphModule(torch.nn.Module(), graph)
    x = torch.rand(2, 2)
    assert "torch._C._linalg.linalg_det(" in module.code and torch.equal(module(x), torch.linalg.det(torch.fft.fft(x)))


def test_a_gradient_that_nobody_takes_may_have_any_shape():
    """torchdyn's adjoint gives one for the times, of another shape."""
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, times):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, torch.ones(2)
    x, times = torch.ones(3, requires_grad=True), torch.zeros(5)
    F.apply(x, times).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match=r"FBackward returned an invalid gradient at index 1 - got \[2\] but expected shape compatible "
                                           r"with \[5\]"):
        F.apply(x, times.requires_grad_()).sum().backward()
