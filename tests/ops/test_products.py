"""Products: ranks, dtypes, alpha and beta, grad_fn names and error texts. Expectations are PyTorch 2.13's."""
import contextlib

import pytest

import torchshim as torch
from torchshim.tensor.api.products import linear


def ones(*shape, grad=False, dtype=None):
    return torch.ones(*shape, requires_grad=grad, dtype=dtype)


@pytest.mark.parametrize("a, b, shape, name", [
    ((4,), (4,), (), "DotBackward0"), ((3, 4), (4,), (3,), "MvBackward0"), ((3, 4), (4, 5), (3, 5), "MmBackward0"),
    ((4,), (4, 5), (5,), "SqueezeBackward4"), ((2, 3, 4), (4,), (2, 3), "UnsafeViewBackward0"),
    ((2, 3, 4), (4, 5), (2, 3, 5), "UnsafeViewBackward0"), ((4,), (2, 4, 5), (2, 5), "UnsafeViewBackward0"),
    ((2, 3, 4), (2, 4, 5), (2, 3, 5), "UnsafeViewBackward0"), ((2, 1, 3, 4), (2, 4, 5), (2, 2, 3, 5), "UnsafeViewBackward0"),
    ((3, 0), (0, 2), (3, 2), "MmBackward0")])
def test_matmul_of_every_rank(a, b, shape, name):
    r = ones(*a, grad=True) @ ones(*b, grad=True)
    assert tuple(r.shape) == shape and type(r.grad_fn).__name__ == name
    assert set(r.detach().flatten().tolist()) == {float(a[-1])}


@pytest.mark.parametrize("shape, bias, name", [
    ((3, 4), False, "MmBackward0"), ((3, 4), True, "AddmmBackward0"), ((2, 3, 4), False, "UnsafeViewBackward0"),
    ((2, 3, 4), True, "ViewBackward0"), ((4,), False, "SqueezeBackward4"), ((4,), True, "ViewBackward0")])
def test_linear_is_one_record(shape, bias, name):
    x, w, b = ones(*shape), ones(6, 4, grad=True), ones(6, grad=True) if bias else None
    r = linear(x, w, b)
    assert tuple(r.shape) == shape[:-1] + (6,) and type(r.grad_fn).__name__ == name
    r.sum().backward()
    assert w.grad.flatten()[0].item() == r.numel() / 6


def test_dtypes():
    i = torch.tensor([[1, 2], [3, 4]])
    assert (i @ i).tolist() == [[7, 10], [15, 22]] and (i @ i).dtype == torch.int64
    c = torch.tensor([[1 + 1j, 2.], [0, 1j]])
    assert (c @ c).tolist() == [[2j, 2 + 4j], [0j, (-1 + 0j)]]
    assert torch.vdot(c[0], c[0]).item() == 6
    bf = torch.ones(2, 512, dtype=torch.bfloat16)
    assert (bf @ bf.t()).dtype == torch.bfloat16 and (bf @ bf.t())[0, 0].item() == 512
    assert torch.outer(torch.tensor([1, 2]), torch.tensor([0.5])).dtype == torch.float32


def test_alpha_and_beta():
    x, y = ones(2, 3), ones(3, 2)
    assert torch.addmm(ones(2), x, y, beta=2, alpha=0.5)[0].tolist() == [3.5, 3.5]
    assert torch.addmm(torch.full((2, 2), float("nan")), x, y, beta=0).tolist() == [[3, 3], [3, 3]]
    assert torch.addmv(ones(2), x, ones(3), alpha=2).tolist() == [7, 7]
    assert torch.addr(ones(2, 2), ones(2), ones(2), beta=3).tolist() == [[4, 4], [4, 4]]
    b = ones(4, 2, 3)
    assert torch.addbmm(ones(2, 2), b, b.transpose(1, 2)).tolist() == [[13, 13], [13, 13]]
    assert torch.baddbmm(ones(1), b, b.transpose(1, 2), beta=0.5)[0, 0].tolist() == [3.5, 3.5]
    i = torch.eye(2, dtype=torch.int64)
    assert torch.addmm(i, i, i, alpha=0.5).tolist() == i.tolist()           # a fraction is cut off
    t = ones(2, 2)
    assert t.addmm_(x, y) is t and t[0, 0].item() == 4


def test_einsum():
    x, y = torch.arange(6.).reshape(2, 3), torch.arange(12.).reshape(3, 4)
    assert torch.equal(torch.einsum("ij,jk->ik", x, y), x @ y)
    assert torch.equal(torch.einsum(x, [0, 1], y, [1, 2], [0, 2]), x @ y)
    assert torch.einsum("ij->j", x).tolist() == [3, 5, 7] and torch.einsum("ij,ij", x, x).item() == 55
    assert torch.equal(torch.einsum("...ij,...jk->...ik", x[None], y[None]), (x @ y)[None])
    z = x.clone()
    torch.einsum("ij->ji", z).zero_()                                       # nothing summed: a view
    assert z.sum().item() == 0


