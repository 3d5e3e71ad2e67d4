"""`python -m compat.pairs`: operators in pairs, g(f(x)), on special values, compiled against interpreted.

Reports every NaN, infinity or zero (with its sign) that only one tier has. Operators take x for each of up to three tensors, the last
dimension where they ask for one, and defaults for the rest. One program computes many pairs, each of an input of its own: f is made once
more for each g, as in a program that has this pair alone. All pairs take hours of compiling, so they come in parts (`--part 2/40`), and
what is known can be kept in a folder (`--kept`): a later run goes on from there. With `--kinds` one pair stands for all whose f ends in the
same primitive and whose g begins with the same ones: what a compiler could make of two operators it sees there.

With `--same`: whether f(x) is equal to itself within each pinned tier, twice in a trace and in two, alone and among others.
"""
import argparse
import json
import pathlib
import random
import re
import sys

import numpy as np

import torchshim as torch
from torchshim.engine.compile import cost, policy
from torchshim.ops.registry import OPS, REQUIRED, T
from torchshim.tensor.core.dispatch import apply_any
from torchshim.tensor.core.handle import meta

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 60.0, -60.0, 1e20, -1e20, 8e37, -8e37, float("inf"), float("-inf"),
           float("nan"), 0.999]
TINY = 1.2e-38             # XLA flushes smaller numbers to zero on CPU, NumPy keeps them: no difference of answers
SMALL = 100 * TINY         # nor is what an operator makes within itself of such a number, times one of the inputs
RANDOM = re.compile("rand|dropout|bernoulli|exponential|geometric|cauchy|log_normal|normal|multinomial|poisson|uniform|empty")
TIERS = ("operators", "compiled")
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)


class Operator:
    """An operator as a function of one tensor, with the primitives that it is made of."""

    def __init__(self, op, layout, count, jaxpr):
        self.op, self.layout, self.count, self.weight = op, layout, count, cost.weighed(jaxpr)[1]
        made = [v for v in jaxpr.outvars[:1] if not hasattr(v, "val")]
        self.last = next((_named(e) for e in jaxpr.eqns if made and made[0] in e.outvars), "")
        self.first = " ".join(
            sorted({_named(e) for e in jaxpr.eqns if not {*jaxpr.invars}.isdisjoint([v for v in e.invars if not hasattr(v, "val")])}))

    def __call__(self, x):
        out = apply_any(self.op, (x,) * self.count, self.layout)
        return out[0] if isinstance(out, tuple) else out


def _named(eqn):
    return str(eqn.params.get("name") or eqn.primitive.name)


def operators(most=None):
    """{name: Operator}, simple ones first: all that return floating numbers as a first result and are made of at most so many
    primitives."""
    found, vector = {}, meta(torch.tensor(SPECIAL))
    for (namespace, name), op in sorted(OPS.items(), key=lambda item: (item[0][0] or "", item[0][1])):
        tensors = [p for p in op.params if p.kind == "tensor"]
        asked = [p.name for p in op.params if p.kind != "tensor" and p.default is REQUIRED]
        if RANDOM.search(name) or not 1 <= len(tensors) <= 3 or asked not in ([], ["dim"]):
            continue
        layout = tuple([-1 if p.name in asked else x for p, x in zip(op.params, op.layout)])
        count = layout.count(T)
        try:
            inst = op.resolve(layout, (vector,) * count, "")
            jaxpr = inst.jaxpr.jaxpr
        except Exception:                      # whatever a body says that is not for a vector
            continue
        out, made = inst.out_metas[0], Operator(op, layout, count, jaxpr)
        if count and out.dtype == np.float32 and out.numel and (most is None or made.weight <= most):
            found[f"{namespace}.{name}" if namespace else name] = made
    return dict(sorted(found.items(), key=lambda item: item[1].weight))


def kinds(a):
    """For each element: NaN, an infinity, a zero (with its sign), or a number."""
    return np.where(np.isnan(a), 3, np.where(np.isinf(a), 2, np.where(a == 0, np.where(np.signbit(a), -1, 1), 0)))


def flushed(y):
    """y without numbers that are too small for XLA on CPU."""
    a = y.numpy().copy()
    a[np.abs(a) < TINY] *= 0.0
    return torch.from_numpy(a)


def results(tier, functions, pairs, between=lambda y: y):
    """{(g, f): g(between(f(x)))} in one tier; pairs that raise are left out."""
    policy.pin(tier)
    try:
        made = {}
        for g, f in pairs:
            try:
                made[g, f] = functions[g](between(functions[f](torch.tensor(SPECIAL))))
            except REFUSALS:
                continue
        return {pair: t.numpy() for pair, t in made.items()}
    finally:
        policy.pin(None)


def differences(functions, pairs):
    """(pair, value of x, interpreted, compiled) for each element of which only one tier has the kind."""
    a, b = (results(tier, functions, pairs) for tier in TIERS)
    without = results("operators", functions, pairs, flushed)
    found = []
    for (g, f), one in a.items():
        other = b.get((g, f))
        if other is None or one.shape != other.shape:
            found.append((f"{g}({f}(x))", None, str(one), str(other)))
            continue
        small = (np.abs(one) < SMALL) & (np.abs(other) < SMALL) & ~((one == 0) & (other == 0))
        small |= kinds(without[g, f]) == kinds(other)
        for at in np.argwhere((kinds(one) != kinds(other)) & ~small):
            at = tuple(at)
            x = SPECIAL[at[0]] if one.shape == (len(SPECIAL),) else None
            found.append((f"{g}({f}(x))", x, float(one[at]), float(other[at])))
    return found


