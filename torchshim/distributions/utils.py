"""What the distributions share: broadcasting, probabilities and logits, properties that are computed once."""
from __future__ import annotations

import functools

import torchshim as torch

euler_constant = 0.5772156649015329
__all__ = ["broadcast_all", "logits_to_probs", "clamp_probs", "probs_to_logits", "lazy_property", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]


def is_number(x):
    """Whether x is a plain Python number."""
    return isinstance(x, (bool, int, float))


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape; numbers take the dtype of the first tensor, or the default one."""
    if not all(isinstance(v, torch.Tensor) or is_number(v) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    first = next((v for v in values if isinstance(v, torch.Tensor)), None)
    options = {"dtype": torch.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    return torch.broadcast_tensors(*[v if isinstance(v, torch.Tensor) else torch.tensor(v, **options) for v in values])


def batch_of(tensor, *arguments):
    """The batch shape of a distribution whose arguments broadcast to `tensor`: () of plain numbers."""
    return torch.Size() if all(map(is_number, arguments)) else tensor.size()


def _standard_normal(shape, dtype, device):
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """Probabilities of log-odds (binary), or of unnormalised logarithms along the last dimension."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, dim=-1)


def clamp_probs(probs):
    """Probabilities kept away from 0 and 1 by the dtype's epsilon."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """The inverse of logits_to_probs, finite at the ends."""
    p = clamp_probs(probs)
    return torch.log(p) - torch.log1p(-p) if is_binary else torch.log(p)


class lazy_property:
    """A property that is computed when it is first asked for, with gradients, and then kept in the instance."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def one_of(probs, logits):
    """Whether probs were given; exactly one of the two must be."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return probs is not None


class ProbsOrLogits:
    """The base of distributions that are given by `probs` or by `logits`; `_param` is the one that was given."""
    _is_binary = True

    @lazy_property
    def logits(self):
        """Log-odds, or logarithms of probabilities."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self):
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._param.size()

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    def _take(self, probs, logits, *others):
        """Set probs or logits, broadcast with others; returns these."""
        name = "probs" if one_of(probs, logits) else "logits"
        given = probs if name == "probs" else logits
        *others, given = broadcast_all(*others, given)
        setattr(self, name, given)
        self._param = given
        return others

    def _counted(self, dtype=None):
        """0 ... n-1 along a new first dimension, for enumerate_support."""
        def values(n, expand):
            k = torch.arange(n, dtype=dtype or self._param.dtype, device=self._param.device)
            k = k.view((-1,) + (1,) * len(self._batch_shape))
            return k.expand((-1,) + self._batch_shape) if expand else k
        return values


def _below_diagonal(n, diag, device):
    k = torch.arange(n, device=device)
    return k < k.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat, diag=0):
    """The elements on and below a diagonal, row by row."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below_diagonal(n, diag, mat.device)]


def vec_to_tril_matrix(vec, diag=0):
    """The matrix with these elements on and below a diagonal, and zeros elsewhere."""
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > torch.finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part of a "
                         "square D x D matrix.")
    n = round(n)
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    mat[..., _below_diagonal(n, diag, vec.device)] = vec
    return mat
