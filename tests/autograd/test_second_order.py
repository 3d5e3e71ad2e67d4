"""Protects which gradients have a history under create_graph, as the operators' declarations say."""
import math

import pytest

import torchshim as torch
from torchshim.nn import functional as F
from torchshim.ops.registry import OPS


def test_declarations_say_what_is_known():
    told = {o.full_name: o.twice for o in OPS.values() if o.twice is not None and not callable(o.twice)}
    assert {o.name for o in OPS.values() if callable(o.twice)} == {"prod", "cumprod", "logcumsumexp", "cummax", "cummin", "var", "var_mean",
                                                                   "cat", "masked_select", "linalg_det", "pad_edge", "embedding_bag_of",
                                                                   "scatter_reduce", "index_reduce", "div", "pow"}
    assert set(map(str, told.values())) == {"compared", "compared alone", "compares self", "zeros", "2", "3", "4", "frozenset({1})"}
    for o in OPS.values():
        if o.twice is not None:
            assert o.grad is not None and o.grad != "NotImplemented", o
            assert o.twice.__class__ is not int or o.twice <= sum(p.kind == "tensor" for p in o.params), o
            assert o.inplace_op is None or o.inplace_op.twice == o.twice
    overloads = {}
    for o in OPS.values():
        overloads.setdefault(o.name, set()).add(o.twice)
    assert not [name for name, told in overloads.items() if len(told) > 1]


def history(f, shape=(3,), along=False):
    """Whether the gradient of f at 0.5 requires grad, and which of x and the cotangent that leads to."""
    x, c = torch.full(shape, 0.5, requires_grad=True), torch.ones(shape, requires_grad=along)
    y = f(x)
    g, = torch.autograd.grad(y, x, c if y.shape == shape else None, create_graph=True)
    if not g.requires_grad:
        return None
    return [h is not None for h in torch.autograd.grad(g.sum(), [x, c] if along else [x], allow_unused=True)]


@pytest.mark.parametrize("name", ["clamp", "clamp_", "clip_", "clamp_min_", "clamp_max_", "nan_to_num", "nan_to_num_"])
def test_what_compares_has_no_second_derivative_in_place_or_not(name):
    def f(x):
        return getattr(x.clone(), name)(*[] if "nan" in name else [0.25])
    assert history(f) is None and history(f, along=True) == [False, True] and history(f, ()) is None


def test_kernels_have_one():
    assert history(lambda x: x.relu()) == [True] and history(lambda x: x.clone().relu_()) == [True]
    assert history(lambda x: torch.nn.functional.hardtanh(x)) == [True]
    for shape in ((0, 0), (0, 3, 3)):
        assert history(torch.matrix_exp, shape) == [True]
    w, b, x = torch.ones(1, 1, 2, requires_grad=True), torch.zeros(1, requires_grad=True), torch.ones(1, 1, 4)
    grads = torch.autograd.grad(torch.nn.functional.conv1d(x, w, b).sum(), [w, b], create_graph=True)
    assert [g.requires_grad for g in grads] == [True, True]


def test_the_gradient_of_a_single_factor_is_what_came_in():
    for shape, f, has in (((), lambda x: x.prod(), False), ((), lambda x: x.prod(-1), False), ((1,), lambda x: x.prod(0), True),
                          ((1,), lambda x: x.cumprod(0), False), ((0,), lambda x: x.cumprod(0), False),
                          ((2,), lambda x: x.cumprod(0), True), ((0,), lambda x: x.logcumsumexp(0), False),
                          ((), lambda x: x.logcumsumexp(0), False)):
        x, w = torch.full(shape, 1.5, requires_grad=True), torch.ones((), requires_grad=True)
        assert torch.autograd.grad(f(x).sum(), x, create_graph=True)[0].requires_grad is has
        g, = torch.autograd.grad((f(x) * w).sum(), x, create_graph=True)
        assert (torch.autograd.grad(g.sum(), [x, w], allow_unused=True)[0] is not None) is has


def test_picks_and_steps_between_numbers_have_none():
    x, q = torch.tensor([0.5, 0.25, 0.75], requires_grad=True), torch.tensor([0.2, 0.7], requires_grad=True)
    for how in ("lower", "higher", "nearest", "midpoint"):
        g, of_q = torch.autograd.grad(torch.quantile(x, q, interpolation=how).sum(), [x, q], create_graph=True, allow_unused=True)
        assert not g.requires_grad and of_q is None and not torch.quantile(x.detach(), q, interpolation=how).requires_grad
    for f in (lambda x: torch.frexp(x)[0], lambda x: torch.nextafter(x, torch.ones(3))):
        assert not torch.autograd.grad(f(x).sum(), x, create_graph=True)[0].requires_grad
    right = torch.rand(2, 2, requires_grad=True)
    LU, pivots = torch.linalg.lu_factor(torch.eye(2))
    g, = torch.autograd.grad(torch.linalg.lu_solve(LU, pivots, right).sum(), right, create_graph=True)
    assert not g.requires_grad


