"""NumPy rules for slicing at run-time positions, gather and scatter.

Gather and scatter share one idea: some dimensions of the operand are *indexed* (a position per
batch element, perhaps with a window after it), all others are taken whole. With the indexed
dimensions first, both are one NumPy fancy-indexing expression.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import pool
from .orders import stable_order
from .rules import F32, category, plain, rule


@rule("dynamic_slice")
def _make_dynamic_slice(params, ins, outs):
    sizes = tuple(params["slice_sizes"])
    limits = [(n, dim - n) for n, dim in zip(sizes, ins[0].shape)]
    if len(ins) != 1 + len(limits):
        return None

    def dynamic_slice(x, *starts):
        index = []
        for start, (size, limit) in zip(starts, limits):
            start = min(max(start.item(), 0), limit)
            index.append(slice(start, start + size))
        return x[(*index, ...)]

    return dynamic_slice


@rule("dynamic_update_slice")
def _make_dynamic_update_slice(params, ins, outs):
    limits = [(n, dim - n) for n, dim in zip(ins[1].shape, ins[0].shape)]

    def dynamic_update_slice(x, update, *starts):
        index = []
        for start, (size, limit) in zip(starts, limits):
            start = min(max(start.item(), 0), limit)
            index.append(slice(start, start + size))
        out = x.copy()
        out[(*index, ...)] = update
        return out

    return dynamic_update_slice


class _Plan(NamedTuple):
    """How one gather or scatter addresses its operand."""

    permutation: tuple[int, ...]  # the operand's dimensions: indexed ones first
    crop: tuple | None  # index that crops the dimensions that are taken from 0 but not whole
    columns: list  # per indexed dimension: its column in the indices, or a batch counter
    bounds: np.ndarray  # the largest valid start, per column of the indices
    windows: list[int]  # indexed dimensions (positions in the permutation) with a window
    window_dims: list[int]  # operand dimensions behind the window axes, in order
    whole: list[int]  # operand dimensions taken whole
    batch: tuple[int, ...]  # shape of the batch of positions


def _plan(shape, slice_sizes, start_map, operand_batching, index_batching, index_shape) -> _Plan:
    batch = tuple(index_shape[:-1])
    column_of = {d: c for c, d in enumerate(start_map)}
    batch_axis_of = dict(zip(operand_batching, index_batching))
    indexed, columns, windows, window_dims, whole = [], [], [], [], []
    crop = [slice(None)] * len(shape)
    cropped = False
    for d, (n, size) in enumerate(zip(shape, slice_sizes)):
        if d in batch_axis_of:
            axis = batch_axis_of[d]
            counter = np.arange(n).reshape([n if a == axis else 1 for a in range(len(batch))])
            indexed.append(d)
            columns.append(counter)
        elif d in column_of and size != n:
            if size != 1:
                windows.append(len(indexed))
                window_dims.append(d)
            indexed.append(d)
            columns.append(column_of[d])
        else:
            if size != n:
                crop[d], cropped = slice(0, size), True
            whole.append(d)
    if columns and not any([isinstance(c, int) for c in columns]):
        columns[0] = np.broadcast_to(columns[0], batch)        # all positions, though none of them is read from the indices
    return _Plan(
        permutation=(*indexed, *whole),
        crop=tuple(crop) if cropped else None,
        columns=columns,
        bounds=np.array([shape[d] - slice_sizes[d] for d in start_map], np.int64),
        windows=windows,
        window_dims=window_dims,
        whole=whole,
        batch=batch,
    )


def _starts(indices):
    """The indices as signed integers; unsigned ones too large for that become too large."""
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(np.iinfo(np.int64).max))
    return indices.astype(np.int64, copy=False)


def _clipped(starts, bounds):
    starts = np.maximum(starts, 0)
    return np.minimum(starts, bounds, out=starts)


def _inside(starts, bounds):
    """Which positions a window fits at. Seen as unsigned, the negative ones are large."""
    return (starts.view(np.uint64) <= bounds.view(np.uint64)).all(-1)


def _flat_places(plan: _Plan, lengths):
    """A function from in-range starts to places in a flat array in which a step along an indexed dimension has the length in `lengths`;
    None where an index has windows."""
    if plan.windows:
        return None
    counters = [c * n for c, n in zip(plan.columns, lengths) if not isinstance(c, int)]
    known = sum(counters[1:], counters[0]) if counters else None
    read = [(c, n) for c, n in zip(plan.columns, lengths) if isinstance(c, int)]
    if not read:
        return None

    def places(starts, first=0):
        column, length = read[0]
        at = starts[..., column] * length
        for column, length in read[1:]:
            at += starts[..., column] * length
        if known is not None:
            at += known if known.shape[0] == 1 else known[first:first + len(at)]
        return at

    return places


_BLOCK = 1 << 16           # positions that are looked up together, where there are several times as many


def _looked_up(x, starts, bounds, places):
    """x.take(places(starts), 0) for starts that are clipped to the bounds, many of them by blocks of the first dimension."""
    count = starts.shape[0] if starts.ndim > 1 else 1
    each = starts.size // max(1, count)
    if count < 2 or starts.size < 4 * _BLOCK:
        return x.take(places(_clipped(starts, bounds)), 0, mode="clip")
    out, step = np.empty(starts.shape[:-1] + x.shape[1:], x.dtype), max(1, _BLOCK // each)

    def job(firsts):
        for first in firsts:
            some = _clipped(starts[first:first + step], bounds)
            x.take(places(some, first), 0, out[first:first + step], "clip")
    pool.over(range(0, count, step), job, out.size)
    return out


def _told(plan: _Plan, rank):
    """The one dimension that the indices tell, if all others are counted along."""
    told = [d for d, c in enumerate(plan.columns) if isinstance(c, int)]
    return told[0] if len(told) == 1 and len(plan.columns) == rank == len(plan.batch) and not plan.windows else None


def _row_numbers(indices, d):
    """What broadcast indices say along dimension d; None where they differ along another."""
    strides, shape = indices.strides, indices.shape
    for k in range(len(shape) - 1):
        if k != d and strides[k] and shape[k] != 1:
            return None
    return indices[(*(0,) * d, slice(None), *(0,) * (len(shape) - 1 - d))]


def _fancy(plan: _Plan, slice_sizes):
    """A function from in-range starts to the tuple that indexes the permuted operand."""
    extra = (1,) * len(plan.windows)
    ranges = {}
    for w, k in enumerate(plan.windows):
        size = slice_sizes[plan.permutation[k]]
        ranges[k] = np.arange(size).reshape([size if i == w else 1 for i in range(len(extra))])

    def fancy(starts):
        index = []
        for k, column in enumerate(plan.columns):
            position = starts[..., column] if isinstance(column, int) else column
            if extra:
                position = position.reshape(position.shape + extra)
                if k in ranges:
                    position = position + ranges[k]
            index.append(position)
        return tuple(index)

    return fancy


@rule("gather")
def _make_gather(params, ins, outs):
    if not plain(*ins):
        return None
    operand, indices = ins
    numbers, mode = params["dimension_numbers"], params["mode"].name
    slice_sizes = tuple(int(n) for n in params["slice_sizes"])
    offset_dims = [int(d) for d in numbers.offset_dims]
    collapsed = {int(d) for d in (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)}
    start_map = [int(d) for d in numbers.start_index_map]
    operand_batching = [int(d) for d in numbers.operand_batching_dims]
    index_batching = [int(d) for d in numbers.start_indices_batching_dims]
    plan = _plan(operand.shape, slice_sizes, start_map, operand_batching, index_batching, indices.shape)
    shape, dtype = outs[0]
    batch_axes = [a for a in range(len(shape)) if a not in offset_dims]
    if 0 in shape:
        return lambda x, indices: np.empty(shape, dtype)
    if 0 in operand.shape or (not plan.columns and plan.batch != ()):
        return None

    # The result of indexing has axes (batch, windows, whole), that of a look-up along one axis has the batch in that axis' place; they go
    # where the jaxpr wants them.
    single = len(plan.columns) == 1 and not plan.windows and isinstance(plan.columns[0], int)
    axis = plan.permutation[0] if single else 0
    offset_of = dict(zip([d for d in range(len(operand.shape)) if d not in collapsed], offset_dims))
    kept = [d for d in plan.whole if d not in collapsed]
    before, behind = [d for d in kept if d < axis], [*plan.window_dims, *[d for d in kept if d >= axis]]
    landing = [offset_of[d] for d in before] + batch_axes + [offset_of[d] for d in behind]
    landed = (*[slice_sizes[d] for d in before], *plan.batch, *[slice_sizes[d] for d in behind])
    order = tuple(np.argsort(landing).tolist())
    order = None if order == tuple(range(len(order))) else order
    fancy = _fancy(plan, slice_sizes)
    permutation = None if single or plan.permutation == tuple(range(len(operand.shape))) else plan.permutation
    crop, bounds = plan.crop, plan.bounds
    fills = mode == "FILL_OR_DROP"
    inner = tuple(n if crop is None else min(n, slice_sizes[d]) for d, n in enumerate(operand.shape))
    inner = tuple(inner[d] for d in plan.permutation)
    places = None if single else _flat_places(plan, [math.prod(inner[k + 1 : len(plan.columns)]) for k in range(len(plan.columns))])
    merged = (math.prod(inner[: len(plan.columns)]), *inner[len(plan.columns) :])
    # an index that is broadcast along all other dimensions names whole rows
    whole_rows = None if single or fills or operand_batching != index_batching else _told(plan, len(operand.shape))
    mask_shape = tuple(shape[a] if a in batch_axes else 1 for a in range(len(shape)))
    fill_value = params["fill_value"]
    if fills:
        fill_value = _default_fill(dtype) if fill_value is None else fill_value
        fill_value = np.asarray(fill_value).astype(dtype)

    def gather(x, indices):
        starts = _starts(indices)
        if whole_rows is not None:
            rows = _row_numbers(starts, whole_rows)
            if rows is not None:
                return x.take(rows, whole_rows, mode="clip")
        inside = None
        if fills:
            inside = _inside(starts, bounds)
            if inside.all():
                inside = None
        if crop is not None:
            x = x[crop]
        if permutation is not None:
            x = x.transpose(permutation)
        flat = not single and places is not None and x.flags.c_contiguous
        if not single and not flat and (not fills or inside is not None):
            starts = _clipped(starts, bounds)
        if single:
            x = x.take(starts[..., plan.columns[0]], axis, mode="clip")
        elif flat:
            x = _looked_up(x.reshape(merged), starts, bounds, places)
        else:
            x = x[(*fancy(starts), ...)]
        x = x.reshape(landed)
        if order is not None:
            x = x.transpose(order)
        x = x.reshape(shape)
        return x if inside is None else np.where(inside.reshape(mask_shape), x, fill_value)

    return gather


def _default_fill(dtype):
    kind = category(dtype)
    if kind in ("int", "uint"):
        return np.iinfo(dtype).min if kind == "int" else np.iinfo(dtype).max
    return True if kind == "bool" else np.nan


_LONG_ROW = 8   # elements from which on rows are combined as such,
_MANY = 1 << 14  # if there are so many elements in all
_FEW_ROWS = 4


def _combine_rows(ufunc, out, numbers, updates):
    """`ufunc.at(out, numbers, updates)` for matrices: each row of `out` meets its updates in their order, many rows at a time."""
    order = stable_order(numbers)
    ordered = numbers.take(order)
    new = np.empty(len(ordered), bool)
    new[:1], new[1:] = True, ordered[1:] != ordered[:-1]
    first = np.flatnonzero(new)
    counts = np.empty_like(first)
    counts[:-1], counts[-1:] = first[1:] - first[:-1], len(ordered) - first[-1:]
    most_first = stable_order(-counts)
    first, counts = first.take(most_first), counts.take(most_first)
    rows = ordered.take(first)
    made = out.take(rows, 0)
    most = int(counts[_FEW_ROWS - 1]) if len(counts) >= _FEW_ROWS else 0
    # how many rows have a k-th update: those at the front
    ends = np.searchsorted(-counts, -np.arange(1, most + 1), side="right")
    for k, end in enumerate(ends.tolist()):
        part = made[:end]
        ufunc(part, updates.take(order.take(first[:end] + k), 0), part)
    for row in range(min(len(counts), _FEW_ROWS)):         # the few that have more
        rest = order[first[row] + most : first[row] + counts[row]]
        if len(rest):
            made[row] = ufunc.reduce(np.concatenate((made[row : row + 1], updates.take(rest, 0))), 0)
    out[rows] = made


_COMBINE = {
    "scatter": None,
    "scatter_add": np.add,
    "scatter_sub": np.subtract,
    "scatter_mul": np.multiply,
    "scatter_min": np.minimum,
    "scatter_max": np.maximum,
}


def _scatter(name: str):
    ufunc = _COMBINE[name]

    def make(params, ins, outs):
        operand, indices, updates = ins
        kind = category(operand.dtype)
        if not plain(*ins) or updates.dtype != operand.dtype:
            return None
        if 0 in operand.shape or 0 in updates.shape:
            return lambda x, indices, updates: x
        if ufunc is None and params["update_jaxpr"] is not None:
            return None  # scatter_apply: an arbitrary function
        if ufunc is not None and (kind == "bool" or (kind == "complex" and name in ("scatter_min", "scatter_max"))):
            return None
        numbers, mode = params["dimension_numbers"], params["mode"].name
        window_dims = [int(d) for d in numbers.update_window_dims]
        removed = {int(d) for d in (*numbers.inserted_window_dims, *numbers.operand_batching_dims)}
        kept_dims = [d for d in range(len(operand.shape)) if d not in removed]
        axis_of = dict(zip(kept_dims, window_dims))
        slice_sizes = tuple(updates.shape[axis_of[d]] if d in axis_of else 1 for d in range(len(operand.shape)))
        start_map = [int(d) for d in numbers.scatter_dims_to_operand_dims]
        operand_batching = [int(d) for d in numbers.operand_batching_dims]
        index_batching = [int(d) for d in numbers.scatter_indices_batching_dims]
        plan = _plan(operand.shape, slice_sizes, start_map, operand_batching, index_batching, indices.shape)
        if (not plan.columns and plan.batch != ()) or any(d in removed and operand.shape[d] != 1 for d in plan.whole):
            return None
        batch_axes = [a for a in range(len(updates.shape)) if a not in window_dims]
        # Updates arrive as (batch, windows, whole), the axes that indexing the operand has.
        source = batch_axes + [axis_of[d] for d in plan.window_dims]
        source += [axis_of[d] for d in plan.whole if d in axis_of]
        single_units = [d for d in plan.permutation[: len(plan.columns)] if d in axis_of and d not in plan.window_dims]
        source += [axis_of[d] for d in single_units]  # of size one: reshaped away
        landed = plan.batch + tuple(slice_sizes[d] for d in (*plan.window_dims, *plan.whole))
        fancy = _fancy(plan, slice_sizes)
        count = math.prod(plan.batch)
        unique = params["unique_indices"] or count <= 1
        bounds, crop, permutation = plan.bounds, plan.crop, plan.permutation
        clips = mode == "CLIP"
        dtype = operand.dtype
        # sums and products are rounded at each step, as XLA's are; np.maximum and np.minimum want a NumPy type
        work = F32 if kind == "low" and name in ("scatter_min", "scatter_max") else dtype
        flattened = (count,) + landed[len(plan.batch) :]
        lengths = [math.prod(operand.shape[d + 1 :]) for d in range(len(operand.shape))]
        one_by_one = ufunc is not None and not unique or len(plan.columns) > 1
        places = _flat_places(plan, [lengths[d] for d in permutation[: len(plan.columns)]]) if one_by_one else None
        rows = np.ix_(*[np.arange(slice_sizes[d]) * lengths[d] for d in plan.whole]) if places else ()
        steps = sum(rows, np.zeros(1, np.int64)).reshape(-1)       # from a place to the others of its window
        # whether windows are rows, one after the other
        length = lengths[permutation[len(plan.columns) - 1]] if plan.columns else 0
        by_rows = permutation == tuple(range(len(permutation))) and _LONG_ROW <= length == len(steps) and updates.size >= _MANY
        # an index that is broadcast along all other dimensions names whole slices
        told = _told(plan, len(operand.shape)) if operand_batching == index_batching else None
        if told is not None and (updates.size < max(_MANY, _LONG_ROW * updates.shape[told]) or work is not dtype):
            told = None

        def whole_slices(x, numbers, updates):
            out = np.array(np.moveaxis(x, told, 0), order="C").reshape(x.shape[told], -1)
            updates = np.ascontiguousarray(np.moveaxis(updates, told, 0)).reshape(updates.shape[told], -1)
            if ufunc is None:
                out[numbers] = updates
            else:
                _combine_rows(ufunc, out, numbers, updates)
            shape = (x.shape[told], *x.shape[:told], *x.shape[told + 1 :])
            return np.ascontiguousarray(np.moveaxis(out.reshape(shape), 0, told))

        def scatter(x, indices, updates):
            starts = _starts(indices)
            if told is not None:
                numbers = _row_numbers(starts, told)
                if numbers is not None and (numbers >= 0).all() and (numbers < operand.shape[told]).all():
                    return whole_slices(x, numbers, updates.transpose(source).reshape(landed))
            out = x.astype(work, order="C") if work is not dtype else x.copy()
            updates = updates.transpose(source).reshape(landed)
            if work is not dtype:
                updates = updates.astype(work)
            view = (out if crop is None else out[crop]).transpose(permutation)
            inside = None
            if clips:
                starts = _clipped(starts, bounds)
            else:
                inside = _inside(starts, bounds)
                if inside.all():
                    inside = None
                else:
                    starts = np.where(inside[..., None], starts, 0)
            if places is not None and inside is None:
                at = places(starts)
                if by_rows and ufunc is not None and not unique:
                    _combine_rows(ufunc, out.reshape(-1, length), at.reshape(-1) // length, updates.reshape(-1, length))
                    return out.astype(dtype) if work is not dtype else out
                if steps.size != 1:
                    at = at[..., None] + steps
                flat, at, updates = out.reshape(-1), at.reshape(-1), updates.reshape(-1)
                if ufunc is None:
                    flat[at] = updates
                elif unique:
                    flat[at] = ufunc(flat[at], updates)
                else:
                    ufunc.at(flat, at, updates)
                return out.astype(dtype) if work is not dtype else out
            index = fancy(starts)
            if inside is not None:  # drop the windows that do not fit
                keep = np.flatnonzero(inside.reshape(-1))
                index = tuple(
                    np.broadcast_to(i, plan.batch + i.shape[len(plan.batch) :]).reshape(
                        (count,) + i.shape[len(plan.batch) :]
                    )[keep]
                    for i in index
                )
                updates = updates.reshape(flattened)[keep]
                if not index and not len(keep):
                    return x
                if not index:
                    updates = updates.reshape(landed)
            index = (*index, ...)
            if ufunc is None:
                view[index] = updates
            elif unique:
                view[index] = ufunc(view[index], updates)
            else:
                ufunc.at(view, index, updates)
            return out.astype(dtype) if work is not dtype else out

        return scatter

    return make


for _name in _COMBINE:
    rule(_name, _name.replace("_", "-"))(_scatter(_name))
