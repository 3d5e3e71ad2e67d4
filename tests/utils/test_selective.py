"""Selective checkpointing: what a policy keeps is not computed again, what it does not is; gradients are those of the plain run."""
import functools

import pytest

import torchshim as torch
from torchshim.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

MM = torch.ops.aten.mm.default


def f(x, w):
    h = torch.mm(x, w).sigmoid()
    return torch.mm(torch.mm(h, w).relu().softmax(-1), w).sin() * 2


def gradients(run, *args):
    args = [a.detach().clone().requires_grad_() for a in args]
    run(*args).sum().backward()
    return [a.grad for a in args]


def selected(policy, f):
    return functools.partial(checkpoint, f, use_reentrant=False, context_fn=functools.partial(create_selective_checkpoint_contexts, policy))


@pytest.mark.parametrize("policy", [[MM], [MM, torch.ops.aten.relu.default], lambda ctx, op, *args: True, lambda ctx, op, *args: False,
                                    lambda ctx, op, *args: CheckpointPolicy.PREFER_SAVE if op is MM else CheckpointPolicy.MUST_RECOMPUTE])
def test_gradients_are_those_of_the_plain_run(policy):
    x, w = torch.randn(4, 6), torch.randn(6, 6)
    for a, b in zip(gradients(selected(policy, f), x, w), gradients(f, x, w)):
        assert torch.equal(a, b)


def test_a_policy_is_asked_once_with_operands_and_result():
    seen = []

    def policy(ctx, op, *args):
        seen.append((str(op), ctx.is_recompute, [tuple(a.shape) for a in args if isinstance(a, torch.Tensor)], tuple(ctx.op_output.shape)))
        return op is MM
    gradients(selected(policy, lambda x, w: torch.mm(x, w).relu() + 1), torch.randn(2, 3), torch.randn(3, 4))
    assert seen == [("aten.mm.default", False, [(2, 3), (3, 4)], (2, 4)), ("aten.relu.default", False, [(2, 4)], (2, 4)),
                    ("aten.add.Tensor", False, [(2, 4)], (2, 4))]


def test_what_is_kept_is_not_computed_again():
    x, w = torch.randn(4, 6).requires_grad_(), torch.randn(6, 6)

    def products(policy):
        """How many products the second run leaves to be computed."""
        y = selected(policy, lambda x: torch.mm(x, w).sigmoid().sin())(x)
        y.sum().item()                         # the first run is over
        found, saved = 0, y.grad_fn._saved_self        # unpacked: the second run
        state = torch.engine.context.trace.state
        while state is not None:
            found += getattr(getattr(state.inst, "op", None), "name", None) == "mm"
            state = state.parent
        assert torch.equal(saved, torch.mm(x, w).sigmoid())
        return found
    assert products(lambda *args: False) == 1
    assert products([MM]) == 0


def test_refusals():
    x, w = torch.randn(4, 6).requires_grad_(), torch.randn(6, 6)
    with pytest.raises(ValueError, match="change it to `torch.ops.aten.mm.default`"):
        selected([torch.ops.aten.mm], f)(x, w)
    with pytest.raises(TypeError, match="must be either a function or a list of ops"):
        selected(3, f)(x, w)
    y = selected([MM], f)(x, w)
    y.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        y.sum().backward()
