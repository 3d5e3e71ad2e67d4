"""A long trace in pieces that come again: the layers of a network, their backward passes, the updates of parameters of one shape.

XLA compiles a call of one function anew wherever it stands, tens of milliseconds for each kernel. So a long trace that repeats itself is
cut where the repetition begins and ends, and pieces that are alike are one compiled program, called once for each. The digits are those of
one program but for the last bits; what it costs is the calls, and that no kernel reaches across a cut. Measured (JAX 0.10.2): twenty steps
of the benchmark's stencil (4,100 operators) compile in a quarter of the time and half of the memory, and a step takes a tenth longer; a
character GPT of four layers with AdamW (2,800 primitives) in 0.7 of the time and 0.4 of the memory, and a step takes a fifth longer. So
what compiles in seconds stays whole.
"""
from __future__ import annotations

import collections
import functools
import weakref

import jax
import numpy as np

from . import chains
from .lowering import fence_of, zero_for
from .options import SMALL, compiler_options

LONG = 3000                # primitives of a trace, or of a piece, beyond which it is cut
FEWEST = 25                # primitives that a repetition spares the compiler
LEAST = 2_000_000          # nanoseconds that a piece of a repetition saves, by estimate
_programs: weakref.WeakValueDictionary = weakref.WeakValueDictionary()     # (body, results, what may be overwritten, device): its program


def expanded(steps):
    """Steps as (Instance, input slots, first number, result slots), those that do several things side by side one by one."""
    out = []
    for inst, slots, n0, first, _ in steps:
        parts = inst.op.parts(inst)
        for part, operands, results in parts:
            out.append((part, tuple([slots[i] for i in operands]), n0, tuple([first + k for k in results])))
        if not parts:
            out.append((inst, tuple(slots), n0, tuple(range(first, first + len(inst.out_metas)))))
    return out


class Piece:
    """Some steps of a trace, told as any such steps elsewhere: `body` is the same where they do the same.

    `given` are the slots of what it reads from outside, `made` those of what it makes, `wanted` the places among these of what is read
    outside, `firsts` the numbers that its steps' numbers begin with. The first `repeated` steps are made for others, too.
    """
    __slots__ = ("body", "given", "made", "firsts", "wanted", "overwrites", "metas", "primitives", "own")

    def __init__(self, steps, repeated=0):
        given, made, firsts, body, self.metas, self.primitives = {}, {}, {}, [], [], 0
        for inst, slots, n0, results in steps:
            for s, m in zip(slots, inst.in_metas):
                if s not in made and s not in given:
                    given[s] = ~len(given)
                    self.metas.append(m)
            operands = tuple([made[s] if s in made else given[s] for s in slots])
            made.update({s: len(made) + k for k, s in enumerate(results)})
            body.append((inst, operands, firsts.setdefault(n0, len(firsts)) if inst.kinds else 0, tuple([made[s] for s in results])))
            self.primitives += inst.cost[1]
        self.body, self.given, self.made, self.firsts = tuple(body), list(given), list(made), list(firsts)
        self.own = sum([len(step[3]) for step in steps[:repeated]])
        self.wanted = self.overwrites = frozenset()

    def taken(self):
        """Those of `overwrites` whose buffer some result can take (XLA warns about the others)."""
        made = {k: m for inst, _, _, results in self.body for k, m in zip(results, inst.out_metas)} if self.overwrites else {}
        spare = collections.Counter([(made[k].shape, made[k].dtype) for k in self.wanted]) if made else {}
        out = []
        for k in sorted(self.overwrites):
            like = self.metas[k].shape, self.metas[k].dtype
            if spare[like] > 0:
                spare[like] -= 1
                out.append(k)
        return frozenset(out)


def cut(steps, live, donate=()):
    """The Pieces of a trace (`expanded` steps) of which the slots `live` are wanted and the inputs `donate` may be overwritten. Pieces of
    one body agree about the rest, too."""
    starts = _starts(tuple([s[0] for s in steps]), LONG)
    views = {results[0]: k for k, (inst, _, _, results) in enumerate(steps) if inst.op.view is not None} if len(starts) > 1 else {}
    pieces = [Piece(*_with_views(steps, a, b, views)) for a, b in zip(starts, [*starts[1:], len(steps)])]
    later, alike = set(live), {}
    for piece in reversed(pieces):
        piece.wanted = frozenset([k for k, s in enumerate(piece.made) if k >= piece.own and s in later])
        piece.overwrites = frozenset([k for k, s in enumerate(piece.given) if s < 0 and ~s in donate and s not in later])
        later.update(piece.given)
        wanted, overwrites = alike.get(piece.body, (piece.wanted, piece.overwrites))
        alike[piece.body] = wanted | piece.wanted, overwrites & piece.overwrites
    for piece in pieces:
        piece.wanted, piece.overwrites = alike[piece.body]
        piece.overwrites = piece.taken()
    return pieces


