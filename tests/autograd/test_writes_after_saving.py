"""What was saved for a second derivative, by a transform or a hook, is the memory that the program may still write."""
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
    with pytest.raises(RuntimeError, match=rf"modified by an inplace operation: \[torch.FloatTensor \[3\]\], which is output 0 of {which}, is at "
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
        ("AsStridedBackward0", 2), ("ExpBackward0", 0), ("torch::autograd::CopySlices", 2), ("ExpBackward0", 0), (None, 0), ("CloneBackward0", 0)]
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


def test_linearize_asks_for_floating_point():
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.bool"):
        torch.func.linearize(torch.sin, torch.tensor([True]))
