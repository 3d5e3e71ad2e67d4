"""Protects the Operator protocol: one Instance for calls that are alike, a bounded memo, names and plans of gradients."""
import jax.numpy as jnp
import numpy as np
import pytest

from torchshim.engine import Instance, Operator, default_device, meta_of


class Shift(Operator):
    """x + layout[0], which counts how often it was built."""
    name, grad = "shift", "ShiftBackward0"
    built = 0

    def build(self, layout, metas, kinds):
        self.built += 1
        return Instance(self, layout, lambda x: [jnp.sin(x) + layout[0]], metas, kinds, metas[0].device)


def vector(n=3):
    return meta_of((n,), np.dtype("float32"), default_device())


def test_calls_that_are_alike_share_an_instance():
    op = Shift()
    inst = op.resolve((1,), (vector(),), "")
    assert op.resolve((1,), (vector(),), "") is inst and op.built == 1
    assert op.resolve((2,), (vector(),), "") is not inst and op.resolve((1,), (vector(4),), "") is not inst
    assert inst.grad_fn_name == "ShiftBackward0" and inst.diff_outs == (0,)


def test_what_an_operator_remembers_is_bounded():
    op = Shift()
    op.build = lambda layout, metas, kinds: first
    first = Shift().resolve((0,), (vector(),), "")
    for k in range(5_000):
        op.resolve((k,), (vector(),), "")
    assert len(op.made) <= 512


def test_without_a_gradients_name_there_is_no_history():
    op = Shift()
    op.grad = None
    assert op.resolve((0,), (vector(),), "").diff_outs == ()


def test_the_gradient_is_the_bodys_or_the_rules():
    op = Shift()
    plan = op.resolve((1,), (vector(),), "").plan(1)
    assert plan.args == (0,) and plan.outs == () and plan.vjp.name == "shift_backward"
    ruled = Shift()
    ruled.rule = lambda inst, wrt, ins, cts: [*inst.fn(*ins), cts[0] * 7]
    plan = ruled.resolve((1,), (vector(),), "").plan(1)
    assert plan.args == ()                     # the rule reads nothing of the forward pass
    inst = plan.vjp.resolve((), (vector(),), "")
    assert np.asarray(inst.call(np.ones(3, np.float32))[0]).tolist() == [7.0] * 3


def test_a_history_that_torch_does_not_differentiate_raises_in_backward():
    op = Shift()
    op.grad = "NotImplemented"
    plan = op.resolve((1,), (vector(),), "").plan(1)
    with pytest.raises(RuntimeError, match="derivative for aten::shift is not implemented"):
        plan.vjp.resolve((), (vector(),), "")


def test_a_first_backward_warns_of_nothing():
    # jax deprecates jaxprs without a word on where they come from; programs that make errors of warnings met it
    import warnings

    import torchshim as torch
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = torch.ones(2, 3, 4, requires_grad=True)
        y = x.logsumexp(1).tanh() * torch.nn.functional.layer_norm(x, (4,)).sum(1)
        y.sum().backward()
        assert x.grad.shape == x.shape
