"""ATen's operators that check sizes, values and kinds of tensors, as exported programs call them. RuntimeErrors in torch's words."""
from __future__ import annotations

import torchshim as torch

from ..ops.promotion import c_name, cpp_name
from ..tensor.core.dtype import np_dtype

_LEAST, _MOST = -2 ** 63, 2 ** 63 - 1
_LAYOUTS = {getattr(torch, name): said for name, said in dict(
    strided="Strided", sparse_coo="Sparse", sparse_csr="SparseCsr", sparse_csc="SparseCsc", sparse_bsr="SparseBsr", sparse_bsc="SparseBsc").items()}


def _assert_scalar(self, assert_msg):
    if not self:
        raise RuntimeError(assert_msg)


def _assert_async(self, assert_msg="Expected Tensor with single nonzero value, but got zero"):
    _assert_scalar(bool(self), assert_msg)


def _functional_assert_scalar(self, assert_msg, dep_token):
    _assert_scalar(self, assert_msg)
    return dep_token.clone()


def _in_range(size, least, most):
    least, most = _LEAST if least is None else least, _MOST if most is None else most
    if not least <= size <= most:
        raise RuntimeError(f"Invalid value range for {size} between [{least}, {most}].")


def _in_range_of_sizes(size, *, min=None, max=None):
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    _in_range(size, 0 if min is None else min, max)


def _assert_tensor_metadata(a, size=None, stride=None, dtype=None, *, device=None, layout=None):
    for what, wanted, found in (("sizes", size, list(a.shape)), ("strides", stride, list(a.stride()))):
        if wanted is not None and list(wanted) != found:
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {list(wanted)}, Got: {found}")
    if dtype is not None and dtype is not a.dtype:
        raise RuntimeError(f"Tensor dtype mismatch! Expected: {c_name(np_dtype(dtype))}, Got: {cpp_name(np_dtype(a.dtype))}")
    if device is not None and torch.device(device) != a.device:
        raise RuntimeError(f"Tensor device mismatch! Expected: {device}, Got: {a.device}")
    if layout is not None and layout is not a.layout:
        raise RuntimeError(f"Tensor layout mismatch! Expected: {_LAYOUTS[layout]}, Got: {_LAYOUTS[a.layout]}")


def _first(self):
    if not self.numel():
        raise RuntimeError("_local_scalar_dense: Empty tensor not supported")
    return self.item() if self.numel() == 1 else self.detach().as_strided((), (), self.storage_offset()).item()


KERNELS = {
    "_assert_scalar": _assert_scalar, "_assert_async": _assert_async, "_functional_assert_scalar": _functional_assert_scalar,
    "sym_constrain_range": lambda size, *, min=None, max=None: _in_range(size, min, max),
    "sym_constrain_range_for_size": _in_range_of_sizes, "_assert_tensor_metadata": _assert_tensor_metadata,
    "sym_size.int": lambda self, dim: self.shape[dim], "sym_numel": lambda self: self.numel(),
    "sym_stride.int": lambda self, dim: self.stride(dim), "sym_storage_offset": lambda self: self.storage_offset(),
    "_local_scalar_dense": _first}
