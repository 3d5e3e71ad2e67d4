"""What was saved for a second derivative, by a transform or a hook, is the memory that the program may still write."""
import contextlib

import pytest

import torchshim as torch

CUBED = {
    "grad": lambda y: torch.autograd.grad((y * y * y).sum(), y, create_graph=True)[0],
    "func.grad": torch.func.grad(lambda a: (a ** 3).sum()),
    "jacrev": torch.func.jacrev(lambda a: a ** 3),
    "jacfwd": torch.func.jacfwd(lambda a: a ** 3),
    "hessian": torch.func.hessian(lambda a: (a ** 3).sum()),
    "jvp": lambda y: torch.func.jvp(lambda a: a ** 3, (y,), (torch.ones(3),))[1],
    "vjp": lambda y: torch.func.vjp(lambda a: a ** 3, y)[1](torch.ones(3))[0],
    "hvp": lambda y: torch.autograd.functional.hvp(lambda a: (a ** 3).sum(), y, torch.ones(3), create_graph=True)[1],
    "vmap": torch.vmap(lambda a: a ** 3),
    "vmap of grad": torch.vmap(torch.func.grad(lambda a: a ** 3)),
}


@pytest.mark.parametrize("how", CUBED)
def test_an_input_written_before_backward_is_noticed(how):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    made = CUBED[how](y)
    y.mul_(2)
    which = "AsStrided" if how in ("jacfwd", "hessian", "jvp", "hvp") else "Mul"
    with pytest.raises(RuntimeError, match=rf"modified by an inplace operation: \[torch.FloatTensor \[3\]\], which is output 0 of {which}, "
                                           rf"is at "
                                           "version 1; expected version 0"):
        made.sum().backward()


def test_what_a_function_does_not_save_may_be_written():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    made = torch.func.jvp(lambda a: a * 3, (y,), (torch.ones(3),))[0] + torch.vmap(lambda a: a * 2)(y)
    y.mul_(2)
    made.sum().backward()
    assert x.grad.tolist() == [10, 10, 10]


def test_a_constant_saved_for_a_second_derivative_counts_writes():
    x, c = torch.ones(3, requires_grad=True), torch.ones(3, 3)
    g, = torch.autograd.grad((c[1] * x * x).sum(), x, create_graph=True)
    c.mul_(2)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        g.sum().backward()


def test_save_on_cpu_keeps_the_memory_of_an_output():
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = x.exp()
    kept = y.detach().clone()
    y.mul_(2)
    y.sum().backward()
    assert torch.equal(x.grad, kept * 4)


def test_pack_hooks_get_the_tensors_themselves():
    seen = []
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append((t.grad_fn and t.grad_fn.name(), t._version, t.tolist())) or t,
                                                  lambda t: t):
        y[1:].mul_(2).exp_()
        y.exp() * y
        y.max(0)
        y.pow_(2)
    a, b = 1.0, y.detach().sqrt()[1].item()
    assert [(name, version) for name, version, _ in seen] == [
        ("AsStridedBackward0", 2), ("ExpBackward0", 0), ("torch::autograd::CopySlices", 2), ("ExpBackward0", 0), (None, 0),
        ("CloneBackward0", 0)]
    assert seen[2][2] == pytest.approx([a, b, b]) and seen[4][2] == 1


def test_a_window_on_a_view_leads_to_the_view():
    x = torch.arange(6.0).requires_grad_()
    view = x.clone()[1:5]
    view.retain_grad()
    window = view.as_strided((2,), (1,))
    assert window.grad_fn.next_functions[0][0].name() == "SliceBackward0"
    window.sum().backward()
    assert view.grad.tolist() == [1, 1, 0, 0] and x.grad.tolist() == [0, 1, 1, 0, 0, 0]
    x.grad = None
    x.clone()[1:5].as_strided((2,), (1,), 0).sum().backward()       # what lies outside of the view gets nothing
    assert x.grad.tolist() == [0, 1, 0, 0, 0, 0]


def test_a_window_on_what_a_function_returned_goes_through_its_backward():
    class Passed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3
    x = torch.ones(3, requires_grad=True)
    Passed.apply(x).as_strided((2,), (1,)).sum().backward()
    assert x.grad.tolist() == [3, 3, 0]


