"""What random programs found: histories, refusals and layouts where programs do unusual things one after the other."""
import pytest

import torchshim as torch
from torchshim.utils.checkpoint import checkpoint


def test_a_leafs_gradient_has_the_shape_that_its_history_knows():
    v = torch.tensor([1.5, -2.0], requires_grad=True)
    held = v.max()
    v.data = torch.tensor(3.0)
    with pytest.raises(RuntimeError, match=r"MeanBackward1 returned an invalid gradient at index 0 - got \[\] but expected shape compatible "
                                           r"with \[2\]"):
        v.mean(-1).backward()
    assert held.grad_fn is not None
    w = torch.tensor([1.5, -2.0], requires_grad=True)      # nobody knows its shape
    w.data = torch.tensor(3.0)
    w.mean().backward()
    assert w.grad.shape == ()


@pytest.mark.parametrize("f", [torch.logaddexp, torch.logaddexp2, lambda b, a: a ** b])
def test_formulas_that_subtract_refuse_bool_tensors_in_backward(f):
    a, b = torch.ones(2, requires_grad=True), torch.tensor([True, False])
    made = f(b, a)
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"):
        made.sum().backward()


def test_the_angle_negates_what_it_saved():
    a, b = torch.ones(2, requires_grad=True), torch.tensor([True, False])
    with pytest.raises(RuntimeError, match="Negation, the `-` operator"):
        torch.atan2(b, a).sum().backward()
    torch.atan2(a, b).sum().backward()
    assert a.grad.tolist() == [0.5, 0.0]


def test_a_reentrant_checkpoint_under_a_gradient_that_has_a_history():
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    y = checkpoint(lambda x: x.sin() * x, x, use_reentrant=True)
    (y * y).sum().backward(create_graph=True)
    z = x.detach().requires_grad_()
    ((z.sin() * z) ** 2).sum().backward()
    assert torch.allclose(x.grad, z.grad)


def test_gradients_without_elements_have_the_history_of_others():
    v = torch.zeros(0, requires_grad=True)
    g, = torch.autograd.grad(torch.stack([v, v]).sgn().sum(), v, create_graph=True)
    assert not g.requires_grad
    g, = torch.autograd.grad((torch.stack([v, v]) ** 2).sum(), v, create_graph=True)
    assert g.requires_grad


def test_a_view_without_history_that_gets_a_gradient_takes_none_for_what_was_before():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        v = x.view(2)
    before = v[1:]
    v.requires_grad = True
    before.sum().backward()
    assert v.grad is None and before.grad_fn.next_functions == ((None, 0),)
    v[1:].sum().backward()
    assert v.grad.tolist() == [0.0, 1.0]


def test_a_view_of_many_whose_base_wants_no_gradient_any_more_is_lost_all_the_same():
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    part = v.unbind()[0]
    v.requires_grad_(False)
    v.zero_()
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        part.grad_fn


def test_what_the_target_of_a_write_refuses_comes_before_what_the_other_operand_lost():
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(1, 3, requires_grad=True).unbind()[0]
    with torch.no_grad():
        b.sqrt_()
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place operation"):
        a.mul_(b)


@pytest.mark.parametrize("shape, strides, diagonal, expected", [
    ((2, 3), (0, 1), 0, [[1, 0, 0], [1, 0, 0]]), ((2, 3), (1, 0), 1, [[0, 0, 0], [2, 2, 2]]), ((2, 2), (1, 1), 0, [[1, 0], [0, 3]]),
    ((3, 3), (2, 1), 0, [[1, 0, 0], [0, 4, 0], [0, 6, 7]])])
def test_triangles_of_memory_that_coincides(shape, strides, diagonal, expected):
    memory = torch.arange(1.0, 19.0)
    made = memory.as_strided(shape, strides)
    assert made.tril_(diagonal) is made and made.tolist() == expected and memory._version == 1


def test_what_coincides_may_be_assigned_to_itself():
    x = torch.arange(3.0)
    wide = x.expand(2, 3)
    wide[...] = wide
    assert x._version == 1
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        wide[...] = torch.ones(2, 3)


def test_a_derivative_that_is_missing_waits_for_leaves_that_were_ready_before():
    x, one = torch.rand(3, requires_grad=True), torch.tensor(0.25, requires_grad=True)
    with pytest.raises(RuntimeError, match="derivative for aten::heaviside is not implemented"):
        x.sub(one.heaviside(torch.rand(3, requires_grad=True))).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
