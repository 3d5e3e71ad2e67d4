"""What nodes save and show, what must not be written since, and what is released when. Expected values are torch 2.13's."""
import pytest

import torchshim as torch

F = torch.nn.functional


def told(y):
    with pytest.raises(RuntimeError) as e:
        y.sum().backward()
    return str(e.value).partition("operation: ")[2].partition(" is at")[0]


def second(written):
    """The gradient of |x|, of which something was written since: torch has saved the gradient that came in, and x."""
    x, c = torch.tensor([-1.5, 2.], requires_grad=True), torch.ones(2)
    y = x * 1
    g, = torch.autograd.grad(y.abs(), y, c, create_graph=True)
    with torch.no_grad():
        {"x": y, "c": c, "": torch.ones(1)}[written].add_(1)
    return x, g


def test_the_angle_negates_what_it_saved():
    a, b = torch.ones(2, requires_grad=True), torch.tensor([True, False])
    with pytest.raises(RuntimeError, match="Negation, the `-` operator"):
        torch.atan2(b, a).sum().backward()
    torch.atan2(a, b).sum().backward()
    assert a.grad.tolist() == [0.5, 0.0]


def test_what_an_operator_returned_and_saved_is_named_after_it_whatever_was_written_since():
    x = torch.rand(3, requires_grad=True)
    y = x.tanh()
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    y.sigmoid_()
    with pytest.raises(RuntimeError, match="is output 0 of Tanh, is at version 1"):
        g.sum().backward()


def test_what_a_formula_had_no_need_to_save_is_none():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    assert (x * y).grad_fn._saved_self is None and torch.equal((x * y).grad_fn._saved_other, y)
    assert (x * y).grad_fn._raw_saved_self.unpack() is None
    of_number = (x * 2).grad_fn
    assert of_number._saved_self is None and of_number._saved_other.dtype == torch.int64 and of_number._saved_other.item() == 2
    with pytest.raises(AttributeError):
        x.exp().grad_fn._saved_self


def test_what_inner_saved_is_seen_as_matrices():
    x, y = torch.ones(2, 2, 3, requires_grad=True) * 1, torch.ones(3)
    made = x.inner(y.requires_grad_())
    x.add_(1)
    with pytest.raises(RuntimeError, match=r"\[4, 3\]\], which is output 0 of AsStrided, is at version 1; expected version 0"):
        made.sum().backward()


@pytest.mark.parametrize("of, name", [(lambda y, m: y.masked_select(m), "Exp"), (lambda y, m: torch.complex(y, y.detach()).real, "Exp")])
def test_operands_that_are_saved_without_need_must_not_be_written(of, name):
    x, mask = torch.ones(3, requires_grad=True), torch.tensor([True, False, True])
    y = x * 2
    made = of(y, mask)
    y.exp_()
    with pytest.raises(RuntimeError, match=rf"\[3\]\], which is output 0 of {name}, is at version 1; expected version 0"):
        made.sum().backward()


def test_a_mask_that_chose_must_not_be_written():
    x, mask = torch.ones(3, requires_grad=True), torch.tensor([True, False, True])
    made = x.masked_select(mask)
    assert torch.equal(made.grad_fn._saved_mask, mask) and made.grad_fn._saved_self is x
    mask.fill_(True)
    with pytest.raises(RuntimeError, match=r"\[CPUBoolType \[3\]\] is at version 1; expected version 0"):
        made.sum().backward()


def test_a_saved_view_is_named_by_the_history_that_its_base_has_by_then():
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3)
    y, z = F.linear(a, b), a * b[:]
    b[0].zero_()
    b.requires_grad_()
    assert told(y) == "[torch.FloatTensor [3, 2]], which is output 0 of AsStrided,"
    assert told(z) == "[torch.FloatTensor [2, 3]], which is output 0 of AsStrided,"


