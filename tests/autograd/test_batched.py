"""Jacobians by one walk over the graph for all rows: the function runs once and is traced by nobody,
and answers are those of single rows."""
import jax
import numpy as np
import pytest

import torchshim as torch
from torchshim.autograd import functional
from torchshim.engine import stats

torch.manual_seed(0)
W = torch.randn(6, 6, dtype=torch.float64)


def written(x):
    y = x.clone()
    y[2:5] = x[:3] ** 2
    y.mul_(2)
    return y.view(2, 3)[:, 1:]


def reused(x):
    h = torch.tanh(W @ x)
    return h * x.sin() + (h.cumsum(0) / (1 + x.exp().sum())).roll(1)


FUNCTIONS = {"reused": reused, "written": written, "scalar": lambda x: x.prod() * W.sum(), "constant": lambda x: W[0],
             "two outputs": lambda x: (x.sort()[0], torch.stack([x, x * x]).max(0)[0])}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_at_once_are_rows_alone(name, monkeypatch):
    f, x = FUNCTIONS[name], torch.randn(6, dtype=torch.float64)

    def numbers(J):
        return [j.numpy() for j in (J if isinstance(J, tuple) else (J,))]
    with monkeypatch.context() as m:
        m.setattr(functional, "row_gradients", lambda *args: None)
        want = numbers(functional.jacobian(f, x))
    for got in (functional.jacobian(f, x), functional.jacobian(f, x, vectorize=True, strategy="forward-mode"), torch.func.jacrev(f)(x),
                torch.func.jacrev(f, chunk_size=2)(x), torch.func.jacfwd(f)(x)):
        for a, b in zip(numbers(got), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, strict=True)


def test_second_derivatives_and_graphs_of_jacobians():
    def f(x):
        return torch.tanh(W @ x).pow(2).sum() + x.prod()
    x = torch.randn(6, dtype=torch.float64)
    rows = [torch.autograd.grad(g, y, retain_graph=True)[0] for y in [x.clone().requires_grad_()]
            for g in torch.autograd.grad(f(y), y, create_graph=True)[0]]
    want = torch.stack(rows).numpy()
    for got in (functional.hessian(f, x), torch.func.hessian(f)(x), torch.func.jacrev(torch.func.jacrev(f))(x)):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-12)
    assert torch.autograd.gradcheck(lambda x: functional.jacobian(reused, x, create_graph=True), x.requires_grad_())


def test_the_function_runs_once_and_nothing_is_traced_again(monkeypatch):
    calls = []

    def f(x):
        calls.append(x.requires_grad)
        return reused(x) if x[0] > -100 else x         # it may look at values
    for _ in range(2):
        functional.jacobian(f, torch.randn(6, dtype=torch.float64)).numpy()
        functional.hessian(lambda x: f(x).sum(), torch.randn(6, dtype=torch.float64)).numpy()
    traced, real, before = [], jax.make_jaxpr, stats()["immediate"]
    monkeypatch.setattr(jax, "make_jaxpr", lambda *a, **k: traced.append(a) or real(*a, **k))
    calls.clear()
    functional.jacobian(f, torch.randn(6, dtype=torch.float64)).numpy()
    functional.hessian(lambda x: f(x).sum(), torch.randn(6, dtype=torch.float64)).numpy()
    assert calls == [True, True] and not traced and stats()["immediate"] == before


def test_what_watches_the_graph_sees_one_cotangent_at_a_time():
    seen = []

    def f(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(tuple(g.shape)))
        return y * y
    x = torch.tensor([1.0, 2.0])
    assert functional.jacobian(f, x).tolist() == [[8, 0], [0, 16]] and seen == [(2,), (2,)]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_root_that_leads_nowhere_tells_its_hooks(create_graph):
    seen, x, root = [], torch.ones(2, 1, requires_grad=True), torch.ones((), requires_grad=True)
    root.register_hook(lambda g: seen.append(g.shape))
    g, = torch.autograd.grad(root, [x], torch.ones(2), is_grads_batched=True, create_graph=create_graph, allow_unused=True)
    assert g is None and set(seen) == {()}


@pytest.mark.parametrize("f, name", [
    (lambda x: torch.complex(x, x * 0.5), None), (lambda x: x + x * 0.5, None), (lambda x: torch.stack([x, x * 2]), None),
    (torch.exp, "MulBackward0"), (torch.relu, "ThresholdBackwardBackward0"), (torch.abs, "MulBackward0")])
