"""What random programs of more kinds found (compat/fuzz/wider.py): values, refusals and their order. All values are torch 2.13's."""
import collections
import math

import pytest

import torchshim as torch

F = torch.nn.functional
NAN = math.nan


def test_a_running_product_of_single_elements_hands_its_cotangent_on():
    x = torch.tensor([[1.5, 2.0, 1.75]], dtype=torch.float64, requires_grad=True)
    y = x.cumprod(0)
    x.data[0] = 1                              # what it saved is not read
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [[1.0, 1.0, 1.0]] and not g.requires_grad
    z = torch.tensor([2.0, 3.0], requires_grad=True)
    assert torch.autograd.grad(z.cumprod(0).sum(), z)[0].tolist() == [4.0, 2.0]


@pytest.mark.parametrize("f", [lambda x: x.amin(0), lambda x: x.amax(), lambda x: x.aminmax()[0]])
def test_an_extreme_of_one_number_is_shared_by_what_equals_it(f):
    x = torch.tensor(1.5, requires_grad=True)
    y = f(x)
    assert torch.autograd.grad(y, x, retain_graph=True)[0].item() == 1.0
    x.data.mul_(2)
    assert torch.autograd.grad(y, x)[0].isnan().item()


def test_gradients_of_a_dict_of_inputs_are_a_dict():
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    made = torch.autograd.grad((x * y).sum(), {"x": x, "y": y})
    assert made["x"].tolist() == [3.0, 3.0] and made["y"].item() == 3.0
    assert torch.autograd.grad((x * 2).sum(), {"x": x, "y": y}, allow_unused=True)["y"] is None
    with pytest.raises(TypeError, match="`inputs` argument to `grad\\(\\)` must be a dict, not OrderedDict. Other Mapping types are not"):
        torch.autograd.grad((x * 2).sum(), collections.OrderedDict(x=x))


def test_losses_by_a_margin_hand_nan_on_but_for_that_of_classes():
    x = torch.tensor([[NAN, 1.0, -3.0]], dtype=torch.float64)
    zero, one = torch.zeros(1, 3, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64)
    assert str(F.margin_ranking_loss(x, zero, one, reduction="none").tolist()) == "[[nan, 0.0, 3.0]]"
    assert str(F.hinge_embedding_loss(x, -one, reduction="none").tolist()) == "[[nan, 0.0, 4.0]]"
    assert F.multi_margin_loss(x, torch.zeros(1, dtype=torch.int64)).item() == 0.0


def test_losses_of_two_parameters_round_each_step_in_half_precision():
    x = torch.tensor([0.66, 0.27, 0.06], dtype=torch.bfloat16, requires_grad=True)
    y, v = torch.tensor([0.56, 0.43, 0.64], dtype=torch.bfloat16), torch.tensor([0.52, 0.71, 0.9], dtype=torch.bfloat16)
    made = F.poisson_nll_loss(x, y, reduction="none")
    assert made.tolist() == [1.5703125, 1.1953125, 1.0234375]
    assert torch.autograd.grad(made.sum(), x)[0].tolist() == [1.375, 0.8828125, 0.421875]
    made = F.gaussian_nll_loss(x, y, v, reduction="none")
    assert made.tolist() == [-0.318359375, -0.15234375, 0.134765625]
    assert torch.autograd.grad(made.sum(), x)[0].tolist() == [0.1953125, -0.2255859375, -0.64453125]


@pytest.mark.parametrize("write", [lambda x: x.__iand__(x), lambda x: x.__ilshift__(1), lambda x: x.bitwise_not_(), lambda x: x.gcd_(x)])
def test_the_graph_refuses_a_leaf_before_the_kernel_refuses_its_dtype(write):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        write(x)
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        write(x * 1)
    assert write(torch.tensor([1, 2])).grad_fn is None


def test_a_view_that_lost_its_history_is_compared_in_place():
    base = torch.ones(4, requires_grad=True) * 2
    part = base.chunk(2)[0]
    base.detach().mul_(3)
    assert part.logical_not_().tolist() == [0.0, 0.0]


def test_a_list_that_holds_a_leaf_twice_is_not_written():
    x = torch.ones(2, requires_grad=True)
    for write in (torch._foreach_exp_, torch._foreach_zero_):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            write([x, x])
    assert x.tolist() == [1.0, 1.0] and x._version == 0


@pytest.mark.parametrize("f, name", [(torch.linalg.slogdet, "linalg.slogdet"), (torch.linalg.det, "linalg.det"), (torch.logdet, "logdet"),
                                     (torch.linalg.inv, "linalg.inv"), (torch.linalg.matrix_exp, "linalg.matrix_exp")])
