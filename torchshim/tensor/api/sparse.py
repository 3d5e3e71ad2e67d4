"""What leads to sparse and quantized tensors (see tensor/sparse, tensor/quantized), what dense ones answer where torch wants one of these,
and what calls Python for each element.
"""
from __future__ import annotations

import builtins

from ...ops.promotion import c_name
from ..core.handle import meta
from .bind import FUNCTIONS, function
from .reduction import need_tensor


def _wants(layout, *names):
    for name in names:
        def f(self, *, _name=name):
            raise RuntimeError(f"{_name} expected sparse {layout} layout but got Strided")
        f.__doc__ = "Of sparse tensors; a dense one raises torch's error."
        f.__name__ = f.__qualname__ = name
        function(name, torch=False)(f)


_wants("tensor", "values")
_wants("coordinate tensor", "indices", "coalesce", "is_coalesced")
_wants("row compressed tensor", "crow_indices", "col_indices")
_wants("column compressed tensor", "ccol_indices", "row_indices")


def _part_copy(name):
    def f(input):
        return getattr(input, name)().clone()
    f.__doc__ = f"A copy of {name}() of a sparse tensor."
    function(f"{name}_copy", method=False)(f)


for _name in ("indices", "values", "crow_indices", "col_indices", "ccol_indices", "row_indices"):
    _part_copy(_name)


@function(torch=False)
def is_distributed(self):
    """False: no tensor is of the kind that torch once meant."""
    return False


def _no_kernel(*names, torch=False):
    for name in names:
        def f(self, *args, _name=name):
            kind = "CPU" if self.device.type == "cpu" else self.device.type.upper()
            raise NotImplementedError(f"Could not run 'aten::{_name}' with arguments from the '{kind}' backend: the tensor is dense.")
        f.__doc__ = "Of sparse or quantized tensors; a dense one raises torch's error."
        f.__name__ = f.__qualname__ = name
        function(name, torch=torch)(f)


_no_kernel("to_padded_tensor", "sparse_resize_", "sparse_resize_and_clear_", "_nnz", "qscheme")
_no_kernel("int_repr", "q_scale", "q_zero_point", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points", torch=True)


@function(torch=False)
def to_dense(self, dtype=None, *, masked_grad=None):
    """Itself, or a copy in another dtype if one is given."""
    return self if dtype is None else self.to(dtype, copy=True)


@function()
def dequantize(input):
    """A float32 copy."""
    from ..core.dtype import ALL
    return input.to(ALL["float32"], copy=True)


@function(torch=False)
def dense_dim(self):
    """The number of dimensions: all are dense."""
    return self.ndim


@function(torch=False)
def is_nonzero(self):
    """The truth of a tensor with one element."""
    return self.__bool__()


@function(torch=False)
def sparse_dim(self):
    """0: no dimension is sparse."""
    return 0


def _answers():
    """The functions of sparse tensors; imported when the first such tensor is wanted."""
    from ..sparse import answers
    return answers


def _dense_products(*names):
    for name in names:
        def f(input, mat2):
            return FUNCTIONS["mm"](input, mat2)
        f.__doc__ = "The product of two matrices, by the name that it has for sparse ones."
        f.__name__ = f.__qualname__ = name
        function(name, method=False)(f)


_dense_products("spmm", "dsmm")


@function()
def smm(self, mat2):
    """The product of a sparse matrix and a dense one, sparse. A dense one raises torch's error."""
    raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")


@function()
def sspaddmm(self, mat1, mat2, *, beta=1, alpha=1):
    """beta * self + alpha * mat1 @ mat2 of sparse self and mat1, sparse. A dense mat1 raises torch's error."""
    raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")


@function(method=False)
def saddmm(self, mat1, mat2, *, beta=1, alpha=1):
    """torch.sspaddmm by an older name."""
    return sspaddmm(self, mat1, mat2, beta=beta, alpha=alpha)


@function(method=False)
def hspmm(mat1, mat2):
    """The product of a sparse matrix and a dense one: sparse in its rows, which are dense. A dense mat1 raises torch's error."""
    raise NotImplementedError("Could not run 'aten::hspmm' with arguments from the 'CPU' backend.")


def _to_sparse(name):
    def f(self, *args, **kwargs):
        return _answers()(name)(self, *args, **kwargs)
    f.__doc__ = "This tensor in a sparse layout; see the function of its name in tensor/sparse."
    f.__name__ = f.__qualname__ = name
    function(name, torch=False)(f)


for _name in ("to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc"):
    _to_sparse(_name)


@function(torch=False)
def sparse_mask(self, mask):
    """A sparse tensor: the values of this one where `mask` has some."""
    return _answers()("sparse_mask")(self, mask)


@function(method=False)
def sparse_coo_tensor(indices=None, values=None, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False,
                      check_invariants=None, is_coalesced=None):
    """A tensor that holds `values` at `indices`, (sparse dimensions, n), and zeros elsewhere; see tensor/sparse/coo.py."""
    _answers()
    from ..sparse.coo import sparse_coo_tensor
    return sparse_coo_tensor(indices, values, size, dtype, device, requires_grad, check_invariants, is_coalesced)


def _compress(name, first, second, values, size, layout, dtype, device, requires_grad, check_invariants):
    _answers()
    from ..sparse.compressed import LAYOUTS, compressed_tensor
    return compressed_tensor(first, second, values, size, LAYOUTS.get(name, layout), dtype, device, requires_grad, check_invariants)


@function(method=False)
def sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None, device=None,
                             pin_memory=False, requires_grad=False, check_invariants=None):
    """A matrix compressed by rows or columns; see tensor/sparse/compressed.py."""
    return _compress("", compressed_indices, plain_indices, values, size, layout, dtype, device, requires_grad, check_invariants)


