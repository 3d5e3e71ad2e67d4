"""Of several things that torch could refuse, it refuses one first; the texts are torch 2.13's."""
import pytest
import torchshim as torch
import torchshim.nn.functional as F


def expanded(dtype):
    return torch.tensor([[1], [2], [3]], dtype=dtype).expand(3, 4)


LAST = torch.channels_last
OVERLAP = "unsupported operation: more than one element of the written-to tensor"


@pytest.mark.parametrize("write, dtype, text", [
    (lambda x: x.clamp_(1.5), torch.int64, "result type Float can't be cast to the desired output type long int"),
    (lambda x: x.relu_(), torch.bool, "Boolean inputs not supported for relu"),
    (lambda x: F.hardtanh(x, inplace=True), torch.bool, "Bool inputs not supported for hardtanh"),
    (lambda x: x.clamp_(max=1), torch.complex64, "clamp is not supported for complex types"),
    (lambda x: x.cumsum_(0), torch.bool, "\"cumsum_out_cpu\" not implemented for 'Bool'"),
    (lambda x: x.cumsum_(5), torch.float32, "Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
    (lambda x: x.sub_(True), torch.float32, "Subtraction, the `-` operator, with a bool tensor is not supported."),
    (lambda x: x.addmm_(x, x.mT), torch.float32, "Bad in-place call: input tensor size [3, 4] and output tensor size [3, 3] should match"),
    (lambda x: x.absolute_(), torch.complex64, "In-place abs is not supported for complex tensors."),
    (lambda x: x.add_(1.5), torch.int64, OVERLAP),
    (lambda x: x.add_(torch.ones(5)), torch.float32, OVERLAP),
    (lambda x: x.bitwise_not_(), torch.float32, OVERLAP),
    (lambda x: x.relu_(), torch.float32, OVERLAP),
])
def test_what_is_refused_before_the_memory_is_looked_at(write, dtype, text):
    with pytest.raises(Exception) as info:
        write(expanded(dtype))
    assert str(info.value).startswith(text)


def attend(q, k=None, v=None, **more):
    return F.scaled_dot_product_attention(q, q if k is None else k, q if v is None else v, **more)


@pytest.mark.parametrize("call, kind, text", [
    (lambda: F.unfold(torch.ones(3, requires_grad=True), 2), IndexError, "expected to be in range of [-1, 0], but got -2)"),
    (lambda: F.unfold(torch.ones(3), 2), IndexError, "expected to be in range of [-1, 0], but got 1)"),
    (lambda: F.unfold(torch.ones(3), -1), RuntimeError, "kernel size should be greater than zero"),
    (lambda: F.unfold(torch.ones(3, 2, requires_grad=True), 2), IndexError, "expected to be in range of [-2, 1], but got 2)"),
    (lambda: F.cross_entropy(torch.tensor(1.), torch.tensor(1.)), IndexError, "Dimension specified as 1 but tensor has no dimensions"),
    (lambda: F.cross_entropy(torch.tensor(1.), torch.ones(2, 2).long()), IndexError, "expected to be in range of [-1, 0], but got 1)"),
    (lambda: F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 5, 1])), ValueError, "Expected input batch_size (2) to match target"),
    (lambda: F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 5]), torch.ones(2)), RuntimeError, "weight tensor should be defined"),
    (lambda: F.cross_entropy(torch.ones(0), torch.tensor(3) % 2, reduction="sum"), IndexError, "Target 1 is out of bounds."),
    (lambda: F.cross_entropy(torch.ones(0), torch.tensor(2) % 2, reduction="sum"), IndexError, "Target 0 is out of bounds."),
    (lambda: F.conv3d(torch.ones(2, 3, 4, 2) > 0, torch.ones(2, 2, 1, 1, 1) > 0), NotImplementedError, "\"slow_conv3d_cpu\" not"),
    (lambda: F.conv3d(torch.ones(2, 3, 4, 2) > 0, torch.ones(2, 2, 1, 2, 1) > 0), NotImplementedError, "\"compute_columns3d\" not"),
    (lambda: F.max_unpool2d(torch.ones(1, 3, 4, 2).long().contiguous(memory_format=LAST), torch.zeros(1, 3, 4, 2).long(), 2),
     NotImplementedError, "\"max_unpool2d_channels_last\" not"),
    (lambda: F.pad((torch.ones(1, 3, 4, 2) > 0).contiguous(memory_format=LAST), (1,) * 4, mode="reflect"), NotImplementedError,
     "\"reflection_pad2d_channels_last\" not"),
    (lambda: F.linear((torch.ones(2, 4, 3) > 0).mT, torch.ones(2, 4) > 0), NotImplementedError, "\"bmm\" not"),
    (lambda: F.linear((torch.ones(4, 2, 3) > 0).permute(1, 2, 0), torch.ones(2, 4) > 0), NotImplementedError, "\"addmm_impl_cpu_\" not"),
    (lambda: F.linear(torch.ones(3, 0) > 0, torch.ones(2, 0) > 0, torch.ones(2) > 0), RuntimeError, "result type Long can't be cast"),
    (lambda: F.batch_norm(torch.ones(1, 3, 4, 2).long().contiguous(memory_format=LAST), None, None, training=True), NotImplementedError,
     "\"batch_norm\" not"),
    (lambda: F.adaptive_avg_pool2d(torch.ones(1, 3, 2).cfloat().requires_grad_(), 0), RuntimeError, "does not support automatic differen"),
    (lambda: F.adaptive_avg_pool1d(torch.ones(2, 3).cfloat().requires_grad_(), 2), NotImplementedError, "\"adaptive_avg_pool2d\" not"),
    (lambda: torch.histc(torch.tensor([1., float("nan")]), 4), RuntimeError, "range of [-nan, -nan] is not finite"),
    (lambda: torch.histc(torch.tensor([float("nan")]), 4), RuntimeError, "range of [nan, nan] is not finite"),
    (lambda: attend(torch.ones(3, 4).long()), RuntimeError, "expected m1 and m2 to have the same dtype, but got: float != long int"),
    (lambda: attend(torch.ones(2, 3, 4).long()), RuntimeError, "expected scalar type Float but found Long"),
    (lambda: attend(torch.ones(3, 4).long(), attn_mask=torch.ones(3, 3) > 0), RuntimeError, "converted to type int64_t without overflow"),
    (lambda: attend(torch.ones(3, 4), enable_gqa=True), IndexError, "expected to be in range of [-2, 1], but got -3)"),
    (lambda: attend(torch.ones(2, 2, 3), torch.ones(3, 2, 3)), RuntimeError, "The size of tensor a (2) must match the size of tensor b (3)"),
])
def test_the_first_refusal(call, kind, text):
    with pytest.raises(kind) as info:
        call()
    assert text in str(info.value)


