"""make_fx: graphs of ATen operators as PyTorch 2.13 makes them, gradients and constants among them."""
import pytest

import torchshim as torch
from torchshim import nn
from torchshim.func import functional_call, grad
from torchshim.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torchshim.nn import functional as F

X = torch.arange(12.).view(3, 4)
ADDED = torch.ones(4)


def lines(f, *args, **kwargs):
    made = make_fx(f, **kwargs)(*args)
    return [line.strip() for line in made.code.strip().splitlines()], made


def test_operators_constants_and_writes():
    def f(x):
        y = x.clone()
        y.add_(torch.tensor([1., 2, 3, 4])).relu_()
        return y + ADDED + torch.zeros(4), y.max(1).values
    code, made = lines(f, X)
    assert code == [
        "def forward(self, x_1):", "clone = torch.ops.aten.clone.default(x_1);  x_1 = None", "_tensor_constant0 = self._tensor_constant0",
        "lift_fresh_copy = torch.ops.aten.lift_fresh_copy.default(_tensor_constant0);  _tensor_constant0 = None",
        "add_ = torch.ops.aten.add_.Tensor(clone, lift_fresh_copy);  clone = lift_fresh_copy = None",
        "relu_ = torch.ops.aten.relu_.default(add_);  add_ = None", "_tensor_constant1 = self._tensor_constant1",
        "add = torch.ops.aten.add.Tensor(relu_, _tensor_constant1);  _tensor_constant1 = None",
        "zeros = torch.ops.aten.zeros.default([4], device = device(type='cpu'), pin_memory = False)",
        "add_1 = torch.ops.aten.add.Tensor(add, zeros);  add = zeros = None", "max_1 = torch.ops.aten.max.dim(relu_, 1);  relu_ = None",
        "getitem = max_1[0]", "getitem_1 = max_1[1];  max_1 = getitem_1 = None", "return (add_1, getitem)"]
    for x in (X, -X):
        assert [torch.equal(a, b) for a, b in zip(made(x), f(x))] == [True, True]
    node = made.graph.find_nodes(op="call_function", target=torch.ops.aten.max.dim)[0].next
    assert node.meta["tensor_meta"].shape == (3,) and node.meta["val"].device.type == "meta"


def test_a_module_with_its_parameters_as_arguments():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))

    def loss(params, x):
        return F.cross_entropy(functional_call(model, params, (x,)), torch.tensor([0, 1, 0]))
    code, made = lines(loss, dict(model.named_parameters()), X)
    assert code[1] == "params_1, params_2, params_3, params_4, x_1, = fx_pytree.tree_flatten_spec([params, x], self._in_spec)"
    assert "addmm = torch.ops.aten.addmm.default(params_2, x_1, t);  params_2 = x_1 = t = None" in code
    params = {n: 2 * p.detach() for n, p in model.named_parameters()}
    assert torch.equal(made(params, X), loss(params, X))


def test_gradients_are_steps():
    def f(x):
        return torch.autograd.grad((x * x.sin()).sum(), x)[0]
    code, made = lines(f, X.clone().requires_grad_())
    assert "cos = torch.ops.aten.cos.default(x_1);  x_1 = None" in code
    assert torch.equal(made(2 * X), f((2 * X).requires_grad_()))


def test_decompositions_and_refusals():
    aten = torch.ops.aten
    assert "cos = torch.ops.aten.cos.default(x_1);  x_1 = None" in lines(lambda x: x.sin() * 2, X, decomposition_table={
        aten.sin.default: lambda x: x.cos()})[0]
    for f in (lambda x: x * x[0, 0].item(), lambda x: x if x.sum() > 0 else -x):
        with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor with aten._local_scalar_dense.default"):
            make_fx(f)(X)
    with pytest.raises(NotImplementedError, match="torch.func"):
        make_fx(lambda x: torch.func.jvp(torch.sin, (x,), (x,)))(X)
    assert get_proxy_mode() is None and "view = torch.ops.aten.view.default(x_1, [-1]);  x_1 = None" in lines(lambda x: x.reshape(-1), X)[0]


def test_flags_in_place_given_by_position():
    """They were taken for further arguments of the operator."""
    x = torch.ones(2, requires_grad=True)
    for f, last in ((lambda x: F.relu(x * 1, True), "relu_"), (lambda x: F.leaky_relu(x * 1, 0.1, True), "leaky_relu_"),
                    (lambda x: F.dropout(x * 1, 0.5, True, True), "mul_"), (lambda x: F.dropout(x, 0.5, True, False), "mul")):
        nodes = [n.name for n in make_fx(f)(x).graph.nodes]
        assert [n for n in nodes if "detach" not in n][-2] == last


def test_autocast_is_refused():
    """The graph was without the casts, and so another program."""
    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x
    with pytest.raises(NotImplementedError, match="autocast in a function that make_fx traces"):
        make_fx(f)(torch.ones(2, 2))


def test_gradients_of_torch_func():
    """They were refused: grad and vjp call operators that a mode sees, as PyTorch's do."""
    from torchshim.func import grad_and_value, vjp
    def seen(f):
        made = make_fx(f)(torch.arange(3.))
        return [n.name for n in made.graph.nodes][1:-1], made(torch.arange(3.) + 1)
    x = torch.arange(3.) + 1
    names, made = seen(lambda x: grad(lambda t: t.sin().sum())(x))
    assert names == ["sin", "sum_1", "ones_like", "expand", "cos", "mul"] and torch.equal(made, x.cos())
    names, (value,) = seen(lambda x: vjp(torch.sin, x)[1](x))
    assert names == ["sin", "cos", "mul"] and torch.equal(value, x * x.cos())
    names, (g, (value, aux)) = seen(lambda x: grad_and_value(lambda t: ((t * t).sum(), t + 1), has_aux=True)(x))
    assert torch.equal(g, 2 * x) and value == 14 and torch.equal(aux, x + 1)
    names, made = seen(lambda x: grad(lambda a, b: (a * b.exp()).sum(), argnums=(0, 1))(x, x))
    assert torch.allclose(made[1], x * x.exp())
    names, made = seen(lambda x: grad(lambda t: grad(lambda u: u.sin().sum())(t).sum())(x))
    assert torch.allclose(made, -x.sin())
    names, made = seen(lambda x: grad(lambda a, b: a.sum(), argnums=1)(x, x))
    assert not made.any()
    for f in (torch.exp, torch.tanh, torch.sqrt):              # a result that is kept is not detached for anybody to see
        names, made = seen(lambda x: grad(lambda t: f(t).sum())(x))
        assert not any(["detach" in n for n in names])
    with pytest.raises(RuntimeError, match="Expected f.*to return a scalar"):
        seen(lambda x: grad(lambda t: t * 2)(x))