@pytest.mark.parametrize("f", [
    F.l1_loss, lambda x, y: F.kl_div(x, y, log_target=True), lambda x, y: F.poisson_nll_loss(x, y.detach(), log_input=False),
    lambda x, y: F.gaussian_nll_loss(x, y, torch.ones(3)), lambda x, y: F.hinge_embedding_loss(x, y),
    lambda x, y: F.margin_ranking_loss(x, y, torch.ones(3)), lambda x, y: x.quantile(0.5), lambda x, y: torch.cov(x),
    lambda x, y: F.cross_entropy(x[None], y.detach()[None])])
def test_what_torch_makes_of_other_operators_does_not_save_its_operands(f):
    x, y = [torch.tensor([0.2, 0.5, 0.7], requires_grad=True) * 1 for _ in range(2)]
    made = f(x, y)
    expected = torch.autograd.grad(f(x, y), x, retain_graph=True)[0].tolist()
    with torch.no_grad():
        x.mul_(2)
    assert torch.autograd.grad(made, x)[0].tolist() == expected


def test_the_gradient_of_abs_saves_both_its_factors():
    for written, text in ("c", r"\[torch.FloatTensor \[2\]\] is at version 1"), ("x", "output 0 of Mul, is at version 1"):
        x, g = second(written)
        with pytest.raises(RuntimeError, match=text):
            torch.autograd.grad(g.sum(), x)
    x, g = second("")
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="a second time"):
        torch.autograd.grad(g.sum(), x)


@pytest.mark.parametrize("f", [lambda b: torch.func.grad(lambda x: x.cos().sum())(b),
                               lambda b: torch.autograd.grad(b.sin().sum(), b, create_graph=True)[0]])
def test_a_product_is_released_before_its_factor_fails(f):
    x = torch.tensor([0.5, -0.25], requires_grad=True)
    b = x * 2
    y = f(b)
    with torch.no_grad():
        b.add_(1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward(retain_graph=True)
    for text in ("modified by an inplace operation", "a second time"):
        with pytest.raises(RuntimeError, match=text):
            y.sum().backward()


def test_what_nobody_reads_is_not_shown_as_saved():
    """A factor is saved for the other one's gradient, which a view that was made without a history does not get."""
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        view = x[None]
    fn = (view * view).grad_fn
    assert fn._saved_self is None and fn._saved_other is None
    fn = (view * x).grad_fn
    assert fn._saved_self is not None and fn._saved_other is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("f", [torch.exp, torch.sigmoid, torch.tanh, torch.relu, torch.sqrt, torch.rsqrt, torch.reciprocal, torch.tan,
                               lambda x: x.softmax(-1), lambda x: x.log_softmax(-1)])
def test_in_half_types_too_the_result_is_what_backward_keeps(f, dtype):
    x = torch.ones(2, 2, dtype=getattr(torch, dtype), requires_grad=True)
    y, z = f(x), x * 1
    with torch.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()
    y = f(z)
    with torch.no_grad():
        z.mul_(2)                              # it is not read any more
    y.sum().backward()
    assert x.grad is not None and f(x).grad_fn._saved_result.dtype == x.dtype


def test_writes_by_python_functions_do_not_count():
    x = torch.ones(2)
    x.map_(torch.tensor([1.0, 2.0]), lambda a, b: a + b).apply_(lambda a: a * 2)
    assert x.tolist() == [4.0, 6.0] and x._version == 0


@pytest.mark.parametrize("f, saved", [(torch.nan_to_num, 1), (torch.abs, 1), (torch.relu, 1), (lambda x: x.clamp(0, 1), 1), (F.softplus, 1),
                                      (lambda x: torch.copysign(x, x), 2), (lambda x: torch.maximum(x, x), 2),
                                      (lambda x: torch.where(x > 0, x, x * 2), 1)])
def test_what_is_empty_saves_what_anything_does_whatever_was_called_before(f, saved):
    """Calls without gradients of other empty tensors had decided it: nothing was saved, and so no write was noticed."""
    for shape in ((0, 2), (0, 7), (0, 3)):
        f(torch.zeros(shape))
    seen = []
    x = torch.zeros(0, 2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.shape) or t, lambda t: t):
        f(x)
    assert seen == [(0, 2)] * saved
