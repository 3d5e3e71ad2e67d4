"""Protects `__torch_dispatch__`: what is not known is refused, gradients are the usual ones, and who sees nothing pays nothing. Which
operators modes and classes see, with which arguments, compat/programs/dispatch compares with PyTorch."""
import subprocess
import sys

import pytest

import torchshim as torch
from torchshim._dispatch import formulas, kernels, schemas
from torchshim.utils._python_dispatch import TorchDispatchMode


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_what_is_not_known_is_refused():
    x = torch.ones(3, requires_grad=True)
    with Passing():
        with pytest.raises(NotImplementedError, match="^torchshim: torch.histogramdd under __torch_dispatch__"):
            torch.histogramdd(x[None], [2, 2, 2])
        with pytest.raises(NotImplementedError, match="the gradient of aten.special_entr.default under __torch_dispatch__"):
            torch.special.entr(x)
    y = (x * 2).sum()
    with Passing(), pytest.raises(NotImplementedError, match="its forward was not dispatched"):
        y.backward()


def test_gradients_are_those_of_plain_calls():
    """Of every formula of one tensor: the gradient below a mode against the usual one."""
    at = torch.tensor([[0.5, -0.3, 0.8], [0.2, 0.9, -0.7]])
    for name in "exp expm1 sin cos abs erf tanh sigmoid relu neg reciprocal log1p".split():
        f = getattr(torch, name)
        a, b = at.clone().requires_grad_(), at.clone().requires_grad_()
        f(a).sum().backward()
        with Passing():
            f(b).sum().backward()
        assert torch.allclose(a.grad, b.grad, rtol=1e-6, atol=1e-7), name


def test_what_was_written_since_is_noticed():
    x = torch.ones(2, requires_grad=True)
    with Passing():
        y = x * 1
        z = y * y
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()


def test_tables_agree():
    """Each formula is of an operator of the table, whose schema reads; each of these has something that computes it."""
    for name in formulas.FORMULAS:
        base, _, overload = name.partition(".")
        assert schemas.schema(base, overload or "default") or schemas.schema(base + "_", overload or "default"), name
    for name, overloads in schemas.table().items():
        assert all(schemas.schema(name, o) for o in overloads)
    assert kernels.known("native_layer_norm") and kernels.known("nope") is None


def test_classes_alone_cost_nothing():
    """Libraries define such classes, and import FakeTensor, without making instances."""
    program = ("import sys, torchshim as torch; code = torch.add.__code__; import torchshim._subclasses.fake_tensor\n"
               "class Sees(torch.Tensor):\n    @classmethod\n    def __torch_dispatch__(cls, func, types, args=(), kwargs=None): return 1\n"
               "assert torch.add.__code__ is code\n"
               "assert Sees._make_wrapper_subclass(Sees, (2,)) + 1 == 1 and torch.add.__code__ is not code")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_contractions_have_the_values_and_gradients_of_plain_calls():
    """Beside the operators that compat compares: what they compute."""
    a, b = torch.rand(2, 3, 4, dtype=torch.float64), torch.rand(2, 5, 4, dtype=torch.float64)
    for equation in ("bij,bkj->bik", "bij,bkj->ik", "bij,ckj->bcik", "bij,bkj->bijk"):
        x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
        want = torch.einsum(equation, a, b)
        with Passing():
            made = torch.einsum(equation, x, y)
            grads = torch.autograd.grad(made.square().sum(), (x, y))
        p, q = a.clone().requires_grad_(), b.clone().requires_grad_()
        others = torch.autograd.grad(torch.einsum(equation, p, q).square().sum(), (p, q))
        assert torch.allclose(made, want) and all([torch.allclose(g, h) for g, h in zip(grads, others)]), equation
    with Passing(), pytest.raises(NotImplementedError, match="sums a dimension of one operand alone"):
        torch.einsum("ij,k->k", a[0], b[0, 0])


def test_operators_without_a_formula_have_the_history_of_their_functions_where_nobody_looks_on():
    x = torch.rand(2, 3, requires_grad=True)
    aten = torch.ops.aten
    for op, f in ((aten.digamma.default, torch.digamma), (aten.cumprod.default, torch.cumprod),
                  (aten.linear.default, torch.nn.functional.linear)):
        args = {aten.cumprod.default: (1,), aten.linear.default: (torch.ones(4, 3),)}.get(op, ())
        (got,), (want,) = [torch.autograd.grad(call(x, *args).sum(), x) for call in (op, f)]
        assert torch.equal(got, want), op
