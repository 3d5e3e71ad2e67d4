"""What torch's parser says of calls whose arguments fit no signature; what fails for another reason says its own."""
import pytest

import torchshim as torch

x = torch.arange(12.).reshape(3, 4)


@pytest.mark.parametrize("call, text", [
    (lambda: torch.gather(None, 0, x), "gather(): argument 'input' (position 1) must be Tensor, not NoneType"),
    (lambda: torch.gather(x, 0), 'gather() missing 1 required positional arguments: "index"'),
    (lambda: x.gather(0), 'gather() missing 1 required positional arguments: "index"'),
    (lambda: torch.exp(), 'exp() missing 1 required positional arguments: "input"'),
    (lambda: x.transpose("a", 1), "transpose(): argument 'dim0' (position 1) must be int, not str"),
    (lambda: torch.topk(x, 1.5), "topk(): argument 'k' (position 2) must be int, not float"),
    (lambda: x.reshape(2, "a"), "reshape(): argument 'shape' failed to unpack the object at pos 2 with error \"type must be tuple of ints,"
                                "but got str\""),
    (lambda: torch.cat([x, 1]), "expected Tensor as element 1 in argument 0, but got int"),
    (lambda: torch.softmax(x, 1.5), "softmax(): argument 'dim' (position 2) must be int, not float"),
    (lambda: torch.flatten(x, 1, torch.ones(2)), "flatten(): argument 'end_dim' (position 3) must be int, not Tensor"),
    (lambda: torch.mm(x), "mm() received an invalid combination of arguments - got (Tensor), but expected one of:"),
    (lambda: torch.sum(x, "a"), "sum() received an invalid combination of arguments - got (Tensor, str), but expected one of:"),
    (lambda: x.masked_fill(1, 2), "masked_fill() received an invalid combination of arguments - got (int, int), but expected one of:"),
    (lambda: x.chunk(1.5), "chunk(): argument 'chunks' (position 1) must be int, not float"),
    (lambda: torch.linalg.solve(x, 1), "linalg_solve(): argument 'B' (position 2) must be Tensor, not int"),
    (lambda: torch.zeros_like(1), "zeros_like(): argument 'input' (position 1) must be Tensor, not int"),
])
def test_arguments_that_fit_no_signature(call, text):
    with pytest.raises(TypeError) as e:
        call()
    assert str(e.value).split("\n")[0] == text


@pytest.mark.parametrize("call, text", [
    (lambda: x.reshape(5, 5), "shape '[5, 5]' is invalid for input of size 12"),
    (lambda: x.expand(2), "expand(torch.FloatTensor{[3, 4]}, size=[2]): the number of sizes provided (1) must be greater or equal to the "
                          "number of dimensions in the tensor (2)"),
    (lambda: torch.mm(x, x), "mat1 and mat2 shapes cannot be multiplied (3x4 and 3x4)"),
    (lambda: torch.masked_fill(x, torch.ones(5), 2),
     "The size of tensor a (5) must match the size of tensor b (4) at non-singleton dimension 1"),
    (lambda: torch.index_select(x, 1, torch.tensor([0, 7])), "INDICES element is out of DATA bounds, id=7 axis_dim=4"),
    (lambda: torch.linalg.tensorinv(x, 0), "Expected a strictly positive integer for 'ind', but got 0"),
    (lambda: torch.linalg.lu_solve(torch.eye(3), torch.tensor([0, 1, 2]).int(), torch.ones(3, 1)).tolist(),
     "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the result of lu_factor?"),
    (lambda: torch.linalg.lu_solve(torch.eye(3), torch.tensor([1, 2, 4]).int(), torch.ones(3, 1)).tolist(),
     "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you properly pass the result of lu_factor?"),
    (lambda: torch.linalg.solve(torch.eye(4), torch.ones(4), left=False),
     "linalg.solve: Incompatible shapes of A and B for the equation XA = B (4x4 and 4x1)"),
])
def test_arguments_that_fit_a_signature_fail_in_their_own_words(call, text):
    with pytest.raises(RuntimeError) as e:
        call()
    assert str(e.value).split("\n")[0] == text