def test_matrices_must_be_square_before_they_must_be_floating(f, name):
    with pytest.raises(RuntimeError, match=f"{name}: A must be batches of square matrices, but they are 2 by 3 matrices"):
        f(torch.ones(2, 3, dtype=torch.int32))
    with pytest.raises(RuntimeError, match=f"{name}: The input tensor A must have at least 2 dimensions"):
        f(torch.ones(3, dtype=torch.int32))
    with pytest.raises(RuntimeError, match="^A must be batches of square matrices, but they are 2 by 3 matrices"):
        torch.cholesky_solve(torch.ones(2, 2), torch.ones(2, 3))


def test_a_layer_asks_for_dtypes_before_shapes_where_its_bias_comes_with_the_product():
    w, b = torch.ones(2, 3, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="mat1 and mat2 must have the same dtype, but got Float and Double"):
        F.linear(torch.ones(2, 4), w, b)
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x4 and 3x2\)"):
        F.linear(torch.ones(2, 4), w)
    with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype, but got: float != double"):
        F.linear(torch.ones(3), w, torch.tensor(1.0))
    with pytest.raises(RuntimeError, match="both arguments to linear need to be at least 1D, but they are 0D and 2D"):
        F.linear(torch.tensor(1.0, dtype=torch.float64), w, b)


def test_vmap_has_no_numbers_to_look_at_however_many():
    batch, held = torch.ones(2, 3), torch.ones(3)
    with pytest.raises(RuntimeError, match="vmap: It looks like you're calling .item\\(\\) on a Tensor"):
        torch.func.vmap(lambda x: x.item())(batch)
    with pytest.raises(RuntimeError, match="vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow"):
        torch.func.vmap(lambda x: x if x else -x)(batch)
    with pytest.raises(RuntimeError, match="a Tensor with 3 elements cannot be converted to Scalar"):
        torch.func.vmap(lambda x: held.item() * x)(batch)
    with pytest.raises(RuntimeError, match=r"stack expects each tensor to be equal size, but got \[2, 3\] at entry 0 and \[2, 2, 3\] at entry 1"):
        torch.func.vmap(lambda x, y: torch.stack([x, y]), in_dims=(0, None))(batch, batch)


def test_sequences_to_pad_have_a_length():
    with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
        torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.tensor(1.0)])


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.jacrev, lambda f: lambda x: torch.func.vjp(f, x)[1](torch.tensor(1.0))])
@pytest.mark.parametrize("history", [lambda x: x, lambda x: x * 1, lambda x: x.t()])
def test_the_arguments_of_a_function_that_is_differentiated_are_leaves(transform, history):
    x = history(torch.ones(2, 2, requires_grad=True))
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used"):
        transform(lambda x: x.mul_(2).sum())(x)
    with pytest.raises(RuntimeError, match="^a view of a leaf Variable that requires grad is being used"):
        transform(lambda x: (x[0].mul_(2), x.sum())[1])(x)
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    made = transform(lambda x: (x.detach().mul_(2), x.sum())[1])(x)
    made = made[0] if isinstance(made, tuple) else made
    assert made.tolist() == [[1.0, 1.0], [1.0, 1.0]] and x.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_forward_mode_does_not_write_to_leaves():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used"):
        torch.func.jvp(lambda x: x.mul_(2), (x,), (torch.ones(2),))
    assert x.tolist() == [1.0, 1.0]


def test_a_list_and_a_number_are_compared_in_their_common_dtype():
    whole, truth = torch.tensor([1, 2]), torch.tensor([True, False])
    assert torch._foreach_minimum([whole], 0.5)[0].tolist() == [0.5, 0.5]
    assert torch._foreach_maximum([truth], 2)[0].tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type long int"):
        torch._foreach_maximum_([whole], 0.5)


def test_what_has_no_derivative_is_written_to_a_leaf_of_another_shape():
    x = torch.ones(2, 2, requires_grad=True)
    with pytest.warns(UserWarning, match="was resized"):
        torch.gt(torch.ones(3), 0, out=x)
    assert x.tolist() == [1.0, 1.0, 1.0] and x.is_leaf and x.requires_grad


@pytest.mark.parametrize("name, args", [("cat", ([torch.ones(3, requires_grad=True), torch.ones(2, 2)],)), ("take", (torch.ones(3, requires_grad=True), torch.tensor([9]))),
                                        ("index_select", (torch.ones(3, requires_grad=True), 4, torch.tensor([0])))])
def test_the_graph_refuses_out_before_the_kernel_looks_at_what_does_not_fit(name, args):
    with pytest.raises(RuntimeError, match=rf"{name}\(\): functions with out=... arguments don't support automatic differentiation"):
        getattr(torch, name)(*args, out=torch.empty(0))


