"""What torch.autograd has beside backward: hooks on several gradients, writes to saved tensors, nodes as functions, Variable."""
import pytest

import torchshim as torch
from torchshim.autograd import Variable, forward_ad, graph


def test_multi_grad_hooks_wait_for_what_the_pass_computes():
    a, b = (torch.rand(2, requires_grad=True) for _ in range(2))
    c, d = a * b, a + b
    seen, first = [], []
    graph.register_multi_grad_hook((a, b, c, d), lambda gs: seen.append([g is not None for g in gs]))
    handle = graph.register_multi_grad_hook((a, c), first.append, mode="any")
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    assert seen == [[True, True, True, False], [True, False, True, False]]
    assert len(first) == 2 and torch.equal(first[0], torch.ones(2))
    handle.remove()
    c.sum().backward()
    assert len(first) == 2


def test_saved_tensors_may_be_written_where_allowed():
    a = torch.rand(2, 3, requires_grad=True)
    with graph.allow_mutation_on_saved_tensors() as state:
        b = a.clone()
        out = (b ** 2).sum()
        b.sin_()
        assert len(state.cloned) == 1
        out.backward()
        assert torch.allclose(a.grad, 2 * a) and not state.cloned
        late = (a.clone() ** 2).sum()
    with pytest.raises(AssertionError, match="Trying to backward outside of"):
        late.backward()


def test_a_node_is_a_function_of_gradients():
    x = torch.ones(1, requires_grad=True)
    assert (x * x).grad_fn(torch.ones(1))[0].item() == 1
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        (x * x).grad_fn(x, x)


def test_a_gradient_edge_is_a_root():
    x = torch.rand(2, requires_grad=True)
    middle = x.sin()
    out = middle.exp().sum()
    e = graph.get_gradient_edge(middle)
    g, = torch.autograd.grad(out, e)
    torch.autograd.backward(e, g)
    assert torch.allclose(x.grad, torch.autograd.grad(x.sin().exp().sum(), x)[0])


def test_variable_is_a_leaf_on_the_same_data():
    x = torch.rand(2)
    v = Variable(x, requires_grad=True)
    assert v.requires_grad and not Variable(x).requires_grad and v.data_ptr() == x.data_ptr() and isinstance(x, Variable)


def test_hooks_see_missing_gradients_and_may_not_return():
    x = torch.randn(3, requires_grad=True)
    parts, seen = x.unbind(), []
    parts[0].register_hook(seen.append)
    parts[1].backward()
    assert seen == [None]
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        (x * 2).sum().backward()


def test_gradcheck_of_forward_mode():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 3
    x = torch.rand(2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: (x.sin() * x, x.cumsum(0)), x, check_forward_ad=True)
    assert torch.autograd.gradcheck(lambda x: x * x.conj(), x.detach().to(torch.cdouble).requires_grad_(), check_forward_ad=True)
    with pytest.raises(torch.autograd.GradcheckError, match="Jacobian computed with forward mode mismatch"):
        torch.autograd.gradcheck(Wrong.apply, x, check_forward_ad=True)
    assert forward_ad._current_level == -1


def test_functions_return_and_write_what_they_say():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            return y, y

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 2

    class Lost(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1).clone()
    x = torch.rand(2, requires_grad=True)
    a, b = Twice.apply(x)
    assert a is b
    (a + b).sum().backward()
    assert torch.equal(x.grad, torch.full((2,), 4.0))
    with pytest.raises(RuntimeError, match="marked as dirty during the forward"):
        Lost.apply(x.clone())


def test_a_reshape_that_sees_memory_with_gaps_is_called_an_alias():
    x = torch.ones(3, 2, requires_grad=True) * 1
    for y in (x[:, 0].reshape(3, 1), x.t()[::2].reshape(-1), x[::2].reshape(2, 2, 1), x[:, :1].flatten()):
        assert type(y.grad_fn).__name__ == "ReshapeAliasBackward0" and y._is_view()
    for y in (x.reshape(2, 3), x[:1].reshape(-1), x[:, 0].view(1, 3)):
        assert type(y.grad_fn).__name__ == "ViewBackward0"
    assert type(x.t().reshape(-1).grad_fn).__name__ == "UnsafeViewBackward0"


