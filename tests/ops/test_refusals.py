"""What torch's kernels refuse is refused, and what they do not look at where there is nothing to do is not; results are torch 2.13's."""
import pytest
import torchshim as torch


@pytest.mark.parametrize("call, error", [
    (lambda: torch.special.bessel_j0(torch.ones(2).half()), '"bessel_j0_cpu" not implemented for \'Half\''),
    (lambda: torch.special.hermite_polynomial_h(torch.ones(2).bfloat16(), 2), '"hermite_polynomial_h_cpu" not implemented for '
     '\'BFloat16\''),
    (lambda: torch.linalg.cross(torch.ones(3) > 0, torch.ones(3) > 0), '"cross" not implemented for \'Bool\''),
    (lambda: torch.inner(torch.ones(3) > 0, torch.ones(3) > 0), '"dot" not implemented for \'Bool\''),
    (lambda: torch.tensordot(torch.ones(2, 2) > 0, torch.ones(2, 2) > 0, 1), '"addmm_impl_cpu_" not implemented for \'Bool\''),
    (lambda: torch.cdist(torch.ones(2, 2).half(), torch.ones(2, 2).half()), '"cdist" not implemented for \'Half\''),
    (lambda: torch.zeros(2).to(torch.complex64).index_reduce(0, torch.tensor([0]), torch.ones(1, dtype=torch.complex64), "prod"),
     '"index_func_" not implemented for \'ComplexFloat\''),
    (lambda: torch.nn.functional.pad(torch.ones(1, 1, 3) > 0, (1, 1), mode="reflect"), '"reflection_pad1d" not implemented for \'Bool\''),
    (lambda: torch.baddbmm(*[torch.ones(2, 2, 2) > 0] * 3), '"baddbmm" not implemented for \'Bool\''),
    (lambda: torch.addbmm(torch.ones(2, 2) > 0, *[torch.ones(2, 2, 2) > 0] * 2), '"addmm_impl_cpu_" not implemented for \'Bool\''),
    (lambda: torch.clamp(*[torch.ones(2) > 0] * 3), '"clamp_cpu" not implemented for \'Bool\''),
    (lambda: torch.nn.functional.avg_pool3d(torch.ones(1, 1, 2, 2, 2).half(), 2), '"avg_pool3d_out_frame" not implemented for \'Half\''),
    (lambda: torch.nn.functional.max_unpool2d(torch.ones(1, 2, 2).cfloat(), torch.zeros(1, 2, 2).long(), 2),
     '"max_unpool2d" not implemented for \'ComplexFloat\''),
    (lambda: torch.nn.functional.ctc_loss(torch.ones(3, 1, 2).half(), torch.ones(1, 1), (1,), (1,)), '"ctc_loss_cpu" not implemented for '
     '\'Half\''),
    (lambda: torch.histogramdd(torch.ones(2, 2).half(), 1), '"histogramdd" not implemented for \'Half\''),
    (lambda: torch.histc(torch.ones(2).cfloat()), '"aminmax_cpu" not implemented for \'ComplexFloat\''),
    (lambda: torch.ones(2).cfloat().bernoulli_(torch.ones(2)), '"bernoulli_tensor_cpu_self_" not implemented for \'ComplexFloat\''),
])
def test_kernels_that_torch_does_not_have(call, error):
    with pytest.raises(NotImplementedError) as info:
        call()
    assert str(info.value) == error


