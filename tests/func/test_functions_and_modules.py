"""Custom Functions, modules and their hooks under transforms: which derivatives they have there. All expectations are torch 2.13's."""
import pytest

import torchshim as torch
from torchshim import func, nn


class Cubed(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x ** 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g


def test_forward_derivatives_of_a_function_want_its_jvp():
    x = torch.tensor([1.0, 2.0])
    for f in (lambda: func.jvp(Cubed.apply, (x,), (x,)), lambda: func.jacfwd(Cubed.apply)(x), lambda: func.linearize(Cubed.apply, x)[1](x),
              lambda: func.hessian(lambda v: Cubed.apply(v).sum())(x)):
        with pytest.raises(NotImplementedError, match="You must implement the jvp function for custom autograd.Function to use it with"):
            f()
    assert func.jvp(lambda v: v * Cubed.apply(x), (x,), (x,))[1].tolist() == [1.0, 16.0]       # no tangent goes through it
    assert func.grad(lambda v: Cubed.apply(v).sum())(x).tolist() == [3.0, 12.0]


def test_only_what_depends_on_the_input_needs_a_forward_formula():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1, bias=False))
    with torch.no_grad():
        layer.parametrizations.weight.original0.fill_(5.0)
        layer.parametrizations.weight.original1.copy_(torch.tensor([[3.0, 4.0]]))
    x = torch.tensor([1.0, 2.0])
    assert func.jvp(layer, (x,), (x,))[1].tolist() == [11.0]
    assert func.jacfwd(layer)(x).tolist() == [[3.0, 4.0]]
    with pytest.raises(NotImplementedError, match="Trying to use forward AD with _weight_norm_interface that does not support it"):
        func.jvp(lambda v: torch._weight_norm(v, torch.ones(1, 1)), (x[None],), (x[None],))


def test_second_derivatives_do_not_follow_the_norm_that_weight_norm_saved():
    v, g = torch.tensor([[3.0, 4.0]], requires_grad=True), torch.tensor([[2.0]], requires_grad=True)
    first = torch.autograd.grad((torch._weight_norm(v, g) * torch.tensor([[1.0, 0.0]])).sum(), (v, g), create_graph=True)
    assert [[round(n, 5) for n in t.flatten().tolist()] for t in first] == [[0.256, -0.192], [0.6]]
    second = torch.autograd.grad(first[0].pow(2).sum(), (v, g))
    assert [[round(n, 5) for n in t.flatten().tolist()] for t in second] == [[-0.02458, 0.01843], [0.1024]]


def test_full_backward_hooks_stay_out_of_vmap_and_forward_mode():
    layer, called = nn.Linear(2, 2), []
    layer.register_full_backward_hook(lambda m, given, made: called.append(made))
    x = torch.ones(3, 2)
    assert func.vmap(layer)(x).shape == (3, 2) and func.jvp(layer, (x,), (x,))[1].shape == (3, 2)
    assert func.jacfwd(layer)(x).shape == (3, 2, 3, 2) and not called
    for f in (lambda: func.grad(lambda v: layer(v).sum())(x), lambda: func.jacrev(layer)(x)):
        with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
            f()


def test_a_checkpoint_that_ends_in_a_batch_norm_updates_its_statistics_twice():
    layer = nn.BatchNorm1d(2, momentum=0.5)
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]], requires_grad=True)
    torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False).pow(2).sum().backward()
    assert layer.running_mean.tolist() == [1.5, 3.0] and layer.num_batches_tracked.item() == 2


def test_full_backward_hooks_do_not_look_at_tangents():
    layer, x = nn.Linear(2, 2).requires_grad_(False), torch.ones(3, 2)
    layer.register_full_backward_hook(lambda *given: None)
    with torch.autograd.forward_ad.dual_level():
        made = layer(torch.autograd.forward_ad.make_dual(x, x))
        assert torch.autograd.forward_ad.unpack_dual(made).tangent.shape == (3, 2)
