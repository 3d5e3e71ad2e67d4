"""What random programs found: histories, refusals and layouts where programs do unusual things one after the other."""
import pytest

import torchshim as torch
from torchshim.utils.checkpoint import checkpoint

class Sine(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()


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


@pytest.mark.parametrize("f", [torch.logaddexp, torch.logaddexp2, lambda b, a: a ** b])
def test_formulas_that_subtract_refuse_bool_tensors_in_backward(f):
    a, b = torch.ones(2, requires_grad=True), torch.tensor([True, False])
    made = f(b, a)
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"):
        made.sum().backward()


def test_the_angle_negates_what_it_saved():
    a, b = torch.ones(2, requires_grad=True), torch.tensor([True, False])
    with pytest.raises(RuntimeError, match="Negation, the `-` operator"):
        torch.atan2(b, a).sum().backward()
    torch.atan2(a, b).sum().backward()
    assert a.grad.tolist() == [0.5, 0.0]


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


def test_a_view_without_history_that_gets_a_gradient_takes_none_for_what_was_before():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        v = x.view(2)
    before = v[1:]
    v.requires_grad = True
    before.sum().backward()
    assert v.grad is None and before.grad_fn.next_functions == ((None, 0),)
    v[1:].sum().backward()
    assert v.grad.tolist() == [0.0, 1.0]


def test_a_view_of_many_whose_base_wants_no_gradient_any_more_is_lost_all_the_same():
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    part = v.unbind()[0]
    v.requires_grad_(False)
    v.zero_()
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        part.grad_fn


def test_what_the_target_of_a_write_refuses_comes_before_what_the_other_operand_lost():
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(1, 3, requires_grad=True).unbind()[0]
    with torch.no_grad():
        b.sqrt_()
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place operation"):
        a.mul_(b)


@pytest.mark.parametrize("shape, strides, diagonal, expected", [
    ((2, 3), (0, 1), 0, [[1, 0, 0], [1, 0, 0]]), ((2, 3), (1, 0), 1, [[0, 0, 0], [2, 2, 2]]), ((2, 2), (1, 1), 0, [[1, 0], [0, 3]]),
    ((3, 3), (2, 1), 0, [[1, 0, 0], [0, 4, 0], [0, 6, 7]])])
def test_triangles_of_memory_that_coincides(shape, strides, diagonal, expected):
    memory = torch.arange(1.0, 19.0)
    made = memory.as_strided(shape, strides)
    assert made.tril_(diagonal) is made and made.tolist() == expected and memory._version == 1


def test_what_coincides_may_be_assigned_to_itself():
    x = torch.arange(3.0)
    wide = x.expand(2, 3)
    wide[...] = wide
    assert x._version == 1
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        wide[...] = torch.ones(2, 3)


def test_a_derivative_that_is_missing_waits_for_leaves_that_were_ready_before():
    x, one = torch.rand(3, requires_grad=True), torch.tensor(0.25, requires_grad=True)
    with pytest.raises(RuntimeError, match="derivative for aten::heaviside is not implemented"):
        x.sub(one.heaviside(torch.rand(3, requires_grad=True))).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_what_an_operator_returned_and_saved_is_named_after_it_whatever_was_written_since():
    x = torch.rand(3, requires_grad=True)
    y = x.tanh()
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    y.sigmoid_()
    with pytest.raises(RuntimeError, match="is output 0 of Tanh, is at version 1"):
        g.sum().backward()


def test_derivatives_save_inference_tensors():
    with torch.inference_mode():
        x = torch.zeros(3)
    cubed = lambda t: (t ** 3).sum()
    assert torch.func.grad(lambda t: Sine.apply(t).sum())(x).tolist() == [1.0, 1.0, 1.0]
    twice = torch.func.grad(lambda t: torch.func.grad(cubed)(t + 1).sum())
    assert twice(x).tolist() == [6.0, 6.0, 6.0]
    with torch.inference_mode():
        one = torch.ones(2)
    assert torch.func.grad(lambda t: torch.func.grad(lambda u: torch.func.grad(cubed)(u).sum())(t).sum())(one).tolist() == [6.0, 6.0]
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * torch.ones(3, requires_grad=True)


def test_pieces_of_an_inference_tensor_are_inference_tensors_first():
    with torch.inference_mode():
        x = torch.ones(3)
    with pytest.raises(RuntimeError, match="^Inplace update to inference tensor outside InferenceMode"):
        x.split(1)[-1].mul_(torch.ones(1, requires_grad=True))


def test_the_names_of_a_product_with_one_matrix_that_wants_a_gradient():
    one, many = torch.ones(1, 3, 2, requires_grad=True), torch.ones(2, 2, 3)
    assert (one @ many).grad_fn.name() == "CloneBackward0" and (one @ many[..., :1]).grad_fn.name() == "TransposeBackward0"
    assert (one.detach() @ many.requires_grad_()).grad_fn.name() == "UnsafeViewBackward0"


def test_conjugates_of_real_numbers_are_not_written():
    x = torch.ones(3).expand(2, 3)
    assert x.conj_physical_() is x and x._version == 1


def test_complex_numbers_have_no_derivative_of_nan_to_num():
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    with pytest.raises(RuntimeError, match="^nan_to_num does not support automatic differentiation for outputs with complex dtype"):
        z.nan_to_num()
    assert z.clone().nan_to_num_().requires_grad and not z.detach().nan_to_num().requires_grad


def test_a_hook_that_gives_another_kind_of_numbers_back():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        filled, chosen = x.masked_fill(x > 0, 1.0), torch.where(x > 0, x, x * 2)
    with pytest.raises(RuntimeError, match="^masked_fill_ only supports boolean masks, but got mask with dtype long int"):
        filled.sum().backward()
    with pytest.raises(RuntimeError, match="^where expected condition to be a boolean tensor, but got a tensor with dtype Long"):
        chosen.sum().backward()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.long(), lambda t: t):
        y = x.abs()
    with pytest.raises(RuntimeError, match="^Only Tensors of floating point and complex dtype can require gradients"):
        y.sum().backward()


