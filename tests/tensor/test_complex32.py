"""complex32: two half floats in four bytes, computed in complex64 and rounded; the answers are PyTorch's."""
import io
import warnings

import numpy as np
import pytest

import torchshim as torch

C = torch.complex32


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def numbers():
    return torch.tensor([[1 + 2j, 3 - 1j], [0.5j, 2.]], dtype=C)


def others():
    return torch.tensor([[2 - 1j, 1j], [1., -2 + 1j]], dtype=C)


def test_the_dtype():
    assert C is torch.chalf and repr(C) == "torch.complex32" and C.itemsize == 4 and C.is_complex and not C.is_floating_point
    assert C.to_real() is torch.float16 and torch.float16.to_complex() is C and torch.finfo(C).dtype == "float16"
    x = numbers()
    assert x.type() == "torch.ComplexHalfTensor" and x.is_complex() and x.nbytes == 16 and x.untyped_storage().nbytes() == 16
    with pytest.raises(TypeError, match="Got unsupported ScalarType ComplexHalf"):
        x.numpy()


@pytest.mark.parametrize("other, common", [
    ("bool", "complex32"), ("uint8", "complex32"), ("int64", "complex32"), ("float16", "complex32"), ("bfloat16", "complex64"),
    ("float32", "complex64"), ("float64", "complex128"), ("complex64", "complex64"), ("complex128", "complex128")])
def test_promotion(other, common):
    d, common = getattr(torch, other), getattr(torch, common)
    assert torch.promote_types(C, d) is torch.promote_types(d, C) is common
    assert (numbers() * torch.ones(2, dtype=d)).dtype is common
    assert (numbers() * torch.ones((), dtype=d)).dtype is C and numbers().to(d).dtype is d
    assert torch.can_cast(C, d) is d.is_complex and torch.can_cast(d, C)


def test_numbers_make_it_of_half_floats():
    half = torch.ones(2).half()
    assert (half * 1j).dtype is C and torch.complex(half, half).tolist() == [1 + 1j, 1 + 1j] and torch.complex(half, half).dtype is C
    with pytest.raises(RuntimeError, match="result type ComplexHalf can't be cast to the desired output type Half"):
        half.add_(numbers()[0])


def test_what_is_computed_is_rounded_as_by_torch():
    x, y = numbers(), others()
    assert (x + y).tolist() == [[3 + 1j, 3], [1 + 0.5j, 1j]] and (x * y).tolist() == [[4 + 3j, 1 + 3j], [0.5j, -4 + 2j]]
    assert x.abs().tolist() == [[2.236328125, 3.162109375], [0.5, 2.0]] and x.abs().dtype is torch.float16
    assert (x * 1000).tolist() == [[1000 + 2000j, 3000 - 1000j], [500j, 2000]] and (x * 40000).tolist()[0][0] == complex(40000, np.inf)
    a, b = torch.tensor(-8.478374 - 1.7658259j).chalf(), torch.tensor(4.5504694 + 7.1789594j).chalf()
    assert torch.add(a, b, alpha=-3.125).item() == -22.6875 - 24.203125j          # the product is rounded, too
    assert x.sgn().tolist()[0] == [0.447265625 + 0.89453125j, 0.94873046875 - 0.316162109375j]
    assert (x == y).tolist() == [[False] * 2] * 2 and x.count_nonzero() == 4 and torch.zeros(2, dtype=C).neg().nonzero().numel() == 0


def test_it_prints():
    assert str(numbers()) == "tensor([[1.+2.0000j, 3.-1.0000j],\n        [0.+0.5000j, 2.+0.0000j]], dtype=torch.complex32)"
    assert str(torch.full((2,), 1.1 + 3j, dtype=C)) == "tensor([1.0996+3.j, 1.0996+3.j], dtype=torch.complex32)"
    assert numbers()[0].tolist() == [1 + 2j, 3 - 1j] and numbers()[0, 0].item() == 1 + 2j


def test_views_share_its_memory():
    x = numbers()
    x.real[0, 0] = 5
    x.imag.mul_(2)
    x.conj()[1, 1] = 1 + 1j
    torch.view_as_real(x)[0, 1, 0] = 7
    assert x.tolist() == [[5 + 4j, 7 - 2j], [1j, 1 - 1j]]
    assert x.real.data_ptr() == x.data_ptr() and x.imag.data_ptr() == x.data_ptr() + 2 and x.imag.stride() == (4, 2)
    seen = torch.view_as_real(x).numpy()
    seen[0, 0, 0] = 9
    assert x[0, 0].item() == 9 + 4j
    x += 1
    assert seen[0, 0, 0] == 10
    assert torch.view_as_complex(torch.ones(3, 2).half()).dtype is C


def test_it_is_read_as_other_dtypes():
    x = torch.tensor([1 + 2j, 3 - 1j], dtype=C)
    assert x.view(torch.float16).tolist() == [1, 2, 3, -1] and x.view(torch.int32).tolist() == [1073757184, -1140833792]
    assert torch.tensor([1073757184], dtype=torch.int32).view(C).tolist() == [1 + 2j] and x.view(torch.complex64).shape == (1,)
    s = x.untyped_storage()
    assert list(s)[:4] == [0, 60, 0, 64]
    s[1] = 64
    assert x[0].item() == 2 + 2j