@pytest.mark.parametrize("call, kind, text", [
    (lambda: torch.searchsorted(torch.tensor(1.0), torch.tensor(1.0)), RuntimeError,
     "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor dim(0) "
     "and input value's dim(0) numel(1)"),
    (lambda: torch.searchsorted(torch.tensor([True]), torch.tensor([True])), NotImplementedError,
     "\"searchsorted_out_cpu\" not implemented for 'Bool'"),
    (lambda: torch.histogram(torch.ones(3).half(), 3), NotImplementedError, "\"histogramdd\" not implemented for 'Half'"),
    (lambda: torch.bernoulli(torch.ones(3, dtype=torch.complex64), 0.3), NotImplementedError,
     "\"bernoulli_scalar_cpu_\" not implemented for 'ComplexFloat'"),
    (lambda: torch.multinomial(torch.ones(0), 2, True), RuntimeError, "invalid multinomial distribution (sum of probabilities <= 0)"),
    (lambda: torch.repeat_interleave(torch.tensor(1), torch.tensor([2]), 0), IndexError,
     "Dimension specified as 0 but tensor has no dimensions"),
    (lambda: torch.take_along_dim(torch.tensor(1), torch.tensor(0), -1), IndexError, "Dimension specified as 0 but tensor has no "
     "dimensions"),
    (lambda: torch.linalg.cross(torch.tensor(1), torch.tensor(0)), IndexError, "Dimension specified as -1 but tensor has no dimensions"),
    (lambda: torch.linalg.svdvals(torch.tensor(1)), RuntimeError, "linalg.svd: The input tensor A must have at least 2 dimensions."),
    (lambda: torch.linalg.matrix_norm(torch.tensor(1)), RuntimeError,
     "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."),
    (lambda: torch.cdist(torch.ones(2).long(), torch.ones(2).long()), RuntimeError, "cdist only supports at least 2D tensors, X1 got: 1D"),
    (lambda: torch.mode(torch.ones(0)), IndexError, "mode(): Expected reduction dim 0 to have non-zero size."),
])
def test_what_is_asked_first(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert str(e.value).split("\n")[0] == text


def test_copies_that_are_written_to_lie_as_the_original():
    y, i = x.t(), torch.tensor([0])
    made = [y.index_put((i,), torch.tensor(1.0)), y.index_put((i,), torch.tensor(1.0), accumulate=True), y.put(i, torch.ones(1)),
            y.index_put((y > 3,), torch.tensor(1.0)), y.index_fill(0, i, 2), y.index_fill(0, i, torch.tensor(2.0))]
    assert [t.stride() for t in made] == [(1, 4)] * 6
    assert made[0].tolist()[0] == [1, 1, 1] and made[1].tolist()[0] == [1, 5, 9]


def test_solutions_from_the_right_are_contiguous():
    A, B = torch.eye(4) * 2, torch.ones(3, 4)
    assert torch.linalg.solve(A, B, left=False).stride() == (4, 1) and torch.linalg.solve(A, B.mT).stride() == (1, 4)


def test_a_guarded_function_keeps_its_name_and_takes_what_it_took():
    assert torch.transpose.__name__ == "transpose" and torch.Tensor.swapdims.__name__ == "swapdims"
    assert x.permute(1, 0).shape == x.permute((1, 0)).shape == x.view(4, 3).shape == x.view([4, 3]).shape == (4, 3)
    assert x.gather(dim=1, index=torch.tensor([[1]])).tolist() == [[1.0]]


def test_functions_of_the_binding_are_found():
    from torchshim import _VF
    assert _VF.mm is torch.mm and torch._C._VariableFunctions.mm is torch.mm


def test_operands_that_do_not_broadcast_are_refused_before_a_kernel_is_missed():
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(4\) must match the size of tensor b \(3\)"):
        torch.bitwise_and(x, torch.ones(3))
    with pytest.raises(NotImplementedError, match="\"bitwise_and_cpu\" not implemented for 'Float'"):
        torch.bitwise_and(x, torch.ones(4))


def test_ldexp_rounds_the_power_to_the_exponents_dtype():
    """The numbers are torch's."""
    y, by = torch.arange(1, 5.0) * 0.37, torch.tensor([0.5, 0.3, 1.7, 2.0])
    assert torch.ldexp(y, by.bfloat16()).tolist() == [0.5232031345367432, 0.9134374856948853, 3.6075000762939453, 5.920000076293945]
    assert torch.ldexp(y.half(), by.half()).tolist() == [0.5234375, 0.91162109375, 3.609375, 5.921875]
    with pytest.raises(NotImplementedError, match="\"ldexp_cpu_exp\" not implemented for 'Bool'"):
        torch.ldexp(y, by > 1)


def test_solutions_from_factors_lie_as_in_torch():
    LU, pivots = torch.linalg.lu_factor(torch.eye(4) * 2 + 1)
    assert [torch.linalg.lu_solve(LU, pivots, torch.ones(4, 4), left=left).stride() for left in (True, False)] == [(1, 4), (4, 1)]


def test_factories_refuse_in_torchs_words():
    for call, text in ((lambda: torch.zeros(2, dtype="float32"), "zeros(): argument 'dtype' must be torch.dtype, not str"),
                       (lambda: torch.randint(1, 2, 3), "randint() received an invalid combination of arguments - got (int, int, int), but "
                                                        "expected one of:"),
                       (lambda: torch.randint("a", (2,)), "randint(): argument 'high' (position 1) must be int, not str"),
                       (lambda: torch.rand(2, names=("a", "b")), "rand() received an invalid combination of arguments - got (int, "
                                                                 "names=tuple), but expected one of:"),
                       (lambda: torch.linspace(0, 1), "linspace() received an invalid combination of arguments - got (int, int), but "
                                                      "expected one of:"),
                       (lambda: x.new_zeros("a"), "new_zeros(): argument 'size' (position 1) must be tuple of ints, not str"),
                       (lambda: x.new_full((2,)), 'new_full() missing 1 required positional arguments: "fill_value"'),
                       (lambda: x.size("a"), "size(): argument 'dim' (position 1) must be int, not str"),
                       (lambda: x.permute(), 'permute() missing 1 required positional arguments: "dims"')):
        with pytest.raises(TypeError) as e:
            call()
        assert str(e.value).split("\n")[0] == text
    assert not hasattr(x, "names")


def test_types_are_shown_by_torchs_names_and_windows_refuse_what_they_do_not_know():
    with pytest.raises(TypeError, match=r"got \(int, int, int, nonsense=int, dtype=torch.dtype\)"):
        torch.arange(2, 2, 2, dtype=torch.float64, nonsense=1)
    with pytest.raises(TypeError):
        torch.blackman_window(1, False, nonsense=1)


def test_numpys_name_of_dim():
    # torch's parser takes `axis` for `dim` and `keepdims` for `keepdim` in every compiled function
    x = torch.arange(24.).reshape(2, 3, 4)
    assert torch.stack([x, x], axis=-1).shape == (2, 3, 4, 2) and torch.stack(tensors=[x, x], axis=0).shape == (2, 2, 3, 4)
    assert x.unsqueeze(axis=1).shape == (2, 1, 3, 4) and x[:1].squeeze(axis=0).shape == (3, 4) and torch.diff(x, axis=1).shape == (2, 2, 4)
    assert [t.shape for t in x.unbind(axis=2)] == [(2, 3)] * 4 and x.chunk(2, axis=2)[1].shape == (2, 3, 2)
    assert torch.tensor_split(x, 2, axis=2)[0].shape == (2, 3, 2)
    assert torch.linalg.norm(x, axis=1, keepdims=True).shape == (2, 1, 4) and torch.linalg.matrix_norm(x, axis=(0, 1)).shape == (4,)
    assert torch.fft.rfft(x, axis=1).shape == (2, 2, 4) and torch.fft.fftshift(x, axis=1)[0, 0, 0] == 8
    assert torch.equal(torch.fft.fftn(x, axis=(0, 1)), torch.fft.fft2(x, axis=(0, 1)))
    with pytest.raises(TypeError):
        x.unsqueeze()
