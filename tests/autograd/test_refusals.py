"""What autograd refuses, in torch's words, and which of several refusals comes first. Expected texts are torch 2.13's."""
import pytest

import torchshim as torch

F = torch.nn.functional


def told(y):
    with pytest.raises(RuntimeError) as e:
        y.sum().backward()
    return str(e.value).partition("operation: ")[2].partition(" is at")[0]


@pytest.mark.parametrize("f", [torch.logaddexp, torch.logaddexp2, lambda b, a: a ** b])
def test_formulas_that_subtract_refuse_bool_tensors_in_backward(f):
    a, b = torch.ones(2, requires_grad=True), torch.tensor([True, False])
    made = f(b, a)
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"):
        made.sum().backward()


def test_what_the_target_of_a_write_refuses_comes_before_what_the_other_operand_lost():
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(1, 3, requires_grad=True).unbind()[0]
    with torch.no_grad():
        b.sqrt_()
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place operation"):
        a.mul_(b)


def test_a_derivative_that_is_missing_waits_for_leaves_that_were_ready_before():
    x, one = torch.rand(3, requires_grad=True), torch.tensor(0.25, requires_grad=True)
    with pytest.raises(RuntimeError, match="derivative for aten::heaviside is not implemented"):
        x.sub(one.heaviside(torch.rand(3, requires_grad=True))).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_complex_numbers_have_no_derivative_of_nan_to_num():
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    with pytest.raises(RuntimeError, match="^nan_to_num does not support automatic differentiation for outputs with complex dtype"):
        z.nan_to_num()
    assert z.clone().nan_to_num_().requires_grad and not z.detach().nan_to_num().requires_grad


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


def test_silu_of_complex_numbers_has_no_gradient():
    x = torch.ones(2, dtype=torch.complex64)
    torch.nn.functional.silu(x)
    with pytest.raises(RuntimeError, match="silu does not support automatic differentiation for outputs with complex dtype."):
        torch.nn.functional.silu(x.requires_grad_())


def test_a_tensor_that_requires_grad_is_not_resized_whatever_became_of_its_history():
    part = (torch.ones(2, requires_grad=True) * 1).unbind()[0]
    with torch.no_grad():
        part.mul_(2)
    with pytest.raises(RuntimeError, match="^cannot resize variables that require grad"):
        part.resize_(2)


def test_refusals_of_memory_and_types():
    x = torch.ones(3, 3)
    with pytest.raises(RuntimeError, match="^unsupported operation: some elements of the input tensor"):
        x.index_copy_(0, torch.tensor([0]), x[0])      # before the shapes are compared
    with pytest.raises(IndexError, match="dimensionality must match"):
        x.index_copy(0, torch.tensor([0]), x[0])
    for d, name in ((torch.int64, "long int"), (torch.bfloat16, "c10::BFloat16"), (torch.float64, "double")):
        with pytest.raises(RuntimeError, match=f"^Could not set tensor of type {name} to a tensor of type float$"):
            torch.ones(2).set_(torch.ones(2, dtype=d))


def test_refusals_of_bools():
    assert torch.tensor(True).kthvalue(1, 0)[0].item() is True
    with pytest.raises(NotImplementedError, match="kthvalue_cpu"):
        torch.tensor([True]).kthvalue(1, 0)
    with pytest.raises(NotImplementedError, match="\"bmm\" not implemented for 'Bool'"):
        torch.ones(2, 2).bool() @ torch.ones(3, 2, 2)
    with pytest.raises(RuntimeError, match="expected scalar type Double but found Bool"):
        torch.ones(2, 2).double() @ torch.ones(3, 2, 2).bool()


def test_a_layer_of_what_is_no_matrix_is_refused_however_the_input_lies():
    x = torch.ones(3, 2, 2).swapaxes(0, -1)
    with pytest.raises(RuntimeError, match="^both arguments to linear need to be at least 1D, but they are 3D and 0D"):
        torch.nn.functional.linear(x, torch.ones(()))


def test_cosine_similarity_tells_of_its_first_operand_first():
    a = torch.ones(2, requires_grad=True)
    y, z = F.cosine_similarity(a.view_as(a), a, -1), F.cosine_similarity(a, a.view_as(a), -1)
    with torch.no_grad():
        a.sub_(1)
    assert "AsStrided" in told(y) and "AsStrided" not in told(z)


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


def test_cross_entropy_of_complex_logits_is_not_followed():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="binary_cross_entropy_with_logits does not support automatic differentiation for outputs with "
                                           "complex"):
        F.binary_cross_entropy_with_logits(x, y)


def test_nothing_has_no_room_for_what_is_copied_into_it():
    with pytest.raises(RuntimeError, match=r"setStorage: sizes \[1\], strides \[0\], storage offset 0, and itemsize 4 requiring a storage "
                                           "size of 4 are out of bounds for storage of size 0"):
        torch.ones(0).index_copy_(0, torch.tensor([0]), torch.ones(1))
    with pytest.raises(IndexError, match="index 0 is out of bounds for dimension 0 with size 0"):
        torch.ones(2)[:0].index_copy_(0, torch.tensor([0]), torch.ones(1))     # there is room in its memory
    with pytest.raises(RuntimeError, match="same slice shapes"):
        torch.ones(0, 0).index_copy_(0, torch.tensor([0, 1]), torch.ones(1, 2))


@pytest.mark.parametrize("write", [lambda x: x.__iand__(x), lambda x: x.__ilshift__(1), lambda x: x.bitwise_not_(), lambda x: x.gcd_(x)])
def test_the_graph_refuses_a_leaf_before_the_kernel_refuses_its_dtype(write):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        write(x)
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        write(x * 1)
    assert write(torch.tensor([1, 2])).grad_fn is None


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


def test_sequences_to_pad_have_a_length():
    with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
        torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.tensor(1.0)])


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


def test_slice_copy_of_no_dimensions():
    with pytest.raises(IndexError, match=r"slice\(\) cannot be applied to a 0-dim tensor."):
        torch.slice_copy(torch.ones(()))