@pytest.mark.parametrize("f, shape, has", [
    (lambda x: torch.scatter_reduce(x, 0, torch.tensor([1, 0]), x.detach()[:2], "amax"), (3,), False),
    (lambda x: torch.index_reduce(x, 0, torch.tensor([1, 0]), x.detach()[:2], "amin"), (3,), False),
    (lambda x: torch.nn.functional.pad(x, (1, 2), mode="circular"), (1, 3, 3), False),
    (lambda x: torch.nn.functional.pad(x, (1, 2), mode="reflect"), (1, 3, 3), True),
    (torch.linalg.det, (0, 3, 3), False), (torch.linalg.det, (1, 1), False), (torch.linalg.det, (2, 2), True),
    (lambda x: torch.nn.functional.rrelu(x, training=True), (3,), True),
    (lambda x: torch.nn.functional.embedding_bag(torch.tensor([[0, 1]]), x, mode="max"), (3, 2), False)])
def test_formulas_that_read_what_came_in_alone(f, shape, has):
    x = torch.full(shape, 0.5, requires_grad=True)
    assert torch.autograd.grad(f(x).sum(), x, create_graph=True)[0].requires_grad is has


def test_the_bias_of_a_single_row_is_made_by_the_kernel_too():
    x, w, b = torch.rand(1, 3, requires_grad=True), torch.ones(3, requires_grad=True), torch.zeros(3, requires_grad=True)
    grads = torch.autograd.grad(torch.nn.functional.layer_norm(x, (3,), w, b).sum(), [x, w, b], create_graph=True)
    assert [g.requires_grad for g in grads] == [True] * 3 and grads[2].tolist() == [1, 1, 1]


def test_a_soft_margin_far_off_is_straight():
    x = torch.tensor([-9.0, -0.5], requires_grad=True)
    loss = torch.nn.functional.soft_margin_loss(x, torch.tensor([9.0, 1.0]), reduction="sum")
    g, = torch.autograd.grad(loss, x, create_graph=True)
    assert g.tolist() == [-9.0, pytest.approx(-0.6224594)]
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [0.0, pytest.approx(0.23500372)]


def test_weights_of_samples_are_differentiated_once():
    weight, of_samples = torch.rand(4, 2, requires_grad=True), torch.rand(1, 2, requires_grad=True)
    made = torch.nn.functional.embedding_bag(torch.tensor([[0, 1]]), weight, mode="sum", per_sample_weights=of_samples)
    grads = torch.autograd.grad(made.sum(), [weight, of_samples], create_graph=True)
    with pytest.raises(RuntimeError, match="^derivative for aten::_embedding_bag_per_sample_weights_backward is not implemented$"):
        sum([g.sum() for g in grads]).backward()


def test_tolerances_have_no_derivative():
    with pytest.raises(RuntimeError, match="^The function 'linalg_pinv' is not differentiable with respect to argument 'rtol'. This input "
                                           "cannot have requires_grad True.$"):
        torch.linalg.pinv(torch.eye(2), torch.tensor(0.5, requires_grad=True))
    named = lambda y: type(y.grad_fn).__name__
    x = torch.eye(2, requires_grad=True)
    assert named(torch.linalg.cond(x)) == "SqueezeBackward1" and named(torch.linalg.vecdot(x[0], x[1])) == "VdotBackward0"
    assert named(torch.logdet(torch.eye(2, dtype=torch.complex64, requires_grad=True))) == "AddBackward0"
    assert named(torch.nn.functional.dropout3d(torch.rand(1, 2, 2, 2, requires_grad=True), training=False)) == "SqueezeBackward1"


@pytest.mark.parametrize("f, name", [
    (lambda x: F.max_pool2d(x, 2), "MaxPool2DWithIndicesBackwardBackward0"), (lambda x: F.avg_pool2d(x, 2), "AvgPool2DBackwardBackward0"),
    (lambda x: F.adaptive_max_pool2d(x, 1), "AdaptiveMaxPool2DBackwardBackward0"),
    (lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), "ReplicationPad2DBackwardBackward0"),
    (lambda x: F.nll_loss(x[0, :1], torch.tensor([[0, 1]])), None)])
