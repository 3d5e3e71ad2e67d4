"""Protects what random programs and their neighbours found: which edges a node shows, whose write an error names, which gradients have a
history, and that a lost history is told before arguments that do not fit. Expected values are torch 2.13's."""
import contextlib

import pytest

import torchshim as torch

F = torch.nn.functional


def edges(t):
    return t.grad_fn.name(), [f and f.name() for f, _ in t.grad_fn.next_functions]


@pytest.mark.parametrize("write, name, rest", [
    ("v[0] = 1.5", "torch::autograd::CopySlices", [None]), ("v[:] = 2", "FillBackward3", [None]),
    ("v[torch.tensor([0])] = 1.", "IndexPutBackward0", [None]), ("v[v > 0] = 1.", "IndexPutBackward0", [None]),
    ("v[0] = w[:1]", "torch::autograd::CopySlices", ["ViewBackward0"]), ("v[:] = w[None]", "torch::autograd::CopyBackwards", ["ViewBackward0"]),
    ("v[0].add_(2)", "torch::autograd::CopySlices", [None]), ("v[0].copy_(1.5)", "torch::autograd::CopySlices", [None]),
    ("v.copy_(1.5)", "torch::autograd::CopyBackwards", [None]), ("v[:2].masked_fill_(v[:2] > 0, 1.)", "torch::autograd::CopySlices", []),
    ("v.clamp_(max=w)", "ClampBackward0", [None, "SinBackward0"])])
def test_a_number_that_is_written_has_an_edge_where_torch_makes_a_tensor_of_it(write, name, rest):
    x = torch.arange(1., 4, requires_grad=True)
    v, w = x * 2, (x * 3).sin()
    exec(write)
    assert edges(v) == (name, ["MulBackward0", *rest])


@pytest.mark.parametrize("f, below", [
    (lambda x, w: F.l1_loss(x, x), ["AbsBackward0"]), (lambda x, w: x.diff(), ["SliceBackward0"] * 2),
    (lambda x, w: x.inner(x), ["MmBackward0"]), (lambda x, w: torch.einsum("i,j->ij", w, w), ["PermuteBackward0"] * 2),
    (lambda x, w: F.layer_norm(x, (3,)), ["MulBackward0", None, None]),
    (lambda x, w: F.conv1d(x[None], torch.ones(1, 2, 1)), ["UnsqueezeBackward0", None, None]),
    (lambda x, w: F.binary_cross_entropy(x.sigmoid(), torch.ones(2, 3), torch.ones(2, 3)), ["SigmoidBackward0", None])])
def test_what_a_node_leads_to(f, below):
    x = torch.arange(1., 7).reshape(2, 3).requires_grad_() * 1
    assert edges(f(x, torch.ones(3, requires_grad=True) * 1))[1] == below


def test_a_node_shows_the_operand_that_was_multiplied():
    x = torch.ones(4, requires_grad=True)
    saved = torch.einsum("i,j->ij", x, torch.ones(2, requires_grad=True)).grad_fn._saved_self
    assert saved.shape == (4, 1) and not saved.is_leaf


def test_inner_over_one_element_reads_a_copy_of_its_first_operand():
    x = torch.ones(1, requires_grad=True)
    v, w = x + x, x * 3
    y = v.inner(w)
    v.data.fill_(10.), w.data.fill_(20.)
    assert [g.item() for g in torch.autograd.grad(y, [v, w])] == [20., 2.]


def told(y):
    with pytest.raises(RuntimeError) as e:
        y.sum().backward()
    return str(e.value).partition("operation: ")[2].partition(" is at")[0]


def test_a_saved_view_is_named_by_the_history_that_its_base_has_by_then():
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3)
    y, z = F.linear(a, b), a * b[:]
    b[0].zero_()
    b.requires_grad_()
    assert told(y) == "[torch.FloatTensor [3, 2]], which is output 0 of AsStrided,"
    assert told(z) == "[torch.FloatTensor [2, 3]], which is output 0 of AsStrided,"


