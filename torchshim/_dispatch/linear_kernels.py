"""What computes ATen's operators of linear algebra, and of layers of LSTMs, that no public function is: see `kernels`."""
from __future__ import annotations

import torchshim as torch

from ..autograd import grad
from ..autograd.grad_mode import grad_mode
from ..tensor.api import linalg as L


def _turned(A):
    """Whether torch factors the transposed matrix, whose rows lie as its own columns."""
    return A.is_contiguous() and not A.is_complex()


def _factors(A):
    LU, pivots, _ = torch.linalg.lu_factor_ex(A.mT if _turned(A) else A)
    return LU, pivots


def _svd(A, full_matrices=False, compute_uv=True, *, driver=None):
    if compute_uv:
        return tuple(torch.linalg.svd(A, full_matrices, driver=driver))
    return A.new_empty(0), torch.linalg.svdvals(A, driver=driver), A.new_empty(0)


def _eigh(A, UPLO="L", compute_v=True):
    if compute_v:
        return tuple(torch.linalg.eigh(A, UPLO))
    return torch.linalg.eigvalsh(A, UPLO), A.new_empty(0)


def _solve_ex(A, B, *, left=True, check_errors=False):
    result, info = torch.linalg.solve_ex(A, B, left=left, check_errors=check_errors)
    LU, pivots, _ = torch.linalg.lu_factor_ex(A)
    return result, LU, pivots, info


_SAID = {"inv": L._singular, "linalg.inv": L._singular, "torch.linalg.solve": L._unsolvable, "linalg.cholesky": L._indefinite,
         "torch.linalg.lu_factor": L._zero_pivot, "torch.linalg.ldl_factor": L._zero_block}


def _check_errors(info, api_name, *, is_matrix):
    of_factor = api_name.endswith("_factor")
    L.failed(info, _SAID[api_name](api_name), *((RuntimeError,) if of_factor else ()))


def _lstm_layer(input, weight0, weight1, weight2, weight3, hx_, cx_, reverse, batch_sizes, mode, hidden_size, num_layers, has_biases,
                bidirectional, batch_first, train):
    if mode != 2 or batch_sizes:
        raise NotImplementedError("torchshim: aten.mkldnn_rnn_layer of anything but an LSTM without packed sequences")
    x = input.flip(0) if reverse else input
    params = [weight0, weight1, weight2, weight3] if has_biases else [weight0, weight1]
    y, h, c = torch.lstm(x, (hx_.unsqueeze(0), cx_.unsqueeze(0)), params, has_biases, 1, 0.0, train, False, False)
    return y.flip(0) if reverse else y, h.squeeze(0), c.squeeze(0), input.new_empty(0, dtype=torch.uint8)


def _lstm_layer_backward(input, weight1, weight2, weight3, weight4, hx_, cx_tmp, output, hy_, cy_, grad_output, grad_hy, grad_cy, reverse, mode,
                         hidden_size, num_layers, has_biases, train, bidirectional, batch_sizes, batch_first, workspace):
    given = [t.detach().requires_grad_() for t in (input, weight1, weight2, weight3, weight4, hx_, cx_tmp)]
    with grad_mode(True):
        made = _lstm_layer(*given, reverse, batch_sizes, mode, hidden_size, num_layers, has_biases, bidirectional, batch_first, train)
    pairs = [(y, g) for y, g in zip(made, (grad_output, grad_hy, grad_cy)) if g is not None]
    found = grad([y for y, _ in pairs], given, [g for _, g in pairs], allow_unused=True)
    return tuple([torch.zeros_like(t) if g is None else g for g, t in zip(found, given)])


KERNELS = {
    "_linalg_det": lambda A: (torch.linalg.det(A), *_factors(A)), "_linalg_slogdet": lambda A: (*torch.linalg.slogdet(A), *_factors(A)),
    "_linalg_svd": _svd, "_linalg_eigh": _eigh, "_linalg_solve_ex": _solve_ex, "_linalg_check_errors": _check_errors,
    "mkldnn_rnn_layer": _lstm_layer, "mkldnn_rnn_layer_backward": _lstm_layer_backward,
}