def test_index_put_counts_its_indices_before_it_looks_at_masks():
    with pytest.raises(IndexError, match=r"too many indices for tensor of dimension 0 \(got 1\)"):
        torch.tensor(1.0).index_put_((torch.tensor(True),), torch.tensor(2.0))
    with pytest.raises(IndexError, match=r"The shape of the mask \[2, 3\] at index 0 does not match the shape of the indexed tensor \[2, 3\] at "):
        torch.zeros(2, 3).index_put_((torch.tensor([0]), torch.ones(2, 3, dtype=torch.bool)), torch.tensor(2.0))


def test_the_norm_of_all_gradients_has_no_history():
    assert not torch.nn.utils.get_total_norm([torch.ones(2, requires_grad=True)]).requires_grad


def test_gradients_of_functions_have_tangents():
    forward = torch.autograd.forward_ad
    x, v = torch.tensor([0.5, 2.0], dtype=torch.float64), torch.tensor([1.0, 3.0], dtype=torch.float64)
    w = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with forward.dual_level():
        u = forward.make_dual(x, v)
        tangent = lambda t: forward.unpack_dual(t).tangent
        assert torch.allclose(tangent(torch.func.grad(lambda x: x.sin().sum())(u)), -x.sin() * v)
        assert torch.allclose(tangent(torch.func.jacrev(torch.sin)(u)), torch.diag(-x.sin() * v))
        assert torch.allclose(tangent(torch.func.grad_and_value(lambda x: x.sin().sum())(u)[1]), (x.cos() * v).sum())
        assert torch.equal(tangent(torch.func.grad(lambda x: (x * u).sum())(x)), v)
        assert torch.equal(tangent(torch.autograd.grad((w * u).sum(), w)[0]), v)           # an operand that wants no gradient
        for f in (torch.func.jacfwd(torch.sin), torch.func.hessian(lambda x: x.sin().sum()), lambda x: torch.func.jvp(torch.sin, (x,), (x,))):
            with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
                f(x)
        with pytest.raises(NotImplementedError, match="vmap over a tensor that has a tangent"):       # torch has them
            torch.func.vmap(torch.sin)(u)


@pytest.mark.parametrize("f, name", [(lambda x: torch._foreach_exp([x])[0], "ForeachExpBackward0"),
                                     (lambda x: torch._foreach_addcdiv([x], [x], [x])[0], "ForeachAddcdivBackward0Scalar")])
def test_lists_save_through_hooks(f, name):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
        y = f(x)
    assert y.grad_fn.name() == name
    assert torch.allclose(torch.autograd.grad(y.sum(), x)[0], torch.full((2,), math.e if "Exp" in name else 1.0))


def test_a_triangle_is_solved_in_its_own_dtype():
    made = torch.linalg.solve_triangular(torch.eye(2), torch.ones(2, 1, dtype=torch.float64), upper=True)
    assert made.dtype is torch.float32 and made.tolist() == [[1.0], [1.0]]
    with pytest.raises(RuntimeError, match="Incompatible shapes of A and B"):
        torch.linalg.solve_triangular(torch.eye(2), torch.ones(3, 4, dtype=torch.float64), upper=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("f", [torch.exp, torch.sigmoid, torch.tanh, torch.relu, torch.sqrt, torch.rsqrt, torch.reciprocal, torch.tan,
                               lambda x: x.softmax(-1), lambda x: x.log_softmax(-1)])
def test_in_half_types_too_the_result_is_what_backward_keeps(f, dtype):
    x = torch.ones(2, 2, dtype=getattr(torch, dtype), requires_grad=True)
    y, z = f(x), x * 1
    with torch.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()
    y = f(z)
    with torch.no_grad():
        z.mul_(2)                              # it is not read any more
    y.sum().backward()
    assert x.grad is not None and f(x).grad_fn._saved_result.dtype == x.dtype


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


def test_a_forward_jacobian_has_the_history_of_what_its_function_reads():
    options = dict(strategy="forward-mode", vectorize=True)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    made = torch.autograd.functional.jacobian(lambda x: (x * w) ** 2, torch.tensor([1.0, 3.0]), **options)
    made.sum().backward()
    assert made.tolist() == [[2.0, 0.0], [0.0, 24.0]] and w.grad.tolist() == [4.0, 24.0]
    made = torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1 + 1j, 2]), **options)
    assert made.tolist() == [[2 + 2j, 0], [0, 4]]
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int64"):
        torch.autograd.functional.jacobian(lambda x: x, torch.arange(2), **options)


def test_lists_copied_in_place_have_no_derivative():
    x, y, base = [torch.ones(n, requires_grad=True) * 1 for n in (2, 2, 4)]
    torch._foreach_copy_([x, base[::2]], [y, y])
    assert x.grad_fn.name() == "torch::autograd::NotImplemented" and base.grad_fn.name() == "torch::autograd::CopySlices"
    for t in (x, base):
        with pytest.raises(RuntimeError, match="derivative for _foreach_copy_ is not implemented"):
            t.sum().backward(retain_graph=True)


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