def test_a_leaf_that_was_detached_and_written_is_named_by_what_wrote_it():
    a = torch.ones(2, requires_grad=True)
    y = a * a
    a.detach_()
    a.add_(y)
    assert told(y) == "[torch.FloatTensor [2]], which is output 0 of Add,"


def test_cosine_similarity_tells_of_its_first_operand_first():
    a = torch.ones(2, requires_grad=True)
    y, z = F.cosine_similarity(a.view_as(a), a, -1), F.cosine_similarity(a, a.view_as(a), -1)
    with torch.no_grad():
        a.sub_(1)
    assert "AsStrided" in told(y) and "AsStrided" not in told(z)


@pytest.mark.parametrize("f, shape, has", [
    (lambda x: x.masked_select(x > 0), (0,), False), (lambda x: x.var(), (1,), False), (lambda x: x.var(0), (), False),
    (lambda x: x.cummax(0)[0], (2, 0), True), (lambda x: x.cummin(0)[0], (0,), True), (lambda x: x.logcumsumexp(0), (1,), True)])
def test_gradients_of_little_have_the_histories_of_torchs_formulas(f, shape, has):
    x = torch.ones(shape, requires_grad=True) * 1
    y = f(x)
    assert torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0].requires_grad is has


@pytest.mark.parametrize("f, shape", [(lambda x: x.as_strided((0,), (1,)), (2,)), (lambda x: torch.cat([x, x]), (0,))])
def test_gradients_that_are_made_anew_have_none(f, shape):
    x = torch.ones(shape, requires_grad=True) * 1
    y = f(x)
    assert not torch.autograd.grad(y, x, torch.ones_like(y).requires_grad_(), create_graph=True)[0].requires_grad


def test_renorm_of_nothing_is_differentiated_twice():
    x = torch.zeros(2, 0, requires_grad=True) * 1
    assert torch.autograd.grad(x.renorm(2, 0, 1.), x, torch.zeros(2, 0), create_graph=True)[0].requires_grad


@pytest.mark.parametrize("f", [
    lambda x: x.gather(0, torch.zeros(4, 9, dtype=torch.int64)), lambda x: x.scatter(0, torch.zeros(4, 9, dtype=torch.int64), x),
    lambda x: x.masked_select(torch.ones(9) > 0), lambda x: x.masked_scatter(torch.ones(9) > 0, x), lambda x: x.unfold(0, 99, 1),
    lambda x: x.as_strided((99,), (1,)), lambda x: x.var(9), lambda x: x.take(torch.tensor([99])), lambda x: x[torch.tensor([99])],
    lambda x: x[torch.ones(9) > 0], lambda x: x.split(-1), lambda x: x.index_fill(9, torch.tensor([0]), 1.), lambda x: x.t().view(-1),
    lambda x: x[:0].unbind(), lambda x: x.index_put((torch.tensor([0]),), torch.ones(9))])
def test_a_lost_history_is_told_before_arguments_that_do_not_fit(f):
    b = torch.ones(2, 2, 3).requires_grad_() * 1
    x = b.unbind()[0]
    b.mul_(2)
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and its base or another"):
        f(x)


def test_an_out_tensor_that_overlaps_is_refused_before_shapes():
    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        torch.add(x, x.as_strided((2,), (1,)), out=x)


def test_memory_that_grows_is_seen_by_all_who_saw_it():
    a = torch.arange(4.)
    b, c, d = a[1:3], a.detach(), a.data
    torch.exp(torch.arange(6.), out=a)
    assert a.shape == (6,) and b.tolist() == a[1:3].tolist() and c.tolist() == d.tolist() == a[:4].tolist()
    assert (a._version, b._version, c._version, d._version) == (1, 1, 1, 0)
    b.resize_(8)
    b.zero_()
    assert a.tolist() == [1.] + [0.] * 5 and a._version == b._version == 3


