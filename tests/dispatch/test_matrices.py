"""Protects linear algebra, bags of embeddings and short-time Fourier transforms under a dispatch mode: torch 2.13's operators in its order, and
the results and gradients of an ordinary call."""
import math

import pytest

import torchshim as torch
from torchshim.nn import functional as F

from tests.dispatch.test_recurrent import Log

L = torch.linalg
torch.manual_seed(0)
A, B, V, T = torch.randn(4, 4), torch.randn(4, 2), torch.randn(4), torch.randn(2, 3, 3)
S = A @ A.T + torch.eye(4)
W, BAGS, WINDOW = torch.randn(5, 3), torch.tensor([[1, 2], [3, 3]]), torch.rand(4) + 0.5
_FRAMES = "view reflection_pad1d view unsqueeze as_strided mul _fft_r2c transpose_ squeeze_"
_NORM = "linalg_vector_norm"
CASES = {
    "inv": (lambda: L.inv(A), "linalg_inv_ex _linalg_check_errors"), "inverses": (lambda: T.inverse(), "linalg_inv_ex _linalg_check_errors"),
    "det": (lambda: torch.det(A), "_linalg_det"), "slogdet": (lambda: L.slogdet(T), "_linalg_slogdet"),
    "logdet": (lambda: torch.logdet(S), "_linalg_slogdet eq scalar_tensor where"), "svd": (lambda: L.svdvals(A), "_linalg_svd"),
    "eigh": (lambda: L.eigvalsh(S, "U"), "_linalg_eigh"), "cholesky": (lambda: L.cholesky(S), "linalg_cholesky_ex _linalg_check_errors"),
    "solve": (lambda: L.solve(A, B), "_linalg_solve_ex _linalg_check_errors"), "eig": (lambda: L.eigvals(A).abs().sort()[0],
                                                                                          "linalg_eig abs sort"),
    "rank": (lambda: L.matrix_rank(A), "empty zeros full _linalg_svd slice unsqueeze mul unsqueeze maximum gt sum"),
    "cond": (lambda: L.cond(A), "_linalg_svd slice slice div squeeze"), "cond -2": (lambda: L.cond(A, -2), "_linalg_svd slice slice div squeeze"),
    "norm": (lambda: L.matrix_norm(A), _NORM), "norm 2": (lambda: L.norm(A, 2), "permute _linalg_svd amax"),
    "norm nuc": (lambda: L.matrix_norm(T, "nuc", (0, 2), True), "permute _linalg_svd sum unsqueeze permute"),
    "norm 1": (lambda: L.matrix_norm(T, 1, (0, 2)), _NORM + " amax"), "norm -inf": (lambda: L.norm(A, -math.inf), _NORM + " amin"),
    "multi_dot": (lambda: L.multi_dot([V, A, A, V]), "unsqueeze unsqueeze mm mm mm view"),
    "multi_dot of three": (lambda: L.multi_dot([A, A, B]), "mm mm view"), "power": (lambda: L.matrix_power(A, 6), "mm mm mm"),
    "power -2": (lambda: L.matrix_power(A, -2), "linalg_inv_ex _linalg_check_errors mm"), "power 0": (lambda: L.matrix_power(A, 0),
                                                                                                          "clone eye copy_"),
    "vander": (lambda: L.vander(V), "unsqueeze expand cumprod new_ones cat"),
    "tensorinv": (lambda: L.tensorinv(A.view(2, 2, 2, 2)), "view view linalg_inv_ex _linalg_check_errors view"),
    "tensorsolve": (lambda: L.tensorsolve(A, V), "view _linalg_solve_ex _linalg_check_errors view"),
    "lu": (lambda: L.lu_factor(A), "linalg_lu_factor_ex _linalg_check_errors"),
    "ldl": (lambda: L.ldl_factor(S), "linalg_ldl_factor_ex _linalg_check_errors"), "diagonal": (lambda: L.diagonal(A, offset=1), "diagonal"),
    "vecdot": (lambda: L.vecdot(A, A), "mul sum"), "kron": (lambda: torch.kron(A, B), "_unsafe_view _unsafe_view mul _unsafe_view"),
    "bags": (lambda: F.embedding_bag(BAGS, W), "arange view _embedding_bag_forward_only"),
    "bags by offsets": (lambda: F.embedding_bag(BAGS[0], W, BAGS[0] - 1, mode="max"), "select select sub _embedding_bag_forward_only"),
    "stft": (lambda: torch.stft(W.view(-1), 4, window=WINDOW, return_complex=True), "view " + _FRAMES),
    "real stft": (lambda: torch.stft(W.view(-1), 8, 2, 4, WINDOW, return_complex=False), "view view reflection_pad1d view unsqueeze zeros slice "
                  "copy_ as_strided mul _fft_r2c transpose_ squeeze_ view_as_real"),
    "istft": (lambda: torch.istft(torch.complex(B[:3].repeat(1, 3), B[1:].repeat(1, 3)), 4, window=WINDOW),
              "slice repeat slice repeat complex view_as_real unsqueeze transpose view_as_complex _fft_c2r view mul unfold_backward pow expand "
              "unfold_backward slice slice abs min lt new_ones equal div squeeze"),
}


