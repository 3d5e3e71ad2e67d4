"""Protects torch.func: gradients, products with Jacobians, batching, nesting of these, and histories through them.

Every expectation holds for real torch 2.13: replacing the import below by `import torch` must leave the file green.
"""
import pytest

import torchshim as torch
from torchshim.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, stack_module_state, vjp, vmap


def close(a, b):
    return torch.allclose(a, torch.as_tensor(b, dtype=a.dtype), atol=1e-5)


X = torch.tensor([0.5, 1.0, 1.5])
M = torch.arange(6.0).reshape(2, 3)


def test_grad_takes_arguments_apart():
    assert grad(lambda a: (a ** 3).sum())(X).tolist() == [0.75, 3.0, 6.75]
    first, second = grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(X, X + 1)
    assert first.tolist() == [1.5, 2.0, 2.5] and second.tolist() == [0.5, 1.0, 1.5]
    nested = grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": X, "b": [X + 1]})
    assert list(nested) == ["a", "b"] and nested["b"][0].tolist() == X.tolist()
    g, (value, aux) = grad_and_value(lambda a: (a.sum(), a * 2), has_aux=True)(X)
    assert g.tolist() == [1, 1, 1] and value.item() == 3 and aux.tolist() == [1, 2, 3]
    assert not (g.requires_grad or value.requires_grad or aux.requires_grad)


def test_branches_on_values_are_fine_in_grad_but_not_in_vmap():
    f = lambda a: a if a > 0 else -a
    assert grad(f)(torch.tensor(-2.0)).item() == -1
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        vmap(f)(X)
    with pytest.raises(RuntimeError, match=r"calling \.item\(\) on a Tensor"):
        vmap(lambda a: a.item())(X)


@pytest.mark.parametrize("f, error, text", [
    (lambda: grad(lambda a: a * 2)(X), RuntimeError, "Expected f.*to return a scalar Tensor, got tensor with 1 dims"),
    (lambda: grad(lambda a: 3.0)(X), RuntimeError, "to return a Tensor, got <class 'float'>"),
    (lambda: grad(lambda a: a.sum(), argnums=2)(X), RuntimeError, "Got argnum=2, but only 1 positional inputs"),
    (lambda: vmap(lambda a: a + 1)(torch.tensor(1.0)), ValueError, "input is a Tensor of dimensionality 0"),
    (lambda: vmap(lambda a, b: a + b)(M, X), ValueError, r"same size in the mapped dimension, got sizes \[2, 3\]"),
    (lambda: vmap(lambda a: 3)(M), ValueError, "must only return Tensors, got type <class 'int'>"),
    (lambda: vmap(lambda a: a, randomness="x")(M), RuntimeError, "Only allowed values for randomness"),
    (lambda: vmap(lambda a: a + torch.randn(3))(M), RuntimeError, "called random operation while in randomness error mode"),
    (lambda: jvp(lambda a: a, X, X), RuntimeError, "Expected primals to be a tuple"),
    (lambda: vjp(lambda a: a * 2, X)[1]((X, X)), RuntimeError, "Expected pytree structure of cotangents"),
])
def test_errors(f, error, text):
    with pytest.raises(error, match=text):
        f()


def test_vmap_dimensions():
    assert vmap(torch.dot)(M, M).tolist() == [5, 50]
    assert vmap(lambda a, b: a * b, (0, None))(M, X).shape == (2, 3)
    assert vmap(lambda a: a * a.sum(), in_dims=1, out_dims=1)(M).tolist() == [[0, 5, 14], [9, 20, 35]]
    a, b = vmap(lambda t: (t, t.sum()), out_dims=(1, 0))(M)
    assert a.tolist() == M.t().tolist() and b.tolist() == [3, 12]
    assert vmap(lambda d, s: d["x"] * s, in_dims=({"x": 1}, None))({"x": M}, 2).tolist() == (M.t() * 2).tolist()
    assert vmap(vmap(lambda a, b: (a - b).abs().sum(), (None, 0)), (0, None))(M, M).tolist() == [[0, 9], [9, 0]]
    assert vmap(lambda a: a.mean(), chunk_size=1)(M).tolist() == [1, 4]
    assert vmap(lambda a: torch.ones(2))(M).tolist() == [[1, 1], [1, 1]]


