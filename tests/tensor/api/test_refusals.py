"""What torch 2.13 refuses, in its words: numbers that do not fit, kinds of numbers, dtypes."""
import numpy as np
import pytest

import torchshim as torch


def _assign(x, value):
    x[0] = value
    return x


def _hooked():
    p = torch.ones(2, requires_grad=True)
    p.register_post_accumulate_grad_hook(lambda p: 1)
    (p * 2).sum().backward()


HALF, INT = torch.zeros(2, dtype=torch.float16), torch.tensor([5], dtype=torch.uint8)
NEW = """new() received an invalid combination of arguments - got (%s), but expected one of:
 * (*, torch.device device = None)
%s * (torch.Storage storage)
 * (Tensor other)
 * (tuple of ints size, *, torch.device device = None)
 * (object data, *, torch.device device = None)
"""
MISFIT = "      didn't match because some of the arguments have invalid types: (%s)\n"
REFUSED = [
    (lambda: torch.tensor(dtype=torch.float32), TypeError, 'tensor() missing 1 required positional arguments: "data"'),
    (lambda: torch.LongTensor((6, 0), 1, 1, 0), TypeError, NEW % ("tuple, int, int, int", "")),
    (lambda: torch.Tensor(torch.Size([2]), 3), TypeError, NEW % ("torch.Size, int", MISFIT % "!torch.Size of (int,)!, !int!")),
    (lambda: torch.FloatTensor(torch.ones(2), 1), TypeError, NEW % ("Tensor, int", MISFIT % "!Tensor!, !int!")),
    (lambda: torch.add(torch.Size([2]), 1), TypeError, "add(): argument 'input' (position 1) must be Tensor, not torch.Size"),
    (lambda: HALF.clone().fill_(70000), RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    (lambda: HALF.clone().fill_(65504.1), RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    (lambda: HALF.bfloat16().fill_(1e39), RuntimeError, "value cannot be converted to type c10::BFloat16 without overflow"),
    (lambda: torch.full((2,), 1e39), RuntimeError, "value cannot be converted to type float without overflow"),
    (lambda: torch.full_like(HALF, 70000), RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    (lambda: torch.full((2,), 300, dtype=torch.uint8), RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    (lambda: torch.full_like(torch.ones(2), np.ones(1)), TypeError,
     "full_like(): argument 'fill_value' (position 2) must be Number, not numpy.ndarray"),
    (lambda: torch.randperm(300, dtype=torch.uint8), RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    (lambda: torch.randperm(3000, dtype=torch.float16), RuntimeError, "n cannot be greater than 2049 for Half type."),
    (lambda: torch.ones(2).clamp(1j, 2), RuntimeError, "value cannot be converted to type double without overflow"),
    (lambda: torch.ones(2).clamp(torch.tensor(1j)), NotImplementedError, "\"maximum_cpu\" not implemented for 'ComplexFloat'"),
    (lambda: torch.ones(2).clamp_min(1j), NotImplementedError, "clamp is not supported for complex types"),
    (lambda: torch.ones(2).clamp(torch.tensor(1), torch.tensor(1j)), NotImplementedError,
     "\"clamp_cpu\" not implemented for 'ComplexFloat'"),
    (lambda: torch.tensor(1.).expand(-1, 3), RuntimeError, "numel: integer multiplication overflow"),
    (lambda: torch.ones(2, 3).expand(-2, 3), RuntimeError, "The expanded size of the tensor (-2) must match the existing size (2) at "
     "non-singleton dimension 0.  Target sizes: [-2, 3].  Tensor sizes: [2, 3]"),
    (lambda: torch.ones(3).expand(), TypeError, 'expand() missing 1 required positional arguments: "size"'),
    (lambda: torch.trapezoid(torch.ones(2) > 0, torch.ones(2), dim=1), IndexError,
     "Dimension out of range (expected to be in range of [-1, 0], but got 1)"),
    (lambda: torch.cumulative_trapezoid(torch.tensor(1.), torch.ones(2)), IndexError,
     "Dimension specified as 0 but tensor has no dimensions"),
    (lambda: torch.nn.functional.embedding(torch.tensor([5]), torch.ones(3, 0)), RuntimeError,
     "INDICES element is out of DATA bounds, id=5 axis_dim=3"),
    (lambda: torch.nn.functional.embedding(torch.tensor([0]), torch.ones(0, 3)), RuntimeError,
     "index_select(): self indexing axis dim should be positive"),
    (lambda: torch.nn.functional.embedding_bag(torch.zeros(1, 0).long(), torch.ones(2, 3)), RuntimeError, "step must be nonzero"),
    (lambda: torch.tensor(1.).unbind(-2), IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got -2)"),
    (lambda: torch.ones(2).map_(torch.ones(2) > 0, max), TypeError, "map_: expected torch.FloatTensor for 'other' (got CPUBoolType)"),
    (lambda: torch.ones(2).map2_(torch.ones(2), 1, max), TypeError, "map2_(): argument 'y' (position 2) must be Tensor, not int"),
    (lambda: torch.einsum("...i,...i->...", torch.ones(2, 3), torch.ones(3, 3)), RuntimeError, "einsum(): dimension 0 covered by ellipsis "
     "in operand 1has size 3 which does not broadcast with previously seen ellipsis with size 2 for the respective dimension"),
    (lambda: torch.linalg.cond(torch.ones(0, 2, 3), "fro"), RuntimeError,
     "linalg.cond(ord=fro): A must be batches of square matrices, but they are 2 by 3 matrices"),
    (lambda: torch.linalg.tensorsolve(torch.ones(2, 2), torch.ones(3)), RuntimeError, "Expected self to satisfy the requirement "
     "prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got 2 != 3"),
    (lambda: torch.linalg.tensorsolve(torch.ones(2, 2), torch.ones(1, 1)), RuntimeError, "shape '[1, 1]' is invalid for input of size 4"),
    (lambda: torch.nn.functional.conv1d(torch.ones(1, 1, 3), torch.ones(1, 1, 1, 2)), RuntimeError, "Expected 4-dimensional input for "
     "4-dimensional weight [1, 1, 1, 2], but got 3-dimensional input of size [1, 1, 3] instead"),
    (lambda: torch.isin(torch.tensor([True]), True), RuntimeError, "Unsupported input type encountered for isin(): Bool"),
    (lambda: torch.isin(torch.ones(1), torch.tensor([1j])), RuntimeError, "Unsupported input type encountered for isin(): ComplexFloat"),
    (lambda: INT // 256, RuntimeError, "ZeroDivisionError"),
    (lambda: _assign(torch.zeros(2), np.float32(1)), TypeError, "can't assign a numpy.float32 to a torch.FloatTensor"),
    (lambda: _assign(torch.zeros(2).long(), np.bool_(1)), TypeError, "can't assign a numpy.bool to a torch.LongTensor"),
    (lambda: torch.std_mean(torch.arange(3)), RuntimeError, "std_mean only support floating point and complex dtypes"),
    (lambda: torch.histogram(torch.ones(3), torch.tensor([])), RuntimeError,
     "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension 0"),
    (lambda: torch.cov(torch.ones(2, 2), aweights=torch.tensor([1.0, -1.0])), RuntimeError, "cov(): aweights cannot be negative"),
    (lambda: torch.cov(torch.ones(2, 2), aweights=torch.zeros(2)), RuntimeError, "cov(): weights sum to zero, can't be normalized"),
    (lambda: torch.renorm(torch.ones(2, 2), 2, 0, -1), RuntimeError, "renorm: expected maxnorm to be >= 0 but got -1"),
    (lambda: torch.gradient(torch.ones(3, 3), dim=(0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"),
    (lambda: torch.dist(torch.ones(2), torch.ones(3)), RuntimeError,
     "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"),
    (lambda: torch.index_reduce(torch.ones(3), 0, torch.tensor([0]), torch.ones(2), "prod"), RuntimeError,
     "index_reduce_(): Number of indices (1) should be equal to source.size(dim): (2), for dim: 0"),
    (lambda: torch.index_add(torch.ones(3), 0, torch.tensor([[0]]), torch.ones(1)), IndexError,
     "index_add_(): Index is supposed to be a vector, but got dim: 2 with type: Long and size: [1, 1]"),
    (lambda: torch.unravel_index(torch.tensor([1]), (-2, 3)), ValueError, "'shape' cannot have negative values, but got (-2, 3)"),
    (lambda: torch.bitwise_and(1, 2), TypeError, "bitwise_and() received an invalid combination of arguments - got (int, int), but "
                                                 "expected one of:\n"
     " * (Tensor input, Tensor other, *, Tensor out = None)\n * (Number self, Tensor other)\n"
     "      didn't match because some of the arguments have invalid types: (!int!, !int!)\n"
     " * (Tensor input, Number other, *, Tensor out = None)\n"),
    (lambda: torch.einsum("ij->i.", torch.ones(2, 2)), RuntimeError,
     "einsum(): found '.' for output that is not part of any ellipsis (...)"),
    (lambda: torch.tensor([1, [2]]), TypeError, "'list' object cannot be interpreted as an integer"),
    (lambda: torch.tensor([1.0, [2]]), TypeError, "must be real number, not list"),
    (lambda: torch.nn.functional.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 0, 2)), RuntimeError,
     "kernel size should be greater than zero, but got kernel_height: 0 kernel_width: 2"),
    (lambda: torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([2.0])), RuntimeError,
     "all elements of target should be between 0 and 1"),
    (_hooked, TypeError, "expected Variable, but hook returned 'int'"),
    (lambda: setattr(torch.ones(3, requires_grad=True), "data", torch.zeros(3).long()), RuntimeError,
     "data set to a tensor that requires gradients must be floating point or complex dtype"),
]


@pytest.mark.parametrize("make, kind, text", REFUSED)
def test_refusals(make, kind, text):
    with pytest.raises(kind) as e:
        make()
    assert str(e.value) == text


def test_what_is_taken():
    """Where torch is more generous than one would think."""
    assert torch.take_along_dim(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3, 4, -4, 7]), 0).tolist() == [1, 2, 3, 2]
    assert torch.linalg.matrix_norm(torch.ones(0, 3), 2).item() == 0 == torch.linalg.cond(torch.ones(0, 0)).item()
    assert torch.special.zeta(torch.tensor([2.0, 3.0]), 1.5).shape == (2,) and torch.add(2, 3).item() == 5
    assert _assign(torch.zeros(2, dtype=torch.float16), 70000.0).tolist() == [float("inf"), 0]
    assert torch.full((2,), -1, dtype=torch.uint8).tolist() == [255, 255] and (INT // 257).tolist() == [5]
    assert _assign(torch.zeros(2), np.float64(1)).tolist() == [1, 0] and _assign(torch.zeros(2), np.int32(1)).tolist() == [1, 0]
    assert (torch.tensor([1]) + np.bool_(True)).dtype == torch.float32


def test_each_of_several_largest_gets_the_gradient_of_a_distance():
    """Of cdist; the norm itself shares it out."""
    a, b = torch.tensor([[1.0, 1.0, 0]], requires_grad=True), torch.zeros(1, 3, requires_grad=True)
    torch.cdist(a, b, p=float("inf")).sum().backward()
    assert a.grad.tolist() == [[1, 1, 0]] and b.grad.tolist() == [[-1, -1, 0]]


@pytest.mark.parametrize("call, text", [
    (lambda x: x.expand("a"), "expand(): argument 'size' (position 1) must be tuple of ints, not str"),
    (lambda x: x.reshape(2, "a"), "reshape(): argument 'shape' failed to unpack the object at pos 2 with error \"type must be tuple of "
                                  "ints,but got str\""),
    (lambda x: x.repeat("a", 2), "repeat() takes 1 positional argument but 2 were given"),
    (lambda x: x.permute([1.5]), "permute(): argument 'dims' (position 1) must be tuple of ints, but found element of type float at pos 0"),
    (lambda x: torch.where(1), "where(): argument 'condition' (position 1) must be Tensor, not int"),
    (lambda x: torch.arange("a"), "arange(): argument 'end' (position 1) must be Number, not str"),
    (lambda x: torch.eye(1.5), "eye(): argument 'n' (position 1) must be int, not float"),
])
def test_what_is_no_integer_is_refused_in_torchs_words(call, text):
    with pytest.raises(TypeError) as e:
        call(torch.ones(3))
    assert str(e.value) == text


@pytest.mark.parametrize("call", [torch.flatten, torch.squeeze, torch.nonzero, torch.clone, torch.diag, torch.fliplr, torch.imag,
                                  lambda x: torch.take(x, x), lambda x: torch.ones(2).type_as(x), lambda x: torch.movedim(x, 0, 1)])
def test_arrays_are_no_tensors(call):
    for x in (np.ones((2, 2)), 1, None):
        with pytest.raises(TypeError, match="must be Tensor, not|invalid combination of arguments"):
            call(x)


def test_old_functions_name_their_successors_once():
    with pytest.warns(UserWarning, match="torch.lu_solve is deprecated in favor of torch.linalg.lu_solve") as said:
        for _ in range(2):
            torch.lu_solve(torch.ones(2, 1), torch.eye(2), torch.tensor([1, 2], dtype=torch.int32))
    assert len(said) == 1


@pytest.mark.parametrize("call, error, text", [
    (lambda x: torch.empty(2, memory_format=torch.preserve_format), RuntimeError, "unsupported memory format Preserve"),
    (lambda x: x.resize_(2, 2, memory_format=torch.preserve_format), RuntimeError, "Unsupported memory formatPreserve"),
    (lambda x: x.contiguous(memory_format="a"), TypeError, "contiguous(): argument 'memory_format' must be torch.memory_format, not str"),
    (lambda x: x.is_contiguous(memory_format="a"), TypeError,
     "is_contiguous(): argument 'memory_format' must be torch.memory_format, not str"),
    (lambda x: x.double(memory_format="a"), TypeError, "double(): argument 'memory_format' must be torch.memory_format, not str"),
    (lambda x: x.cpu(memory_format=1), TypeError, "cpu(): argument 'memory_format' must be torch.memory_format, not int"),
    (lambda x: x.new_empty(2, memory_format=torch.contiguous_format), TypeError,
     "new_empty() got an unexpected keyword argument 'memory_format'"),
    (lambda x: x.new_zeros(2, foo=1), TypeError, "new_zeros() got an unexpected keyword argument 'foo'")])
def test_memory_formats_and_keywords_that_do_not_fit(call, error, text):
    with pytest.raises(error) as e:
        call(torch.ones(2, 3))
    assert str(e.value) == text


def test_the_memory_format_reaches_the_copy():
    x = torch.ones(1, 2, 3, 3)
    assert x.cpu(memory_format=torch.channels_last).stride() == (18, 1, 6, 2)
    assert x.type(torch.float64, memory_format=torch.channels_last).stride() == (18, 1, 6, 2)
    assert torch.ones(2, 2).contiguous(memory_format=torch.preserve_format).stride() == (2, 1)


def test_what_is_computed_of_nothing_asks_no_kernel():
    assert torch.linalg.cond(torch.ones(0, 2, 2).long(), -2).dtype is torch.int64
    assert torch.pdist(torch.ones(1, 3).half()).shape == (0,) and torch.pdist(torch.ones(3, 0).half()).tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'|invalid combination of arguments"):
        torch.var_mean(torch.ones(2), 0, out=torch.ones(2))