@pytest.mark.parametrize("dim, named", [(-1, -1), (1, 1), ((-2, -1), -1)])
def test_an_extreme_of_nothing_names_the_dimension_as_it_was_given(dim, named):
    with pytest.raises(IndexError, match=rf"amax\(\): Expected reduction dim {named} to have non-zero size"):
        torch.zeros(3, 0).amax(dim)


def test_linearize_takes_a_number_that_is_expanded():
    for x in (torch.ones(1).expand(2), torch.ones(()).expand(2)):
        assert torch.func.linearize(lambda x: x * 2, x)[1](torch.ones_like(x)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.func.linearize(torch.sin, torch.ones(2, 1).expand(2, 3))


def test_linearize_asks_for_floating_point():
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.bool"):
        torch.func.linearize(torch.sin, torch.tensor([True]))


def _written(saved_by, write):
    """The error of a backward pass through what `saved_by` made of x, y after `write`."""
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True) * 1
    made = saved_by(x, y)
    write(y)
    with pytest.raises(RuntimeError) as found:
        made.sum().backward()
    return str(found.value).partition(". Hint")[0]


@pytest.mark.parametrize("saved_by, shape", [(lambda x, y: torch.outer(y, x), [2, 1]), (lambda x, y: torch.einsum("i,j->ij", x, y), [1, 2]),
                                             (lambda x, y: torch.einsum("i,j->ij", y, x), [2, 1])])
def test_operands_are_named_as_the_decomposition_sees_them(saved_by, shape):
    message = _written(saved_by, lambda y: y.mul_(2))
    assert f"[torch.FloatTensor {shape}], which is output 0 of AsStrided, is at version 1; expected version 0" in message


def test_the_folded_operand_of_a_product_is_named():
    x, w = (torch.ones(2, 2, 3, requires_grad=True) * 1), torch.ones(3, requires_grad=True)
    made = torch.matmul(x, w)
    x.mul_(2)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[4, 3\]\], which is output 0 of AsStrided, is at version 1"):
        made.sum().backward()


def test_losses_save_what_they_broadcast():
    x, y = torch.ones(3, 3, requires_grad=True), torch.ones(1)
    with pytest.warns(UserWarning, match="different to the input size"):
        made = torch.nn.functional.mse_loss(x, y)
    y.mul_(2)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[3, 3\]\] is at version 1; expected version 0"):
        made.backward()


def test_a_view_of_plain_memory_is_told_from_its_base():
    x, base = torch.ones(3, requires_grad=True), torch.zeros(3, 3)
    view = base.unsqueeze(0)
    made = torch.minimum(x, view)
    view.sub_(made)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[1, 3, 3\]\], which is output 0 of AsStrided, is at version 1"):
        made.sum().backward()


def test_a_saved_view_whose_history_is_lost_says_so():
    x = torch.ones(6, requires_grad=True) * 1
    with torch.no_grad():
        half = x[:3]
    turned = half.view(3)
    made = (turned * turned).sum()
    with torch.no_grad():
        half.mul_(2)
    with pytest.raises(RuntimeError, match=r"created in no_grad mode and its base or another view of its base has been modified inplace"):
        made.backward()


def test_functions_do_not_save_inference_tensors():
    with torch.inference_mode():
        kept = torch.ones(2)

    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(y)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, None
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        Kept.apply(torch.ones(2, requires_grad=True), kept)
    assert Kept.apply(torch.ones(2), kept).tolist() == [2, 2]


def test_scalars_of_an_empty_batch_do_not_promote():
    with pytest.raises(IndexError, match=r"select\(\): index 0 out of range for tensor of size \[0\] at dimension 0"):
        torch.vmap(lambda x: x * 2)(torch.zeros(0))
    assert torch.vmap(lambda x: x.sin() ** 2)(torch.zeros(0)).shape == (0,)
    assert torch.vmap(lambda x: x * 2)(torch.zeros(0, 2)).shape == (0, 2)


def test_a_view_has_its_history_after_forward_mode_was_used():
    with torch.autograd.forward_ad.dual_level():
        torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1)).sin()
    x = torch.ones(3, 2, requires_grad=True)
    row = x[0]
    x.detach_()
    x.add_(1)
    assert row.grad_fn.name() == "AsStridedBackward0" and not row.is_leaf