def test_gradients_of_nothing_are_followed():
    x, one = torch.zeros(0, requires_grad=True), torch.ones((), requires_grad=True)
    g, = torch.autograd.grad(one.xlogy(x + 2).sum(), one, create_graph=True)
    g.backward()
    assert x.grad.shape == (0,)


def test_a_copy_of_itself_moves_nothing():
    x = torch.ones(3, requires_grad=True)
    wide = (x * 2).expand(2, 3)
    assert wide.copy_(wide) is wide and wide._version == 1
    plain = torch.ones(3).expand(2, 3)
    plain.copy_(plain.view(2, 3))
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        plain.copy_(torch.ones(2, 3))


def test_a_lost_history_comes_before_sizes_that_do_not_add_up():
    x = torch.ones(3, requires_grad=True) * 2
    with torch.no_grad():
        v = x.view(3)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="^A view was created in no_grad mode"):
        v.split([1, 1])


def test_a_lost_history_is_told_before_shapes_that_do_not_fit():
    base = torch.ones(3, 3, requires_grad=True) * 2
    part = base.chunk(2)[0]
    base.add_(1)
    for key in (torch.tensor([0]), (slice(None), torch.tensor([0])), torch.tensor([True, False, False])):
        with pytest.raises(RuntimeError, match="Output 0 of Split is a view and its base or another view of its base has been modified"):
            torch.ones(3, 3)[key] = part
    with torch.no_grad(), pytest.raises(RuntimeError, match="shape mismatch"):
        torch.ones(3, 3)[torch.tensor([0])] = part


def test_set_on_a_view_is_a_write_to_its_base():
    x = torch.arange(1., 5., requires_grad=True)
    base = x * 2
    view = base[1:]
    view.set_(torch.ones(3))
    assert base.grad_fn.name() == "torch::autograd::CopySlices" and view.grad_fn.name() == "AsStridedBackward0" and view._is_view()
    assert (base.tolist(), view.tolist(), base._version, view._version) == ([2.0, 4.0, 6.0, 8.0], [1.0] * 3, 1, 1)
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        base.sum().backward()


def test_a_list_with_a_tensor_twice_gets_its_last_node():
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    torch._foreach_mul_([y, y], [2.0, 3.0])
    assert y.tolist() == [6.0, 6.0] and y._version == 2
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [3.0, 3.0]
    z = x * 2
    with torch.no_grad():
        torch._foreach_add_([z], 1)
    assert z.grad_fn.name() == "MulBackward0"


