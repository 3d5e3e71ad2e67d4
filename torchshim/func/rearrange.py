"""torch.func.rearrange: an order of axes by their names, as einops writes it."""
from __future__ import annotations

import math
import operator

from ..tensor.api.bind import FUNCTIONS as F

_ELLIPSIS = "…"


class DimensionBindError(Exception):
    """Sizes that do not fit a pattern."""


DimensionBindError.__module__ = "functorch.dim"


def rearrange(tensor, pattern, **axes_lengths):
    """A tensor, or several that are stacked first, with its axes in the order of a pattern: "b c h w -> b (h w) c".

    Axes in parentheses are one axis of the tensor; `...` are any others; 1 and () are axes of size one. axes_lengths: sizes of axes that
    cannot be told otherwise. ValueError for patterns that say nothing, DimensionBindError for sizes that do not fit.
    """
    if isinstance(tensor, (list, tuple)):
        tensor = F["stack"](list(tensor))
    elif not hasattr(tensor, "shape"):
        F["stack"](tensor)                     # it refuses what is no tensor
    left, right = _sides(pattern, axes_lengths)
    shape = list(tensor.shape)
    if not shape and not any(left + right):
        return tensor
    names, sizes = _bound(left, shape, axes_lengths)
    split = tensor.reshape(sizes) if sizes != shape else tensor
    alone = [k for k, n in enumerate(names) if n is None]
    if alone:                                  # an axis without a name is summed, as in torch
        split, names, sizes = split.sum(alone), *[[x for k, x in enumerate(of) if k not in alone] for of in (names, sizes)]
    order, target = [], []
    for axis in right:
        found = [k for name in axis for k, n in enumerate(names) if n == name or n[0] == name == _ELLIPSIS]
        order += found
        target += [sizes[k] for k in found] if axis == _ELLIPSIS else [math.prod([sizes[k] for k in found])]
    moved = split.permute(order) if order != list(range(len(order))) else split
    if alone:
        moved = moved.contiguous()
    if list(moved.shape) != target:
        return moved.reshape(target)
    return moved if moved is not tensor else tensor.view(target)


def _sides(pattern, lengths):
    """The axes of either side, each a tuple of names."""
    parts = pattern.split("->")
    if len(parts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = _axes(parts[0]), _axes(parts[1].strip(), parts[1])
    if any([_ELLIPSIS in axis and axis != _ELLIPSIS for axis in left]):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    a, b = [{n for axis in side for n in axis if n != "1"} for side in (left, right)]
    if _ELLIPSIS in b - a:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if a != b:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {_listed(a ^ b)}")
    unknown = lengths.keys() - a
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {_listed(unknown)}")
    for n in lengths.values():
        try:
            operator.index(n)
        except TypeError:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(n)}") from None
    return left, [axis if axis == _ELLIPSIS else tuple([n for n in axis if n != "1"]) for axis in right]


def _listed(names):
    return "{" + ", ".join([repr(n) for n in sorted(names)]) + "}"


def _axes(text, written=None):
    """The axes of one side of a pattern."""
    if "." in text:
        if "..." not in text or text.count("...") != 1 or text.count(".") != 3:
            raise ValueError("Expression may contain dots only inside ellipsis (...)")
        text = text.replace("...", _ELLIPSIS)
    axes, group, seen = [], None, set()
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            if group is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            group = []
        elif token == ")":
            if group is None:
                raise ValueError("Brackets are not balanced")
            axes.append(tuple(group))
            group = None
        else:
            _check(token, seen)
            if group is None:
                axes.append(token if token == _ELLIPSIS else (token,))
            elif token != "1":
                group.append(token)
    if group is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{written if written is not None else text}'")
    return axes


def _check(name, seen):
    if name in seen and name != "1":
        raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
    seen.add(name)
    if name in (_ELLIPSIS, "1"):
        return
    if name.isdecimal():
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if not name.isidentifier():
        raise ValueError(f"Invalid axis identifier: {name}\nnot a valid python identifier")
    if name[0] == "_" or name[-1] == "_":
        raise ValueError(f"Invalid axis identifier: {name}\naxis name should should not start or end with underscore")


def _bound(left, shape, lengths):
    """The names and sizes of a tensor's axes, those in parentheses apart; an axis of `...` is called (…, number), one of none None."""
    dots = _ELLIPSIS in left
    if len(left) - dots != len(shape) if not dots else len(left) - 1 > len(shape):
        raise ValueError(f"Number of dimensions in pattern ({len(left) - dots}) must be equal to the number of dimensions in the tensor "
                         f"({len(shape)})")
    names, sizes, at = [], [], 0
    called = {n: f"d{k}" for k, n in enumerate(n for axis in left for n in axis if n not in ("1", _ELLIPSIS))}       # in torch's errors
    for axis in left:
        if axis == _ELLIPSIS:
            n = len(shape) - len(left) + 1
            names += [(_ELLIPSIS, k) for k in range(n)]
            sizes += shape[at:at + n]
            at += n
            continue
        size, at = shape[at], at + 1
        if axis in ((), ("1",)):
            names.append(None)
            sizes.append(size)
            continue
        known = [lengths.get(n) for n in axis]
        open_ = [called[n] for n, k in zip(axis, known) if k is None]
        told = math.prod([k for k in known if k is not None])
        if len(open_) > 1:
            raise DimensionBindError(f"cannot infer the sizes of two dimensions at once {open_[0]} and {open_[1]}")
        if open_ and (told == 0 or size % told):
            raise DimensionBindError("inferred dimension does not evenly fit into larger dimension: "
                                     f"{size} vs ({', '.join([repr('?') if k is None else str(k) for k in known])})")
        if not open_ and told != size:
            raise DimensionBindError(f"Dimension sizes to do not match ({size} != {told}) when matching dimension pack "
                                     f"({', '.join([called[n] for n in axis])}{',' * (len(axis) == 1)})")
        names += axis
        sizes += [size // told if k is None else k for k in known]
    return names, sizes