def _flat(made):
    return list(made) if isinstance(made, tuple) else [made]


@pytest.mark.parametrize("name", CASES)
def test_operators_and_results(name):
    f, names = CASES[name]
    with Log() as log:
        made = f()
    assert " ".join(log.names) == names
    torch.testing.assert_close(_flat(made), _flat(f()), rtol=1e-4, atol=1e-4)


def _upper(a, b):
    return L.solve_triangular(a, b, upper=True)


GRADIENTS = {
    "inv": (L.inv, T), "det": (L.det, A), "det of a turned one": (lambda a: L.det(a.mT), A), "dets": (L.det, T), "slogdet": (L.slogdet, A),
    "cholesky": (L.cholesky, S), "solve": (L.solve, A, B), "solve a vector": (L.solve, A, V), "eigh": (L.eigvalsh, S),
    "vectors": (lambda a: L.eigh(a)[1].abs(), S), "svd": (L.svdvals, A), "norm": (lambda a: L.matrix_norm(a, "nuc"), A),
    "triangular": (_upper, A + 3 * torch.eye(4), B), "multi_dot": (lambda a, b: L.multi_dot([a, a, b]), A, B),
    "bags": (lambda w: F.embedding_bag(BAGS, w, padding_idx=1), W), "bags' maxima": (lambda w: F.embedding_bag(BAGS, w, mode="max"), W)}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    f, *given = GRADIENTS[name]

    def gradients():
        xs = [x.clone().requires_grad_() for x in given]
        return torch.autograd.grad(sum([(y * torch.arange(1., y.numel() + 1).view_as(y)).sum() for y in _flat(f(*xs)) if y.requires_grad]), xs)
    with Log():
        found = gradients()
    torch.testing.assert_close(found, gradients(), rtol=1e-3, atol=1e-3)


def test_what_is_refused():
    with Log():
        with pytest.raises(RuntimeError, match=r"linalg.inv: The diagonal element 1 is zero, the inversion could not be completed"):
            L.inv(torch.zeros(2, 2))
        with pytest.raises(RuntimeError, match=r"cholesky: \(Batch element 1\): The factorization could not be completed"):
            L.cholesky(torch.stack([torch.eye(2), -torch.eye(2)]))
        x = A.clone().requires_grad_()
        with pytest.raises(NotImplementedError, match="the gradient of aten._linalg_svd through singular vectors"):
            L.svd(x)[0].sum().backward()
        with pytest.raises(NotImplementedError, match="the second gradient of aten._linalg_det"):
            torch.autograd.grad(L.det(x), x, create_graph=True)