def unequal(functions, names, tier):
    """(operator, tier, where) for each whose result differs from itself within a tier, on special values and on others."""
    inputs = [np.array(SPECIAL, np.float32), np.linspace(-4, 4, 1002, dtype=np.float32)]
    policy.pin(tier)
    for name in names:
        f = functions[name]
        for k, given in enumerate(inputs):
            x = torch.from_numpy(given.copy())
            alone = f(x).numpy().copy()
            one, two, other = f(x), f(x), f(x) * 2 - f(x)
            if not torch.equal(torch.nan_to_num(one, 7.), torch.nan_to_num(f(x), 7.)):
                yield name, tier, f"input {k}, equal(f(x), f(x))"
            other.numpy()
            for where, made in (("among others", one), ("a second time", two), ("in another trace", f(x))):
                if not np.array_equal(made.numpy(), alone, equal_nan=True) or (kinds(made.numpy()) != kinds(alone)).any():
                    yield name, tier, f"input {k}, {where}"
    policy.pin(None)


def sampled(functions, inner, count, seed):
    """The inner operators of each outer one: {g: names}."""
    return {g: [g, *random.Random(f"{seed} {g}").sample(sorted(inner), min(count, len(inner)))] if count else inner for g in functions}


def wanted(args, functions):
    """The pairs (g, f), simple ones first within an inner operator."""
    inner = [n for n in functions if re.search(args.inner, n)]
    outer = {n: f for n, f in functions.items() if re.search(args.outer, n)}
    of = sampled(outer, inner, args.sample, args.seed)
    pairs = [(g, f) for f in functions for g in outer if f in of[g]]
    if args.kinds:
        pairs = list({(functions[f].last, functions[g].first): (g, f) for g, f in reversed(pairs)}.values())[::-1]
    part, parts = map(int, args.part.split("/"))
    return [pair for k, pair in enumerate(pairs) if k * parts // max(len(pairs), 1) == part - 1]


def chunks(functions, pairs, most):
    """The pairs in programs of so many primitives."""
    chunk, weight = [], 0
    for g, f in pairs:
        each = functions[g].weight + functions[f].weight
        if chunk and weight + each > most:
            yield chunk
            chunk, weight = [], 0
        chunk.append((g, f))
        weight += each
    if chunk:
        yield chunk


class Kept:
    """What is known of pairs, in a folder's file of lines; in memory alone without a folder."""

    def __init__(self, folder, part):
        self.known, self.file = {}, None
        if folder:
            path = pathlib.Path(folder)
            path.mkdir(parents=True, exist_ok=True)
            for one in sorted(path.glob("pairs-*.jsonl")):
                for line in one.read_text().splitlines():
                    self.known.update({tuple(pair): differing for pair, differing in json.loads(line)})
            self.file = open(path / f"pairs-{part.replace('/', '-')}.jsonl", "a", encoding="utf-8")

    def add(self, pairs, found):
        """Remember the differences `found` among `pairs`."""
        rows = [((g, f), [d[1:] for d in found if d[0] == f"{g}({f}(x))"]) for g, f in pairs]
        self.known.update(rows)
        if self.file:
            self.file.write(json.dumps(rows) + "\n")
            self.file.flush()


def main(argv=None):
    """The command; returns 1 where the tiers differ."""
    parser = argparse.ArgumentParser(prog="python -m compat.pairs", description=__doc__.split("\n")[0])
    parser.add_argument("--outer", metavar="REGEX", default="", help="outer operators that match")
    parser.add_argument("--inner", metavar="REGEX", default="", help="inner operators that match")
    parser.add_argument("--list", action="store_true", help="print the operators")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N inner operators for each outer one, and itself (0: all)")
    parser.add_argument("--kinds", action="store_true",
                        help="one pair for each way in which an operator's end can meet another's beginning")
    parser.add_argument("--same", action="store_true", help="whether operators are equal to themselves within a tier, instead of pairs")
    parser.add_argument("--most", type=int, metavar="N", help="only operators of at most N primitives")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chunk", type=int, default=1000, help="primitives of one program")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="the I-th of N parts")
    parser.add_argument("--kept", metavar="FOLDER", help="where results are kept; pairs that are known there are not computed again")
    parser.add_argument("--verbose", action="store_true", help="say on stderr how far it is")
    args = parser.parse_args(argv)
    functions = operators(args.most)
    if args.list:
        print(" ".join(functions))
        return 0
    if args.same:
        names = [n for n in functions if re.search(args.inner, n)]
        found = set()
        for tier in TIERS:
            for name, _, where in unequal(functions, names, tier):
                found.add(name)
                print(f"{name} differs from itself, tier {tier}, {where}", flush=True)
            print(f"{len(names)} operators in the tier {tier}; {len(found)} differ from themselves so far", flush=True)
        return int(bool(found))
    pairs, kept = wanted(args, functions), Kept(args.kept, args.part)
    todo = [pair for pair in pairs if pair not in kept.known]
    done = 0
    for chunk in chunks(functions, todo, args.chunk):
        kept.add(chunk, differences(functions, chunk))
        done += len(chunk)
        if args.verbose:
            print(f"{done} of {len(todo)} pairs, {chunk[-1][0]}({chunk[-1][1]}(x))", file=sys.stderr, flush=True)
    wrong = 0
    for g, f in pairs:
        wrong += bool(kept.known[g, f])
        for x, one, other in kept.known[g, f]:
            print(f"{g}({f}(x)) at {x}: interpreted {one}, compiled {other}", flush=True)
    print(f"{len(pairs)} pairs of {len(functions)} operators, {wrong} differ")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
