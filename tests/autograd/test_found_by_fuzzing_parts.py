"""Protects what random programs found about parts of a backward pass: gradients that nobody asks for, operands that are gradients, what a
product has released before its factor fails. Expected values are torch 2.13's."""
import pytest

import torchshim as torch
import torchshim.autograd.forward_ad as forward_ad

F = torch.nn.functional


@pytest.mark.filterwarnings("ignore:Use of index_put_")
@pytest.mark.parametrize("create_graph", [False, True])
def test_the_gradient_before_a_write_through_a_view_is_made_where_it_is_asked_for(create_graph):
    """An expanded view cannot take it, which does not matter to who asks for the gradient of what was written."""
    before, written = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
    seen = (before * 1).expand(2, 4)
    seen.index_put_((torch.tensor([0]),), written)
    g, = torch.autograd.grad(seen, [written], torch.ones_like(seen), retain_graph=True, create_graph=create_graph)
    assert g.tolist() == [2, 2, 2, 2]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.autograd.grad(seen, [before], torch.ones_like(seen), create_graph=create_graph)


def test_what_a_function_leaves_undefined_in_a_view_leaves_the_base_undefined():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return None, g

    before, other = torch.arange(4.).requires_grad_(), torch.ones(2, requires_grad=True)
    base = before * 1
    Doubled.apply(base[:2], other)
    base.sum().backward()
    assert before.grad is None and other.grad.tolist() == [1, 1]


def test_tangents_of_functions_look_at_the_versions_that_their_operands_count():
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.saved_tensors[0].cos()

    x = torch.zeros(2) * 1
    x[1:] = 0
    x.data = torch.zeros(2)                    # the memory is new, the count goes on
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(Sine.apply(forward_ad.make_dual(x, torch.ones(2)))).tangent.tolist() == [1, 1]


def test_columns_of_a_jacobian_have_no_room_where_elements_coincide():
    x = torch.tensor(1.5).expand(2)
    for f in (lambda: torch.func.jacfwd(torch.sin)(x), lambda: torch.func.hessian(lambda y: y.sin().sum())(x),
              lambda: torch.autograd.functional.jacobian(torch.sin, torch.ones(2, 1).expand(2, 2), vectorize=True, strategy="forward-mode")):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            f()
    assert torch.func.linearize(torch.cos, torch.tensor(0.).expand(2))[1](torch.ones(2)).tolist() == [0, 0]
    with forward_ad.dual_level():              # nothing has no layout
        tangent = torch.ones(3, 0)
        assert forward_ad.unpack_dual(forward_ad.make_dual(torch.ones(0).expand(3, 0), tangent)).tangent.stride() == (1, 1)


def test_numbers_of_lists_are_saved_as_numbers():
    x = torch.ones(2, requires_grad=True) * 1
    torch._foreach_mul_([x], [2.])
    assert x.grad_fn._saved_other.__class__ is float
    with pytest.raises(AttributeError, match="'CppFunction' object has no attribute '_saved_other'"):
        torch._foreach_mul([x], 2.)[0].grad_fn._saved_other


def second(written):
    """The gradient of |x|, of which something was written since: torch has saved the gradient that came in, and x."""
    x, c = torch.tensor([-1.5, 2.], requires_grad=True), torch.ones(2)
    y = x * 1
    g, = torch.autograd.grad(y.abs(), y, c, create_graph=True)
    with torch.no_grad():
        {"x": y, "c": c, "": torch.ones(1)}[written].add_(1)
    return x, g


def test_the_gradient_of_abs_saves_both_its_factors():
    for written, text in ("c", r"\[torch.FloatTensor \[2\]\] is at version 1"), ("x", "output 0 of Mul, is at version 1"):
        x, g = second(written)
        with pytest.raises(RuntimeError, match=text):
            torch.autograd.grad(g.sum(), x)
    x, g = second("")
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="a second time"):
        torch.autograd.grad(g.sum(), x)


@pytest.mark.parametrize("extreme", [torch.cummax, torch.cummin])
def test_an_empty_operand_is_its_own_gradient(extreme):
    x, seen = torch.ones(0, requires_grad=True), []
    x.register_hook(lambda g: seen.append(g is x))
    for f in (lambda x: x, lambda x: x.conj_physical()):
        extreme(f(x), 0)[0].sum().backward()
    assert seen == [True, True] and x.grad is not x and not x.grad.requires_grad
    y = x * 2
    assert torch.autograd.grad(extreme(y, 0)[0].sum(), y)[0].requires_grad
    y.retain_grad()
    extreme(y, 0)[0].exp().sum().backward()
    assert not y.grad.requires_grad
    z = torch.tensor([1., 3., 2.], requires_grad=True)
    extreme(z, 0)[0].sum().backward()          # others are what they were
    assert z.grad.tolist() == ([1, 2, 0] if extreme is torch.cummax else [3, 0, 0])


@pytest.mark.parametrize("asked", [False, True])
def test_hooks_see_the_gradients_of_all_tensors_of_a_list(asked):
    a, b, seen = torch.ones(2), torch.ones(1, requires_grad=True), []
    y = torch.cat([a, b])
    y.grad_fn.register_hook(lambda made, given: seen.extend([g.tolist() for g in made]))
    torch.autograd.grad(y.sum(), b) if asked else y.sum().backward()
    assert seen == [[1, 1], [1]]


def test_a_number_is_not_divided_by_integers_in_addcdivs_gradient():
    x, y, n = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True), torch.tensor([1, 2])
    z = torch.addcdiv(x, y, n)
    assert torch.autograd.grad(z.sum(), x, retain_graph=True)[0].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        z.sum().backward()


def test_cross_entropy_of_complex_logits_is_not_followed():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="binary_cross_entropy_with_logits does not support automatic differentiation for outputs with "
                                           "complex"):
        F.binary_cross_entropy_with_logits(x, y)


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


def test_nothing_has_no_room_for_what_is_copied_into_it():
    with pytest.raises(RuntimeError, match=r"setStorage: sizes \[1\], strides \[0\], storage offset 0, and itemsize 4 requiring a storage "
                                           "size of 4 are out of bounds for storage of size 0"):
        torch.ones(0).index_copy_(0, torch.tensor([0]), torch.ones(1))
    with pytest.raises(IndexError, match="index 0 is out of bounds for dimension 0 with size 0"):
        torch.ones(2)[:0].index_copy_(0, torch.tensor([0]), torch.ones(1))     # there is room in its memory
    with pytest.raises(RuntimeError, match="same slice shapes"):
        torch.ones(0, 0).index_copy_(0, torch.tensor([0, 1]), torch.ones(1, 2))


def test_what_nobody_reads_is_not_shown_as_saved():
    """A factor is saved for the other one's gradient, which a view that was made without a history does not get."""
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        view = x[None]
    fn = (view * view).grad_fn
    assert fn._saved_self is None and fn._saved_other is None
    fn = (view * x).grad_fn
    assert fn._saved_self is not None and fn._saved_other is None


def test_a_detached_weight_has_no_history_though_its_memory_has():
    x = (torch.ones(1, 3, requires_grad=True) * 1).softmax(-1)
    weight = x.detach()
    y = F.linear(x, weight)
    weight.mul_(2)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[3, 1\]\] is at version 1"):
        y.sum().backward()
