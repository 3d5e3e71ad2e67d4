"""What a node keeps for backward, which nodes a backward pass runs, and which gradients have a history: as torch's formulas say.

Every expectation holds for real torch 2.13: replacing the import below by `import torch` must leave the file green.
"""
import pytest

import torchshim as torch

MODIFIED = "modified by an inplace operation"


@pytest.fixture
def xy():
    x = torch.tensor([[0.3, 0.5], [0.2, 0.9]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[0.4, 0.1], [0.7, 0.6]], dtype=torch.float64, requires_grad=True)
    return x, y


@pytest.mark.parametrize("text", ["torch.hypot(x, y)", "x ** y", "torch.dist(x, y)", "x.amax(0)", "x.max()", "x.prod()",
                                  "x.norm()", "x.std()", "x.logsumexp(0)", "x.cumprod(0)", "torch.copysign(x, y)", "x.median()",
                                  "torch.softmax(x, 0)"])
def test_a_result_that_torch_keeps_may_not_be_written(xy, text):
    x, y = xy
    out = eval(text)
    with torch.no_grad():
        out.add_(0)
    with pytest.raises(RuntimeError, match=MODIFIED):
        out.sum().backward()


@pytest.mark.parametrize("text", ["x ** 2", "x * y", "x.sum(0)", "x.var()", "x.cummax(0)[0]", "x.trace()", "x @ y"])
def test_other_results_may_be_written(xy, text):
    x, y = xy
    out = eval(text)
    with torch.no_grad():
        out.add_(0)
    out.sum().backward()


def test_a_view_in_place_counts_as_a_write(xy):
    out = xy[0].softmax(0)
    s = out.sum()
    out.unsqueeze_(0)
    with pytest.raises(RuntimeError, match="output 0 of Softmax, is at version 1"):
        s.backward()


def test_the_message_names_the_node_with_its_number_and_remade_views(xy):
    x, y = xy
    for first, name in ((lambda: x.clone().pow(y), "Pow1"), (lambda: (x * 1)[0], "AsStrided")):
        a = first()
        out = a.exp() * a
        base = a if a._base is None else a._base
        with torch.no_grad():
            base.add_(1)
        with pytest.raises(RuntimeError, match=f"output 0 of {name},"):
            out.sum().backward()


def test_hooks_run_only_where_a_gradient_is_asked_for(xy):
    x, y = xy
    seen = []
    a = x * 2
    a.register_hook(lambda g: seen.append("a"))
    x.register_hook(lambda g: seen.append("x"))
    torch.autograd.grad((a + y).sum(), y)
    assert seen == []
    # a single root is looked at whatever it leads to
    assert torch.autograd.grad(a, y, torch.ones_like(a), allow_unused=True) == (None,)
    assert seen == ["a"]


@pytest.mark.parametrize("text, history", [
    ("torch.nn.functional.linear(x, y, y[0])", True), ("torch.addcmul(x, y, y)", False), ("x.nansum()", False), ("x.cummax(0)[0]", False),
    ("torch.addmm(x, y, y)", False), ("x.quantile(0.5)", False), ("x.trace()", False), ("x.relu()", True), ("x * y", True),
    ("x.clamp(0, 1)", False)])
def test_a_gradient_has_a_history_where_its_own_formula_reads_one(xy, text, history):
    x, y = xy
    g, = torch.autograd.grad(eval(text).sum(), x, create_graph=True)
    assert g.requires_grad is history


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "trunc", "sign", "sgn"])
def test_a_gradient_that_is_zero_has_no_history(xy, name):
    x, y = xy
    g, = torch.autograd.grad(getattr(x, name)(), x, y, create_graph=True)
    assert not g.requires_grad and not g.any()


def test_the_gradient_of_a_trace():
    for shape in ((2, 2), (3, 2), (1, 3)):
        x = torch.ones(shape, dtype=torch.float64, requires_grad=True)
        x.trace().backward()
        assert torch.equal(x.grad, torch.eye(*shape, dtype=torch.float64))


def test_a_complex_sign_has_a_second_derivative():
    x = torch.tensor([0.3 + 0.4j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradgradcheck(torch.sgn, x)


def test_extremes_so_far_of_nothing():
    for shape in ((0,), (0, 3), (2, 0)):
        x = torch.zeros(shape, requires_grad=True)
        x.cummax(0)[0].sum().backward()
        assert x.grad.shape == x.shape


def test_hooks_come_after_a_gradient_that_is_asked_for_on_the_way():
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: g * 2)
    gy, gx = torch.autograd.grad(y.sum(), [y, x], retain_graph=True)
    assert gy.tolist() == [1, 1] and gx.tolist() == [6, 6]
    assert torch.autograd.grad(y.sum(), y)[0].tolist() == [2, 2]


@pytest.mark.parametrize("shape", [(0,), (1,), ()])
@pytest.mark.parametrize("text", ["x.sort()[0]", "x.cumprod(0)", "x.logcumsumexp(0)", "x.topk(0)[0]", "x.prod()",
                                  "torch.relu(x)", "x.abs()", "torch.atan2(x, x + 3)", "x.clamp(-1, 1)", "x.nan_to_num()",
                                  "torch.where(x > 0, x, x)"])
def test_what_has_no_elements_or_one_keeps_what_others_keep(shape, text):
    x = torch.ones(shape, dtype=torch.float64, requires_grad=True).neg()
    if not shape and "topk" in text:
        text = "x.kthvalue(1)[0].expand(0)"
    y = eval(text)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_an_operand_of_one_element_may_not_be_written_either():
    x = torch.ones(2, requires_grad=True).sum()
    y = x.amin(-1)
    x.cumsum_(0)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_what_only_a_view_without_history_needs_may_be_written():
    x, y = torch.ones(3, requires_grad=True), torch.ones(1, requires_grad=True)
    with torch.no_grad():
        v = (x * 2).ravel()                    # requires grad, and leads nowhere
    w = (y * 3)[..., 0]
    out = torch.addcmul(v, v, w)
    w.abs_()
    out.sum().backward()
    assert y.grad.tolist() == [18] and x.grad is None


@pytest.mark.parametrize("f, gradient", [(torch.exp, 2.568050833375483), (torch.sqrt, 0.5), (torch.Tensor.norm, 0.5),
                                         (lambda x: (x * 1).exp_(), 2.568050833375483), (lambda x: x.view(1)[:1].mul(1).exp_(), 2.568050833375483)])
def test_hooks_are_given_the_result_itself(f, gradient):
    kept = []
    x = torch.tensor(0.25, dtype=torch.float64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        y = f(x)
    assert any([t is y for t in kept])
    y.data = y.detach() * 2                    # so who unpacks it finds what lies there now
    y.sum().backward()
    assert x.grad.item() == gradient


def test_hooks_are_given_the_view_that_was_written():
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        y = (torch.ones(2, requires_grad=True) * 1)[:1].exp_()
    assert kept[0] is y and kept[0]._is_view() and kept[0]._version == 1