def test_what_grows_or_shrinks_as_out_counts_one_write():
    a = torch.zeros(2, 3, 2, 3)
    torch.mul(torch.ones(3, 2, 2).transpose(0, 1), 2, out=a)
    assert a._version == 1 and a.stride() == (2, 4, 1)


def test_clipping_values_counts_both_ends():
    p = torch.ones(1, requires_grad=True)
    p.grad = torch.ones(1)
    torch.nn.utils.clip_grad_value_([p], 0.5)
    assert p.grad._version == 2
    torch.nn.utils.clip_grad_value_([p], 0.5, foreach=False)
    assert p.grad._version == 3


def test_what_hooks_packed_is_shown_with_the_history_of_what_was_packed():
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t.view_as(t)):
        y, z = x.sin(), (x * 1).exp()
    leaf, result = y.grad_fn._saved_self, z.grad_fn._saved_result
    assert leaf.requires_grad and leaf.is_leaf and leaf is not x and result.grad_fn is z.grad_fn


def test_a_result_that_got_other_memory_before_is_missed_when_it_is_written():
    x = torch.ones(2, requires_grad=True) ** 3
    x.set_(x.detach().clone())
    x.relu_()
    x.sigmoid_()
    assert told(x) == "[torch.FloatTensor [2]], which is output 0 of Relu,"


def test_a_view_that_lost_its_history_is_refused_as_the_target_of_set():
    x = (torch.ones(4, requires_grad=True) * 1)
    part = x.chunk(2)[0]
    x.mul_(2)
    with pytest.raises(RuntimeError, match="Output 0 of Split is a view and is being modified inplace"):
        part.set_(torch.ones(2))


def test_a_gradient_for_what_is_no_tensor_is_refused():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(RuntimeError, match="function ScaledBackward returned a gradient different than None at position 2, but the"):
        Scaled.apply(torch.ones(2, requires_grad=True), 2).sum().backward()


def test_words_of_inner_and_of_entropies_of_bools():
    x = torch.ones(2)
    for f, n in ((x.inner, 1), (lambda y: torch.inner(x, y), 2)):
        with pytest.raises(TypeError, match=rf"argument 'other' \(position {n}\) must be Tensor, not NoneType"):
            f(None)
    with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
        F.binary_cross_entropy_with_logits(x, x > 0)


@pytest.mark.parametrize("f, expected", [
    (lambda x: torch.copysign(torch.ones(3), x), [0., 0., 0.]), (lambda x: torch.nextafter(torch.ones(3), x), [0., 0., 0.]),
    (lambda x: x.sinc()[:1], [0., 0., 0.]), (lambda x: F.softshrink(x), [0., 0., float("inf")]),
    (lambda x: x ** torch.tensor([0., 0., 1.]), [0., 0., float("inf")])])
def test_infinite_gradients_do_not_pass_where_torch_has_zeros(f, expected):
    x = torch.tensor([0., 0.25, 2.], requires_grad=True)
    y = f(x)
    assert torch.autograd.grad(y, x, torch.full_like(y, float("inf")))[0].tolist() == expected


@pytest.mark.parametrize("f", [
    F.l1_loss, lambda x, y: F.kl_div(x, y, log_target=True), lambda x, y: F.poisson_nll_loss(x, y.detach(), log_input=False),
    lambda x, y: F.gaussian_nll_loss(x, y, torch.ones(3)), lambda x, y: F.hinge_embedding_loss(x, y),
    lambda x, y: F.margin_ranking_loss(x, y, torch.ones(3)), lambda x, y: x.quantile(0.5), lambda x, y: torch.cov(x),
    lambda x, y: F.cross_entropy(x[None], y.detach()[None])])