def test_a_refused_loss_leaves_no_complaint_behind():
    x = torch.ones(2, 0, 3)
    with pytest.raises(RuntimeError, match="Expected target size"):
        F.cross_entropy(x, torch.arange(2) % 2)
    assert (torch.ones(3) + 1).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("call, dtype, shape", [
    (lambda: F.adaptive_avg_pool1d(torch.ones(2, 0, 3) > 0, 2), torch.bool, (2, 0, 2)),
    (lambda: F.bilinear(*[torch.ones(2, 0, 3) > 0] * 2, torch.ones(2, 3, 3) > 0), torch.bool, (2, 0, 2)),
    (lambda: torch.cdist(torch.ones(2, 0, 3).bfloat16().requires_grad_(), torch.ones(2, 0, 3).bfloat16()), torch.bfloat16, (2, 0, 0)),
    (lambda: attend(torch.ones(2, 0, 3) > 0), torch.int64, (2, 0, 3)),
    (lambda: attend(torch.ones(2, 3).int(), torch.ones(0, 3).int(), torch.ones(0, 3).int()), torch.int32, (2, 3)),
    (lambda: attend(torch.ones(2, 0, 3).cfloat()), torch.complex64, (2, 0, 3)),
])
def test_where_there_is_nothing_no_kernel_is_asked(call, dtype, shape):
    made = call()
    assert (made.dtype, tuple(made.shape)) == (dtype, shape) and not made.any()


def test_gradients_that_torch_cannot_lay():
    x = torch.ones(2, 2, 3, 2).contiguous(memory_format=LAST).requires_grad_()
    with pytest.raises(RuntimeError, match="grad_input must be contiguous"):
        F.nll_loss(x, torch.zeros(2, 3, 2).long()).backward()
    x = torch.ones(2, 0, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="Value of groups:0"):
        F.channel_shuffle(x, 3).sum().backward()


@pytest.mark.parametrize("f, error, words", [
    (lambda: torch.baddbmm(torch.ones(1, 1, 2, 3), torch.ones(1, 1, 2, 3), torch.ones(1, 2, 3)), RuntimeError,
     "expand(torch.FloatTensor{[1, 1, 2, 3]}, size=[1, 1, 3]): the number of sizes provided (3) must be greater or equal"),
    (lambda: torch.baddbmm(torch.ones(2, 3, 5).int(), torch.ones(2, 3, 4), torch.ones(2, 5, 5)), RuntimeError,
     "Input dtypes must be the same, got: input int, batch1: float, batch2: float"),
    (lambda: torch.addbmm(torch.ones(3, 5), torch.ones(2, 3, 4), torch.ones(3, 4, 5)), RuntimeError,
     "batch1 and batch2 must have same number of batches, got 2 and 3"),
    (lambda: torch.addbmm(torch.ones(3, 5).int(), torch.ones(2, 3, 4), torch.ones(2, 5, 5)), RuntimeError,
     "Incompatible matrix sizes for bmm (3x4 and 5x5)"),
    (lambda: torch.addcmul(torch.ones(()), torch.ones(3, 2), torch.ones(2, 2)), RuntimeError,
     "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0"),
    (lambda: torch.nn.functional.gaussian_nll_loss(torch.ones(2), torch.ones(2, 2), torch.ones(2, 2)), ValueError, "var is of incorrect size"),
])
def test_what_products_and_sums_look_at_first(f, error, words):
    with pytest.raises(error) as told:
        f()
    assert str(told.value).startswith(words)


def test_what_writes_says_first_where_it_may_not():
    """torch looks at the target of addr_, of where(out=) and of a write by a mask before it looks at what is written."""
    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"^size mismatch, input: \[2, 3\], v1: \[2\], v2: \[4\]"):
        x.addr_(torch.ones(2), torch.ones(4))
    with pytest.raises(RuntimeError, match="^2D tensor expected, got 1D tensor for input"):
        x[0].addr_(torch.ones(2), torch.ones(3))
    condition, y = torch.ones(2, 3, dtype=torch.int64), torch.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^where\(\): functions with out=... arguments don't support automatic differentiation"):
        torch.where(condition, x, y, out=torch.empty(2, 3))
    with pytest.raises(RuntimeError, match="^Expected out type to be Float but got Double"):
        torch.where(condition, x, y.detach(), out=torch.empty(2, 3, dtype=torch.float64))
    m = torch.tensor([True, False, True])
    for write in (lambda: m.__setitem__(m, m), lambda: m.__setitem__(m, ~m)):
        with pytest.raises(RuntimeError, match="^unsupported operation: some elements of the input tensor and the written-to tensor refer"):
            write()
    m = torch.tensor(True)
    m[m] = ~m
    assert not m
