"""Products of groups of rows, and of matrices with scales: what mixtures of experts and eight-bit layers are made of."""
from __future__ import annotations

import enum

from ...tensor.api.bind import FUNCTIONS
from ...tensor.core.dtype import bfloat16, float16, float32, int32

_NAMES = {"int32": "Int", "int64": "Long", "float64": "Double", "bool": "Bool", "int16": "Short", "uint8": "Byte", "int8": "Char"}


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """A product for each group. mat_a (groups, m, k) and mat_b (groups, k, n) are taken one by one; of a matrix, group i ends at offs[i]
    (int32): rows of mat_a, columns of mat_b, or the dimension that both sum over. Rows beyond the last group are zeros.

    RuntimeError for sizes, dtypes and offsets that do not fit; torch wants rows of multiples of 16 bytes.
    """
    if mat_a.dtype not in (float32, bfloat16, float16):
        raise RuntimeError(f"Expected mat_a to be Float32, BFloat16 or Float16 matrix, got "
                           f"{_NAMES.get(mat_a.dtype.name, mat_a.dtype.name)}")
    if mat_b.dtype != mat_a.dtype:
        raise RuntimeError("Expected mat_b to have the dtype of mat_a")
    if mat_a.dim() not in (2, 3) or mat_b.dim() not in (2, 3):
        raise RuntimeError("mat_a and mat_b have to be 2 or 3 dimensional")
    flat_a, flat_b = mat_a.dim() == 2, mat_b.dim() == 2
    if not (flat_a and flat_b) and mat_a.shape[-1] != mat_b.shape[-2] or flat_a and flat_b and mat_a.shape[1] != mat_b.shape[0]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if any([all([t.stride(k) * t.element_size() % 16 for k in (-1, -2)]) for t in (mat_a, mat_b)]):
        raise RuntimeError("strides should be multiple of 16 bytes")
    if (offs is None) == (flat_a or flat_b):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is not None and offs.dtype != int32:
        raise RuntimeError("Offsets have to be int32")
    groups = [t.shape[0] for t in (mat_a, mat_b) if t.dim() == 3] + ([] if offs is None else [offs.shape[0]])
    if len(set(groups)) > 1:
        raise RuntimeError("matrix batch sizes have to match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if offs is None:
        return mat_a @ mat_b
    ends = offs.tolist()
    spans = list(zip([0, *ends[:-1]], ends))
    if flat_a and flat_b:
        return FUNCTIONS["stack"]([mat_a[:, s:e] @ mat_b[s:e] for s, e in spans])
    axis, size = (0, mat_a.shape[0]) if flat_a else (1, mat_b.shape[1])
    parts = [mat_a[s:e] @ mat_b[k] if flat_a else mat_a[k] @ mat_b[:, s:e] for k, (s, e) in enumerate(spans)]
    if ends[-1] < size:
        shape = (size - ends[-1], mat_b.shape[-1]) if flat_a else (mat_a.shape[1], size - ends[-1])
        parts.append(mat_a.new_zeros(shape))
    return FUNCTIONS["cat"](parts, axis)


class ScalingType(enum.Enum):
    """What has a scale of its own."""
    TensorWise, RowWise, BlockWise1x16, BlockWise1x32, BlockWise1x128, BlockWise128x128 = range(6)


class SwizzleType(enum.Enum):
    """The order in which scales lie."""
    NO_SWIZZLE, SWIZZLE_32_4_4 = range(2)


def scaled_mm(mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, swizzle_b=None, bias=None,
              output_dtype=bfloat16, contraction_dim=(), use_fast_accum=False):
    """(mat_a * scale_a) @ (mat_b * scale_b) + bias of matrices of eight-bit floats, computed in float32.

    A scale is one number (ScalingType.TensorWise), or one for each row of mat_a and column of mat_b (RowWise). NotImplementedError for
    others.
    """
    recipes = [x[0] if isinstance(x, (list, tuple)) and len(x) == 1 else x for x in (scale_recipe_a, scale_recipe_b)]
    if any([r not in (ScalingType.TensorWise, ScalingType.RowWise) for r in recipes]) or swizzle_a or swizzle_b or contraction_dim:
        raise NotImplementedError("torchshim: scaled_mm with scales for blocks, swizzled scales or a chosen contraction_dim")
    a, b = [x[0] if isinstance(x, (list, tuple)) else x for x in (scale_a, scale_b)]
    y = (mat_a.to(float32) * a) @ (mat_b.to(float32) * b)
    return (y if bias is None else y + bias).to(output_dtype or mat_a.dtype)


def scaled_grouped_mm(mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, swizzle_b=None, bias=None, offs=None,
                      output_dtype=bfloat16, contraction_dim=(), use_fast_accum=False):
    """`grouped_mm` of matrices of eight-bit floats with a scale for each row of mat_a and column of mat_b (ScalingType.RowWise), computed
    in float32.

    NotImplementedError for other recipes, for swizzled scales, a bias or a chosen contraction_dim.
    """
    recipes = [x[0] if isinstance(x, (list, tuple)) and len(x) == 1 else x for x in (scale_recipe_a, scale_recipe_b)]
    if any([r is not ScalingType.RowWise for r in recipes]) or swizzle_a or swizzle_b or contraction_dim or bias is not None:
        raise NotImplementedError("torchshim: scaled_grouped_mm with other scales than those of rows, swizzled scales, a bias or a "
                                  "contraction_dim")
    a, b = [x[0] if isinstance(x, (list, tuple)) else x for x in (scale_a, scale_b)]
    if mat_a.dim() == 2 == mat_b.dim():
        raise NotImplementedError("torchshim: scaled_grouped_mm of two matrices")
    x, w = mat_a.to(float32) * a.unsqueeze(-1), mat_b.to(float32) * b.unsqueeze(-2)
    return grouped_mm(x, w, offs=offs).to(output_dtype or mat_a.dtype)