def test_rows_of_gradients_have_the_history_that_one_has(f, name):
    """What a gradient does not depend on gives it none, and its node is named after the operator, as for a single cotangent."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = f(x)
    g, = torch.autograd.grad(y, x, torch.ones(2, *y.shape, dtype=y.dtype), is_grads_batched=True, create_graph=True)
    assert (g.grad_fn and g.grad_fn.name()) == name and g.shape == (2, 2)


X = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
ROWS = torch.eye(3)


def _rows_with(hook=None, pre=None, post=None, **options):
    y = (X * X).sin()
    for given, register in ((hook, y.register_hook), (pre, y.grad_fn.register_prehook), (post, y.grad_fn.register_hook)):
        if given is not None:
            register(given)
    return torch.autograd.grad(y, X, ROWS, is_grads_batched=True, **options)[0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_are_called_once_and_see_an_example(create_graph):
    calls, plain = [], _rows_with()

    def noting(change):
        return lambda *gs: calls.append([tuple(g.shape) for g in (gs[0] if isinstance(gs[0], tuple) else gs)]) or change(gs[0])
    made = [_rows_with(hook=noting(lambda g: g * 2), create_graph=create_graph),
            _rows_with(pre=noting(lambda gs: (gs[0] * 2,)), create_graph=create_graph),
            _rows_with(post=lambda made, given: noting(lambda gs: (gs[0] * 2,))(made), create_graph=create_graph)]
    assert all([torch.equal(m.detach(), plain * 2) for m in made]) and calls == [[(3,)]] * 3
    const = _rows_with(hook=lambda g: torch.ones(3), create_graph=create_graph)
    assert torch.equal(const.detach(), plain.diagonal().expand(3, 3))
    _rows_with(hook=lambda g: calls.append(g.norm().shape), create_graph=create_graph)
    assert calls[3:] == [()]


@pytest.mark.parametrize("look, text", [
    (lambda g: g.sum().item(), "Batching rule not implemented for aten::item. We could not generate a fallback."),
    (lambda g: bool(g.sum() > 0), "Batching rule not implemented for aten::is_nonzero. We could not generate a fallback."),
    (repr, "Batching rule not implemented for aten::is_nonzero. We could not generate a fallback."),
    (lambda g: g.detach(), "Batching rule not implemented for aten::detach; the fallback path doesn't work on out= or view ops."),
    (lambda g: g.tolist(), "Cannot access data pointer of Tensor that doesn't have storage"),
    (lambda g: torch.equal(g, g), "Batching rule not implemented for aten::equal. We could not generate a fallback."),
    (torch.rand_like, "vmap: We do not yet support calling random operations inside of vmap"),
    (lambda g: torch.zeros(3).add_(g), r"vmap: aten::add_\(self, \*extra_args\) is not possible because there exists a Tensor `other`"),
    (lambda g: g.sum(), "has changed the size of value"), (lambda g: g.double(), "has changed the type of value")])
def test_what_a_hook_may_not_ask_of_a_batch(look, text):
    calls = []
    with pytest.raises(RuntimeError, match=text):
        _rows_with(hook=lambda g: calls.append(1) or look(g))
    assert calls == [1]


def test_vectorized_jacobians_call_hooks_custom_functions_and_unpacking_once():
    calls = []

    def noted(x):
        y = x * x
        y.register_hook(lambda g: calls.append(tuple(g.shape)))
        return y.sin(), y.sum()
    many = functional.jacobian(noted, X.detach(), vectorize=True)
    assert calls == [(3,)] and [m.shape for m in many] == [(3, 3), (3,)] and many[1].tolist() == [2, 4, 6]

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            calls.append(tuple(g.shape))
            return 2 * g * ctx.saved_tensors[0]
    assert functional.jacobian(Square.apply, X.detach(), vectorize=True).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    assert calls == [(3,)] * 2
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: calls.append("unpacked") or t):
        y = X.exp()
    torch.autograd.grad(y, X, ROWS, is_grads_batched=True)
    assert calls[2:] == ["unpacked"]


def test_hooks_on_several_gradients_see_one_batch():
    seen, a, b = [], X * 2, X * 3
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda gs: seen.append([g.shape for g in gs] + [(gs[0] * gs[1]).shape]))
    g, = torch.autograd.grad(a * b, X, ROWS, is_grads_batched=True)
    assert seen == [[(3,)] * 3] and g.tolist() == [[12, 0, 0], [0, 24, 0], [0, 0, 36]]


def test_a_transform_prints_the_batch_that_a_hook_sees(capsys):
    def f(x):
        y = x * x
        y.register_hook(print)
        return y * 2
    torch.func.jacrev(f)(torch.ones(2))
    torch.func.vmap(lambda x: print(x * 2) or x)(torch.ones(2))
    assert capsys.readouterr().out.splitlines() == [
        "BatchedTensor(lvl=1, bdim=0, value=", "    tensor([[2., 0.],", "            [0., 2.]])", ")",
        "BatchedTensor(lvl=1, bdim=0, value=", "    tensor([2., 2.])", ")"]


@pytest.mark.parametrize("create_graph", [False, True])
def test_nobody_can_look_at_what_is_retained_of_a_batch(create_graph):
    y = X * X
    y.retain_grad()
    z = y.sin()
    for _ in range(2):
        torch.autograd.grad(z, X, ROWS, is_grads_batched=True, retain_graph=True, create_graph=create_graph)
        assert y.grad.shape == (3,) and y.grad.dtype is torch.float32
    for look in (repr, torch.Tensor.tolist, lambda g: g.sum().item(), lambda g: bool(g.sum() > 0)):
        with pytest.raises(RuntimeError, match="Batching rule not implemented for aten::"):
            look(y.grad)
    y.grad = None
    z.sum().backward()
    assert torch.equal(y.grad, y.detach().cos())
