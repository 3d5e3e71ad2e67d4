"""Full backward hooks: the identity that they watch, and the handles of hooks."""
import gc

import pytest

import torchshim as torch
from torchshim import nn
from torchshim.utils.hooks import RemovableHandle


def watched():
    m = nn.Identity()
    m.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    return m


@pytest.mark.parametrize("write", [lambda o: o.add_(1), torch.relu_, lambda o: o.copy_(torch.zeros(2)), lambda o: o.view(2).zero_()])
def test_what_is_watched_is_not_written_in_place(write):
    """torch refuses it, since the hook would no longer see the gradient of the module's result."""
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="^Output 0 of (BackwardHookFunction|View) is a view and is being modified inplace. This view "
                                           "was created inside a custom Function"):
        write(watched()(x))
    with torch.no_grad():
        assert watched()(x).add_(1).tolist() == [2, 2]


def test_the_watch_is_a_view():
    x = torch.ones(2, requires_grad=True)
    out = watched()(x.clone())
    assert out._is_view() and type(out.grad_fn).__name__ == "BackwardHookFunctionBackward" and out.grad_fn.next_functions


def test_handles():
    """They are torch.utils.hooks.RemovableHandle, numbered in the order of registration; several marks go with a hook."""
    m = nn.Identity()
    first = m.register_forward_hook(lambda *args: None, with_kwargs=True, always_call=True)
    second = m.register_forward_pre_hook(lambda *args: None)
    assert type(first) is type(second) is RemovableHandle and second.id == first.id + 1 == RemovableHandle.next_id - 1
    assert first.id in m._forward_hooks_with_kwargs and first.id in m._forward_hooks_always_called
    assert first.hooks_dict_ref() is m._forward_hooks
    first.remove()
    first.remove()
    assert not m._forward_hooks and not m._forward_hooks_with_kwargs and not m._forward_hooks_always_called
    with second:
        pass
    assert not m._forward_pre_hooks


def test_a_module_lives_until_its_gradients_are_there():
    """Hooks are given it, though nobody else holds it any more."""
    seen = []
    handle = torch.nn.modules.module.register_module_full_backward_hook(lambda m, gi, go: seen.append(type(m).__name__))
    try:
        y = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())(torch.ones(1, 2, requires_grad=True)).sum()
        gc.collect()
        y.backward()
    finally:
        handle.remove()
    assert seen == ["ReLU", "Linear", "Sequential"]


def test_what_a_full_hook_gives_has_as_many_parts():
    def backward(register, give, batch=2):
        m = torch.nn.Linear(3, 2)
        getattr(m, register)(lambda *args: give(args[-1] if "pre" in register else args[1]))
        x = torch.ones(batch, 3, requires_grad=True)
        m(x).sum().backward()
        return x.grad, m.weight.grad
    for register, name in (("register_full_backward_hook", "grad_input"), ("register_full_backward_pre_hook", "grad_output")):
        with pytest.raises(TypeError, match="^object of type 'int' has no len()"):
            backward(register, lambda g: 5)
        with pytest.raises(RuntimeError, match=f"returned an invalid number of {name}, got 2, but expected 1"):
            backward(register, lambda g: g[0])
        with pytest.raises(RuntimeError, match="^hook 'hook' has changed the size of value"):
            backward(register, lambda g: g[0], 1)
        of_input, of_weight = backward(register, lambda g: [None])
        assert of_weight is None and not of_input.any() if "pre" in register else of_input is None and of_weight is not None


def test_linearize_sees_no_gradients_of_what_it_was_given():
    m, x = torch.nn.Sequential(torch.nn.Tanh()), torch.ones(2, 3)
    m.register_full_backward_hook(lambda m, given, made: None)
    assert torch.func.linearize(m, x)[1](x).shape == (2, 3)
    m = torch.nn.Linear(3, 2)
    m.register_full_backward_hook(lambda m, given, made: None)
    with pytest.raises(NotImplementedError, match="^You must implement the jvp function"):
        torch.func.linearize(m, x)
    assert torch.func.linearize(m.requires_grad_(False), x)[1](x).shape == (2, 2)