@pytest.mark.parametrize("looked_at, named", [(True, "Relu"), (False, "AsStrided")])
def test_what_wrote_a_view_is_named_by_the_views_history_while_that_is_there(looked_at, named):
    x = torch.ones(2, 3, requires_grad=True) * 1
    view = x.view_as(x)
    view.relu_()
    with torch.no_grad():
        view.sqrt_()
    if looked_at:
        assert view.grad_fn.name() == "AsStridedBackward0"
    with pytest.raises(RuntimeError, match=f"which is output 0 of {named}, is at version 2; expected version 1"):
        x.sum().backward()


@pytest.mark.parametrize("f", [lambda x: torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),)), torch.func.jacfwd(torch.sin),
                               torch.func.hessian(lambda x: x.sin().sum()), lambda x: torch.func.linearize(torch.sin, x)])
def test_a_tangent_is_laid_as_its_primal(f):
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        f(torch.arange(3.0).expand(2, 3))
    x = torch.arange(3.0).expand(2, 3)
    assert torch.func.jvp(torch.sin, (x,), (torch.ones(3).expand(2, 3),))[1].shape == (2, 3)


def test_what_inference_mode_leaves_out():
    x = torch.ones(2, 2, requires_grad=True)
    row = x[0]
    with torch.inference_mode():
        assert row.detach_() is row and row.grad_fn.name() == "SelectBackward0"
        alone = torch.ones(2)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(alone, torch.ones(2))
        assert torch.autograd.forward_ad.unpack_dual(dual.sin()).tangent is None
        assert torch.autograd.forward_ad.unpack_dual(dual * 2).tangent.tolist() == [2, 2]


def test_a_view_without_history_is_a_leaf_that_may_be_hooked():
    x = torch.ones(2, 2, requires_grad=True)
    with torch.no_grad():
        row = x[0]
    row.register_post_accumulate_grad_hook(print).remove()
    with pytest.raises(RuntimeError, match="cannot be registered on non-leaf tensors"):
        x[0].register_post_accumulate_grad_hook(print)


def test_nothing_is_rolled_along_any_dimension():
    assert torch.zeros(0).roll(1, 5).shape == (0,) and torch.zeros(0, 3).roll((1, 2), (-4, 1)).shape == (0, 3)


@pytest.mark.parametrize("shape, bias, said", [
    ((2, 3), True, r"\[3, 4\]\], which is output 0 of AsStrided"), ((3,), False, r"\[3, 4\]\], which is output 0 of AsStrided"),
    ((2, 2, 3), True, r"\[3, 4\]\], which is output 0 of AsStrided")])
def test_a_layers_weight_is_saved_transposed(shape, bias, said):
    layer = torch.nn.Linear(3, 4, bias=bias)
    y = layer(torch.rand(shape, requires_grad=True) * 1)
    with torch.no_grad():
        layer.weight.add_(1)
    with pytest.raises(RuntimeError, match=said):
        y.sum().backward()


@pytest.mark.parametrize("a, b, written, said", [
    ((3,), (3, 2), 0, r"\[1, 3\]\], which is output 0 of AsStrided"), ((2, 2, 3), (2, 3, 4), 1, r"\[2, 3, 4\]\], which is output 0 of "
    r"AsStrided"),
    ((2, 3), (3,), 1, r"\[3\]\], which is output 0 of Sin"), ((5, 1, 2, 3), (2, 3, 4), 0, None), ((5, 1, 2, 3), (2, 3, 4), 1, None)])
def test_products_save_what_their_kernels_get(a, b, written, said):
    x = [torch.rand(shape, requires_grad=True) * 1 for shape in (a, b)]
    y = x[0] @ x[1]
    x[written].sin_()
    if said is None:                           # a copy was saved
        y.sum().backward()
    else:
        with pytest.raises(RuntimeError, match=said):
            y.sum().backward()


def test_of_two_operands_the_kernels_names_say_which_is_named():
    x = torch.rand(3, requires_grad=True) * 1
    y = x @ x.t()
    x.sin_()
    with pytest.raises(RuntimeError, match="which is output 0 of Sin"):
        y.backward()