def _with_views(steps, first, end, views):
    """The steps from `first` to `end`, and before them those that make the views of earlier values that they read (XLA would copy these);
    how many these are."""
    before, asked = set(), [s for step in steps[first:end] for s in step[1]] if views else ()
    for s in asked:                            # grows while we go
        k = views.get(s, first)
        if k < first and k not in before:
            before.add(k)
            asked += steps[k][1]
    return [*[steps[k] for k in sorted(before)], *steps[first:end]], len(before)


@functools.lru_cache(maxsize=8)
def _starts(instances, long):
    """The first step of each piece of a trace, of whose steps these are the Instances; none has many more primitives than `long`. It is
    asked for when a trace is priced and when it is compiled."""
    costs = np.array([(0.0, 0.0)] + [inst.cost for inst in instances]).cumsum(0)
    if costs[-1, 1] <= long:
        return (0,)
    known, starts, waiting = {}, {0, len(instances)}, [(0, len(instances))]
    tokens = np.array([known.setdefault(inst, len(known)) for inst in instances])
    while waiting:
        first, end = waiting.pop()
        found = _repetition(tokens[first:end], costs[first:end + 1])
        if found is not None:
            begin, width, count = first + found[0], found[1], found[2]
            starts.update(range(begin, begin + width * count + 1, width))
            waiting += [(first, begin), (begin + width * count, end)]
    starts = sorted(starts)
    for first, end in zip(starts, starts[1:]):
        into = -(-(costs[end, 1] - costs[first, 1]) // long)
        starts += [first + int((end - first) * k // into) for k in range(1, int(into))]
    return tuple(sorted({*starts} - {len(instances)}))


def _repetition(tokens, costs):
    """(where it begins, its length, how often it comes) of what comes several times in a row and spares most, or None."""
    best, most = None, FEWEST
    whole = costs[-1] - costs[0]
    if whole[0] < 2 * LEAST or whole[1] < 2 * FEWEST:
        return None
    for period in _periods(tokens):
        changes = np.flatnonzero(np.diff(np.concatenate([[False], tokens[period:] == tokens[:-period], [False]]).astype(np.int8)))
        begins, ends = changes[::2], changes[1::2]
        for begin, end in zip(begins[ends - begins >= period], ends[ends - begins >= period]):
            saves, programmed = costs[begin + period] - costs[begin]
            times = max(1, int(-(-LEAST // max(saves, 1))))    # so many are one piece
            count = int(end - begin + period) // (period * times)
            if (count - 1) * times * programmed > most:
                best, most = (int(begin), period * times, count), (count - 1) * times * programmed
    return best


def _periods(tokens):
    """After how many steps something comes again at once, in order: of each word of 1, 2, 4, ... tokens it is asked how far away it comes
    next. What repeats itself with a period has, for the words of at least half its length, that many such distances or nearly so; a
    distance that is rarer than a quarter of itself is none. So few remain, and looking at all would take the square of the length."""
    found, words, width = set(), tokens, 1
    while 2 * width <= len(tokens):
        order = np.argsort(words, kind="stable")
        again = words[order[1:]] == words[order[:-1]]
        distances = np.bincount((order[1:] - order[:-1])[again], minlength=1)
        often = np.flatnonzero(4 * distances >= np.arange(len(distances)))
        found.update(often[(often >= width) & (often < 4 * width)].tolist())
        pairs = words[:-width] * (words.max() + 1) + words[width:]
        words, width = np.unique(pairs, return_inverse=True)[1], 2 * width
    return sorted([p for p in found - {0} if 2 * p <= len(tokens)])


class PieceProgram:
    """The XLA program of a Piece. `results` are the places, among what is made, of what it returns; `floats` and `ints` are pairs (place
    among `firsts`, how much further) of the numbers that it gets."""
    __slots__ = ("fn", "results", "floats", "ints", "__weakref__")

    def __init__(self, piece, device):
        body, metas = piece.body, piece.metas
        overwritten = sorted(piece.overwrites)
        self.results = results = _in_place(body, sorted(piece.wanted), overwritten, metas)
        self.floats, self.ints, place = [], [], {}
        for inst, _, n, _ in body:
            for k, kind in enumerate(inst.kinds):
                if (n, k) not in place:
                    idx = self.floats if kind == "f" else self.ints
                    place[n, k] = kind, len(idx)
                    idx.append((n, k))

        joints, apart = _joints(body), chains.cuts(body, results) if device.platform == "cpu" else ()

        def program(zero, floats, ints, *inputs):
            made, fence, begun = {}, fence_of(zero), {}
            for step, (inst, operands, n, places) in enumerate(body):
                args = [inputs[~s] if s < 0 else made[s] for s in operands]
                for k in range(len(inst.kinds)):
                    kind, at = place[n, k]
                    args.append((floats if kind == "f" else ints)[at])
                joint = joints.get(step)
                if joint is None:
                    out = inst.lowered(fence, *args)
                elif joint in begun:
                    out = joint.backward(begun[joint], args[-len(joint.pullback.cotangents):])
                else:
                    out, begun[joint] = joint.forward(fence, *args)
                made.update(zip(places, [chains.apart(x) if s in apart else x for s, x in zip(places, out)]))
            return [made[s] for s in results]
        avals = [jax.ShapeDtypeStruct(m.shape, m.held) for m in metas]
        packed = [jax.ShapeDtypeStruct((len(idx),), dtype) if idx else None
                  for idx, dtype in ((self.floats, np.float64), (self.ints, np.int64))]
        jitted = jax.jit(program, donate_argnums=tuple([3 + k for k in overwritten]))
        small = max([m.numel for ms in (metas, *[inst.out_metas for inst, *_ in body]) for m in ms], default=0) <= SMALL
        with jax.default_device(device):
            self.fn = jitted.lower(zero_for(device), *packed, *avals).compile(compiler_options=compiler_options(small))


def _joints(body):
    """The Joints of a body by the places of its steps: each has that of a forward and of its backward."""
    found, forwards = {}, {}
    for k, (inst, operands, _, _) in enumerate(body):
        plan = getattr(inst.op, "plan_of", None)
        for f in forwards.get(plan.inst, ()) if plan is not None else ():
            given, made = body[f][1], body[f][3]
            kept = [given[i] for i in plan.args] + [made[i] for i in plan.outs]
            if f not in found and list(operands) == kept + list(operands[len(kept):]):
                joint = plan.joint()
                if joint is not None:
                    found[f] = found[k] = joint
                    break
        forwards.setdefault(inst, []).append(k)
    return found


def compiled(piece, device):
    """The program of a Piece, that of one like it if there is one."""
    key = piece.body, piece.wanted, piece.overwrites, device
    found = _programs.get(key)
    if found is None:
        found = _programs[key] = PieceProgram(piece, device)
    return found


def _in_place(body, wanted, overwritten, metas):
    """What is wanted in an order in which JAX gives an overwritten input's buffer to what comes in that input's place: it takes the first
    result of the input's shape and dtype that is still without one. A gradient in its parameter's buffer would cost a copy of the
    parameter.

    An operator's results come in the place of the operands it reads, in order, of those that are alike; the last one counts.
    """
    heirs, made = {~k: k for k in overwritten}, {}
    for inst, operands, _, results in body if overwritten else ():
        made.update(zip(results, inst.out_metas))
        given = [heirs[s] for s in operands if s in heirs]
        for s in results:
            k = next((k for k in given if _alike(metas[k], made[s])), None)
            if k is not None:
                given.remove(k)
                heirs[s] = k
    last = {heirs[s]: s for s in wanted if heirs.get(s) is not None}
    order = [last.get(k) for k in overwritten]
    rest = [s for s in wanted if s not in order]
    for i, k in enumerate(overwritten):
        if order[i] is None:                   # some other result takes its buffer
            order[i] = next((s for s in rest if _alike(made[s], metas[k])), None)
            if order[i] is not None:
                rest.remove(order[i])
    return [s for s in order if s is not None] + rest


def _alike(a, b):
    return a.shape == b.shape and a.dtype == b.dtype
