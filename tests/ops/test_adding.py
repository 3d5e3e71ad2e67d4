"""Protects that an operator is added in one place: the three examples of torchshim.ops' docstring, declared here and used in
every form that they get."""
import re
import textwrap

import jax
import jax.numpy as jnp
import pytest

import torchshim as torch
from torchshim import ops
from torchshim.nn import functional as F
from torchshim.nn.modules.module import Module
from torchshim.ops.reduction import along, evenly, picked, place
from torchshim.ops.registry import OPS, op
from torchshim.tensor.api import bind, return_types


@pytest.fixture(scope="module", autouse=True)
def examples():
    """The docstring's examples, declared and published as an import would; taken back afterwards."""
    known, spaces = dict(OPS), {None: bind.FUNCTIONS, **bind.NAMESPACES}
    before = {k: dict(v) for k, v in spaces.items()}
    types, methods = dict(return_types.ALL), set(vars(torch.Tensor))
    code = "\n".join(textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n|^\n)+", ops.__doc__, re.M))
    space = dict(op=op, jnp=jnp, jax=jax, along=along, evenly=evenly, picked=picked, place=place, Module=Module, F=F)
    exec(code, space)
    new = [o for k, o in OPS.items() if k not in known]
    for name in dict.fromkeys(o.name for o in new):
        bind.bind([o for o in new if o.name == name], torch.Tensor)
    made = [(module, name, f) for module, key in ((torch, None), (F, "nn.functional"))
            for name, f in spaces[key].items() if name not in before[key]]
    for module, name, f in made:
        setattr(module, name, f)
    yield space
    for module, name, _ in made:
        delattr(module, name)
    for name in set(vars(torch.Tensor)) - methods:
        delattr(torch.Tensor, name)
    for live, old in [(OPS, known), (return_types.ALL, types), *[(spaces[k], before[k]) for k in before]]:
        for k in set(live) - set(old):
            del live[k]


def grads(f, x):
    """The first and second derivative of f(x).sum()."""
    x = x.detach().requires_grad_()
    g, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    return g.tolist(), torch.autograd.grad(g.sum(), x)[0].tolist()


def test_an_elementwise_operator():
    x = torch.tensor([1.0, -2.0, 3.0])
    want = [1.0, -8.0, 27.0]
    assert torch.cube(x).tolist() == x.cube().tolist() == torch.third_power(x).tolist() == x.third_power().tolist() == want
    assert torch.cube(torch.tensor([2])).dtype is torch.float32
    out = torch.empty(3)
    assert torch.cube(x, out=out) is out and out.tolist() == want
    for write in (lambda y: y.cube_(), torch.cube_, lambda y: y.third_power_()):
        y = x.clone()
        assert write(y) is y and y.tolist() == want
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.tensor([2]).cube_()
    assert torch.cube(x.requires_grad_()).grad_fn.name() == "CubeBackward0"
    assert grads(torch.cube, x) == ([3.0, 12.0, 27.0], [6.0, -12.0, 18.0])
    assert torch.func.vmap(torch.cube)(x.detach().reshape(3, 1)).tolist() == [[1.0], [-8.0], [27.0]]
    assert "cube(input" in torch.cube.__doc__ and "The third power." in torch.Tensor.cube.__doc__ and "CubeBackward0" in torch.cube.__doc__


def test_a_reduction_with_indices():
    x = torch.tensor([[1.0, 5.0], [7.0, 2.0]])
    assert torch.largest(x).item() == x.largest().item() == 7.0
    r = torch.largest(x, 1)
    assert type(r).__name__ == "largest" and r.values.tolist() == [5.0, 7.0] and r.indices.tolist() == [1, 0]
    assert x.largest(dim=0, keepdim=True).values.tolist() == torch.largest(x, axis=0, keepdims=True)[0].tolist() == [[7.0, 5.0]]
    out = torch.empty(2), torch.empty(2, dtype=torch.int64)
    r = torch.largest(x, 1, out=out)
    assert type(r).__name__ == "largest_out" and r.values is out[0] and out[1].tolist() == [1, 0]
    assert torch.largest(x.requires_grad_()).grad_fn.name() == "LargestBackward0" and x.largest(1)[0].grad_fn.name() == "LargestBackward1"
    assert not x.largest(1).indices.requires_grad
    assert grads(lambda y: y.largest(1).values ** 2, x) == ([[0.0, 10.0], [14.0, 0.0]], [[0.0, 2.0], [2.0, 0.0]])
    assert torch.func.vmap(lambda y: y.largest(0).indices)(x.detach()).tolist() == [1, 0]
    assert "The largest element;" in torch.largest.__doc__ and "The largest elements along a dimension" in torch.largest.__doc__


@pytest.mark.parametrize("call, text", [
    (lambda x: torch.largest(x, 1.5), "largest() received an invalid combination of arguments - got (Tensor, float), but expected one of:\n"
     " * (Tensor input, *, Tensor out = None)\n * (Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None)\n"),
    (lambda x: torch.largest(3), "largest(): argument 'input' (position 1) must be Tensor, not int"),
    (lambda x: x.largest("a"), "largest(): argument 'dim' (position 1) must be int, not str"),
    (lambda x: x.max("a"), "max() received an invalid combination of arguments - got (str), but expected one of:\n * ()\n"
     "      didn't match because some of the arguments have invalid types: (!str!)\n * (Tensor other)\n"
     "      didn't match because some of the arguments have invalid types: (!str!)\n * (int dim, bool keepdim = False)\n")])
def test_arguments_that_no_overload_takes(call, text):
    with pytest.raises(TypeError) as e:
        call(torch.ones(2))
    assert str(e.value) == text


def test_a_functional_with_its_module(examples):
    x = torch.tensor([0.0, 1.0])
    want = (2 * torch.tanh(x / 2)).tolist()
    assert F.soft_clip(x, 2.0).tolist() == examples["SoftClip"](2.0)(x).tolist() == want
    for write in (lambda y: F.soft_clip(y, 2.0, inplace=True), lambda y: F.soft_clip_(y, 2.0), examples["SoftClip"](2.0, inplace=True)):
        y = x.clone()
        assert write(y) is y and y.tolist() == want
    assert not hasattr(torch, "soft_clip") and not hasattr(x, "soft_clip")
    first, second = grads(F.soft_clip, x)
    assert first[0] == 1.0 and second[0] == 0.0
    assert torch.func.vmap(F.soft_clip)(x.reshape(2, 1)).shape == (2, 1)
    assert "stays between -limit and limit" in F.soft_clip.__doc__ and F.soft_clip.__module__ == "torch.nn.functional"
