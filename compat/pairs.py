"""`python -m compat.pairs`: operators in pairs, g(f(x)), on special values, compiled against interpreted.

Reports every NaN, infinity or zero (with its sign) that only one tier has. One program computes many pairs. What is compared are real
operators of one tensor whose other arguments have defaults, and of two tensors of one shape (the second is x itself). With `--sample N`
each outer operator is put around itself and N others, drawn with the seed, instead of all.
"""
import argparse
import random
import re
import sys

import numpy as np

import torchshim as torch
from torchshim.engine.compile import cost, policy
from torchshim.ops.registry import OPS, REQUIRED
from torchshim.tensor.core.dispatch import apply_any
from torchshim.tensor.core.handle import meta

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 60.0, -60.0, 1e20, -1e20, 8e37, -8e37, float("inf"), float("-inf"), float("nan"), 0.999]
TINY = 1.2e-38             # XLA flushes smaller numbers to zero on CPU, NumPy keeps them: no difference of answers
RANDOM = re.compile("rand|dropout|bernoulli|exponential|geometric|cauchy|log_normal|normal|multinomial|poisson|uniform|empty")


def operators(most=None):
    """{name: function of a tensor}, simple ones first: all that take x, or x and x, return floating numbers as a first result, and are
    made of at most so many primitives."""
    found, vector = {}, meta(torch.tensor(SPECIAL))
    for (namespace, name), op in sorted(OPS.items(), key=lambda item: (item[0][0] or "", item[0][1])):
        tensors = [p for p in op.params if p.kind == "tensor"]
        if RANDOM.search(name) or not 1 <= len(tensors) <= 2 or any([p.default is REQUIRED for p in op.params if p.kind != "tensor"]):
            continue
        try:
            inst = op.resolve(op.layout, (vector,) * len(tensors), "")
        except Exception:                      # whatever a body says that is not for a vector
            continue
        out, weight = inst.out_metas[0], cost.weighed(inst.jaxpr.jaxpr)[1]
        if out.dtype == np.float32 and out.numel and (most is None or weight <= most):
            found[f"{namespace}.{name}" if namespace else name] = weight, _called(op, len(tensors))
    return {name: function for name, (_, function) in sorted(found.items(), key=lambda item: item[1][0])}


def _called(op, count):
    def function(x):
        out = apply_any(op, (x,) * count, op.layout)
        return out[0] if isinstance(out, tuple) else out
    return function


def kinds(a):
    """For each element: NaN, an infinity, a zero (with its sign), or a number."""
    return np.where(np.isnan(a), 3, np.where(np.isinf(a), 2, np.where(a == 0, np.where(np.signbit(a), -1, 1), 0)))


def results(tier, functions, pairs):
    """({(g, f): g(f(x))}, {f: f(x)}) in one tier; pairs that raise are left out."""
    policy.pin(tier)
    x, made, inner = torch.tensor(SPECIAL), {}, {}
    for g, f in pairs:
        try:
            if f not in inner:
                inner[f] = functions[f](x)
            made[g, f] = functions[g](inner[f])
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
            continue
    found = [{name: t.numpy() for name, t in kept.items()} for kept in (made, inner)]
    policy.pin(None)
    return found


def differences(functions, pairs):
    """(pair, value of x, interpreted, compiled) for each element of which only one tier has the kind."""
    found = []
    (a, inner), (b, _) = (results(tier, functions, pairs) for tier in ("operators", "compiled"))
    for (g, f), one in a.items():
        between = (inner[f] != 0) & (np.abs(inner[f]) < TINY)
        other = b.get((g, f))
        if other is None or one.shape != other.shape:
            found.append((f"{g}({f}(x))", None, one, other))
            continue
        small = (np.abs(one) < TINY) & (np.abs(other) < TINY) & ~((one == 0) & (other == 0))
        small |= between if between.shape == one.shape else between.any()
        for at in np.argwhere((kinds(one) != kinds(other)) & ~small):
            at = tuple(at)
            x = SPECIAL[at[0]] if one.shape == (len(SPECIAL),) else None
            found.append((f"{g}({f}(x))", x, one[at], other[at]))
    return found


def sampled(functions, inner, count, seed):
    """The inner operators of each outer one: {g: names}."""
    return {g: [g, *random.Random(f"{seed} {g}").sample(sorted(inner), min(count, len(inner)))] if count else [g, *inner] for g in functions}


def main(argv=None):
    """The command; returns 1 where the tiers differ."""
    parser = argparse.ArgumentParser(prog="python -m compat.pairs", description=__doc__.split("\n")[0])
    parser.add_argument("--outer", metavar="REGEX", default="", help="outer operators that match")
    parser.add_argument("--inner", metavar="REGEX", default="", help="inner operators that match")
    parser.add_argument("--list", action="store_true", help="print the operators")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N inner operators for each outer one (0: all)")
    parser.add_argument("--most", type=int, metavar="N", help="only operators of at most N primitives")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chunk", type=int, default=60, help="pairs of one program")
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="begin with the pair of this number, as --verbose tells it")
    parser.add_argument("--verbose", action="store_true", help="say on stderr how far it is")
    args = parser.parse_args(argv)
    functions = operators(args.most)
    if args.list:
        print(" ".join(functions))
        return 0
    inner = [n for n in functions if re.search(args.inner, n)]
    outer = [n for n in functions if re.search(args.outer, n)]
    pairs = [(g, f) for g, fs in sampled(outer, inner, args.sample, args.seed).items() for f in dict.fromkeys(fs)]
    wrong = set()
    for k in range(args.skip, len(pairs), args.chunk):
        if args.verbose:
            print(f"{k} of {len(pairs)} pairs, {pairs[k][0]}", file=sys.stderr, flush=True)
        for pair, x, one, other in differences(functions, pairs[k:k + args.chunk]):
            wrong.add(pair)
            print(f"{pair} at {x}: interpreted {one}, compiled {other}", flush=True)
    print(f"{len(outer)} outer operators, {len(pairs) - args.skip} pairs, {len(wrong)} differ")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