@pytest.mark.parametrize("write", [lambda v, x: v.lerp_(x.cos(), 0.5), lambda v, x: v.add_(1), lambda v, x: v[0].mul_(x[0] * 1)])
def test_who_made_it_is_told_of_what_was_written_through_a_detached_alias(write):
    """The alias has a history then, the tensor keeps its own."""
    x = torch.ones(3, requires_grad=True) * 2
    v, y = x.detach(), x.cos()
    write(v, x)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[3\]\], which is output 0 of Mul, is at version 1; expected version 0"):
        y.sum().backward()


@pytest.mark.parametrize("followed", [False, True])
def test_a_saved_view_has_the_history_that_its_own_base_has(followed):
    """Not that of what owns the memory: the base is detached from that."""
    x = torch.ones(3, 3, requires_grad=True)
    base = x[:2].detach()
    y = torch.ones(3, requires_grad=True) * base[0]
    base.add_(torch.ones(3, requires_grad=True) if followed else 1)
    made = ", which is output 0 of AsStrided," if followed else ""
    with pytest.raises(RuntimeError, match=rf"\[torch.FloatTensor \[3\]\]{made} is at version 1; expected version 0"):
        y.sum().backward()


_LOST = "^A view was created in no_grad mode and its base or another view of its base has been modified inplace with grad mode enabled"


@pytest.mark.parametrize("f, wanted, written, says", [
    (torch.mul, True, "v", _LOST), (torch.mul, False, "v", None), (torch.mul, False, "w", None), (lambda v, w: v.sin(), False, "v", _LOST),
    (lambda v, w: v.cumprod(0), False, "y", "output 0 of Cumprod"), (lambda v, w: v.exp(), False, "y", "output 0 of Exp"),
    (torch.div, False, "w", r"\[torch.FloatTensor \[2\]\] is at version 1"), (torch.div, False, "v", None), (torch.pow, False, "v", _LOST)])
def test_what_is_saved_of_a_view_without_history(f, wanted, written, says):
    """torch leaves out what is read by one gradient of several alone, if that one goes nowhere."""
    base = torch.ones(2, requires_grad=True) * 2
    with torch.no_grad():
        v = base[:]
    w = torch.full((2,), 3., requires_grad=wanted) * 1
    y = f(v, w)
    with torch.no_grad():
        {"v": v, "w": w, "y": y}[written].add_(1)
    with contextlib.nullcontext() if says is None else pytest.raises(RuntimeError, match=says):
        y.sum().backward()


def test_a_view_without_history_whose_base_got_one_is_told():
    base = torch.ones(2)
    with torch.no_grad():
        v = base[:]
    y = v * torch.ones(2, requires_grad=True)
    base.add_(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match=_LOST):
        y.sum().backward()


@pytest.mark.parametrize("f, says", [(torch.sign, None), (lambda v: v * 2, None), (torch.exp, None), (lambda v: v * v, None),
                                     (torch.sin, "output 0 of AsStrided")])
def test_what_was_made_of_a_view_before_it_had_a_history_leads_nowhere_afterwards(f, says):
    base = torch.ones(2)
    view = base[:]
    base.requires_grad_()
    y = f(view)
    view.detach().mul_(2)
    assert view.grad_fn.name() == "AsStridedBackward0"
    with contextlib.nullcontext() if says is None else pytest.raises(RuntimeError, match=says):
        y.sum().backward()
    assert base.grad is None
    view.sum().backward()
    assert base.grad.tolist() == [1., 1.]


@pytest.mark.parametrize("write", [lambda x: x.add_(1), lambda x: x[0].zero_(), lambda x: x.mul_(x)])
def test_where_mutation_is_allowed_inference_tensors_are_asked_for_their_version_first(write):
    with torch.inference_mode():
        x = torch.ones(2, 2)
    with torch.autograd.graph.allow_mutation_on_saved_tensors(), pytest.raises(RuntimeError, match="^Inference tensors do not track"):
        write(x)
    assert x.tolist() == [[1., 1.], [1., 1.]]


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("write", [lambda x: x.mul_(2), lambda x: x.detach().mul_(2), lambda x: x.unsqueeze(0).sin_()])
def test_a_view_of_what_left_for_other_memory_still_counts_with_it(n, write):
    x = torch.ones(n, dtype=torch.float64, requires_grad=True) * 1
    view = x.movedim(0, -1)
    x.data = torch.ones(n, dtype=torch.float64)
    y = view.sin().sum()
    write(x)
    assert view._version == 1
    with pytest.raises(RuntimeError, match=rf"\[torch.DoubleTensor \[{n}\]\], which is output 0 of AsStrided, is at version 1; expected"):
        y.backward()


