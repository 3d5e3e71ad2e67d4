"""What batched functions are given may be written before their backward, which computes them again: gradients are those of what was given,
or the write is refused, as in torch; nothing is guessed."""
import pytest

import torchshim as torch


def leaves():
    a = torch.tensor([-1.25, 1.5, .75], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([.5, 2., -.75], dtype=torch.float64, requires_grad=True)
    return a, b, a * 1, b * 1


def written(t, how):
    if how == "data":
        t.data.mul_(2)
    elif how == "history":
        t.mul_(2)
    else:
        with torch.no_grad():
            t.mul_(2)


@pytest.mark.parametrize("how", ["data", "history", "no_grad"])
@pytest.mark.parametrize("f", [lambda x, y: x + y, lambda x, y: x.exp() + y.exp()])
def test_a_batched_functions_gradient_is_that_of_what_it_was_given(f, how):
    """Its backward computes it again: not with what its arguments hold, and where they come from, by then."""
    a, b, x, y = leaves()
    r = torch.vmap(f, in_dims=(0, None))(x, y)
    expected = torch.autograd.grad(r.sum(), (a, b), retain_graph=True)
    written(x, how)
    written(y, how)
    r.sum().backward()
    assert a.grad.tolist() == expected[0].tolist() and b.grad.tolist() == expected[1].tolist()


@pytest.mark.parametrize("captured", [True, False])
def test_writes_to_what_a_batched_function_saved_from_outside_are_refused(captured):
    a, b, x, y = leaves()
    r = torch.vmap(lambda x: x * y)(x) if captured else torch.vmap(lambda x, y: x * y, in_dims=(0, None))(x, y)
    written(y, "no_grad")
    with pytest.raises(RuntimeError, match=r"DoubleTensor \[3\]\], which is output 0 of Mul, is at version 1"):
        r.sum().backward()


def test_a_batched_function_does_not_guess_at_the_history_of_what_was_written_since():
    a, b, x, y = leaves()
    r = torch.vmap(lambda x: x + y)(x)
    written(y, "history")
    with pytest.raises(NotImplementedError, match="a vmap of a function that reads a tensor whose history was changed"):
        r.sum().backward()


def test_an_example_of_fewer_dimensions_than_what_it_meets_has_a_view_for_its_history():
    """torch makes them of the batch: hooks tell the order, a later write the shape."""
    a, b, x, y = leaves()
    r, seen = torch.vmap(lambda x, y: x * y, in_dims=(0, None))(x, y), []
    assert [f.name() for f, _ in r.grad_fn.next_functions] == ["ViewBackward0", "MulBackward0"]
    for t in (x, y):
        t.register_hook(lambda g, t=t: seen.append(t is x))
    r.sum().backward(retain_graph=True)
    assert seen == [False, True] and a.grad.tolist() == [1.75] * 3 and b.grad.tolist() == [1.] * 3
    written(x, "no_grad")
    with pytest.raises(RuntimeError, match=r"DoubleTensor \[3, 1\]\], which is output 0 of AsStrided, is at version 1"):
        r.sum().backward()


class Pushing(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin() * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos() * 2

    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0].cos() * 2


def test_a_jacobian_of_a_custom_function_counts_writes_to_its_argument():
    a, _, x, _ = leaves()
    r = torch.func.jacfwd(Pushing.apply)(x)
    written(x, "no_grad")
    with pytest.raises(RuntimeError, match=r"DoubleTensor \[3\]\], which is output 0 of AsStrided, is at version 1; expected version 0"):
        r.sum().backward()


@pytest.mark.parametrize("derive", [lambda f, x: torch.func.grad(lambda y: f(y).sum())(x), torch.func.jacrev, torch.vmap,
                                    lambda f, x: torch.vmap(torch.func.grad(lambda y: f(y).sum()))(x)])
@pytest.mark.parametrize("f", [torch.sin, lambda x: x ** 3, Pushing.apply])
def test_one_of_several_views_that_lost_its_history_is_named_as_itself(derive, f):
    """Not as what the derivative made of it."""
    a = torch.tensor([-1.25, 1.5], dtype=torch.float64, requires_grad=True)
    x = a.split(1)[1]
    r = derive(f)(x) if derive in (torch.func.jacrev, torch.vmap) else derive(f, x)
    written(x, "no_grad")
    with pytest.raises(RuntimeError, match="Output 1 of Split is a view and its base or another view of its base has been modified"):
        r.sum().backward()


@pytest.mark.parametrize("derive", [lambda f, x: torch.func.jacrev(f)(x), lambda f, x: torch.func.grad(lambda y: f(y).sum())(x),
                                    lambda f, x: torch.func.vjp(f, x)[1](torch.ones(3, dtype=torch.float64))[0]])
def test_of_an_argument_without_history_what_was_made_of_it_is_kept(derive):
    """torch saves the cosine of what has no history, and the factor itself."""
    _, b, _, y = leaves()
    x = torch.ones(3, dtype=torch.float64)
    made, product = derive(lambda t: t.sin() * y, x), derive(lambda t: (t * t) * y, x)
    x.mul_(2)
    made.sum().backward()
    assert b.grad.tolist() == pytest.approx([0.5403023] * 3)
    with pytest.raises(RuntimeError, match=r"DoubleTensor \[3\]\] is at version 1; expected version 0"):
        product.sum().backward()


def test_hooks_on_what_a_jacobian_does_not_reach_do_not_change_what_it_keeps():
    a, _, x, _ = leaves()
    a.register_hook(lambda g: g + 1)
    made = torch.func.jacrev(lambda t: t * a)(x)
    written(x, "no_grad")
    made.sum().backward()
    assert a.grad.tolist() == [2., 2., 2.]


def test_what_wants_a_gradient_only_later_gets_none_through_a_batch():
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 2.)
    z = torch.func.vmap(lambda a, b: a * b, in_dims=(0, None))(x, y)
    y.requires_grad = True
    z.sum().backward()
    assert x.grad.tolist() == [4., 4.] and y.grad is None


