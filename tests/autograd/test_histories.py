"""Names and edges of nodes, and which results have a history at all. Expected values are torch 2.13's."""
import contextlib

import pytest

import torchshim as torch
from torchshim.utils.checkpoint import checkpoint

F = torch.nn.functional


def edges(t):
    return t.grad_fn.name(), [f and f.name() for f, _ in t.grad_fn.next_functions]


def told(y):
    with pytest.raises(RuntimeError) as e:
        y.sum().backward()
    return str(e.value).partition("operation: ")[2].partition(" is at")[0]


def test_a_leafs_gradient_has_the_shape_that_its_history_knows():
    v = torch.tensor([1.5, -2.0], requires_grad=True)
    held = v.max()
    v.data = torch.tensor(3.0)
    with pytest.raises(RuntimeError, match=r"MeanBackward1 returned an invalid gradient at index 0 - got \[\] but expected shape "
                                           r"compatible "
                                           r"with \[2\]"):
        v.mean(-1).backward()
    assert held.grad_fn is not None
    w = torch.tensor([1.5, -2.0], requires_grad=True)      # nobody knows its shape
    w.data = torch.tensor(3.0)
    w.mean().backward()
    assert w.grad.shape == ()


def test_a_reentrant_checkpoint_under_a_gradient_that_has_a_history():
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    y = checkpoint(lambda x: x.sin() * x, x, use_reentrant=True)
    (y * y).sum().backward(create_graph=True)
    z = x.detach().requires_grad_()
    ((z.sin() * z) ** 2).sum().backward()
    assert torch.allclose(x.grad, z.grad)


def test_gradients_without_elements_have_the_history_of_others():
    v = torch.zeros(0, requires_grad=True)
    g, = torch.autograd.grad(torch.stack([v, v]).sgn().sum(), v, create_graph=True)
    assert not g.requires_grad
    g, = torch.autograd.grad((torch.stack([v, v]) ** 2).sum(), v, create_graph=True)
    assert g.requires_grad


def test_the_names_of_a_product_with_one_matrix_that_wants_a_gradient():
    one, many = torch.ones(1, 3, 2, requires_grad=True), torch.ones(2, 2, 3)
    assert (one @ many).grad_fn.name() == "CloneBackward0" and (one @ many[..., :1]).grad_fn.name() == "TransposeBackward0"
    assert (one.detach() @ many.requires_grad_()).grad_fn.name() == "UnsafeViewBackward0"


def test_a_leaf_that_was_computed_since_gets_no_gradient():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    x.requires_grad_(False)
    x.add_(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        y.sum().backward()


def test_inner_is_a_view_of_a_product_of_matrices():
    x = torch.ones(2, 3, requires_grad=True)
    for a, b, base, below in ((x, x, (2, 2), "MmBackward0"), (x, x[0], (2, 1), "MmBackward0"), (x[0], x[1], (), "DotBackward0")):
        made = torch.inner(a, b)
        assert made._is_view() and made._base.shape == base and made.grad_fn.name() == "ViewBackward0"
        assert made.grad_fn.next_functions[0][0].name() == below
        made -= 1
        assert made.grad_fn.name() == "AsStridedBackward0"
        made.sum().backward()
    assert torch.equal(x.grad, torch.tensor([[8.0, 8, 8], [6, 6, 6]]))
    number = torch.inner(x[0, 0], x)
    assert not number._is_view() and number.grad_fn.name() == "MulBackward0"


def test_a_matrix_that_got_its_history_when_it_was_written_is_seen_with_it():
    x, y = torch.ones(3, requires_grad=True), torch.ones(3)
    made = x.inner(y)
    y.mul_(x)
    with pytest.raises(RuntimeError, match=r"\[3\]\], which is output 0 of AsStrided, is at version 1; expected version 0"):
        made.backward()


def test_what_is_compared_is_shown_with_its_history():
    x = torch.ones(2, requires_grad=True)
    assert torch.maximum(x, x).grad_fn._saved_other is x
    assert torch.minimum(x * 1, x).grad_fn._saved_self.grad_fn.name() == "MulBackward0"


def test_an_index_without_dimensions_is_one_of_a_single_place():
    index = torch.tensor(0)
    for shape in ((0,), (3,), ()):
        with pytest.raises(RuntimeError, match=r"Expected index \[\] to be no larger than self .* and to be no larger size than src \[0\]"):
            torch.zeros(shape).scatter(0, index, torch.zeros(0))


def test_outer_is_a_product_with_a_column():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    made = torch.outer(x, x)
    assert made.grad_fn.name() == "MulBackward0" and made.grad_fn.next_functions[0][0].name() == "ViewBackward0"
    assert made.grad_fn._saved_self.shape == (2, 1) and made.grad_fn._saved_other is x
    with pytest.raises(RuntimeError, match="^outer: Expected 1-D argument self, but got 2-D"):
        torch.outer(made, x)


def test_cosine_similarity_is_made_of_the_operators_that_torch_makes_it_of():
    a = torch.tensor([1.5, 1.5], requires_grad=True)
    torch.cosine_similarity(a, a, 0).backward()
    assert a.grad.tolist() == [-1.1920928955078125e-07] * 2    # torch's digits
    u, v = torch.ones(2, 3, dtype=torch.float64, requires_grad=True), torch.ones(3, requires_grad=True)
    node, names = torch.nn.functional.cosine_similarity(u, v, -1).grad_fn, []
    while node is not None and len(names) < 4:
        names.append(node.name())
        node = node.next_functions[0][0]
    assert names == ["SumBackward1", "MulBackward0", "DivBackward0", "ExpandBackward0"]
    x, y = torch.ones(1, 3, requires_grad=True), torch.ones(2, 3)
    made = torch.cosine_similarity(x, y, -1)
    y.mul_(2)                                  # saved was its quotient
    made.sum().backward()
    with pytest.raises(RuntimeError, match="^expected common dtype to be floating point, yet common dtype is ComplexFloat$"):
        torch.cosine_similarity(torch.ones((), dtype=torch.complex128), torch.ones(2), -1)


def test_an_edge_that_leads_nowhere_is_no_gradient_edge():
    v = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        lost = v[..., 0]
    for f in (torch.autograd.graph.get_gradient_edge, lambda t: torch.autograd.graph.register_multi_grad_hook((v, t, None), print)):
        with pytest.raises(AssertionError, match="^Expected gradient function to be set$"):
            f(lost)
    with pytest.raises(AttributeError, match="^'NoneType' object has no attribute 'requires_grad'$"):
        torch.autograd.graph.register_multi_grad_hook((v, None), print)


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


def test_a_leaf_that_was_detached_and_written_is_named_by_what_wrote_it():
    a = torch.ones(2, requires_grad=True)
    y = a * a
    a.detach_()
    a.add_(y)
    assert told(y) == "[torch.FloatTensor [2]], which is output 0 of Add,"


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


def test_a_detached_weight_has_no_history_though_its_memory_has():
    x = (torch.ones(1, 3, requires_grad=True) * 1).softmax(-1)
    weight = x.detach()
    y = F.linear(x, weight)
    weight.mul_(2)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[3, 1\]\] is at version 1"):
        y.sum().backward()