def test_contractions():
    x, y = torch.arange(6.).reshape(2, 3), torch.arange(12.).reshape(3, 4)
    assert torch.equal(torch.tensordot(x, y, 1), x @ y)
    assert torch.tensordot(x, x, dims=([0, 1], [0, 1])).item() == 55
    assert torch.kron(torch.eye(2), torch.ones(1, 2)).tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]
    assert torch.equal(torch.linalg.multi_dot([x, y, torch.ones(4)]), x @ y @ torch.ones(4))
    assert torch.inner(x, x).tolist() == [[5, 14], [14, 50]]
    assert torch.bilinear(torch.ones(2, 3), torch.ones(2, 3), torch.ones(1, 3, 3)).tolist() == [[9], [9]]


@pytest.mark.parametrize("call, error, text", [
    (lambda: ones(2, 3) @ ones(4, 5), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
    (lambda: linear(ones(2, 3, 4), ones(2, 3)), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (6x4 and 3x2)"),
    (lambda: ones(2, 3) @ ones(4), RuntimeError, "size mismatch, got input (2), mat (2x3), vec (4)"),
    (lambda: ones(2, 3) @ ones(3, 2, dtype=torch.float64), RuntimeError,
     "expected m1 and m2 to have the same dtype, but got: float != double"),
    (lambda: ones(2, 3) @ torch.tensor(1.), RuntimeError, "both arguments to matmul need to be at least 1D, but they are 2D and 0D"),
    (lambda: ones(2, 3, 4) @ ones(2, 5, 5), RuntimeError,
     "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 5]."),
    (lambda: torch.dot(ones(4), ones(3)), RuntimeError, "inconsistent tensor size, expected tensor [4] and src [3] to have the same number "
     "of elements, but got 4 and 3 elements respectively"),
    (lambda: torch.mm(ones(3), ones(3)), RuntimeError, "self must be a matrix"),
    (lambda: torch.tensor([[True]]) @ torch.tensor([[True]]), NotImplementedError, "\"addmm_impl_cpu_\" not implemented for 'Bool'"),
    (lambda: torch.addmm(ones(7), ones(2, 3), ones(3, 5)), RuntimeError, "The expanded size of the tensor (5) must match the existing size "
     "(7) at non-singleton dimension 1.  Target sizes: [2, 5].  Tensor sizes: [7]"),
    (lambda: torch.einsum("ij,jk->ik", ones(2, 3), ones(4, 5)), RuntimeError, "einsum(): subscript j has size 4 for operand 1 which does "
     "not broadcast with previously seen size 3"),
    (lambda: torch.einsum("ij->k", ones(2, 3)), RuntimeError,
     "einsum(): output subscript k does not appear in the equation for any input operand"),
    (lambda: torch.tensordot(ones(2, 3), ones(4, 5), 1), RuntimeError,
     "contracted dimensions need to match, but first has size 3 in dim -1 and second has size 4 in dim 0"),
    (lambda: torch.linalg.multi_dot([ones(2, 3)]), RuntimeError, "multi_dot(): expected at least 2 tensors but got 1")])
def test_errors(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == text


def test_gradients_of_a_product():
    x, y = torch.arange(6.).reshape(2, 3).requires_grad_(), torch.arange(3.).requires_grad_()
    (x @ y).backward(torch.tensor([1., 2.]))
    assert x.grad.tolist() == [[0, 1, 2], [0, 2, 4]] and y.grad.tolist() == [6, 9, 12]


def test_a_changing_beta_does_not_save_self():
    x = ones(2, 2, grad=True)
    y = x * 1
    r = torch.addmm(y, ones(2, 2, grad=True), ones(2, 2), beta=0.5)
    y.mul_(2)                                    # torch does not save self either
    r.sum().backward()
    assert x.grad[0, 0].item() == 0.5


@pytest.mark.parametrize("equation, a, b, result", [
    ("i,j->ij", "float32", "float64", "float64"), ("i,j->ij", "bool", "float64", "float64"), ("i,i->i", "int64", "float32", "float32"),
    ("i,j->ij", "uint8", "int8", "int16"), ("i,j->", "int32", "int32", "int64"), ("i,j->j", "bool", "bool", "int64"),
    ("i,j->", "float16", "float32", "float32"), ("i,i->", "int32", "int32", "int32"), ("i,j->ij", "bool", "bool", "bool"),
    ("i,i->i", "float32", "complex128", "complex128"),
])
def test_einsum_multiplies_what_it_does_not_sum_over_and_sums_as_sum_does(equation, a, b, result):
    x, y = torch.ones(3).to(getattr(torch, a)), torch.ones(3).to(getattr(torch, b))
    made = torch.einsum(equation, x, y)
    assert made.dtype == getattr(torch, result)
    assert made.sum().item() == {"": 9 if equation == "i,j->" else 3, "j": 9, "ij": 9, "i": 3}[equation.partition("->")[2]]


def test_einsum_refuses_other_dtypes_where_it_sums_over_both():
    x, y = torch.ones(2, 3), torch.ones(3, 2)
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.einsum("ij,jk->ik", x, y.double())
    with pytest.raises(NotImplementedError, match="\"bmm\" not implemented for 'Bool'"):
        torch.einsum("ij,jk->ik", x > 0, y > 0)
    x.requires_grad_()
    torch.einsum("ij,k->ijk", x, torch.ones(2, dtype=torch.float64)).sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("a, b, wants, name",
                                               [((2, 3), (2, 3, 2), True, "CloneBackward0"),
                                               ((2, 3), (2, 3, 2), False, "UnsafeViewBackward0"),
                                               ((3,), (2, 3, 2), True, "UnsafeViewBackward0"),
                                               ((1, 1), (2, 1, 1), True, "TransposeBackward0"),
                                               ((1, 3), (1, 3, 2), True, "TransposeBackward0")])
def test_a_matrix_times_a_stack_is_made_in_torchs_steps(a, b, wants, name):
    x = torch.arange(1.0, 1 + torch.Size(a).numel()).reshape(a).requires_grad_(wants)
    y = torch.arange(1.0, 1 + torch.Size(b).numel()).reshape(b).requires_grad_()
    made = x @ y
    assert made.grad_fn.name() == name and made.is_contiguous()
    assert made.tolist() == (x.detach() @ y.detach()).tolist()


def test_the_step_that_a_product_does_not_fit_speaks():
    stack = torch.ones(2, 2, 3)
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(6x2 and 3x3\)"):
        torch.ones(3, 3, requires_grad=True) @ stack
    with pytest.raises(RuntimeError, match=r"Expected size for first two dimensions of batch2 tensor to be: \[2, 3\] but got: \[2, 2\]"):
        torch.ones(3, 3) @ stack
    with pytest.raises(RuntimeError, match=r"Expected size for first two dimensions of batch2 tensor to be: \[2, 4\] but got: \[2, 2\]"):
        torch.ones(4) @ stack
    with pytest.raises(RuntimeError, match=r"size mismatch, got input \(6\), mat \(6x2\), vec \(4\)"):
        torch.ones(4, requires_grad=True) @ stack


@pytest.mark.parametrize("shapes, turned, ok", [
    (((2, 3, 2), (2, 2, 2, 3)), (0, 1), True), (((2, 3, 2), (2, 2, 2, 3)), (0, 0), False), (((2, 2, 3), (3, 2)), (1, 0), True),
    (((2, 2, 3), (3, 2)), (0, 0), False)])
def test_stacks_that_are_no_view_of_matrices_are_copied(shapes, turned, ok):
    """So that they may be written before the backward pass."""
    ts = [torch.rand(s[::-1]).permute(*reversed(range(len(s)))) if t else torch.rand(s) for s, t in zip(shapes, turned)]
    a, b = [t.requires_grad_() for t in ts]
    y = a @ b
    with torch.no_grad():
        (b if b.ndim > 2 else a).mul_(2)
    with contextlib.nullcontext() if ok else pytest.raises(RuntimeError, match="which is output 0 of AsStrided, is at version 1"):
        y.sum().backward()


def test_inner_is_a_view_of_a_matrix_or_of_one_number():
    for a, b, base in (((2, 3), (4, 3), (2, 4)), ((1, 3), (2, 3), (1, 2)), ((1, 3), (1, 3), ()), ((1, 1, 1), (1, 1, 1), ())):
        made = torch.inner(torch.ones(a), torch.ones(b))
        assert made._base.shape == base and made.shape == a[:-1] + b[:-1]


def test_the_bias_of_a_layer_may_be_all_that_fits_its_result():
    """Of an input that is no matrix a bias with several dimensions is added to the product in place: it may be as large, no larger."""
    linear, w = torch.nn.functional.linear, torch.ones(4, 3)
    for shape in ((4,), (1,), (), (2, 4), (2, 2, 4), (1, 1), (1, 4)):
        assert linear(torch.ones(2, 2, 3), w, torch.ones(shape)).tolist() == torch.full((2, 2, 4), 4.).tolist()
    assert linear(torch.ones(3), w, torch.ones(1, 4)).shape == (4,)
    for x, weight, shape, text in (((3,), (3,), (2, 4), "output with shape [] doesn't match the broadcast shape [2, 4]"),
                                   ((3,), (4, 3), (1, 1), "output with shape [4] doesn't match the broadcast shape [1, 4]"),
                                   ((3,), (4, 3), (2, 4), "output with shape [4] doesn't match the broadcast shape [2, 4]"),
                                   ((3,), (3,), (2, 1), "mat2 must be a matrix, got 1-D tensor")):
        with pytest.raises(RuntimeError) as said:
            linear(torch.ones(*x), torch.ones(*weight), torch.ones(shape))
        assert str(said.value) == text