@pytest.mark.parametrize("shapes, seen", [
    (((3,), (2, 3)), r"\[3, 1, 1\]"), (((3, 2), (2, 2)), r"\[3, 1, 2\]"), (((3, 2), (2,)), r"\[3, 2\]")])
def test_an_argument_without_history_was_saved_as_a_batch_with_the_dimensions_of_the_other(shapes, seen):
    x, y = torch.ones(shapes[0]), torch.ones(shapes[1], requires_grad=True)
    z = torch.func.vmap(lambda a, b: a * b, in_dims=(0, None))(x, y)
    x.add_(1)
    with pytest.raises(RuntimeError, match=rf"\[torch.FloatTensor {seen}\] is at version 1; expected version 0"):
        z.sum().backward()


@pytest.mark.parametrize("how, expected", [
    (lambda x: torch.func.grad(torch.sin)(x), 0.7568), (lambda x: torch.func.grad(lambda y: y * y * y)(x), 20.0),
    (lambda x: torch.func.vjp(torch.sin, x)[1](torch.ones((), dtype=x.dtype))[0], 0.7568), (lambda x: torch.func.jacrev(torch.sin)(x), 0.7568),
    (lambda x: torch.func.grad(torch.exp)(x), 7.3891), (lambda x: torch.func.jacfwd(torch.sin)(x), -0.9093),
    (lambda x: torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))[1], -0.9093)])
@pytest.mark.parametrize("leaf", [True, False])
def test_an_argument_that_gets_other_memory_is_read_there(how, expected, leaf):
    """What a function got for it is the argument itself in reverse mode, and a view of it in forward mode."""
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = x if leaf else x * 1
    made = how(y)
    y.data = y.detach() * 2
    made.backward()
    assert round(x.grad.item(), 4) == expected