def test_what_has_no_derivative_is_written_to_a_leaf_of_another_shape():
    x = torch.ones(2, 2, requires_grad=True)
    with pytest.warns(UserWarning, match="was resized"):
        torch.gt(torch.ones(3), 0, out=x)
    assert x.tolist() == [1.0, 1.0, 1.0] and x.is_leaf and x.requires_grad


def test_the_norm_of_all_gradients_has_no_history():
    assert not torch.nn.utils.get_total_norm([torch.ones(2, requires_grad=True)]).requires_grad


def test_integers_that_a_function_writes_get_no_history():
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            return x.mul_(2), y * 3

        @staticmethod
        def backward(ctx, g, h):
            return None, h * 3
    y = torch.ones(3, requires_grad=True)
    for x in (torch.arange(3), torch.arange(6)[::2]):
        made, other = Both.apply(x, y)
        assert made is x and made.is_leaf and not made.requires_grad and made._version == 2
        other.sum().backward()
    assert y.grad.tolist() == [6.0, 6.0, 6.0]


def test_what_is_written_into_a_copy_is_the_only_step():
    x = torch.ones(4, requires_grad=True)
    for made in (x.slice_scatter(x[1:], 0, 1), x.select_scatter(x[1], 0, 1)):
        (first, _), _ = made.grad_fn.next_functions
        assert type(first).__name__ == "AccumulateGrad"
    x.slice_scatter(x[1:] * 3, 0, 1).sum().backward()
    assert x.grad.tolist() == [1.0, 3.0, 3.0, 3.0]
    for f in (lambda t: t.slice_scatter(x[1:], 0, 1), lambda t: t.select_scatter(x[1], 0, 1), lambda t: t.as_strided_scatter(x[:1], (1,), (1,))):
        with pytest.raises(RuntimeError, match="Autograd not support dtype: Long"):
            f(torch.zeros(4, dtype=torch.int64))
    for f in (torch.slice_copy, lambda t: torch.select_copy(t, 0, 0)):
        with pytest.raises(RuntimeError, match="(slice|select)_copy does not support automatic differentiation for outputs with complex"):
            f(torch.ones(2, dtype=torch.complex64, requires_grad=True))


def test_who_asks_for_the_gradient_of_a_view_does_not_ask_for_its_history():
    x = torch.ones(4, requires_grad=True) * 1
    v = x.chunk(2)[1]
    x.mul_(2)
    with pytest.warns(UserWarning, match="that is not a leaf Tensor is being accessed"):
        assert v.grad is None
    assert v.output_nr == 1
    with pytest.raises(RuntimeError, match="Output 1 of Split is a view and its base or another view of its base has been modified inplace"):
        v.grad_fn
