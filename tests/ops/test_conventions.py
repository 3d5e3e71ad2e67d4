"""Gradients and roundings where torch's formula is one of several: numbers are torch 2.13's."""
import pytest

import torchshim as torch


def test_second_derivative_of_eigenvalues_is_symmetric():
    A = torch.tensor([[3., 1, .5], [1, 4, .2], [.5, .2, 7]], dtype=torch.float64, requires_grad=True)
    w, V = torch.linalg.eigh(A)
    g, = torch.autograd.grad((V * V * torch.arange(9.).reshape(3, 3)).sum() + w[1] * w[0], A, create_graph=True)
    assert torch.allclose(g[0], torch.tensor([3.9068487350004553, -0.996824364252895, -0.47186272050130235], dtype=torch.float64))
    gg, = torch.autograd.grad(g[0, 1] + 2 * g[1, 0] + g[2, 0] ** 2, A)
    assert torch.allclose(gg[0], torch.tensor([0.08049115810924937, -1.5024297580107062, 0.43604154576405824], dtype=torch.float64))
    assert torch.allclose(gg, gg.T)


def test_complex_cholesky_takes_cotangents_with_a_complex_diagonal():
    A = torch.tensor([[3., 1 + 1j], [1 - 1j, 4]], dtype=torch.complex128, requires_grad=True)
    ct = torch.tensor([[1 + 2j, 3 - 1j], [.5j, 1 - 1j]], dtype=torch.complex128)
    first = {False: 0.3976457189723003 + 0.5646047296770761j, True: 0.1570831068099561 - 0.1315920277848567j}
    for upper, want in first.items():
        g, = torch.autograd.grad(torch.linalg.cholesky(A, upper=upper), A, ct)
        assert abs(g[0, 0].item() - want) < 1e-12


def test_bessel_i1_is_straight_at_zero():
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    g, = torch.autograd.grad(torch.special.i1(x + torch.tensor([0., .2])).sum(), x, create_graph=True)
    assert g[0].item() == .5
    gg, = torch.autograd.grad(g.sum(), x)
    assert gg[0].item() == 0 and abs(gg[1].item() - 0.07541739759491861) < 1e-9


def test_rows_filled_twice_count_once_in_the_gradient_of_the_value():
    v = torch.tensor(2., requires_grad=True)
    g, = torch.autograd.grad(torch.zeros(2, 3).index_fill(0, torch.tensor([0, 0, -2]), v).sum(), v)
    assert g.item() == 3


def test_addbmm_of_halves_rounds_after_each_product():
    one, tiny = torch.ones(1, 1).half(), torch.full((4, 1, 1), 2. ** -11).half()
    assert torch.addbmm(one, tiny, torch.ones(4, 1, 1).half()).item() == 1             # 1 + 2 ** -11 is 1, four times over
    assert torch.addbmm(one, tiny, torch.ones(4, 1, 1).half(), beta=0).item() == 2. ** -9
    assert torch.addbmm(one.float(), tiny.float(), torch.ones(4, 1, 1)).item() > 1
    a = tiny.clone().requires_grad_()
    torch.addbmm(one, a, torch.ones(4, 1, 1).half(), alpha=3).backward()
    assert a.grad.tolist() == [[[3.]]] * 4


def test_addr_of_halves_rounds_each_step():
    one = torch.ones(1, 1).bfloat16()
    v = torch.tensor([1.0078125]).bfloat16()
    assert torch.addr(one, v, v).item() == 2.015625 and torch.addr(one, v, v, alpha=1.0001).item() == 2.015625
    assert torch.addr(one * float("nan"), v, v, beta=0).item() == 1.015625


def test_integrals_of_small_integers_wrap_where_torch_adds_them():
    u = torch.tensor([[200, 100, 250], [1, 2, 3]], dtype=torch.uint8)
    assert torch.trapezoid(u, u).tolist() == [114, 4]
    assert torch.trapezoid(u).tolist() == [453, 4]
    assert torch.cumulative_trapezoid(u, u).tolist() == [[104, 114], [1.5, 4]]
    assert torch.trapezoid(u, torch.tensor([1., 2, 4])).tolist() == [116, 6.5]


def test_weights_of_cov_are_added_in_their_own_precision():
    x = torch.arange(6.).reshape(2, 3).double()
    assert abs(torch.cov(x, aweights=torch.tensor([.1, .2, .3]))[0, 0].item() - 0.9090909119644116) < 1e-15


def test_slice_copy():
    x = torch.arange(6).reshape(2, 3)
    assert torch.slice_copy(x, 1, 1).tolist() == [[1, 2], [4, 5]] and torch.slice_copy(x, -1, None, None, 2).tolist() == [[0, 2], [3, 5]]


def test_strides_of_joined_turned_and_solved_tensors():
    """channels_last operands of stack, rot90 of expanded ones and by nothing, the memory that lstsq returns a part of."""
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert [torch.stack([x, x], d).stride() for d in range(5)] == [
        (120, 60, 1, 15, 3), (120, 3, 1, 30, 6), (120, 1, 60, 15, 3), (120, 1, 30, 15, 3), (120, 40, 10, 2, 1)]
    e = torch.randn(2, 1, 4).expand(2, 3, 4)
    assert torch.rot90(e, 1, (0, 1)).stride() == (4, 12, 1) and torch.rot90(torch.randn(2, 3, 4).permute(2, 0, 1), 0).stride() == (6, 3, 1)
    A, b = torch.randn(2, 5, 3), torch.randn(2, 5, 2)
    assert torch.linalg.lstsq(A[0], b[0])[0].stride() == (1, 5) and torch.linalg.lstsq(A, b)[0].stride() == (10, 1, 5)
    assert (torch.linalg.lstsq(A, b[..., 0])[0].stride() == (5, 1)
            and torch.linalg.lstsq(A.mT, torch.randn(2, 3, 2))[0].stride() == (10, 1, 5))


def test_a_real_tensor_is_its_own_conjugate():
    x = torch.randn(3, requires_grad=True)
    assert torch.conj_physical(x) is x and x.conj_physical() is x
    y = torch.tensor([1 + 2j])
    assert torch.conj_physical(y).tolist() == [1 - 2j] and y.conj_physical_() is y and y.tolist() == [1 - 2j]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.conj_physical_()


def test_rsub_takes_alpha_by_position_beside_numbers():
    x = torch.tensor([1., 2])
    assert torch.rsub(x, 2, 3).tolist() == [-1, -4]
    with pytest.raises(TypeError, match=r"rsub\(\) received an invalid combination of arguments - got \(Tensor, Tensor, int\)"):
        torch.rsub(x, x, 3)
    with pytest.raises(TypeError, match=r"rsub\(\) received an invalid combination of arguments - got \(int, Tensor\)"):
        torch.rsub(2, x)
    with pytest.raises(TypeError, match=r"rsub\(\) received an invalid combination of arguments - got \(Tensor, int, int, int\)"):
        torch.rsub(x, 2, 3, 4)
