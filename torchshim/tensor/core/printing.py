"""How a tensor is written: the text of ``repr(tensor)``, and the options that steer it.

Three steps. The *corners* of the data are chosen (everything, or the edges of each dimension where
the tensor is larger than ``threshold``); every number of the corners is written in one common
notation; the texts are laid out in nested brackets, wrapped at ``linewidth``, with suffixes such as
``dtype=`` behind. Nothing here knows `Tensor`: `format_tensor` is given an array and names.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "PRINT_OPTS",
    "corner_indices",
    "format_tensor",
    "get_printoptions",
    "printoptions",
    "set_printoptions",
]


@dataclass
class PrinterOptions:
    """The options in force; see `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PrinterOptions.__qualname__ = "__PrinterOptions"               # as torch's prints itself
PRINT_OPTS = PrinterOptions()

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; an option left at None keeps its value, except `sci_mode`.

    precision: digits after the point. threshold: tensors with more elements are summarised.
    edgeitems: elements kept at each end of a summarised dimension. linewidth: characters in a line.
    profile: "default", "short" or "full" (never summarise), applied before the other arguments;
    any other name is ignored, as in torch.
    sci_mode: True or False forces scientific notation on or off; None, which every call that
    does not name it restores, decides by the values.
    """
    if profile is not None:
        for name, value in _PROFILES.get(profile, {}).items():
            setattr(PRINT_OPTS, name, value)
    if precision is not None:
        PRINT_OPTS.precision = precision
    if threshold is not None:
        PRINT_OPTS.threshold = threshold
    if edgeitems is not None:
        PRINT_OPTS.edgeitems = edgeitems
    if linewidth is not None:
        PRINT_OPTS.linewidth = linewidth
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options in force, as arguments for `set_printoptions`."""
    return dict(vars(PRINT_OPTS))


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Apply `set_printoptions(**options)` for the length of a ``with`` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


# --- which elements are shown ---------------------------------------------------------------------


def corner_indices(shape: Sequence[int]) -> list[Sequence[int]] | None:
    """Per dimension, the indices that a print of a tensor of this shape shows; None if it shows all.

    An array that is expensive to move can be reduced to these rows and columns before it is given to
    `format_tensor` (with its full ``shape``).
    """
    if math.prod(shape) <= PRINT_OPTS.threshold:
        return None
    edge = PRINT_OPTS.edgeitems
    if edge < 0:
        raise NotImplementedError(f"torchshim cannot summarise a tensor with edgeitems={edge}")
    cut = [size > 2 * edge for size in shape]
    if not any(cut):
        return None
    return [
        [*range(edge), *range(size - edge, size)] if shorten else range(size)
        for size, shorten in zip(shape, cut, strict=True)
    ]


# --- how one number is written --------------------------------------------------------------------


_E8M0_SMALLEST = 2.0**-127


def _written_floats(values: list[float], no_zero: bool = False) -> tuple[list[str], int]:
    """`values` in one common notation, right-justified, and the width they are justified to.

    Zeros, infinities and nan take no part in the choice of notation and width, so they may be wider.
    `no_zero` is for float8_e8m0fnu, which has neither a zero nor, for torch's tests, a nan: the
    smallest number passes for zero there and nan counts as a number.
    """
    if no_zero:
        chosen = [v for v in values if v != _E8M0_SMALLEST]
    else:
        chosen = [v for v in values if v and v - v == 0]
    integral = all([v == v and v.is_integer() for v in chosen])
    scientific = False
    if chosen:
        magnitudes = [abs(v) for v in chosen]
        if no_zero and any(m != m for m in magnitudes):
            low = high = math.nan
        else:
            low, high = min(magnitudes), max(magnitudes)
        scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        if PRINT_OPTS.sci_mode is not None:
            scientific = bool(PRINT_OPTS.sci_mode)

    if scientific:
        form, point = f".{PRINT_OPTS.precision}e", ""
    elif integral:
        form, point = ".0f", "."
    else:
        form, point = f".{PRINT_OPTS.precision}f", ""
    width = max([len(format(v, form)) for v in chosen]) + len(point) if chosen else 1
    if point:
        texts = [format(v, form) + (point if v - v == 0 else "") for v in values]
    else:
        texts = [format(v, form) for v in values]
    return [text.rjust(width) for text in texts], width


def _written_complex(values: list[complex]) -> tuple[list[str], int]:
    """Complex numbers: a notation for each part, the imaginary part with its sign and no padding."""
    reals, real_width = _written_floats([v.real for v in values])
    imags, imag_width = _written_floats([v.imag for v in values])
    texts = []
    for real, imag in zip(reals, imags, strict=True):
        imag = imag.lstrip()
        texts.append(f"{real}{'' if imag.startswith('-') else '+'}{imag}j")
    return texts, real_width + imag_width + 1


def _written(data: np.ndarray, dtype: str) -> tuple[list[str], int]:
    """The text of each element of `data` in C order, and the width that wrapping reckons with."""
    if data.dtype.kind == "V":  # ml_dtypes: bfloat16, float8, int4
        data = data.astype(np.float64 if "float" in dtype else np.int64)
    values = data.ravel().tolist()
    if "float" in dtype:
        return _written_floats(values, no_zero=dtype == "float8_e8m0fnu")
    if dtype.startswith("complex"):
        return _written_complex(values)
    texts = [str(v) for v in values]
    width = max([len(text) for text in texts])
    return [text.rjust(width) for text in texts], width


# --- the layout -----------------------------------------------------------------------------------


def _laid_out(
    texts: list[str], sizes: Sequence[int], gaps: Sequence[int | None], width: int, indent: int
) -> str:
    """Nested brackets around `texts`, an array of shape `sizes` in C order.

    gaps: for each dimension, where "..." stands for what is left out. indent: the column of the
    outermost bracket.
    """
    last = len(sizes) - 1
    # All innermost rows start in the same column, so they all have room for as many elements.
    per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent - last) / (width + 2)))
    row_break = ",\n" + " " * (indent + last + 1)

    def row(start: int) -> str:
        cells = texts[start : start + sizes[last]]
        if gaps[last] is not None:
            cells.insert(gaps[last], " ...")
        if len(cells) <= per_line:
            return "[" + ", ".join(cells) + "]"
        lines = [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
        return "[" + row_break.join(lines) + "]"

    def block(dim: int, start: int) -> str:
        if dim == last:
            return row(start)
        step = math.prod(sizes[dim + 1 :])
        parts = [block(dim + 1, start + i * step) for i in range(sizes[dim])]
        if gaps[dim] is not None:
            parts.insert(gaps[dim], "...")
        return "[" + ("," + "\n" * (last - dim) + " " * (indent + dim + 1)).join(parts) + "]"

    return block(0, 0)


def bracketed(data: np.ndarray, dtype: str, shape: tuple[int, ...], indent: int) -> str:
    """The bracketed numbers of a tensor that has some."""
    if not shape:
        return _written(data, dtype)[0][0]
    indices = corner_indices(shape)
    gaps: list[int | None] = [None] * len(shape)
    shown = shape
    if indices is not None:
        if PRINT_OPTS.edgeitems == 0:
            return "[...]"
        if data.shape == shape:
            data = data[np.ix_(*indices)]
        shown = tuple(map(len, indices))
        for dim, index in enumerate(indices):
            if len(index) < shape[dim]:
                gaps[dim] = PRINT_OPTS.edgeitems
    if data.shape != shown:
        raise ValueError(f"data of shape {data.shape} given for a tensor of shape {shape}")
    texts, width = _written(data, dtype)
    return _laid_out(texts, shown, gaps, width, indent)


def format_tensor(
    data: np.ndarray | None,
    *,
    dtype: str,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    device: str = "cpu",
    default_dtype: str = "float32",
    is_meta: bool = False,
    shape: Sequence[int] | None = None,
    kind: str = "tensor",
    prefix: str = "",
    tensor_contents: str | None = None,
    tangent: object = None,
) -> str:
    """The text of ``repr(tensor)``, as torch writes it.

    data: the values; for a tensor that is summarised, only its `corner_indices` are read, or it may
    be those corners already (then `shape` must be given). None will do where no value is shown: meta
    and empty tensors, `tensor_contents`.
    dtype, default_dtype: names such as "bfloat16". grad_fn_name: "AddBackward0", which replaces
    ``requires_grad=True``. kind: the name before the bracket, a subclass's own for a subclass.
    prefix: put before everything ("Parameter containing:\\n"). tensor_contents: shown instead of the
    numbers. tangent: a dual tensor's, shown as its own repr.
    """
    if shape is None:
        if data is None:
            raise ValueError("format_tensor needs data or a shape")
        shape = data.shape
    shape = tuple(shape)
    is_meta = is_meta or device == "meta"
    empty = 0 in shape
    opening = kind + "("
    indent = len(opening)

    suffixes = []
    if is_meta:
        suffixes.append("device='meta'")
    elif device != "cpu":
        suffixes.append(f"device='{device}'")
    if is_meta or (empty and len(shape) != 1) or (PRINT_OPTS.edgeitems == 0 and not empty):
        suffixes.append(f"size={shape}")
    # Numbers tell int64, bool and complex from the default dtype; where none is shown, nothing does.
    evident = dtype == default_dtype
    if not evident and not empty and not is_meta:
        default_complex = "complex128" if default_dtype == "float64" else "complex64"
        evident = dtype in ("int64", "bool", default_complex)
    if not evident:
        suffixes.append("dtype=torch." + dtype)
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")

    if tensor_contents is not None:
        contents = tensor_contents
    elif is_meta:
        contents = "..."
    elif empty:
        contents = "[]"
    else:
        contents = bracketed(data, dtype, shape, indent)
    return prefix + with_suffixes(opening + contents, suffixes, indent) + ")"


def with_suffixes(text: str, suffixes: list[str], indent: int, new_line: bool = False) -> str:
    """`text` with the suffixes behind its last line, each on a new line where it would not fit; the first in any case with new_line."""
    parts = [text]
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if new_line or column + len(suffix) + 2 > PRINT_OPTS.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            column, new_line = indent + len(suffix), False
        else:
            parts.append(", " + suffix)
            column += len(suffix) + 2
    return "".join(parts)
