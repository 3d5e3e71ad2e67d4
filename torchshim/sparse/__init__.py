"""torch.sparse: functions of sparse tensors. `torch.sparse_coo_tensor` and `Tensor.to_sparse` make such tensors; see tensor/sparse."""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute
from ..ops.promotion import c_name as _c_name
from ..tensor.api.bind import FUNCTIONS as _F
from ..tensor.core import settings as _settings
from ..tensor.core.dtype import ALL as _dtypes
from ..tensor.core.size import Size as _Size
from ..tensor.core.tensor import Tensor as _Tensor

__all__ = ["addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax",
           "solve", "spdiags", "sum"]

(sparse_coo_tensor, sparse_csr_tensor, sparse_csc_tensor, sparse_bsr_tensor, sparse_bsc_tensor, sparse_compressed_tensor,
 spmm, dsmm, hspmm) = [
    _F[n] for n in """sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor
    spmm dsmm hspmm""".split()]
hsmm = hspmm


def mm(mat1, mat2, reduce=None):
    """The product of two matrices, at least one sparse. The gradient of a sparse one is sparse: it counts where there are values.

    reduce: what becomes of a row's products with a column, of a CSR mat1 and a dense mat2: their "sum", "mean", "amax" (or "max"), "amin"
    (or "min")."""
    from ..tensor.sparse import products
    return products.sparse_mm(mat1, mat2) if reduce is None else products.reduced_mm(mat1, mat2, reduce)


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """beta * mat + alpha * mat1 @ mat2 with a sparse mat1, whose gradient is sparse."""
    from ..tensor.sparse.products import sparse_addmm
    return sparse_addmm(mat, mat1, mat2, beta, alpha)


def sum(input, dim=None, dtype=None):
    """The sum of a sparse tensor, or along dimensions: sparse unless all sparse dimensions are summed over. So is its gradient."""
    from ..tensor.sparse.reductions import sparse_sum
    return sparse_sum(input, dim, dtype)


def softmax(input, dim, *, dtype=None):
    """The softmax along `dim` of the values that are there; those that are not count as minus infinity."""
    from ..tensor.sparse.reductions import softmax
    return softmax(input, dim, False, dtype)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of softmax."""
    from ..tensor.sparse.reductions import softmax
    return softmax(input, dim, True, dtype)


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """alpha * (mat1 @ mat2) where the CSR matrix `input` has values, plus beta * input."""
    from ..tensor.sparse.products import sampled_addmm
    return sampled_addmm(input, mat1, mat2, beta, alpha, out)


def spdiags(diagonals, offsets, shape, layout=None):
    """A matrix of `shape` with the rows of `diagonals` on its diagonals `offsets` (column k of a row lies in column k of the matrix)."""
    if diagonals.dim() not in (1, 2):
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if offsets.dim() > 1:
        raise RuntimeError("Offsets must be scalar or vector")
    diagonals, where = diagonals.reshape(-1, diagonals.shape[-1]), [int(k) for k in offsets.reshape(-1)]
    if len(where) != diagonals.shape[0]:
        raise RuntimeError(f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets ({len(where)})")
    if layout is not None and layout.name not in ("sparse_coo", "sparse_csr", "sparse_csc"):
        kind = "".join(part.capitalize() for part in layout.name.split("_")) if layout.name != "strided" else "Strided"
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {kind}")
    if offsets.dtype.name != "int64":
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {_c_name(offsets.dtype.np)}")
    if len(set(where)) != len(where):
        raise RuntimeError("Offset tensor contains duplicate values")
    rows, columns, values = [], [], [diagonals.new_empty(0)]
    for k, diagonal in zip(where, diagonals):
        inside = range(max(0, k), min(shape[1], shape[0] + k, diagonal.shape[0]))
        rows += [c - k for c in inside]
        columns += list(inside)
        values.append(diagonal[inside.start:inside.stop] if inside else diagonal[:0])
    made = sparse_coo_tensor(_F["tensor"]([rows, columns], dtype=_dtypes["int64"]), _F["cat"](values), _Size(shape), check_invariants=False)
    return made if layout is None else made.to_sparse(layout=layout)


class check_sparse_tensor_invariants:
    """A switch, context and decorator: whether constructors of sparse tensors check that their parts fit together.

    It says so for every constructor that is not told by its own `check_invariants`.
    """

    def __init__(self, enable=True):
        self.state, self.saved_state = enable, None

    @staticmethod
    def is_enabled():
        """Whether constructors check."""
        return bool(_settings.sparse_checks)

    @staticmethod
    def enable():
        """From now on constructors check."""
        _settings.sparse_checks = True

    @staticmethod
    def disable():
        """From now on they do not."""
        _settings.sparse_checks = False

    def __enter__(self):
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager instance for context "
                               "nesting.")
        self.saved_state = self.is_enabled()
        _settings.sparse_checks = self.state

    def __exit__(self, *exc):
        assert self.saved_state is not None, "saved_state should not be None on exit"
        _settings.sparse_checks, self.saved_state = self.saved_state, None

    def __call__(self, f):
        def checked(*args, **kwargs):
            with type(self)(self.state):
                return f(*args, **kwargs)
        return checked


def _missing(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.sparse.{name}")
    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = "NotImplementedError."
    missing.__unimplemented__ = True
    return missing


for _name in "as_sparse_gradcheck solve to_sparse_semi_structured".split():
    globals()[_name] = _missing(_name)


def _old_class(name, dtype):
    """torch.sparse.FloatTensor(indices, values, size) and its kin."""
    class Old(type):
        def __instancecheck__(cls, x):
            return isinstance(x, _Tensor) and x.is_sparse and x.dtype is dtype

        def __call__(cls, *args, device=None):
            if len(args) == 1 and not isinstance(args[0], _Tensor) or all([isinstance(a, int) for a in args]):
                return sparse_coo_tensor(args[0] if args and not isinstance(args[0], int) else args or (0,), dtype=dtype)
            _settings.warn_once("torch.sparse.SparseTensor(indices, values, shape, *, device=) is deprecated.  Please use "
                                "torch.sparse_coo_tensor(indices, values, shape, dtype=, device=).")
            return sparse_coo_tensor(*args, device=device, check_invariants=_settings.sparse_checks or False)
    return Old(name, (), {"_ts_dtype": dtype, "__module__": "torch.sparse", "__doc__": f"A constructor of coordinate tensors of {dtype}."})


for _name, _d in (("FloatTensor", "float32"), ("DoubleTensor", "float64"), ("HalfTensor", "float16"), ("BFloat16Tensor", "bfloat16"),
                  ("LongTensor", "int64"), ("IntTensor", "int32"), ("ShortTensor", "int16"), ("CharTensor", "int8"),
                  ("ByteTensor", "uint8")):
    globals()[_name] = _old_class(_name, _dtypes[_d])
__getattr__ = _missing_attribute(__name__)
