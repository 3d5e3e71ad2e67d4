"""Protects gradients that are missing: who sees None, what is materialised, and what gradcheck makes of it; and batches of cotangents."""
import pytest

import torchshim as torch


class Lost(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return None


class Seen(torch.autograd.Function):
    seen = []

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        Seen.seen.append(g.tolist())
        return g


def test_a_missing_gradient_goes_on_as_none_and_custom_functions_get_zeros():
    x, told = torch.ones(2, requires_grad=True), []
    y = x * 3
    y.register_hook(lambda g: told.append(("tensor", g)))
    y.grad_fn.register_prehook(lambda gs: told.append(("pre", gs)))
    y.grad_fn.register_hook(lambda ins, outs: told.append(("post", outs)))
    x.register_hook(lambda g: told.append(("leaf", g)))
    Lost.apply(y).sum().backward()
    assert told == [("tensor", None), ("pre", (None,)), ("post", (None,)), ("leaf", None)] and x.grad is None
    Lost.apply(Seen.apply(x)).sum().backward()
    assert Seen.seen == [[0, 0]] and x.grad.tolist() == [0, 0]


def test_a_product_has_no_second_derivative_in_one_factor():
    x, a = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    d = torch.autograd.grad(x * a, x, create_graph=True)
    assert torch.autograd.grad(d, x, create_graph=True, allow_unused=True) == (None,)
    assert torch.autograd.grad(d, a)[0].item() == 1


def test_rows_of_cotangents():
    x, z = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.ones(2, requires_grad=True)
    y = x ** 2
    rows, none = torch.autograd.grad(y, [x, z], torch.eye(3), is_grads_batched=True, retain_graph=True, allow_unused=True)
    assert rows.tolist() == torch.diag(2 * x.detach()).tolist() and none is None
    assert torch.autograd.grad(y, [x, z], torch.eye(3), is_grads_batched=True, materialize_grads=True)[1].shape == (2,)
    with pytest.raises(RuntimeError, match="^Trying to backward through the graph a second time"):
        torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="^If `is_grads_batched=True`, we interpret"):
        torch.autograd.grad(x * 2, x, torch.ones(2, 2), is_grads_batched=True)


def test_gradcheck_of_missing_gradients_and_batches():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)

    def unbalanced(t):
        def hook(g):
            if g is None:
                raise RuntimeError("nothing came")
        y = t.clone()
        y.register_hook(hook)
        return y
    with pytest.warns(UserWarning, match="undefined gradient"), pytest.raises(RuntimeError, match="handle undefined output grads"):
        torch.autograd.gradcheck(unbalanced, x)
    assert torch.autograd.gradcheck(lambda t: (t * t, t.sin()), x, check_batched_grad=True, check_forward_ad=True,
                                    check_batched_forward_grad=True)
    with pytest.raises(AssertionError, match="same shape when inputs are perturbed"):
        torch.autograd.gradcheck(lambda t: torch.cat([t, t]) if bool((t >= 1).all()) else t, x)


def test_views_keep_their_gradient_when_another_writes():
    base = torch.tensor([1.0], requires_grad=True).clone()
    one, other = base[:], base[:]
    one.retain_grad()
    other.retain_grad()
    one.mul_(2)
    (one + other).sum().backward()
    assert one.grad.tolist() == other.grad.tolist() == [1]


def test_a_second_derivative_through_a_write_into_a_view():
    x = torch.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
    y = (x * 1).view(4).relu_()                # what relu saves leads to its own node, inside of the write
    (g,) = torch.autograd.grad(y.pow(2), x, torch.ones(4), create_graph=True)
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [[2, 0], [2, 2]]
    with pytest.raises(RuntimeError, match="^Trying to backward through the graph a second time"):
        torch.autograd.grad(g.sum(), x)


def test_hooks_of_a_leaf_are_told_of_an_undefined_gradient():
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x, told = torch.ones(2, requires_grad=True), []
    x.register_hook(lambda g: told.append(("tensor", g)))
    x.register_post_accumulate_grad_hook(lambda t: told.append(("after", t.grad)))
    accumulator = x.view_as(x).grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda gs: told.append(("pre", gs)))
    accumulator.register_hook(lambda made, given: told.append(("post", made, given)))
    Nothing.apply(x).sum().backward()
    assert told == [("tensor", None), ("pre", (None,)), ("after", None), ("post", (), (None,))] and x.grad is None


def test_an_edge_has_no_zeros():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        torch.autograd.grad(x.sum(), torch.autograd.graph.get_gradient_edge(y), materialize_grads=True)


def _grads(f, *xs):
    xs = [x.clone().requires_grad_() for x in xs]
    return [g if g is None else g.tolist() for g in torch.autograd.grad(f(*xs), xs, allow_unused=True)]


def test_an_unused_result_has_an_undefined_cotangent_and_not_zeros():
    """Zeros would meet the infinities of the part that nobody uses."""
    one, eye = torch.ones(1), torch.eye(2)
    for f in (torch.var_mean, torch.std_mean):
        assert _grads(lambda x: f(x, 0)[1], one) == [[1.0]]
    assert _grads(lambda x, A: torch.triangular_solve(x, A)[1].sum(), eye, eye * 0) == [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]
    for f in (torch.linalg.eigh, torch.linalg.eig):
        assert _grads(lambda x: f(x)[0].real.sum(), eye) == [[[1, 0], [0, 1]]]
    assert _grads(lambda x: torch.linalg.svd(x)[1].sum(), eye) == [[[1, 0], [0, 1]]]
    x = torch.ones(1, requires_grad=True)
    g, = torch.autograd.grad(torch.var_mean(x, 0)[1], x, create_graph=True)
    assert g.tolist() == [1]


def test_results_whose_cotangents_alone_make_no_gradient():
    assert _grads(lambda x: torch.linalg.slogdet(x)[0], torch.eye(2)) == [None]
    assert _grads(lambda x: torch.native_group_norm(x, None, None, 1, 2, 1, 1, 1e-5)[1].sum(), torch.ones(1, 2, 1)) == [None]
    assert _grads(lambda x, y: torch.linalg.lstsq(x, y)[1].sum(), torch.eye(2), torch.ones(2, 1)) == [None, None]
    x = torch.tensor([[[0., 2.], [4., 6.]]], requires_grad=True)
    _, mean, scale = torch.native_group_norm(x, None, None, 1, 2, 2, 1, 0.)
    assert torch.autograd.grad(4 * mean.sum() + 0 * scale.sum(), x)[0].tolist() == [[[1., 1.], [1., 1.]]]       # both together do


@pytest.mark.parametrize("f", [lambda x: torch.linalg.eigh(x)[1], lambda x: torch.linalg.eig(x)[1].real, lambda x: torch.linalg.svd(x)[0],
                               lambda x: torch.linalg.svd(x)[2]])
def test_vectors_of_equal_values_have_no_gradient(f):
    """torch divides by the gaps between the values."""
    assert str(_grads(lambda x: f(x).sum(), torch.eye(2))) == "[[[nan, nan], [nan, nan]]]"
