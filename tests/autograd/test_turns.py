"""In which order leaves have their turns: what hooks see of it, and what an error keeps from happening. All as torch 2.13 does it."""
import pytest
import torchshim as torch
from torchshim import nn
from torchshim.nn import functional as F


def order(f, *shapes):
    """The order of the leaves' hooks in a backward of f."""
    said, leaves = [], [torch.full(s, 0.5, dtype=torch.float64, requires_grad=True) for s in shapes]
    for k, leaf in enumerate(leaves):
        leaf.register_hook(lambda g, k=k: said.append(k))
    f(*leaves).sum().backward()
    return said


def of_parameters(module, *inputs):
    """The order in which parameters and inputs ("x") get their gradients."""
    said = []
    for name, p in module.named_parameters():
        p.register_post_accumulate_grad_hook(lambda p, name=name: said.append(name))
    inputs = [torch.full(s, 0.5, requires_grad=True) for s in inputs]
    for x in inputs:
        x.register_hook(lambda g: said.append("x"))
    made = module(*inputs)
    (made[0] if isinstance(made, tuple) else made).sum().backward()
    return said


def test_leaves_that_are_ready_together_come_as_from_the_heap_of_cpp():
    assert order(lambda *xs: torch.stack(xs), *[(2,)] * 4) == [0, 2, 1, 3]
    assert order(lambda *xs: torch.cat(xs), *[(2,)] * 5) == [0, 2, 4, 1, 3]
    assert order(lambda x, *xs: torch.cat((x * 1, *xs)), *[(2,)] * 5) == [1, 2, 4, 3, 0]
    assert order(lambda a, b, c, d: a * b * c * d, *[(2,)] * 4) == [3, 2, 0, 1]


@pytest.mark.parametrize("f, shapes, expected", [
    (F.linear, [(2, 3), (4, 3), (4,)], [2, 0, 1]), (F.linear, [(2, 2, 3), (4, 3), (4,)], [2, 1, 0]), (F.linear, [(2, 3), (4, 3)], [0, 1]),
    (F.linear, [(3,), (3,), ()], [2, 0, 1]), (torch.matmul, [(2, 3), (3, 2)], [0, 1]), (torch.matmul, [(3,), (3, 2)], [1, 0]),
    (torch.matmul, [(2, 2, 3), (3, 2)], [1, 0]), (torch.matmul, [(2, 3), (2, 3, 2)], [0, 1]), (torch.matmul, [(2, 2, 3), (1, 3, 2)], [0, 1]),
    (lambda *xs: torch.einsum("ij,jk,kl->il", *xs), [(2, 3), (3, 2), (2, 2)], [2, 1, 0]),
    (lambda *xs: torch.einsum("i,j->ij", *xs), [(2,), (0,)], [1, 0]), (torch.kron, [(2,), (2,)], [1, 0]),
    (lambda a, b: torch.tensordot(a, b, 1), [(2, 3), (3, 2)], [1, 0]), (lambda a, b: torch.tensordot(a, b, 1), [(2, 1), (3, 2)], [0, 1]),
    (torch.inner, [(2, 3), (2, 3)], [1, 0]), (torch.inner, [(), (2, 3)], [0, 1]), (F.bilinear, [(2, 3), (2, 4), (2, 3, 4), (2,)], [3, 2, 1, 0]),
    (F.kl_div, [(2, 3), (2, 3)], [1, 0]), (F.cross_entropy, [(2, 3), (2, 3)], [1, 0]), (F.poisson_nll_loss, [(2, 3), (2, 3)], [1, 0]),
    (lambda x, w: F.rms_norm(x, (3,), w), [(2, 3), (3,)], [1, 0]),
    (lambda x, w, b: F.instance_norm(x, None, None, w, b), [(2, 3, 4), (3,), (3,)], [0, 2, 1]),
    (lambda a, b: torch.diff(a, prepend=b), [(2,), (2,)], [1, 0]), (lambda a, b, c: torch.diff(a, prepend=b, append=c), [(2,)] * 3, [1, 0, 2]),
    (lambda *xs: torch.linalg.multi_dot(xs), [(2, 2)] * 3, [2, 0, 1]),
    (lambda *xs: torch.linalg.multi_dot(xs), [(2, 3), (3, 4), (4, 1)], [0, 1, 2]),
    (F.scaled_dot_product_attention, [(1, 1, 2, 4)] * 3, [0, 1, 2]), (F.scaled_dot_product_attention, [(1, 2, 4)] * 3, [2, 1, 0]),
    (F.scaled_dot_product_attention, [(1, 1, 2, 4)] * 3 + [(2, 2)], [2, 3, 1, 0]),
    (torch.gru_cell, [(2, 3), (2, 4), (12, 3), (12, 4), (12,), (12,)], [5, 1, 3, 4, 0, 2]),
    (torch.rnn_tanh_cell, [(2, 3), (2, 4), (4, 3), (4, 4)], [0, 2, 1, 3]),
    (lambda x, h, c, *w: torch.lstm_cell(x, (h, c), *w)[0], [(2, 3), (2, 4), (2, 4), (16, 3), (16, 4), (16,), (16,)], [2, 5, 0, 3, 6, 1, 4])])