@pytest.mark.parametrize("call, kind, text", [
    (lambda: torch.special.legendre_polynomial_p(2, 3), TypeError, "got (int, int), but expected one of"),
    (lambda: torch.normal(torch.ones(2), 0., (2,)), TypeError, "normal() received an invalid combination of arguments - got (Tensor, "
                                                               "float, tuple)"),
    (lambda: torch.normal(0., 1.), TypeError, "normal() received an invalid combination of arguments - got (float, float)"),
    (lambda: torch.linalg.vecdot(torch.ones(2).long(), torch.ones(2).long()), RuntimeError, "Expected a floating point or complex tensor"),
    (lambda: torch.linalg.pinv(torch.eye(2), rtol=torch.tensor(1j)), RuntimeError, "rtol tensor of complex type is not supported. Got"),
    (lambda: torch.linalg.pinv(torch.eye(2), torch.tensor(1j)), RuntimeError, "torch.linalg.pinv: rcond tensor of complex type"),
    (lambda: torch.linalg.matrix_rank(torch.eye(2), torch.tensor(1j)), RuntimeError, "torch.linalg.matrix_rank: atol tensor of complex type"),
    (lambda: torch.kl_div(torch.ones(2), torch.ones(2) * 1j), RuntimeError, "kl_div: Complex inputs not supported."),
    (lambda: torch.alpha_dropout(torch.ones(2).int(), 0.5, True), RuntimeError, "result type Float can't be cast to the desired output type "
                                                                                "Int"),
    (lambda: torch.embedding_renorm_(torch.ones(2, 2).long(), torch.tensor([0]), 1., 2.), RuntimeError, "norm(): input dtype should be either"),
    (lambda: torch.addmm(torch.eye(2), torch.ones(2).long(), torch.eye(2)), RuntimeError, "mat1 and mat2 must have the same dtype, but got "
                                                                                          "Long and Float"),
    (lambda: torch.logdet(torch.eye(2).half()), RuntimeError, "logdet: Low precision dtypes not supported. Got Half"),
    (lambda: torch.linalg.cond(torch.eye(2), 1e10), RuntimeError, "linalg.cond got an invalid norm type: 1e+10"),
    (lambda: torch.linalg.norm(torch.eye(2), 3.0, dim=(0, 1)), RuntimeError, "linalg.matrix_norm: Order 3 not supported."),
    (lambda: torch.linalg.matrix_norm(torch.eye(2).half(), 2), RuntimeError, "linalg.matrix_norm: Low precision dtypes not supported"),
    (lambda: torch.zeros(2).index_fill(0, torch.tensor([0]), torch.tensor(1j)), RuntimeError, "Converting complex Scalar to non-complex"),
    (lambda: torch.narrow_copy(torch.zeros(2), 1, 0, 1), RuntimeError, "Expected dim <"),
    (lambda: torch.baddbmm(torch.zeros(2), torch.zeros(2, 2), torch.zeros(2, 2)), IndexError, "expected to be in range of [-2, 1], but got "
     "2"),
    (lambda: torch.mv(torch.tensor(1.), torch.ones(1)), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
])
def test_arguments_that_torch_refuses(call, kind, text):
    with pytest.raises(kind) as info:
        call()
    assert text in str(info.value)


def test_nothing_to_do_asks_no_kernel():
    empty = torch.zeros(0, 0).half()
    assert torch.linalg.det(empty).item() == 1 and torch.linalg.svdvals(empty).dtype == torch.float16
    assert torch.linalg.cholesky(torch.zeros(0, 3, 3).bfloat16()).shape == (0, 3, 3)
    assert torch.linalg.eigvalsh(torch.zeros(0, 0).long()).dtype == torch.int64
    assert torch.mm(torch.zeros(0, 2) > 0, torch.zeros(2, 3) > 0).shape == (0, 3)
    assert torch.linalg.matrix_norm(torch.zeros(2, 0, 3), float("inf")).tolist() == [0, 0]
    assert torch.linalg.cond(torch.zeros(0, 3), 1).item() == 0
    assert torch.vander(torch.zeros(0).bool()).dtype == torch.int64


@pytest.mark.parametrize("call, text", [
    (lambda x: torch.cumsum(x, True), "cumsum(): argument 'dim' (position 2) must be int, not bool"),
    (lambda x: x.cumsum(None), "cumsum(): argument 'dim' (position 1) must be int, not NoneType"),
    (lambda x: torch.cholesky_inverse(x, 1), "cholesky_inverse(): argument 'upper' (position 2) must be bool, not int"),
    (lambda x: torch.diff(x, 1, 0, 2), "diff(): argument 'prepend' (position 4) must be Tensor, not int"),
    (lambda x: x.addmm(x, x, x), "must be Number, not Tensor"),
])
def test_types_of_integers_and_flags(call, text):
    with pytest.raises(TypeError) as info:
        call(torch.ones(2, 2))
    assert text in str(info.value)


def test_scales_and_dtypes_of_products_added_to():
    x = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        torch.addmm(x, x, x, alpha=1j)
    with pytest.raises(RuntimeError, match="addmv input tensors must have the same dtype, but got Double, Float, and Float"):
        torch.addmv(x[0].double(), x, x[0])


@pytest.mark.parametrize("call, kind, text", [
    (lambda x: torch.rnn_tanh_cell(x, x, x, x), IndexError, "Dimension specified as 1 but tensor has no dimensions"),
    (lambda x: torch.gru_cell(torch.ones(2, 3), torch.ones(2, 5), torch.ones(12, 3), torch.ones(12, 4)), RuntimeError,
     "hidden0 has inconsistent hidden_size: got 5, expected 4"),
    (lambda x: torch.rnn_relu_cell(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3), torch.ones(4, 4)), RuntimeError,
     "weight_ih first dim must be 1 * hidden_size = 4, but got 5"),
    (lambda x: torch.nn.functional.bilinear(x, x, torch.ones(2, 3, 3)), IndexError, "Dimension specified as -1 but tensor has no "
     "dimensions"),
    (lambda x: torch.nn.functional.grid_sample(x, torch.ones(1, 2, 2, 2), align_corners=True), IndexError,
     "Dimension specified as 0 but tensor has no dimensions"),
    (lambda x: torch.nn.functional.avg_pool2d(torch.ones(3), 2), IndexError,
     "Dimension out of range (expected to be in range of [-1, 0], but got -3)"),
    (lambda x: torch.nn.functional.unfold(x, 2), IndexError, "Dimension specified as 1 but tensor has no dimensions"),
    (lambda x: torch.nn.functional.unfold(torch.ones(2, 3), 2), IndexError,
     "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
    (lambda x: torch.nn.functional.max_unpool2d(torch.ones(1, 2, 2).long(), torch.zeros(1, 2, 2).long(), 2), NotImplementedError,
     '"max_unpool2d" not implemented for \'Long\''),
    (lambda x: torch.amax(torch.ones(0), (0, -1)), IndexError, "amax(): Expected reduction dim 0 to have non-zero size."),
    (lambda x: torch.bernoulli(torch.ones(2), torch.ones(2)), TypeError, "bernoulli() received an invalid combination of arguments - got "
     "(Tensor, Tensor), but expected one of:\n * (Tensor input, *, torch.Generator generator = None, Tensor out = None)\n"
     " * (Tensor input, float p, *, torch.Generator generator = None)\n"),
    (lambda x: torch.ones(1).addmm_(torch.ones(2, 2), torch.ones(2, 3)), RuntimeError,
     "Bad in-place call: input tensor size [1] and output tensor size [2, 3] should match"),
])
def test_dimensions_that_are_not_there(call, kind, text):
    with pytest.raises(kind) as info:
        call(torch.tensor(1.5))
    assert str(info.value) == text
