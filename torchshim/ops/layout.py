"""Strides of results, as torch's TensorIterator chooses them."""
from __future__ import annotations

from ..engine import Operator, meta_of


def broadcast_shapes(shapes):
    """Common shape, or torch's error."""
    ndim = max(map(len, shapes), default=0)
    out, met = [1] * ndim, 0                   # met: how many dimensions those before have
    for s in shapes:
        met = max(met, len(s))
        for i, n in enumerate(reversed(s)):
            d = ndim - 1 - i
            if n != 1 and out[d] != n:
                if out[d] != 1:
                    raise RuntimeError(f"The size of tensor a ({out[d]}) must match the size of tensor b ({n}) at non-singleton dimension "
                                       f"{met - 1 - i}")
                out[d] = n
    return tuple(out)


def fastest_first(rows, shape):
    """The dimensions of an elementwise operator from the innermost in memory to the outermost, for operands with the strides `rows`."""
    ndim = len(shape)
    perm = list(range(ndim - 1, -1, -1))       # fastest first

    def compare(a, b):
        """1 when dim a should be slower than b, -1 when faster, 0 when undecided."""
        for r in rows:
            sa, sb = r[a], r[b]
            if sa == 0 or sb == 0:
                continue
            if sa < sb:
                return -1
            if sa > sb:
                return 1
            if shape[a] > shape[b]:
                return 1
        return 0
    for i in range(1, ndim):
        d1 = i
        for d0 in range(i - 1, -1, -1):
            c = compare(perm[d0], perm[d1])
            if c > 0:
                perm[d0], perm[d1] = perm[d1], perm[d0]
                d1 = d0
            elif c < 0:
                break
    return perm


def as_written(m, a):
    """The elements of an array in the order in which a loop writes them that lie as `m`: of those in one place the last one stays."""
    return (a.transpose(fastest_first((m.strides,), m.shape)[::-1]) if m.coincident else a).ravel()


def contiguous(inst, *operands):
    """The `strides` of an elementwise operator whose result is contiguous, however the operands lie."""


def elementwise_strides(metas, shape, number=False):
    """Element strides of an elementwise result: the inputs' common dimension order, made dense. None if contiguous.
    `number`: a Python number takes part, as a 0-d tensor."""
    ndim = len(shape)
    if ndim < 2:
        return None
    if not number and all([m.shape == shape for m in metas]):
        if all([m.contiguous for m in metas]):
            return None
        if ndim == 4:
            _, c, h, w = shape
            last = (c * h * w, 1, c * w, c)
            if all([n == 1 or s == k for m in metas for n, s, k in zip(shape, m.strides, last)]):
                return last
        first = metas[0]
        if all([m.strides == first.strides for m in metas]) and first.dense:
            return first.strides
    rows = [[0 if i < 0 or (m.shape[i] == 1 and shape[i + ndim - m.ndim] != 1) else m.strides[i] for i in range(m.ndim - ndim, m.ndim)]
            for m in metas]
    perm = fastest_first(rows, shape)
    if 0 in shape and perm == list(range(ndim - 1, -1, -1)):
        return None
    strides, step = [0] * ndim, 1
    for d in perm:                             # where there is nothing, some are 0
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def kept_strides(m):
    """Strides of a new tensor laid out as `m`: the same when dense, else dense in the same order of dimensions."""
    return m.strides if m.dense else elementwise_strides([m], m.shape)


def part_strides(inst, m, *rest):
    """Strides of what an elementwise kernel makes of parts of `m` that have the result's shape."""
    out = inst.out_metas[0]
    return elementwise_strides([meta_of(out.shape, m.dtype, m.device, m.strides)], out.shape)


def channels_last_strides(shape):
    """Strides of a dense tensor whose dimension 1 lies innermost."""
    order = [0] + list(range(2, len(shape))) + [1]
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def as_row(m):
    """The Meta of sequences (N, C, L) as torch's kernels of images see them: (N, C, 1, L)."""
    return meta_of((*m.shape[:-1], 1, m.shape[-1]), m.dtype, m.device, (*m.strides[:-1], m.shape[-1] * m.strides[-1], m.strides[-1]))


def row_strides(shape):
    """The strides of sequences (N, C, L) whose images (N, C, 1, L) are channels_last."""
    n, c, _, l = channels_last_strides((*shape[:-1], 1, shape[-1]))
    return n, c, l


def lies_channels_last(m):
    """Whether a Meta's strides descend as those of a channels_last tensor do: what torch infers a format from."""
    return m.ndim in (4, 5) and _descends(m, [1] + list(range(m.ndim - 1, 1, -1)) + [0])


def not_channels_last(m):
    """For gradients that are channels_last or contiguous."""
    return not lies_channels_last(m)


def _descends(m, order):
    least = 0
    if m.strides[1] == 0:
        return False
    for d in order:
        if m.shape[d] == 0 or m.strides[d] < least:
            return False
        if d == 0 and least == m.strides[1]:       # N11 with equal strides: rather row-major
            return False
        least = m.strides[d] * max(m.shape[d], 1)
    return True


# -- gradients: functions for `lie`, see `registry` ------------------------------------------------------------------------------
def as_operands(inst, plan, saved, cts):
    """As the operands do, where these are dense."""
    return Operator.gradient_strides(inst.op, inst, plan, saved, cts)


def plain(inst, plan, saved, cts):
    """Contiguous."""
    return (None,) * len(plan.needs)


def iterated(inst, plan, saved, cts, cts_first=True):
    """As TensorIterator lays what it computes from the cotangent and what is saved; sums over what was broadcast are contiguous."""
    if len(plan.needs) > 1 and len({m.strides for m in saved}) > 1:        # each reads what it would alone
        made = []
        for i in plan.needs:
            alone = inst.plan(1 << i)
            made += iterated(inst, alone, [inst.in_metas[k] for k in alone.args] + [inst.out_metas[k] for k in alone.outs], cts, cts_first)
        return tuple(made)
    shape, number = cts[0].shape, bool(plan.nums)
    metas = [m for m in ([*cts[:1], *saved] if cts_first else [*saved, *cts[:1]]) if m.ndim]
    strides = elementwise_strides(metas, shape, number or len(metas) <= len(saved)) if all([_spreads(m, shape) for m in metas]) else None
    return tuple([strides if inst.in_metas[i].shape == shape else None for i in plan.needs])


def chosen(inst, plan, saved, cts):
    """Likewise where a mask made of what is saved chooses between the cotangent and 0."""
    return iterated(inst, plan, saved, cts, False)


def as_cotangent(inst, plan, saved, cts):
    """As a new tensor laid out as the cotangent."""
    return tuple([kept_strides(cts[0]) if inst.in_metas[i].shape == cts[0].shape else None for i in plan.needs])


def as_format(inst, plan, saved, cts):
    """Channels_last where the cotangent is, else contiguous."""
    last = lies_channels_last(cts[0])
    return tuple([channels_last_strides(inst.in_metas[i].shape) if last and inst.in_metas[i].ndim == cts[0].ndim else None for i in plan.needs])


def each(*rules):
    """Another of these for each operand."""
    def lie(inst, plan, saved, cts):
        made = [rule(inst, plan, saved, cts) for rule in rules]
        return tuple([made[min(i, len(rules) - 1)][k] for k, i in enumerate(plan.needs)])
    return lie


def _spreads(m, shape):
    return m.ndim <= len(shape) and all([n in (1, k) for n, k in zip(reversed(m.shape), reversed(shape))])
