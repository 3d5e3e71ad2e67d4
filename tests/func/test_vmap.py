"""Protects vmap's seams: results that are views of what was given, random numbers per example, a Function's own rule,
and what is printed."""
import pytest

import torchshim as torch
from torchshim.func import grad, jvp, vmap


def test_results_that_are_views_share_the_memory_of_the_argument():
    x = torch.arange(24.0).reshape(2, 3, 4)
    y = vmap(lambda t: t.T[1:], in_dims=1)(x)
    assert y.shape == (3, 3, 2) and y._base is x._base and y.stride() == (4, 1, 12) and y.storage_offset() == 1
    y.zero_()
    assert x[:, :, 1:].abs().sum().item() == 0 and x[1, 0, 0].item() == 12
    z = torch.view_as_real(torch.ones(3, 2, dtype=torch.complex64))
    assert vmap(torch.view_as_complex)(z)._base is z._base
    windows = vmap(lambda t: t.unfold(0, 2, 1))(x[0])
    assert windows.tolist() == x[0].unfold(1, 2, 1).tolist() and windows.stride() == x[0].unfold(1, 2, 1).stride()


def test_views_inside_views_and_gradients_through_them():
    x = torch.arange(12.0).reshape(2, 3, 2).requires_grad_()
    y = vmap(vmap(lambda t: t[:1], in_dims=1), in_dims=0)(x)
    assert y.tolist() == x.transpose(1, 2)[:, :, :1].tolist()
    (y * torch.arange(4.0).reshape(2, 2, 1)).sum().backward()
    assert x.grad[:, 0].tolist() == [[0, 1], [2, 3]] and x.grad[:, 1:].abs().sum().item() == 0


def test_an_argument_that_is_returned_is_the_callers():
    x = torch.ones(2, 3)
    assert vmap(lambda t: t)(x) is x and vmap(lambda t: t.exp_())(x) is x and x[0, 0].item() > 2.7
    assert vmap(lambda t: t.is_contiguous() and t * 0 or t * 0 + 1, in_dims=1)(x).tolist() == [[1, 1]] * 3


def test_different_numbers_are_one_draw_of_the_whole_batch():
    draws = [(lambda t: torch.randn(2), lambda: torch.randn(3, 2)),
             (lambda t: torch.bernoulli(t), lambda: torch.bernoulli(torch.full((3, 4), 0.5))),
             (lambda t: torch.multinomial(t, 2), lambda: torch.multinomial(torch.full((3, 4), 0.5), 2)),
             (lambda t: t.clone().normal_(), lambda: torch.empty(3, 4).normal_()),
             (lambda t: torch.randperm(4), lambda: torch.stack([torch.randperm(4) for _ in range(3)]))]
    for inside, outside in draws:
        torch.manual_seed(0)
        got = vmap(inside, randomness="different")(torch.full((3, 4), 0.5))
        torch.manual_seed(0)
        assert torch.equal(got, outside())
    torch.manual_seed(0)
    nested = vmap(vmap(lambda t: torch.rand(2), randomness="different"), randomness="different")(torch.zeros(2, 3))
    torch.manual_seed(0)
    assert torch.equal(nested, torch.rand(2, 3, 2))


def test_random_numbers_that_cannot_be_are_refused():
    x = torch.full((3, 4), 0.5)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(lambda t: torch.multinomial(t, 1))(x)
    with pytest.raises(RuntimeError, match="does not currently support same randomness with a batched tensor input"):
        vmap(lambda t: torch.bernoulli(t), randomness="same")(x)
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched tensor"):
        vmap(lambda t: torch.zeros(2).normal_() + t[0], randomness="different")(x)