def test_norms_of_lists_and_moments_of_nothing():
    for one, other, expected in (("float32", "float64", "float64"), ("bfloat16", "float32", "float32")):
        grads = [torch.ones(2, dtype=getattr(torch, d)) for d in (one, other)]
        assert torch.nn.utils.get_total_norm(grads).dtype is getattr(torch, expected)
    assert [tuple(t.shape) for t in torch.var_mean(torch.zeros(0, 3), 1)] == [(0,), (0,)]


def test_writes_by_python_functions_do_not_count():
    x = torch.ones(2)
    x.map_(torch.tensor([1.0, 2.0]), lambda a, b: a + b).apply_(lambda a: a * 2)
    assert x.tolist() == [4.0, 6.0] and x._version == 0


def test_slices_of_bools_and_complex_numbers_are_reduced_by_whole_operators():
    x, index = torch.tensor([[True, False], [True, True]]), torch.zeros(2, dtype=torch.int64)
    assert x.index_reduce(1, index, x, "prod").tolist() == [[False, False], [True, True]]
    assert x.index_reduce(1, index, x, "amax").tolist() == [[True, False], [True, True]]
    assert (x * (1 + 1j)).index_reduce(0, index, x * 2j, "prod").tolist() == [[-4 - 4j, 0], [1 + 1j, 1 + 1j]]
    for t, how, kernel in ((x, "mean", "div_floor_cpu"), (x * 1j, "amin", "minimum_cpu"), (x[0], "prod", "index_func_")):
        with pytest.raises(NotImplementedError, match=f'"{kernel}" not implemented'):
            t.index_reduce(0, index, t, how)


@pytest.mark.parametrize("f, error, text", [
    (lambda: torch.nn.functional.layer_norm(torch.ones(3), (3,), torch.ones(3), torch.ones(3).double()), RuntimeError,
     "expected scalar type Float but found Double"),
    (lambda: torch.nn.functional.group_norm(torch.ones(1, 2, 3).bfloat16(), 1, torch.ones(2).bfloat16(), torch.ones(2)), RuntimeError,
     "expected scalar type BFloat16 but found Float"),
    (lambda: torch.nn.functional.batch_norm(torch.ones(2, 2), None, None, torch.ones(2), torch.ones(2).double(), training=True), RuntimeError,
     "expected scalar type Float but found Double"),
    (lambda: torch.nn.functional.prelu(torch.ones(2, 3, dtype=torch.complex64), torch.ones(2, dtype=torch.complex64)), RuntimeError,
     "Mismatch of parameter numbers and input channel size. Found parameter numbers = 2 and channel size = 3."),
    (lambda: torch.zeros(()).slice_scatter(torch.zeros(1), 0, 1), IndexError, "slice() cannot be applied to a 0-dim tensor."),
    (lambda: torch.zeros(0, 3).as_strided_scatter(torch.zeros(0), (1,), (1,)), RuntimeError,
     "setStorage: sizes [1], strides [1], storage offset 0, and itemsize 4 requiring a storage size of 4 are out of bounds for storage of "
     "size 0"),
    (lambda: torch.zeros(2, dtype=torch.bool).scatter_reduce(0, torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.bool), "mean"),
     NotImplementedError, "\"div_floor_cpu\" not implemented for 'Bool'"),
    (lambda: torch.nn.functional.soft_margin_loss(torch.ones(2, dtype=torch.bool), torch.ones(2)), RuntimeError,
     "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` "
     "operator instead."),
    *[(lambda f=f: torch.vmap(f)(torch.ones(3)), IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 1)")
      for f in (lambda x: x.flip(0), lambda x: x.flip(-1), lambda x: x.select(0, 0), lambda x: x.split(1), lambda x: x.unbind())]])
def test_refusals_of_dtypes_and_of_dimensions_that_are_not_there(f, error, text):
    with pytest.raises(error) as e:
        f()
    assert str(e.value) == text


def test_extremes_of_no_complex_numbers_are_those_there():
    x = torch.tensor([1 + 2j, 3])
    y = x.scatter_reduce(0, torch.zeros(0, dtype=torch.int64), torch.zeros(2, dtype=x.dtype), "amax", include_self=False)
    assert y.tolist() == [1 + 2j, 3]
    assert x.scatter_reduce_(0, torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=x.dtype), "amin").tolist() == y.tolist()


def test_gradcheck_of_bfloat16_finds_no_difference_quotient():
    x = torch.tensor([0.5, 1.5]).bfloat16().requires_grad_()
    for fast in (False, True):
        assert torch.autograd.gradcheck(lambda x: x.sin() * x, x, raise_exception=False, fast_mode=fast) is False


def test_slice_copy_of_no_dimensions():
    with pytest.raises(IndexError, match=r"slice\(\) cannot be applied to a 0-dim tensor."):
        torch.slice_copy(torch.ones(()))