@pytest.mark.parametrize("f, message", [
    (lambda x: x.exp(), '"exp_vml_cpu"'), (lambda x: x / x, '"div_cpu"'), (lambda x: x.sum(), '"sum_cpu"'),
    (lambda x: x @ x, '"addmm_impl_cpu_"'),
    (lambda x: x @ x[0], '"addmv_impl_cpu"'), (lambda x: x.flip(1), '"flip_cpu"'), (lambda x: x.sqrt_(), '"sqrt_vml_cpu"'),
    (lambda x: x.pow(2), '"pow"'), (lambda x: torch.eye(2, dtype=C), '"eye"'), (lambda x: torch.arange(3, dtype=C), '"arange_cpu"'),
    (lambda x: x.gather(0, torch.zeros(1, 2, dtype=torch.long)), '"scatter_gather_tensor_cpu"'),
    (lambda x: torch.equal(x, x), '"equal_notnan_cpu"'),
    (lambda x: x.softmax(0), '"softmax_kernel_impl"'), (lambda x: x < x, '"lt_cpu"'), (lambda x: torch.linalg.qr(x), '"geqrf_cpu"')])
def test_what_torch_has_no_kernel_for(f, message):
    with pytest.raises(NotImplementedError, match=message + " not implemented for 'ComplexHalf'"):
        f(numbers())


def test_powers_that_need_no_kernel():
    x, half = numbers(), torch.tensor([0.5, -2.0]).half()
    assert (x ** 1).tolist() == (x ** (1 + 0j)).tolist() == (x ** True).tolist() == x.clone().pow_(1.0).tolist() == x.tolist()
    assert (x ** 0).tolist() == (x ** 0j).tolist() == torch.pow(1, x).tolist() == [[1, 1], [1, 1]]
    assert torch.pow(1 + 0j, half).tolist() == [1, 1] and torch.pow(1 + 0j, half).dtype is C
    for refused in (lambda: torch.pow(0.5j, half), lambda: torch.pow(True, x), lambda: x ** 2j):
        with pytest.raises(NotImplementedError, match='"pow" not implemented for \'ComplexHalf\''):
            refused()
    assert (torch.tensor([2j]) ** (1 + 0j)).tolist() == (torch.tensor([2j]) ** True).tolist() == [2j]      # copied, not computed


def test_what_needs_no_kernel():
    x = numbers()
    assert x.flip(0).tolist() == [[0.5j, 2], [1 + 2j, 3 - 1j]] and torch.zeros(0, 3, dtype=C).sum().dtype is C
    assert x.sum(dtype=torch.complex64).item() == 6 + 1.5j and (x.cfloat() / x).dtype is torch.complex64
    assert (x.t() @ torch.zeros(2, 0, dtype=C)).shape == (2, 0) and x.float_power(2).dtype is torch.complex128


def test_gradients():
    x, y = numbers().requires_grad_(), others().requires_grad_()
    (x * y).real.sum().backward()
    assert x.grad.tolist() == others().conj().tolist() and x.grad.dtype is C and y.grad.tolist() == numbers().conj().tolist()
    x.grad = None
    (x[1:].abs() * 2).sum().backward()
    assert x.grad.tolist() == [[0, 0], [2j, 2]]
    parts = torch.ones(2, 2).half().requires_grad_()
    (torch.view_as_complex(parts) * 2j).imag.sum().backward()
    assert parts.grad.tolist() == [[2, 0], [2, 0]]
    z = numbers().requires_grad_()
    w = z * 1
    w[0] = 1j
    w.real.mul_(3)
    torch.view_as_real(w).sum().backward()
    assert z.grad.tolist() == [[0, 0], [3 + 1j, 3 + 1j]]


def test_compiled_programs_give_the_same():
    def step(x, y):
        z = (x * y + 2j).sub(y, alpha=3)
        z[0] = torch.cat([x[1, :1], y[1, 1:]])
        return torch.where(z.real > 0, z, z.conj()).abs(), z
    rounds = [step(numbers(), others()) for _ in range(40)]
    programs = torch.stats()["compiles"]
    first = [t.tolist() for t in rounds[0]]
    assert all([[t.tolist() for t in r] == first for r in rounds]) and programs >= 0


def test_random_numbers_are_those_of_half_floats():
    torch.manual_seed(0)
    z = torch.rand(3, dtype=C)
    torch.manual_seed(0)
    assert torch.view_as_real(z).tolist() == torch.rand(6, dtype=torch.float16).view(3, 2).tolist()
    torch.manual_seed(0)
    assert torch.randn(3, dtype=C).tolist() == [1.08984375 - 0.20751953125j, -1.541015625 + 0.40185546875j, -0.76708984375 - 0.98876953125j]


def test_files():
    x = numbers()
    file = io.BytesIO()
    torch.save({"x": x, "turned": x.t(), "conjugate": x.conj()}, file)
    file.seek(0)
    found = torch.load(file)
    assert found["x"].tolist() == x.tolist() and found["conjugate"].is_conj() and found["turned"].stride() == (1, 2)
    found["x"][0, 1] = 9
    assert found["turned"][1, 0].item() == 9 and found["conjugate"][0, 1].item() == 9


def test_the_warning_comes_once():
    message = "ComplexHalf support is experimental"
    try:
        torch.set_warn_always(True)
        for make in (lambda: torch.randn(3, dtype=C), lambda: torch.zeros(3, dtype=C), lambda: torch.tensor([1j], dtype=C)):
            with pytest.warns(UserWarning, match=message) as told:
                make()
            assert len(told) == 1
    finally:
        torch.set_warn_always(False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.ones(3, dtype=C)
    assert not [w for w in told if message in str(w.message)]


def test_bytes_of_a_matrix_are_written_through_its_storage():
    x = torch.ones(2, 2)
    x.untyped_storage()[3] = 0
    assert x.tolist()[0][1] == 1 and x[0, 0].item() != 1