def test_a_functions_own_rule_gets_whole_batches():
    seen = []

    class Ruled(torch.autograd.Function):
        @staticmethod
        def forward(x, k):
            return torch.from_numpy(x.numpy() ** 2) * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0] * ctx.k, None

        @staticmethod
        def vmap(info, in_dims, x, k):
            seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape)))
            return Ruled.apply(x.movedim(in_dims[0], 0), k), 0
    x = torch.arange(6.0).reshape(2, 3)
    assert vmap(lambda t: Ruled.apply(t, 3), in_dims=1)(x).tolist() == (x.T ** 2 * 3).tolist()
    assert seen == [(3, "error", (1, None), (2, 3))]
    assert vmap(vmap(lambda t: Ruled.apply(t, 1)))(x).tolist() == (x ** 2).tolist()
    assert vmap(grad(lambda t: Ruled.apply(t, 1).sum()))(x).tolist() == (2 * x).tolist()

    class Wrong(Ruled):
        @staticmethod
        def vmap(info, in_dims, x, k):
            return x, (None, None)
    with pytest.raises(RuntimeError, match="returned an incompatible"):
        vmap(lambda t: Wrong.apply(t, 1))(x)


def test_what_is_printed_inside():
    said = []

    def note(t):
        said.append(repr(t))
        return t.sum()
    x = torch.ones(2, 3)
    vmap(grad(note), in_dims=1)(x)
    assert said == ["GradTrackingTensor(lvl=2, value=\n    BatchedTensor(lvl=1, bdim=1, value=\n        tensor([[1., 1., 1.],\n"
                    "                [1., 1., 1.]])\n    )\n)"]


def test_a_function_under_jvp_may_write_to_its_argument():
    x, y, v = torch.zeros(3), torch.arange(3.0), torch.ones(3)
    out, tangent = jvp(lambda a, b: a.copy_(b * b), (x, y), (v, v))
    assert out.tolist() == [0, 1, 4] == x.tolist() and tangent.tolist() == [0, 2, 4]


@pytest.mark.parametrize("ask, text", [(lambda x: x.clone(memory_format=torch.channels_last), r"clone\(memory_format\) inside vmap"),
                                       (lambda x: x.contiguous(memory_format=torch.channels_last),
                                        "querying is_contiguous inside of vmap")])
def test_memory_formats_are_those_of_examples(ask, text):
    with pytest.raises(RuntimeError, match=text):
        torch.vmap(ask)(torch.ones(3, 2))


def test_the_primitives_of_a_batched_function_are_not_compiled_one_by_one():
    import jax
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if "backend_compile" in event else None)
    x = torch.rand(3, 4)
    vmap(lambda t: (t.sin() * 7.25).cumsum(0).atan().sum())(x)
    assert not compiled


def test_a_batched_result_is_named_as_its_last_operator():
    """Where gradients of something outside are wanted, `grad_fn` prints as in torch."""
    x, y = torch.ones(3, 4, requires_grad=True), torch.ones(3, 4, 4)
    for f, name in ((torch.sin, "SinBackward0"), (torch.sum, "SumBackward1"), (torch.dot, "SqueezeBackward1"),
                    (torch.mv, "SqueezeBackward1"), (torch.nn.functional.mse_loss, "MeanBackward1"),
                    (lambda a: a.clone().mul_(2), "MulBackward0")):
        args = (y, x) if f is torch.mv else (x, x) if f in (torch.dot, torch.nn.functional.mse_loss) else (x,)
        assert type(torch.func.vmap(f)(*args).grad_fn).__name__ == name


def test_each_result_of_several_has_the_name_of_its_own_history():
    x = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
    a, b, c = vmap(lambda t: (t.sin(), t.cos() * 2, t.sum()))(x)
    assert [t.grad_fn.name() for t in (a, b, c)] == ["SinBackward0", "MulBackward0", "SumBackward1"]
    got, = torch.autograd.grad(a.sum() + b.sum() + c.sum(), x)
    assert torch.allclose(got, x.cos() - 2 * x.sin() + 1)


def test_forward_derivatives_of_what_was_mapped_in_chunks():
    x = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    y = torch.func.vmap(torch.sin, chunk_size=1)(x)
    slopes = torch.func.jacfwd(torch.tanh)(y)
    torch.testing.assert_close(slopes, torch.diag(1 - torch.tanh(torch.sin(x)) ** 2))
    g, = torch.autograd.grad(slopes.sum(), x)
    torch.testing.assert_close(g, -2 * torch.tanh(y) * (1 - torch.tanh(y) ** 2) * torch.cos(x))


