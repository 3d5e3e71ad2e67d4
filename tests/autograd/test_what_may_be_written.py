"""What an operator's gradient keeps may not be written before backward; all else may. Expectations are PyTorch 2.13's."""
import re

import pytest

import torchshim as torch
import torchshim.nn.functional as F


def numbers(*shape, more=0.0):
    n = 1
    for k in shape:
        n *= k
    return ((torch.arange(n, dtype=torch.float64) * 0.37 + 0.61) % 1.7 - 0.8 + more).reshape(shape)


def steps(f, **options):
    return lambda x, h, *weights: f(x, h, weights, True, 1, 0.0, False, False, False, **options)[0]


CLASSES = torch.tensor([0, 2, 1])
CALLS = {
    "multi_dot": (lambda *xs: torch.linalg.multi_dot(xs), (2, 3), (3, 4), (4, 2)),
    "multi_dot4": (lambda *xs: torch.linalg.multi_dot(xs), (2, 3), (3, 4), (4, 2), (2, 2)),
    "kron": (torch.kron, (2, 2), (2, 3)),
    "einsum2": (lambda a, b: torch.einsum("ij,jk->ik", a, b), (2, 3), (3, 4)),
    "einsum3": (lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), (2, 3), (3, 4), (4, 2)),
    "tensordot": (lambda a, b: torch.tensordot(a, b, 1), (2, 3), (3, 4)),
    "bilinear": (F.bilinear, (2, 3), (2, 4), (2, 3, 4)),
    "attention": (F.scaled_dot_product_attention, (2, 3, 4), (2, 3, 4), (2, 3, 4)),
    "attention4": (F.scaled_dot_product_attention, (1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)),
    "attention of a mask": (F.scaled_dot_product_attention, (1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), (3, 3)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), (3, 4), (4,)),
    "prelu": (F.prelu, (2, 3), (3,)),
    "nll_loss": (lambda x: F.nll_loss(x, CLASSES), (3, 4)),
    "nll_loss of a row": (lambda x: F.nll_loss(x, CLASSES[None]), (1, 4, 3)),
    "cross entropy": (lambda x, t, w: F.cross_entropy(x, t, w), (3, 4), (3, 4), (4,)),
    "poisson": (F.poisson_nll_loss, (3,), (3,)),
    "several labels": (F.multilabel_soft_margin_loss, (3, 4), (3, 4)),
    "ctc": (lambda x: F.ctc_loss(x, CLASSES[1:].reshape(1, 2), (4,), (2,), reduction="none"), (4, 1, 3)),
    "quantile": (lambda x, q: x.quantile(q, 0), (2, 3), (1,)),
    "no norm": (lambda x: torch.linalg.vector_norm(x, 0), (3,)),
    "dist": (lambda x, y: torch.dist(x, y, 0), (3,), (3,)),
    "pow": (lambda x: x ** 0, (3,)),
    "floored": (lambda x, y: torch.div(x, y, rounding_mode="floor"), (3,), (3,)),
    "frexp": (lambda x: torch.frexp(x)[0], (3,)),
    "segments": (lambda x: torch.segment_reduce(x, "sum", lengths=CLASSES), (3,)),
    "bags": (lambda w, p: F.embedding_bag(CLASSES, w, CLASSES[:1], mode="sum", per_sample_weights=p), (3, 2), (3,)),
    "largest of bags": (lambda w: F.embedding_bag(CLASSES, w, CLASSES[:1], mode="max"), (3, 2)),
    "conv_tbc": (torch.conv_tbc, (5, 1, 2), (2, 2, 3), (3,)),
    "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False), (1, 1, 3, 3), (1, 2, 2, 2)),
    "elu_": (lambda x: F.elu(x * 1, inplace=True), (3,)), "selu_": (lambda x: F.selu(x * 1, inplace=True), (3,)),
    "celu_": (lambda x: F.celu(x * 1, inplace=True), (3,)), "leaky_relu_": (lambda x: F.leaky_relu(x * 1, inplace=True), (3,)),
    "lstm_cell": (lambda x, h, c, *w: torch.lstm_cell(x, (h, c), *w)[1], (3, 2), (3, 2), (3, 2), (8, 2), (8, 2), (8,), (8,)),
    "gru_cell": (torch.gru_cell, (3, 2), (3, 2), (6, 2), (6, 2), (6,), (6,)),
    "rnn_tanh": (steps(torch.rnn_tanh), (3, 1, 2), (1, 1, 2), (2, 2), (2, 2), (2,), (2,)),
}