def test_kernels_for_gradients_have_a_history_of_zeros_through_what_they_do_not_read(f, name):
    """Also where the cotangent has one."""
    x = torch.arange(8.0, dtype=torch.float64).reshape(1, 2, 2, 2).requires_grad_()
    y = f(x)
    w = torch.ones_like(y).requires_grad_()
    g, = torch.autograd.grad(y, x, w, create_graph=True)
    assert name is None or g.grad_fn.name() == name
    first, second = torch.autograd.grad(g.sum(), [x, w])
    assert first.tolist() == torch.zeros_like(x).tolist() and second.abs().sum() > 0


@pytest.mark.parametrize("x, hessian", [
    ([0., 0.], [[0, 1], [1, 0]]), ([0., 0., 3.], [[0, 3, 0], [3, 0, 0], [0, 0, 0]]), ([0., 0., 0.], [[0, 0, 0]] * 3),
    ([0., 2., 3.], [[0, 3, 2], [3, 0, 0], [2, 0, 0]])])
def test_a_product_with_several_zeros_has_second_derivatives(x, hessian):
    x = torch.tensor(x, requires_grad=True)
    g, = torch.autograd.grad(x.prod(), x, create_graph=True)
    assert [torch.autograd.grad(e, x, retain_graph=True)[0].tolist() for e in g] == hessian
    assert torch.func.hessian(torch.prod)(x.detach()).tolist() == hessian


_NAN = math.nan
_HOLES = [
    (torch.sinc, (0.0,), [(_NAN, _NAN)]), (torch.sinc, (1.0,), [(2.0, -1.0)]),
    (torch.atan2, (0.0, 0.0), [(_NAN, _NAN, 0), (_NAN, _NAN, 0)]), (torch.atan2, (0.0, 2.0), [(0, -0.25, 0.5), (-0.25, 0, 0)]),
    (torch.pow, (0.0, 1.0), [(0, 1, 1), (_NAN, _NAN, 0)]), (torch.pow, (0.0, 2.0), [(2, 0, 0), (_NAN, _NAN, 0)]),
    (torch.pow, (2.0, 1.0), [(0, 1 + math.log(2), 1), (1 + math.log(2), 2 * math.log(2) ** 2, 2 * math.log(2))]),
    (lambda e: 0 ** e, (1.0,), [(_NAN, 0)]), (torch.nn.functional.hardswish, (-math.inf,), [(0, 0)]),
    (lambda x, w: torch.nn.functional.prelu(x, w.reshape(1)), (0.0, 0.25), [(0, 0, 1), (0, 0, 0)]),
    (lambda x, w: torch.nn.functional.prelu(x, w.reshape(1)), (-2.0, 0.25), [(0, 1, 0.25), (1, 0, -2)])]


@pytest.mark.parametrize("f, at, expected", _HOLES)
def test_second_derivatives_where_the_first_have_holes(f, at, expected):
    """By the operands and by what came in: torch fills a hole in a slope after it has divided by 0, which shows one derivative later."""
    xs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in at]
    y = f(*xs)
    c = torch.ones_like(y, requires_grad=True)
    gs = torch.autograd.grad(y, xs, c, create_graph=True)
    for g, row in zip(gs, expected, strict=True):
        found = torch.autograd.grad(g, [*xs, c], retain_graph=True, allow_unused=True)
        assert [0 if h is None else h.item() for h in found] == pytest.approx(row, nan_ok=True)


@pytest.mark.parametrize("f", [lambda x: x ** 0, lambda x: x ** 0.0, lambda x: torch.div(x, x.detach(), rounding_mode="floor"),
                               lambda x: torch.div(2.0, x, rounding_mode="trunc"), lambda x: torch.copysign(x.detach(), x)])
def test_gradients_that_are_zeros_have_no_history(f):
    x = torch.tensor(3.0, requires_grad=True)
    g, = torch.autograd.grad(f(x), x, torch.tensor(1.0, requires_grad=True), create_graph=True)
    assert not g.requires_grad and g == 0


def test_ctc_loss_has_no_second_derivative():
    x = torch.zeros(5, 2, 3, requires_grad=True)
    loss = torch.nn.functional.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 2], [2, 1]]), torch.tensor([5, 5]), torch.tensor([2, 1]))
    g, = torch.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="^derivative for aten::_ctc_loss_backward is not implemented"):
        g.sum().backward()