def test_what_is_several_nodes_in_torch_serves_its_leaves_as_these_do(f, shapes, expected):
    assert order(f, *shapes) == expected


def test_the_parameters_of_modules():
    """A bias comes before its weight: whoever counts or sends gradients by hooks sees that."""
    assert of_parameters(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), (2, 3)) == [
        "2.bias", "2.weight", "0.bias", "x", "0.weight"]
    layer = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    assert of_parameters(nn.LSTM(3, 4), (5, 2, 3)) == ["x", *[layer[k] for k in (1, 3, 0, 2)]]
    assert of_parameters(nn.GRU(3, 4), (5, 2, 3)) == [*[layer[k] for k in (3, 1, 2, 0)], "x"]
    assert of_parameters(nn.MultiheadAttention(4, 2), *[(3, 2, 4)] * 3) == ["out_proj.bias", "out_proj.weight", "x", "x", "x", "in_proj_bias",
                                                                            "in_proj_weight"]


def test_what_an_error_keeps_from_happening():
    """The gradient of what comes before the node without a derivative is there."""
    x, y = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    made = torch.einsum("i,j->ij", x.heaviside(x), y)
    with pytest.raises(RuntimeError, match="derivative for aten::heaviside is not implemented"):
        made.sum().backward()
    assert x.grad is None and y.grad.tolist() == [2, 2, 2]


def test_attention_with_a_mask_that_wants_a_gradient_is_written_with_products():
    q, k, v = [torch.ones(1, 1, 2, 4, requires_grad=True) for _ in range(3)]
    mask = torch.zeros(2, 2)
    assert F.scaled_dot_product_attention(q, k, v, mask).grad_fn.name() == "ScaledDotProductFlashAttentionForCpuBackward0"
    assert F.scaled_dot_product_attention(q, k, v, mask.requires_grad_()).grad_fn.name() == "UnsafeViewBackward0"


def test_the_node_whose_turn_it_is():
    """Hooks, Functions and what unpacks saved tensors may ask for it, and for the number of the pass."""
    from torchshim import _C
    seen, passes = [], []

    def note(*_):
        seen.append(type(_C._current_autograd_node()).__name__)
        passes.append(_C._current_graph_task_id())

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            note()
            return g * 2

    x = torch.ones(2, requires_grad=True)
    x.register_hook(note)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: (note(), t)[1]):
        y = Double.apply(x).sin()
    y.register_hook(note)
    y.sum().backward()
    assert seen == ["SinBackward0", "SinBackward0", "DoubleBackward", "AccumulateGrad"] and len(set(passes)) == 1 and passes[0] >= 0
    assert _C._current_autograd_node() is None and _C._current_graph_task_id() == -1