def test_vmap_writes_to_what_it_was_given():
    z = torch.zeros(2, 3)
    vmap(lambda a: a.add_(1))(z)
    assert z.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_jacobians_agree():
    f = lambda a: torch.stack([a.prod(), (a * a).sum()])
    want = [[1.5, 0.75, 0.5], [1.0, 2.0, 3.0]]
    assert close(jacrev(f)(X), want) and close(jacfwd(f)(X), want) and close(jacrev(f, chunk_size=1)(X), want)
    assert jacrev(lambda d: {"o": d["i"] * 2})({"i": X})["o"]["i"].tolist() == (torch.eye(3) * 2).tolist()
    g = lambda a: (a ** 3).sum() + a.prod()
    want = [[3.0, 1.5, 1.0], [1.5, 6.0, 0.5], [1.0, 0.5, 9.0]]
    for h in (hessian(g), jacrev(jacrev(g)), jacfwd(jacfwd(g)), jacrev(jacfwd(g))):
        out = h(X)
        assert close(out, want) and not out.requires_grad
    assert vmap(hessian(lambda a: a.prod()))(M).shape == (2, 3, 3)


def test_products():
    out, pull = vjp(lambda a: (a * 2, a.sum()), X)
    assert out[1].item() == 3 and pull((X, torch.tensor(1.0)))[0].tolist() == [2, 3, 4]
    out, pushed = jvp(lambda a, b: a * b, (X, X), (X, X * 0))
    assert pushed.tolist() == (X * X).tolist()
    out, push = linearize(lambda a: a ** 2, X)
    assert push(torch.ones(3)).tolist() == [1, 2, 3] and push(X).tolist() == (2 * X * X).tolist()
    _, t = jvp(grad(lambda a: (a ** 3).sum()), (X,), (torch.ones(3),))
    assert close(t, [3.0, 6.0, 9.0])


def test_histories_lead_out_of_transforms():
    w = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
    g = grad(lambda a: (a * w).sum())(X)
    assert g.requires_grad
    (g * g).sum().backward()
    assert w.grad.tolist() == [4, 6, 8]
    w.grad = None
    m = M.clone().requires_grad_()
    vmap(lambda a: (a * w).sum())(m).pow(2).sum().backward()
    assert close(w.grad, [228.0, 326.0, 424.0]) and close(m.grad, [[44.0, 66.0, 88.0], [152.0, 228.0, 304.0]])
    with torch.no_grad():
        assert not vmap(lambda a: a * w)(m).requires_grad


def test_gradients_of_each_sample():
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    loss = lambda p, x: functional_call(layer, p, (x,)).pow(2).sum()
    got = vmap(grad(loss), in_dims=(None, 0))({n: p.detach() for n, p in layer.named_parameters()}, M)
    for k in range(2):
        layer.zero_grad()
        layer(M[k]).pow(2).sum().backward()
        assert close(got["weight"][k], layer.weight.grad) and close(got["bias"][k], layer.bias.grad)


def test_an_ensemble():
    models = [torch.nn.Linear(3, 1) for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    out = vmap(lambda p, b, x: functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(parameters, buffers, M)
    assert close(out, torch.stack([m(M) for m in models]))
    out.sum().backward()
    assert parameters["weight"].grad.shape == (3, 1, 3)


def test_a_gradient_of_a_gradient_has_no_node_for_what_it_was_a_function_of():
    """What a function that is differentiated got is its argument, and no view of it."""
    x = torch.tensor([1., 2.], requires_grad=True) * 1
    made = torch.func.grad(lambda x: torch.func.grad(lambda y: (y ** 3).sum())(x).sum())(x)
    assert made.grad_fn.name() == "MulBackward0" and made.tolist() == [6., 12.]
    assert torch.autograd.grad(made.sum(), x)[0].tolist() == [6., 6.]


@pytest.mark.parametrize("shape, last", [((), "SqueezeBackward1"), ((2,), "ViewBackward0")])
def test_jacfwd_splits_its_columns_by_inputs(shape, last):
    jacobian = torch.func.jacfwd(torch.sin)(torch.ones(shape, requires_grad=True))
    node, names = jacobian.grad_fn, []
    for _ in range(4):
        names.append(node.name())
        node = node.next_functions[0][0]
    assert names == [last, "SplitWithSizesBackward0", "PermuteBackward0", "MulBackward0"]


@pytest.mark.parametrize("f, expected", [(lambda x: x.softmax(0), [-0.5, 0.5]), (lambda x: x.exp(), [2, 4]), (lambda x: x.logsumexp(0), 3)])
def test_a_result_written_in_place_has_a_forward_derivative(f, expected):
    """Forward mode reads what was there when the call was made: nothing is saved that a write could spoil."""
    def g(x):
        y = f(x)
        y.mul_(2)
        return y
    x, v = torch.zeros(2), torch.tensor([1.0, 2.0])
    assert torch.func.jvp(g, (x,), (v,))[1].tolist() == expected
    assert torch.func.linearize(g, x)[1](v).tolist() == expected
    assert (torch.func.jacfwd(g)(x) @ v).tolist() == expected