def refusal(name, wants, written):
    """Which operand backward says was written, after operand `written` or (-1) the result was: its shape, and what made it; or None."""
    f, *shapes = CALLS[name]
    more = 0.9 if name in ("several labels", "quantile") else 0.0
    xs = [numbers(*shape, more=more).requires_grad_(k in wants) for k, shape in enumerate(shapes)]
    given = [x * 1 if x.requires_grad else x for x in xs]
    made = f(*given)
    (given[written] if written >= 0 else made).detach().mul_(1.25)
    try:
        made.sum().backward()
    except RuntimeError as e:
        shape, by = re.search(r"\[torch.DoubleTensor \[(.*?)\]\](?:, which is output 0 of (\w+),)? is at", str(e)).groups()
        return shape.replace(", ", "x") + (":" + by if by else "")


# a call, which operands want gradients, and for each one that is written (-1: the result) what is said
WRITES = [
    ("multi_dot", (0, 1, 2), {0: "2x3:Mul", 1: "3x4:Mul", 2: "4x2:Mul", -1: None}),
    ("multi_dot", (0,), {0: None, 1: None, 2: None, -1: None}),
    ("multi_dot", (1,), {0: "2x3", 1: None, 2: "4x2", -1: None}),
    ("multi_dot", (2,), {0: "2x3", 1: "3x4", 2: None, -1: None}),
    ("multi_dot4", (0, 1, 2, 3), {0: "2x3:Mul", 1: "3x4:Mul", 2: "4x2:Mul", 3: "2x2:Mul", -1: None}),
    ("multi_dot4", (0,), {0: None, 1: None, 2: None, 3: "2x2", -1: None}),
    ("multi_dot4", (1,), {0: "2x3", 1: None, 2: "4x2", 3: "2x2", -1: None}),
    ("multi_dot4", (2,), {0: "2x3", 1: "3x4", 2: None, 3: "2x2", -1: None}),
    ("multi_dot4", (3,), {0: None, 1: None, 2: None, 3: None, -1: None}),
    ("kron", (0, 1), {0: None, 1: None, -1: None}),
    ("kron", (0,), {0: None, 1: None, -1: None}),
    ("kron", (1,), {0: None, 1: None, -1: None}),
    ("einsum2", (0, 1), {0: "1x2x3:AsStrided", 1: "1x3x4:AsStrided", -1: None}),
    ("einsum2", (0,), {0: None, 1: "1x3x4", -1: None}),
    ("einsum2", (1,), {0: "1x2x3", 1: None, -1: None}),
    ("einsum3", (2,), {0: None, 1: None, 2: None, -1: None}),
    ("tensordot", (0, 1), {0: "2x3:AsStrided", 1: "3x4:AsStrided", -1: None}),
    ("tensordot", (0,), {0: None, 1: "3x4", -1: None}),
    ("tensordot", (1,), {0: "2x3", 1: None, -1: None}),
    ("bilinear", (0, 1, 2), {0: "2x3:AsStrided", 1: "2x4:AsStrided", 2: "2x3x4:Mul", -1: None}),
    ("bilinear", (0,), {0: None, 1: "2x4", 2: "2x3x4", -1: None}),
    ("bilinear", (1,), {0: "2x3", 1: None, 2: "2x3x4", -1: None}),
    ("bilinear", (2,), {0: "2x3", 1: "2x4", 2: None, -1: None}),
    ("attention", (0, 1, 2), {0: None, 1: None, 2: "2x3x4:AsStrided", -1: None}),
    ("attention", (0,), {0: None, 1: None, 2: "2x3x4", -1: None}),
    ("attention", (1,), {0: None, 1: None, 2: "2x3x4", -1: None}),
    ("attention", (2,), {0: None, 1: None, 2: None, -1: None}),
    ("attention4", (0, 1, 2), {0: "1x2x3x4:Mul", 1: "1x2x3x4:Mul", 2: "1x2x3x4:Mul", -1: "1x2x3x4:ScaledDotProductFlashAttentionForCpu"}),
    ("attention4", (0,), {0: "1x2x3x4:Mul", 1: "1x2x3x4", 2: "1x2x3x4", -1: "1x2x3x4:ScaledDotProductFlashAttentionForCpu"}),
    ("attention4", (1,), {0: "1x2x3x4", 1: "1x2x3x4:Mul", 2: "1x2x3x4", -1: "1x2x3x4:ScaledDotProductFlashAttentionForCpu"}),
    ("attention4", (2,), {0: "1x2x3x4", 1: "1x2x3x4", 2: "1x2x3x4:Mul", -1: "1x2x3x4:ScaledDotProductFlashAttentionForCpu"}),
    ("attention of a mask", (0, 1, 2, 3), {0: None, 1: None, 3: None, -1: None}),
    ("attention of a mask", (3,), {0: None, 1: None, 3: None, -1: None}),
    ("rms_norm", (0, 1), {0: "3x4:Mul", 1: "4:Mul", -1: None}),
    ("rms_norm", (0,), {0: "3x4:Mul", 1: "4", -1: None}),
    ("rms_norm", (1,), {0: None, 1: None, -1: None}),
    ("prelu", (0, 1), {0: "2x3:Mul", 1: "1x3:AsStrided", -1: None}),
    ("prelu", (0,), {0: "2x3:Mul", 1: "1x3", -1: None}),
    ("prelu", (1,), {0: "2x3", 1: "1x3:AsStrided", -1: None}),
    ("nll_loss", (0,), {0: "3x4:Mul", -1: None}),
    ("nll_loss of a row", (0,), {0: "1x4x1x3:AsStrided", -1: None}),
    ("cross entropy", (0, 1, 2), {0: None, 1: "3x4:Mul", -1: None}),
    ("cross entropy", (2,), {0: None, 1: None, -1: None}),
    ("poisson", (0, 1), {0: "3:Mul", 1: "3:Mul", -1: None}),
    ("poisson", (0,), {0: None, 1: "3", -1: None}),
    ("poisson", (1,), {0: "3", 1: None, -1: None}),
    ("several labels", (0, 1), {0: "3x4:Mul", 1: "3x4:Mul", -1: None}),
    ("several labels", (0,), {0: "3x4:Mul", 1: "3x4", -1: None}),
    ("several labels", (1,), {0: None, 1: None, -1: None}),
    ("ctc", (0,), {0: "4x1x3:Mul", -1: "1:CtcLoss"}),
    ("quantile", (0, 1), {0: None, 1: None, -1: None}),
    ("quantile", (0,), {0: None, 1: None, -1: None}),
    ("quantile", (1,), {0: None, 1: None, -1: None}),
    ("no norm", (0,), {0: "3:Mul", -1: ":LinalgVectorNorm"}),
    ("dist", (0, 1), {0: "3:Mul", 1: "3:Mul", -1: ":Dist"}),
    ("dist", (0,), {0: "3:Mul", 1: "3", -1: ":Dist"}),
    ("dist", (1,), {0: "3", 1: "3:Mul", -1: ":Dist"}),
    ("pow", (0,), {0: "3:Mul", -1: None}),
    ("floored", (0, 1), {0: "3:Mul", 1: "3:Mul", -1: None}),
    ("floored", (0,), {0: None, 1: "3", -1: None}),
    ("floored", (1,), {0: "3", 1: "3:Mul", -1: None}),
    ("frexp", (0,), {0: None, -1: None}),
    ("segments", (0,), {0: "3:Mul", -1: "3:SegmentReduce"}),
    ("bags", (0, 1), {0: "3x2:Mul", 1: "3:Mul", -1: None}),
    ("bags", (0,), {0: None, 1: "3", -1: None}),
    ("bags", (1,), {0: "3x2", 1: "3:Mul", -1: None}),
    ("largest of bags", (0,), {0: None, -1: None}),
    ("conv_tbc", (0, 1, 2), {0: "5x1x2:Mul", 1: "2x2x3:Mul", 2: "3:Mul", -1: None}),
    ("conv_tbc", (0,), {0: "5x1x2:Mul", 1: "2x2x3", 2: "3", -1: None}),
    ("conv_tbc", (1,), {0: "5x1x2", 1: "2x2x3:Mul", 2: "3", -1: None}),
    ("conv_tbc", (2,), {0: "5x1x2", 1: "2x2x3", 2: "3:Mul", -1: None}),
    ("grid_sample", (0, 1), {0: "1x1x3x3:Mul", 1: "1x2x2x2:Mul", -1: None}),
    ("grid_sample", (0,), {0: "1x1x3x3:Mul", 1: "1x2x2x2", -1: None}),
    ("grid_sample", (1,), {0: "1x1x3x3", 1: "1x2x2x2:Mul", -1: None}),
    ("elu_", (0,), {0: None, -1: "3:Elu1"}),
    ("selu_", (0,), {0: None, -1: "3:Elu1"}),
    ("celu_", (0,), {0: None, -1: "3:Celu1"}),
    ("leaky_relu_", (0,), {0: None, -1: "3:LeakyRelu1"}),
    ("lstm_cell", (0, 1, 2, 3, 4, 5, 6), {0: "3x2:Mul", 1: "3x2:Mul", 2: "3x2:Mul", 3: "2x8:AsStrided", 4: "2x8:AsStrided", 5: None, 6:
     None, -1: None}),
    ("lstm_cell", (0,), {0: None, 1: None, 2: "3x2", 3: "2x8", 4: None, 5: None, 6: None, -1: None}),
    ("lstm_cell", (1,), {0: None, 1: None, 2: "3x2", 3: None, 4: "2x8", 5: None, 6: None, -1: None}),
    ("lstm_cell", (6,), {0: None, 1: None, 2: "3x2", 3: None, 4: None, 5: None, 6: None, -1: None}),
    ("gru_cell", (0, 1, 2, 3, 4, 5), {0: "3x2:Mul", 1: "3x2:Mul", 2: "2x6:AsStrided", 3: "2x6:AsStrided", 4: None, 5: None, -1: None}),
    ("gru_cell", (0,), {0: None, 1: None, 2: "2x6", 3: None, 4: None, 5: None, -1: None}),
    ("gru_cell", (1,), {0: None, 1: None, 2: None, 3: "2x6", 4: None, 5: None, -1: None}),
    ("gru_cell", (5,), {0: None, 1: None, 2: None, 3: None, 4: None, 5: None, -1: None}),
    ("rnn_tanh", (0, 1, 2, 3, 4, 5), {0: "3x2:AsStrided", 2: "2x2:AsStrided", 3: "2x2:AsStrided", 4: None, 5: None, -1: None}),
    ("rnn_tanh", (0,), {0: None, 2: "2x2", 3: "2x2", 4: None, 5: None, -1: None}),
    ("rnn_tanh", (1,), {0: None, 2: None, 3: "2x2", 4: None, 5: None, -1: None}),
    ("rnn_tanh", (5,), {0: None, 2: None, 3: "2x2", 4: None, 5: None, -1: None}),
]


@pytest.mark.parametrize("name, wants, said", WRITES, ids=lambda a: str(a) if a.__class__ is not dict else "")
def test_what_may_be_written_before_backward(name, wants, said):
    assert {k: refusal(name, wants, k) for k in said} == said