def test_an_elementwise_out_that_is_read_is_not_resized():
    z, wide = torch.zeros(()), torch.ones(1).expand(2, 1)
    with pytest.raises(RuntimeError, match=r"output with shape \[\] doesn't match the broadcast shape \[1\]"):
        torch.maximum(torch.ones(1), z, out=z)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.add(torch.ones(1), torch.ones(1), out=wide)


def test_a_leaf_that_was_computed_since_gets_no_gradient():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    x.requires_grad_(False)
    x.add_(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        y.sum().backward()


def test_a_view_turned_before_its_base_required_grad_follows_it():
    x = torch.ones(3, 2)
    view = x[1:]
    view.squeeze_()
    x.requires_grad = True
    assert view.requires_grad and view.grad_fn.name() == "AsStridedBackward0" and not view.is_leaf


def test_hooks_on_the_accumulation_of_a_leaf_live_as_long_as_what_leads_there():
    x, said = torch.ones(3, requires_grad=True), []
    edge = torch.autograd.graph.get_gradient_edge
    edge(x).node.register_prehook(lambda g: said.append("nobody leads there"))
    y = x * 2
    edge(x).node.register_prehook(lambda g: said.append("pre"))
    z = x * 3
    y.sum().backward()
    del y
    z.sum().backward()
    assert said == ["pre", "pre"]
    del z
    x.sum().backward()
    assert said == ["pre", "pre"]


def test_what_a_formula_had_no_need_to_save_is_none():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    assert (x * y).grad_fn._saved_self is None and torch.equal((x * y).grad_fn._saved_other, y)
    assert (x * y).grad_fn._raw_saved_self.unpack() is None
    of_number = (x * 2).grad_fn
    assert of_number._saved_self is None and of_number._saved_other.dtype == torch.int64 and of_number._saved_other.item() == 2
    with pytest.raises(AttributeError):
        x.exp().grad_fn._saved_self


def test_what_inference_tensors_alone_make_has_no_gradient():
    with torch.inference_mode():
        x = torch.ones(2, requires_grad=True)
    assert not torch.nn.functional.softplus(x).requires_grad and not x.sin().requires_grad
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        x * torch.ones(2, requires_grad=True)


def test_silu_of_complex_numbers_has_no_gradient():
    x = torch.ones(2, dtype=torch.complex64)
    torch.nn.functional.silu(x)
    with pytest.raises(RuntimeError, match="silu does not support automatic differentiation for outputs with complex dtype."):
        torch.nn.functional.silu(x.requires_grad_())


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


@pytest.mark.parametrize("wants, words", [((True, False), "Found dtype Float but expected Double"),
                                          ((False, True), "Found dtype Double but expected Float"),
                                          ((True, True), "Found dtype Float but expected Double")])
def test_the_gradients_of_huber_loss_are_of_one_dtype(wants, words):
    x, y = torch.zeros(3, dtype=torch.float64, requires_grad=wants[0]), torch.ones(3, requires_grad=wants[1])
    loss = torch.nn.functional.huber_loss(x, y)
    assert loss.item() == 0.5
    with pytest.raises(RuntimeError, match=words):
        loss.backward()


def test_foreach_names_a_tensor_that_was_turned_in_place_as_any_other():
    x = torch.ones(2, requires_grad=True) * 1
    x.as_strided_((1,), (1,))
    torch._foreach_add_([x], 1)
    assert x.grad_fn.name() == "AddBackward1"


def test_what_inner_saved_is_seen_as_matrices():
    x, y = torch.ones(2, 2, 3, requires_grad=True) * 1, torch.ones(3)
    made = x.inner(y.requires_grad_())
    x.add_(1)
    with pytest.raises(RuntimeError, match=r"\[4, 3\]\], which is output 0 of AsStrided, is at version 1; expected version 0"):
        made.sum().backward()


def test_what_a_batched_function_saved_is_not_written():
    x = torch.ones(2, 3, requires_grad=True) * 1
    made = torch.func.vmap(Sine.apply)(x)
    x.tril_()
    with pytest.raises(RuntimeError, match=r"\[2, 3\]\], which is output 0 of Tril, is at version 1; expected version 0"):
        made.sum().backward()


def test_a_matrix_that_got_its_history_when_it_was_written_is_seen_with_it():
    x, y = torch.ones(3, requires_grad=True), torch.ones(3)
    made = x.inner(y)
    y.mul_(x)
    with pytest.raises(RuntimeError, match=r"\[3\]\], which is output 0 of AsStrided, is at version 1; expected version 0"):
        made.backward()


def test_a_single_root_does_not_count_for_hooks_on_several_tensors():
    x, said = torch.ones(2, requires_grad=True), []
    y = x * 2
    torch.autograd.graph.register_multi_grad_hook((y, x), said.append)
    torch.autograd.grad(y, [y], torch.ones(2), retain_graph=True)
    leaf = torch.ones(2, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook((leaf,), said.append)
    torch.autograd.grad(leaf, [leaf], torch.ones(2))
    assert said == []
    y.sum().backward()
    assert [g.tolist() for g in said[0]] == [[1.0, 1.0], [2.0, 2.0]]


def test_what_is_compared_is_shown_with_its_history():
    x = torch.ones(2, requires_grad=True)
    assert torch.maximum(x, x).grad_fn._saved_other is x
    assert torch.minimum(x * 1, x).grad_fn._saved_self.grad_fn.name() == "MulBackward0"


@pytest.mark.parametrize("of, name", [(lambda y, m: y.masked_select(m), "Exp"), (lambda y, m: torch.complex(y, y.detach()).real, "Exp")])
def test_operands_that_are_saved_without_need_must_not_be_written(of, name):
    x, mask = torch.ones(3, requires_grad=True), torch.tensor([True, False, True])
    y = x * 2
    made = of(y, mask)
    y.exp_()
    with pytest.raises(RuntimeError, match=rf"\[3\]\], which is output 0 of {name}, is at version 1; expected version 0"):
        made.sum().backward()


def test_a_mask_that_chose_must_not_be_written():
    x, mask = torch.ones(3, requires_grad=True), torch.tensor([True, False, True])
    made = x.masked_select(mask)
    assert torch.equal(made.grad_fn._saved_mask, mask) and made.grad_fn._saved_self is x
    mask.fill_(True)
    with pytest.raises(RuntimeError, match=r"\[CPUBoolType \[3\]\] is at version 1; expected version 0"):
        made.sum().backward()


def test_an_index_without_dimensions_is_one_of_a_single_place():
    index = torch.tensor(0)
    for shape in ((0,), (3,), ()):
        with pytest.raises(RuntimeError, match=r"Expected index \[\] to be no larger than self .* and to be no larger size than src \[0\]"):
            torch.zeros(shape).scatter(0, index, torch.zeros(0))


def test_vectorized_jacobians_of_complex_outputs():
    x = torch.ones(2, dtype=torch.complex64)
    assert torch.equal(torch.autograd.functional.jacobian(lambda z: z * 2j, x, vectorize=True), torch.eye(2) * -2j)
    with pytest.raises(RuntimeError, match="only for real scalar outputs"):
        torch.autograd.functional.jacobian(lambda z: z * 2, x)


def test_the_gradient_of_a_slice_is_written_into_zeros_also_where_it_is_the_whole():
    x = torch.ones(2, 3, requires_grad=True)
    for view in (x[:], x.narrow(0, 0, 2), x[::1]):
        assert torch.autograd.grad(view.sum(), x)[0].stride() == (3, 1)
    assert torch.autograd.grad(x[None].sum(), x)[0].stride() == (0, 0)


def test_outer_is_a_product_with_a_column():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    made = torch.outer(x, x)
    assert made.grad_fn.name() == "MulBackward0" and made.grad_fn.next_functions[0][0].name() == "ViewBackward0"
    assert made.grad_fn._saved_self.shape == (2, 1) and made.grad_fn._saved_other is x
    with pytest.raises(RuntimeError, match="^outer: Expected 1-D argument self, but got 2-D"):
        torch.outer(made, x)


def test_lists_of_what_is_no_tensor_are_refused_before_anything_is_written():
    x = torch.ones(2)
    with pytest.raises(TypeError, match="^expected Tensor as element 1 in argument 0, but got NoneType"):
        torch._foreach_add_([x, None], 1)
    with pytest.raises(TypeError, match="^expected Tensor as element 0 in argument 1, but got NoneType"):
        torch._foreach_add_([x], [None])
    with pytest.raises(TypeError, match=r"^_foreach_zero_\(\): argument 'self' \(position 1\) must be tuple of Tensors, not int"):
        torch._foreach_zero_(3)
    with pytest.raises(RuntimeError, match="^Tensor list must have at least one tensor."):
        torch._foreach_neg([])
    assert x.tolist() == [1.0, 1.0]


def test_a_tensor_that_requires_grad_is_not_resized_whatever_became_of_its_history():
    part = (torch.ones(2, requires_grad=True) * 1).unbind()[0]
    with torch.no_grad():
        part.mul_(2)
    with pytest.raises(RuntimeError, match="^cannot resize variables that require grad"):
        part.resize_(2)


@pytest.mark.parametrize("how, want", [((1,), [[-0.25, 1, -0.5], [-0.125, -1.5, 0.75]]),
                                       ((), [[0.09375, -0.375, 0.1875], [0.125, 1.5, -0.75]])])
def test_the_gradient_of_a_product_divides_the_result_that_was_saved(how, want):
    x = torch.tensor([[0.5, -1, 2], [3, 0.25, -0.5]], dtype=torch.float64, requires_grad=True)
    y = x * 1
    made = y.prod(*how)
    y.data[0, 0] = 4                           # counts no write: backward reads what is there now
    made.sum().backward()
    assert x.grad.tolist() == want


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


@pytest.mark.filterwarnings("ignore:Use of")
def test_writes_to_picked_elements_that_coincide_go_one_after_the_other():
    def written(base, view, write):
        v = view(base)
        write(v)
        return base.tolist(), v.tolist(), base._version
    rows, ones, twice = (lambda x: x.expand(2, 3)), torch.ones(3), (torch.tensor([0, 0]),)
    x = lambda: torch.tensor([1., 2, 3])
    assert written(x(), rows, lambda v: v.index_put_(twice, ones, accumulate=True)) == ([3, 4, 5], [[3, 4, 5]] * 2, 1)
    assert written(x(), rows, lambda v: v.index_put_(twice, v[0], accumulate=True)) == ([4, 8, 12], [[4, 8, 12]] * 2, 1)
    assert written(x(), rows, lambda v: v.__setitem__(torch.tensor([1]), 7)) == ([7, 7, 7], [[7, 7, 7]] * 2, 1)
    assert written(x(), rows, lambda v: v.__setitem__((torch.tensor([0]), torch.tensor([2, 0])), torch.zeros(2)))[0] == [0, 2, 0]
    mask = torch.tensor([[True, False, False], [False, False, True]])
    for fill in (lambda v: v.__setitem__(mask, 0), lambda v: v.masked_fill_(mask, 0), lambda v: v.masked_fill_(mask, torch.zeros(()))):
        assert written(x(), rows, fill) == ([0, 2, 0], [[0, 2, 0]] * 2, 1)
    # what is read is what was written before, where torch doesn't see that it is the same memory
    stacked = lambda x: x.reshape(3, 2).t()
    assert written(torch.arange(1., 7), stacked, lambda v: v.index_put_(twice, v[0], accumulate=True))[0] == [4, 2, 12, 4, 20, 6]
    w = torch.ones(3, requires_grad=True)
    base = torch.ones(3, requires_grad=True) * 2
    v = base.expand(2, 3)
    v.index_put_(twice, w, accumulate=True)
    assert base.tolist() == [4, 4, 4] and base.grad_fn.name() == "torch::autograd::CopySlices"
    with pytest.raises(RuntimeError, match="^unsupported operation: more than one element of the written-to tensor"):
        v.sum().backward()


def test_sums_of_repeated_gradients_have_memory_of_their_own():
    for n in (0, 1):
        x = torch.ones(n, requires_grad=True)
        assert torch.autograd.grad([x.sum(), x.sum()], [x])[0].stride() == (1,)
        assert torch.autograd.grad([x.sum(), x.sum()], [x], create_graph=True)[0].stride() == (1,)
        x.sum().backward()
        assert x.grad.stride() == (1,)
    y = torch.ones(2, 0, requires_grad=True)
    assert torch.autograd.grad([y.sum(), y.sum()], [y])[0].stride() == (1, 1)


def test_views_of_inference_tensors_can_be_detached_in_place():
    with torch.inference_mode():
        x = torch.ones(2, 3)
        v = x[0]
    assert x[0].detach_().shape == v.detach_().shape == (3,)
    with pytest.raises(RuntimeError, match="^Can't detach views in-place"):
        torch.ones(2, 3)[0].detach_()


def test_refusals_of_memory_and_types():
    x = torch.ones(3, 3)
    with pytest.raises(RuntimeError, match="^unsupported operation: some elements of the input tensor"):
        x.index_copy_(0, torch.tensor([0]), x[0])      # before the shapes are compared
    with pytest.raises(IndexError, match="dimensionality must match"):
        x.index_copy(0, torch.tensor([0]), x[0])
    for d, name in ((torch.int64, "long int"), (torch.bfloat16, "c10::BFloat16"), (torch.float64, "double")):
        with pytest.raises(RuntimeError, match=f"^Could not set tensor of type {name} to a tensor of type float$"):
            torch.ones(2).set_(torch.ones(2, dtype=d))


def test_a_product_of_two_zeros_has_no_gradient_whatever_comes_to_it():
    x = torch.tensor([0.0, 0.0, 2.0], requires_grad=True)
    nan = torch.tensor(float("nan"))
    assert torch.autograd.grad(x.prod(), x, nan)[0].tolist() == [0, 0, 0]
    assert torch.autograd.grad(x.prod(0), x, nan)[0].isnan().all() and torch.autograd.grad(x[1:].prod(), x, nan)[0][1:].isnan().all()


def test_refusals_of_bools():
    assert torch.tensor(True).kthvalue(1, 0)[0].item() is True
    with pytest.raises(NotImplementedError, match="kthvalue_cpu"):
        torch.tensor([True]).kthvalue(1, 0)
    with pytest.raises(NotImplementedError, match="\"bmm\" not implemented for 'Bool'"):
        torch.ones(2, 2).bool() @ torch.ones(3, 2, 2)
    with pytest.raises(RuntimeError, match="expected scalar type Double but found Bool"):
        torch.ones(2, 2).double() @ torch.ones(3, 2, 2).bool()


def test_a_hook_on_several_tensors_keeps_the_ends_that_it_waits_for():
    """So what somebody else puts there stays, though nobody holds it."""
    x, seen = torch.tensor([2.0], requires_grad=True), []
    handle = torch.autograd.graph.register_multi_grad_hook((x,), lambda grads: None)
    torch.autograd.graph.get_gradient_edge(x).node.register_prehook(lambda grads: seen.append(grads[0].item()))
    x.sum().backward()
    assert seen == [1.0]
    handle.remove()


def test_the_slope_of_copysign_is_a_quotient_with_a_hole():
    x = torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64, requires_grad=True)
    for other in (torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64), x, -1.0):
        g, = torch.autograd.grad(torch.copysign(x, other).sum(), x, create_graph=True)
        again, = torch.autograd.grad(g.sum(), x)
        assert g[0] == 0 and repr(again.tolist()) == "[nan, 0.0, 0.0]"


def test_a_layer_of_what_is_no_matrix_is_refused_however_the_input_lies():
    x = torch.ones(3, 2, 2).swapaxes(0, -1)
    with pytest.raises(RuntimeError, match="^both arguments to linear need to be at least 1D, but they are 3D and 0D"):
        torch.nn.functional.linear(x, torch.ones(()))


@pytest.mark.parametrize("imaginary, what", [(False, "conjugate"), (True, "negation")])
@pytest.mark.parametrize("name, others", [("zero_", ()), ("add_", (1,)), ("neg_", ())])
def test_lists_of_what_is_seen_conjugated_are_not_written(name, others, imaginary, what):
    x = torch.complex(torch.ones(2), torch.ones(2)).conj()
    with pytest.raises(RuntimeError, match=f"^ fallback doesn't currently support mutable TensorLists with {what} inputs.*aten::_foreach_{name}$"):
        getattr(torch, "_foreach_" + name)([torch.ones(2), x.imag if imaginary else x], *others)
    assert x.tolist() == [1 - 1j, 1 - 1j]