def _by_rows(name):
    def f(crow_indices, col_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
          check_invariants=None):
        return _compress(name, crow_indices, col_indices, values, size, layout, dtype, device, requires_grad, check_invariants)
    f.__doc__ = "A matrix compressed by rows; see tensor/sparse/compressed.py."
    f.__name__ = f.__qualname__ = f"{name}_tensor"
    function(f.__name__, method=False)(f)


def _by_columns(name):
    def f(ccol_indices, row_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
          check_invariants=None):
        return _compress(name, ccol_indices, row_indices, values, size, layout, dtype, device, requires_grad, check_invariants)
    f.__doc__ = "A matrix compressed by columns; see tensor/sparse/compressed.py."
    f.__name__ = f.__qualname__ = f"{name}_tensor"
    function(f.__name__, method=False)(f)


for _name in ("sparse_csr", "sparse_bsr"):
    _by_rows(_name)
for _name in ("sparse_csc", "sparse_bsc"):
    _by_columns(_name)


@function(torch=False)
def apply_(self, callable):
    """Replace each element by callable(element), in Python; for small tensors on the CPU."""
    if self.requires_grad:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    if self.device.type != "cpu":
        raise TypeError("apply_ is only implemented on CPU tensors")
    return _replaced(self, [callable(x) for x in self.flatten().tolist()])


def _replaced(t, results):
    """`t` with what Python made of its elements: a write that torch does not count."""
    t.data.copy_(_elements(t, results))
    return t


def _elements(t, results):
    """What Python made of a tensor's elements, as a tensor like it."""
    for r in results:
        if r.__class__ in (int, float, bool, complex) and (r.__class__ is not complex or t.is_complex()):
            continue
        if not (hasattr(r, "__index__") or hasattr(r, "__float__")):
            raise TypeError(f"must be real number, not {type(r).__name__}" if t.is_floating_point() or t.is_complex() else
                            f"'{type(r).__name__}' object cannot be interpreted as an integer")
    return t.new_tensor(results, dtype=t.dtype).reshape(t.shape)


def _kind(t):
    """What torch's oldest errors call a tensor of the CPU."""
    d = meta(t).dtype
    return t.type() if d.kind in "iuf" and d.name != "bfloat16" else f"CPU{c_name(d)}Type"


def _mapped(name, self, others, callable):
    for k, (t, which) in enumerate(zip(others, ("other",) if len(others) == 1 else ("x", "y"))):
        need_tensor(name, t, which, k + 1)
    if not builtins.callable(callable):
        raise TypeError(f"'{type(callable).__name__}' object is not callable")
    for t in (self, *others):
        if t.requires_grad:
            raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if any([t.device.type != "cpu" for t in (self, *others)]):
        raise TypeError(f"{name} is only implemented on CPU tensors")
    for t, which in zip(others, ("'other'",) if len(others) == 1 else ("argument 'x'", "argument 'y'")):
        if t.dtype is not self.dtype:
            raise TypeError(f"{name}: expected {_kind(self)} for {which} (got {_kind(t)})")
    rows = [t.expand(self.shape).flatten().tolist() for t in (self, *others)]
    return _replaced(self, [callable(*x) for x in zip(*rows)])


@function(torch=False)
def map_(self, other, callable):
    """Replace each element by callable(element, element of `other`), in Python; for small tensors on the CPU."""
    return _mapped("map_", self, (other,), callable)


@function(torch=False)
def map2_(self, x, y, callable):
    """Replace each element by callable(element, element of `x`, element of `y`), in Python; for small tensors on the CPU."""
    return _mapped("map2_", self, (x, y), callable)


def _made_quantized(name):
    def f(*args, **kwargs):
        from ..quantized import factories
        return getattr(factories, name)(*args, **kwargs)
    f.__doc__ = "Makes a quantized tensor; see the function of its name in tensor/quantized/factories.py."
    f.__name__ = f.__qualname__ = name
    function(name, method=False)(f)


for _name in ("quantize_per_tensor", "quantize_per_channel", "quantize_per_tensor_dynamic", "_make_per_tensor_quantized_tensor",
              "_make_per_channel_quantized_tensor", "_empty_affine_quantized", "_empty_per_channel_affine_quantized", "empty_quantized",
              "fused_moving_avg_obs_fake_quant", "choose_qparams_optimized"):
    _made_quantized(_name)