@pytest.mark.parametrize("f, n", [
    (lambda y: y.add_(1), 2), (lambda y: y * 2, 2), (lambda y: y.pow_(2), 1), (lambda y: y.clamp(-1, 1), 1),
    (lambda y: y.masked_fill(y > 0, 1.), 1),
    (lambda y: torch.where(y > 0, y, 2.), 2), (lambda y: y.lerp(torch.ones(3), 0.5), 2), (lambda y: y[torch.tensor([0])], 1),
    (lambda y: y.scatter_(0, torch.tensor([0]), torch.ones(1)), 2)])
def test_edges_of_numbers_and_of_what_says_where(f, n):
    y = f(torch.ones(3, requires_grad=True) * 1)
    assert [g and g.name() for g, _ in y.grad_fn.next_functions] == ["MulBackward0", None][:n]


def _below(y):
    return [g and g.name() for g, _ in y.grad_fn.next_functions]


@pytest.mark.parametrize("f", [
    torch.heaviside, torch.floor_divide, lambda x, y: x.scatter(0, torch.tensor([0, 1]), y, reduce="add"),
    lambda x, y: (x * 1).heaviside_(y * 1)])
def test_what_has_no_derivative_has_edges_to_what_wants_one_alone(f):
    x, y = torch.ones(2), torch.ones(2, requires_grad=True) * 1
    assert _below(f(x, y)) == ["MulBackward0"] and _below(f(y, y)) == ["MulBackward0"] * 2


def test_what_has_no_second_derivative_has_the_cotangent_first():
    x = torch.ones(2, requires_grad=True)
    for g, below in ((torch.ones(2), ["torch::autograd::AccumulateGrad"]),
                     (torch.ones(2, requires_grad=True) * 2, ["MulBackward0", "torch::autograd::AccumulateGrad"])):
        made, = torch.autograd.grad(torch.nn.functional.hardsigmoid(x), x, g, create_graph=True)
        assert made.grad_fn.name() == "torch::autograd::NotImplemented" and _below(made) == below


def test_none_for_a_rounding_mode_is_not_its_absence():
    """torch has two overloads of div, and of round one that takes decimals and one that has none."""
    x = torch.tensor([1.0, -2.5], requires_grad=True)
    assert torch.div(x, 2).grad_fn.name() == (x / 2).grad_fn.name() == "DivBackward0"
    for made in (torch.div(x, 2, rounding_mode=None), x.div(x, rounding_mode=None), (x * 1).div_(2, rounding_mode=None)):
        assert made.grad_fn.name() == "DivBackward2"
    assert torch.autograd.grad(torch.div(x, 2, rounding_mode=None).sum(), x)[0].tolist() == [0.5, 0.5]
    assert torch.div(torch.tensor([3]), 2, rounding_mode=None).tolist() == [1.5]
    with pytest.raises(TypeError, match=r"^round\(\): argument 'decimals' must be int, not NoneType"):
        x.round(decimals=None)
    with pytest.raises(TypeError, match=r"^pairwise_distance\(\): argument 'x1' \(position 1\) must be Tensor, not int"):
        torch.nn.functional.pairwise_distance(3, x)


def test_nodes_of_batched_calls_and_lookups_are_not_of_a_function():
    """torch's own nodes are of no module, whatever makes them here: their repr is `<AddBackward0 object at ...>`."""
    out = torch.func.vmap(lambda w: w + 1)(torch.ones(3, 2, requires_grad=True))
    found = torch.nn.Embedding(3, 2, sparse=True)(torch.tensor([1]))
    assert repr(out.grad_fn).startswith("<AddBackward0 object at") and repr(found.grad_fn).startswith("<EmbeddingBackward0 object at")


def test_a_layer_without_data_refuses_what_has_some():
    with pytest.raises(RuntimeError, match="Tensor on device meta is not on the expected device cpu!"):
        torch.nn.Linear(2, 2, device="meta")(torch.ones(1, 2))
    assert torch.nn.Linear(2, 2, device="meta")(torch.ones(1, 2, device="meta")).shape == (1, 2)