@pytest.mark.parametrize("f", [
    lambda x, y: torch.select_scatter(x, y, 0, 1), lambda x, y: torch.diagonal_scatter(x, y),
    lambda x, y: torch.slice_scatter(x, y[None], 0, 1, 2), lambda x, y: torch.quantile(x, y.abs() / 4, 0),
    lambda x, y: torch.nanquantile(x, y[0].abs() / 4, 0), lambda x, y: torch.func.grad(lambda a, b: torch.kron(a, b).sin().sum())(x, y),
    lambda x, y: torch.func.grad(lambda a, b: torch.diagonal_scatter(a, b).sin().sum(), (0, 1))(x, y)[0]])
def test_only_the_second_operand_is_batched(f):
    """What is written differs, not what it is written to; what is kept needs no `.data`."""
    x, ys = torch.arange(9.0).view(3, 3).sin(), torch.tensor([[1.0, -2.0, 3.0], [0.5, 1.5, -0.5]])
    assert torch.allclose(torch.func.vmap(f, (None, 0))(x, ys), torch.stack([f(x, y) for y in ys]))


def test_distributions_check_all_examples():
    """Each distribution checks its arguments and its values: under vmap of all examples at once, nested and with derivatives. As in torch, what
    is wrong in one example is refused."""
    x = torch.tensor([[0.2, 0.5], [0.3, 0.9]])
    normal = torch.distributions.MultivariateNormal(torch.tensor([1.0, -1.0]), torch.tensor([[1.0, 0.5], [0.5, 1.0]]))
    expected = torch.linalg.solve(normal.covariance_matrix, (normal.loc - x).T).T
    torch.testing.assert_close(vmap(grad(normal.log_prob))(x), expected)
    inside = vmap(lambda t: torch.distributions.Normal(0.0, t).log_prob(torch.tensor(1.0)))(x)
    torch.testing.assert_close(inside, torch.distributions.Normal(0.0, x).log_prob(torch.tensor(1.0)))
    nested = vmap(vmap(torch.distributions.Uniform(0.0, 1.0).log_prob))(x)
    assert nested.tolist() == [[0, 0], [0, 0]]
    with pytest.raises(ValueError, match="to be within the support"):
        vmap(torch.distributions.Uniform(0.0, 0.8).log_prob)(x)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        vmap(lambda t: torch.distributions.Normal(0.0, t).log_prob(1.0))(x - 0.4)


def test_one_hot_needs_the_number_of_classes():
    places = torch.tensor([0, 1])
    with pytest.raises(RuntimeError, match="^When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument."):
        vmap(torch.nn.functional.one_hot)(places)
    assert vmap(lambda t: torch.nn.functional.one_hot(t, 3))(places).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert vmap(lambda t: t + torch.nn.functional.one_hot(places).sum())(places).tolist() == [2, 3]      # of what is no example


def test_it_writes_in_place_to_arguments_with_a_history():
    x = torch.ones(3, 2, requires_grad=True)
    y, z = x * 1, torch.zeros(3, 2)
    r = torch.vmap(lambda t: t.mul_(2).add_(1))(y)
    assert r is y and y.grad_fn.name() == "AddBackward0" and y._version == 2 and y.tolist() == [[3, 3]] * 3
    torch.vmap(lambda t, u: u.add_(t * 3))(y, z)
    assert z.grad_fn.name() == "AddBackward0"
    z.sum().backward()
    assert x.grad.tolist() == [[6, 6]] * 3
    y = x * 1
    part = torch.vmap(lambda t: t[0].mul_(2), in_dims=1)(y)
    assert y.grad_fn.name() == "torch::autograd::CopySlices" and part.grad_fn.name() == "AsStridedBackward0"
    x.grad = None
    (y * torch.arange(6.).view(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 2], [2, 3], [4, 5]]
    for t in (x, x[1:]):
        with pytest.raises(RuntimeError, match="of a leaf Variable|a leaf Variable that requires grad"):
            torch.vmap(lambda t: t.mul_(2))(t)


def test_backward_draws_the_numbers_of_the_call():
    x = torch.ones(3, 2, requires_grad=True)
    y = x * 1
    r = torch.vmap(lambda t: t * torch.rand(2), randomness="different")(y)
    r.sum().backward()
    assert torch.equal(x.grad, r.detach())
