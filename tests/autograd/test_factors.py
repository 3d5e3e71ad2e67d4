"""What the second derivatives look at of what gradients saved: what torch's nodes keep as they are, where a backward pass comes to them."""
import pytest

import torchshim as torch

F = torch.nn.functional
WRITTEN = "modified by an inplace operation"


def derived(f, write, by, wrt, n=1):
    """The second derivative by `by` (an operand's number, or "grad") of the first gradient by the operand `wrt`, where the operand `write`,
    or what came in, was written in between."""
    leaves = [torch.tensor([0.5, 0.75, 1.25], dtype=torch.float64).add(0.1 * k).requires_grad_() for k in range(n)]
    xs = [x * 1 for x in leaves]
    out = f(*xs)
    leaf = torch.ones_like(out).requires_grad_()
    ct = leaf * 1
    g, = torch.autograd.grad(out, [xs[wrt]], ct, create_graph=True)
    with torch.no_grad():
        (ct if write == "grad" else xs[write]).mul_(2)
    return torch.autograd.grad(g.sum(), [leaf if by == "grad" else xs[by]], allow_unused=True)[0]


LOOKED = {
    "sin": (torch.sin, 0, 0, 0), "log": (torch.log, 0, "grad", 0), "abs": (torch.abs, "grad", 0, 0),
    "softshrink": (F.softshrink, 0, 0, 0), "leaky_relu": (F.leaky_relu, 0, 0, 0),
    "norm of order 1": (lambda x: x.norm(1), 0, 0, 0), "vector_norm": (lambda x: torch.linalg.vector_norm(x, 1), 0, 0, 0),
    "mse_loss": (lambda x, y: F.mse_loss(x, y), 0, 0, 0), "mse_loss's target": (lambda x, y: F.mse_loss(x, y), 1, 0, 0),
    "dist's cotangent": (lambda x, y: torch.dist(x, y + 1, 1), "grad", 0, 0), "prelu": (lambda x, y: F.prelu(x, y[:1]), 0, 0, 0),
    "mul": (torch.mul, 1, "grad", 0), "div": (torch.div, 0, 0, 1), "fmod": (torch.fmod, 0, 1, 1), "hypot": (torch.hypot, 0, 0, 0),
}
FREE = {
    "sin": (torch.sin, 0, "grad", 0), "log1p": (torch.log1p, 0, 0, 0), "log2": (torch.log2, 0, 0, 0),
    "reciprocal": (torch.reciprocal, "grad", 0, 0), "sqrt": (torch.sqrt, 0, 0, 0),
    "logaddexp": (torch.logaddexp, 0, 0, 0), "logaddexp's other": (torch.logaddexp, 1, 0, 0), "logaddexp2": (torch.logaddexp2, 0, 1, 0),
    "logits": (F.binary_cross_entropy_with_logits, 0, 0, 0), "logits' target": (F.binary_cross_entropy_with_logits, 1, 0, 0),
    "div": (torch.div, "grad", 0, 1), "atan2": (torch.atan2, 1, 0, 0), "addcmul": (lambda x, y: torch.addcmul(x, x, y), 1, "grad", 1),
    "mul": (torch.mul, 0, 0, 0), "matmul": (torch.matmul, 0, 0, 0), "lerp": (lambda x, y: torch.lerp(x, y, y), 0, "grad", 0),
}



@pytest.mark.parametrize("case", LOOKED)
def test_a_write_is_noticed_where_a_node_keeps_what_was_written(case):
    f, write, by, wrt = LOOKED[case]
    n = 2 if case.partition("'")[0] in TWO else 1
    with pytest.raises(RuntimeError, match=WRITTEN):
        derived(f, write, by, wrt, n)


@pytest.mark.parametrize("case", FREE)
def test_a_write_is_not_noticed_where_nodes_keep_what_was_made_of_it(case):
    f, write, by, wrt = FREE[case]
    derived(f, write, by, wrt, 2 if case.partition("'")[0] in TWO else 1)


TWO = {"mse_loss", "dist", "prelu", "mul", "div", "fmod", "hypot", "logaddexp", "logaddexp2", "logits", "atan2", "addcmul", "matmul", "lerp"}


def twice(f, write):
    """How two backward passes through a first gradient fail, the second where the first one left things."""
    x = torch.tensor([0.5, 0.75], dtype=torch.float64, requires_grad=True)
    y = x * 1
    out = f(y)
    g, = torch.autograd.grad(out, [y], torch.ones_like(out) * 1, create_graph=True)
    with torch.no_grad():
        (y if write == "operand" else out).mul_(2)
    said = []
    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            g.sum().backward()
        said.append("second time" in str(caught.value))
    return said


@pytest.mark.parametrize("f, write, released", [
    (torch.sin, "operand", True), (torch.cos, "operand", True), (torch.atan, "operand", True),
    (torch.log, "operand", False), (torch.exp, "result", True), (torch.tanh, "result", False)])
def test_a_product_is_released_before_its_factor_fails(f, write, released):
    assert twice(f, write) == [False, released]