@pytest.mark.parametrize("f, name", [
    (lambda x, c: x.exp() * c, "AsStrided"), (lambda x, c: x * x, "AsStrided"), (lambda x, c: x / c, "AsStrided"),
    (lambda x, c: torch.outer(x, c), "AsStrided"), (lambda x, c: x.sin(), "Mul"), (lambda x, c: x.dot(c), "Mul"),
    (lambda x, c: x ** 2, "Mul"), (lambda x, c: x.atan2(c), "Mul"), (lambda x, c: x.xlogy(c), "AsStrided")])
def test_forward_formulas_read_views_of_the_operands_and_tangents_as_they_are(f, name):
    """Which of the two backward tells of goes by the order in which torch's formula saved them."""
    x = torch.tensor([.5, -1., 2.], dtype=torch.float64, requires_grad=True) * 1
    made = torch.func.jvp(lambda y: f(y, x), (x,), (x,))[1]
    x.mul_(2)
    with pytest.raises(RuntimeError, match=rf"\[torch.DoubleTensor \[3\]\], which is output 0 of {name}, is at version 1; expected version 0"):
        made.sum().backward()


@pytest.mark.parametrize("reduce, said", [
    (lambda x: x.norm(dim=0), r"\[1, 2\]\], which is output 0 of AsStrided"),
    (lambda x: x.prod(-1), r"\[2, 1\]\], which is output 0 of AsStrided"),
    (lambda x: x.norm(3, dim=(0, 1)), r"\[1, 1\]\], which is output 0 of AsStrided"),
    (lambda x: x.norm(), r"\[\]\], which is output 0 of LinalgVectorNorm"),
    (lambda x: x.norm(dim=()), r"\[\]\], which is output 0 of LinalgVectorNorm"), (lambda x: x.prod(), r"\[\]\], which is output 0 of Prod,"),
    (lambda x: x.prod(0, keepdim=True), r"\[1, 2\]\], which is output 0 of Prod1"),
    (lambda x: x.logsumexp(0), r"\[2\]\], which is output 0 of Logsumexp")])
def test_a_derivative_saves_a_result_with_the_dimensions_it_lost(reduce, said):
    """Where it is reshaped first, it is a view that was written through its base."""
    x = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True) * 1
    y = reduce(x)
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    y.exp_()
    with pytest.raises(RuntimeError, match=said):
        g.sum().backward()


def test_the_cotangent_of_a_variance_may_be_written_after_its_gradient_was_made():
    for f, kept in ((lambda x: x.var(1), False), (lambda x: x.var(), False), (lambda x: torch.var_mean(x, 1)[0], False),
                    (lambda x: x.logcumsumexp(1), False), (lambda x: x.std(1), True)):
        x = torch.tensor([[0.5, 0.75, -2.0]], requires_grad=True)
        y = f(x)
        ct = torch.ones_like(y)
        g, = torch.autograd.grad(y, x, ct, create_graph=True)
        ct.mul_(2)
        if kept:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                g.sum().backward()
        else:
            g.sum().backward()


@pytest.mark.parametrize("f", [lambda a, b: a * b, torch.nn.functional.mse_loss, torch.nn.functional.linear],
                         ids=["mul", "mse_loss", "linear"])
@pytest.mark.parametrize("see", [lambda x: x, lambda x: x[1:]])
def test_what_others_require_of_the_memory_gives_a_saved_view_no_history(f, see):
    """A view made under no_grad is told of as such where its base has a history, and that is not a leaf that shares the memory."""
    x, y = torch.ones(1, 3, requires_grad=True), torch.ones(2, 3)
    with torch.no_grad():
        v = see(y)
    other = torch.nn.Parameter(y.detach())
    z = f(x, v)
    y.mul_(2)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation: \[torch.FloatTensor \[\d, \d\]\] is at version 1"):
        z.sum().backward()
    assert other.tolist() == [[2] * 3] * 2