def test_what_torch_makes_of_other_operators_does_not_save_its_operands(f):
    x, y = [torch.tensor([0.2, 0.5, 0.7], requires_grad=True) * 1 for _ in range(2)]
    made = f(x, y)
    expected = torch.autograd.grad(f(x, y), x, retain_graph=True)[0].tolist()
    with torch.no_grad():
        x.mul_(2)
    assert torch.autograd.grad(made, x)[0].tolist() == expected


def test_losses_of_inference_tensors_are_differentiated_where_torch_saves_what_it_made_of_them():
    with torch.inference_mode():
        x = torch.ones(3)
    y = torch.tensor([0.5, 2., 3.], requires_grad=True)
    F.l1_loss(x, y).backward()
    assert y.grad.tolist() == pytest.approx([-1 / 3, 1 / 3, 1 / 3])


def test_what_is_infinite_shows_the_steps_of_logcumsumexps_gradient():
    """From behind and by logarithms, as torch: JAX's own derivative had numbers there."""
    x = torch.tensor([1., float("inf"), 2.], requires_grad=True)
    y = x.logcumsumexp(0)
    made, = torch.autograd.grad(y, x, torch.tensor([1., -2., 0.5]))
    assert str(made.tolist()) == "[1.0, nan, 0.0]"
    z = torch.tensor([1., 2., 3.], dtype=torch.float64, requires_grad=True)
    g, = torch.autograd.grad(z.logcumsumexp(0), z, torch.tensor([1., -2., 0.5]).double(), create_graph=True)
    assert g.grad_fn.name() == "SubBackward0" and g.tolist() == pytest.approx([0.507132, -1.339753, 0.33262], rel=1e-5)


@pytest.mark.parametrize("f, runs", [(F.l1_loss, True), (F.kl_div, True), (F.mse_loss, False), (lambda x, y: x * y, False),
                                     (lambda x, y: x @ y.outer(y), True)])
def test_backward_to_a_result_runs_its_last_node_alone(f, runs):
    """`inputs=` names what has a history: torch runs the node that made it, which may be one of several of a function."""
    x = torch.tensor([1., 2., 3.], requires_grad=True)
    y = f(x, torch.ones(3))
    y.sum().backward(inputs=[y])
    with contextlib.nullcontext() if runs else pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_numbers_of_lists_of_tensors_are_no_tensors():
    """What multiplies each tensor of a list by a number has one edge, and one saved thing; a number times one tensor has two."""
    a = torch.ones(2, requires_grad=True) * 1
    torch._foreach_mul_([a, a], [2., 3.])
    assert a.grad_fn.name() == "MulBackward1" and len(a.grad_fn.next_functions) == 1 and a.grad_fn._saved_other == 3
    with pytest.raises(AttributeError):
        a.grad_fn._saved_self
    b = a * 2
    assert len(b.grad_fn.next_functions) == 2 and b.grad_fn._saved_self is None


@pytest.mark.parametrize("shapes, error, text", [
    (((4,), (2,)), RuntimeError, r"The size of tensor a \(4\)"), (((4,), (1,)), NotImplementedError, "lerp_kernel_scalar")])
def test_lerp_asks_for_shapes_before_kernels(shapes, error, text):
    a, b = [torch.zeros(s, dtype=torch.bool) for s in shapes]
    with pytest.raises(error, match=text):
        a.lerp(b, 0.25)
    with pytest.raises(RuntimeError, match="The size of tensor a|output with shape"):
        b.lerp_(a, 0.25)
    assert torch.zeros(2, dtype=torch.int64).lerp(torch.ones(2, dtype=torch.int64), torch.tensor(.5)).tolist() == [.5, .5]


def test_the_second_of_two_shapes_that_broadcast_is_asked_first_by_cosine_similarity():
    x = torch.ones(3, 3, requires_grad=True)
    row = x.split(1)[-1]
    column = row.t()
    column.detach().zero_()
    with pytest.raises(RuntimeError, match="Output 2 of Split"):
        F.cosine_similarity(column, row, -1)
