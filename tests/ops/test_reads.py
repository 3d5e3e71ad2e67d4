"""Operators whose gradients are told without tracing: what is told is what tracing finds."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F
from torchshim.engine.compile import gradient, policy
from torchshim.engine.record.trie import counters
from torchshim.ops.nn.conv import convolution
from torchshim.ops.nn.norm import batch_norm_train
from torchshim.ops.nn.pooling import max_pool_with_indices

X = (2, 4, 6, 7)
CALLS = {
    "conv": (convolution, lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), (X, (6, 4, 3, 2), (6,))),
    "grouped": (convolution, lambda x, w: F.conv2d(x, w, dilation=2, groups=2), (X, (6, 2, 2, 3))),
    "transposed": (convolution, lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, output_padding=1, groups=2), (X, (4, 3, 3, 2), (6,))),
    "one dimension": (convolution, lambda x, w: F.conv1d(x, w, padding=2), ((2, 3, 9), (4, 3, 3))),
    "batch_norm": (batch_norm_train, lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (X, (4,), (4,))),
    "moving": (batch_norm_train, lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4), training=True), (X,)),
    "max_pool": (max_pool_with_indices, lambda x: F.max_pool2d(x, 2), (X,)),
}


def _cases():
    for name, (_, _, shapes) in CALLS.items():
        yield from [(name, wanted) for wanted in range(1, 1 << len(shapes))]


@pytest.mark.parametrize("name, wanted", [*_cases()])
def test_told_as_traced(monkeypatch, name, wanted):
    """What is kept for backward, and what of it nobody reads: saved tensors, their versions and second gradients follow from it."""
    op, call, shapes = CALLS[name]
    plans, plan_of = [], op.plan
    monkeypatch.setattr(op, "plan", lambda inst, needs: plans.append((inst, needs)) or plan_of(inst, needs))
    op.made.clear()
    call(*[torch.rand(s).requires_grad_(bool(wanted >> k & 1)) for k, s in enumerate(shapes)])
    (inst, needs), = plans
    told = op.reads(inst, [k for k in range(len(shapes)) if wanted >> k & 1])
    monkeypatch.setattr(op, "reads", None)
    traced = gradient.derived(inst, needs, op.rule)[0]
    if name == "batch_norm" and wanted == 4:   # the bias's alone, which is rare
        assert told is None
    else:
        assert told[:4] == (traced.args, traced.outs, traced.nums, traced.unread)


@pytest.mark.parametrize("name", CALLS)
def test_a_first_visit_traces_nothing(name):
    """A network's first step is not spent on tracing the shapes of each of its layers."""
    op, call, (first, *others) = CALLS[name]
    traces = []
    for samples in (3, 5, 7):                  # the other operators of the call are met with the first
        before = counters["traces"]
        operands = [torch.ones(s).requires_grad_() for s in ((samples, *first[1:]), *others)]
        made = call(*operands)
        made.backward(made.detach())
        [t.grad.tolist() for t in operands]
        traces.append(counters["traces"] - before)
    assert traces[1:] == [0, 0]


@pytest.mark.parametrize("name", ["conv", "grouped", "transposed", "one dimension"])
def test_gradients_are_those_of_the_traced_program(monkeypatch, name):
    """The parameters of gradients' convolutions are worked out here, not by JAX."""
    _, call, shapes = CALLS[name]
    found = []
    for tier in ("operators", "compiled"):
        monkeypatch.setattr(policy, "tier", tier)
        torch.manual_seed(0)
        operands = [torch.randn(s, dtype=torch.float64).requires_grad_() for s in shapes]
        out = call(*operands)
        found.append([out, *torch.autograd.grad(out, operands, torch.randn_like(out))])
        [t.tolist() for t in found[-1]]
    for one, other in zip(*found):
        torch.testing.assert_close(one, other, rtol=1e-13, atol=1e-13)
