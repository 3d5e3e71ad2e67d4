"""`python -m compat.pairs`: operators in pairs, g(f(x)), on special values, compiled against interpreted.

Reports every NaN, infinity or zero (with its sign) that only one tier has. For each outer operator one program computes all pairs. What
is compared are real operators of one tensor whose other arguments have defaults, and of two tensors of one shape (the second is x itself).
"""
import argparse
import re
import sys

import numpy as np

import torchshim as torch
from torchshim.engine.compile import policy
from torchshim.ops.registry import OPS, REQUIRED
from torchshim.tensor.core.dispatch import apply_any
from torchshim.tensor.core.handle import meta

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 60.0, -60.0, 1e20, -1e20, 8e37, -8e37, float("inf"), float("-inf"), float("nan"), 0.999]
TINY = 1.2e-38             # XLA flushes smaller numbers to zero on CPU, NumPy keeps them: no difference of answers
RANDOM = re.compile("rand|dropout|bernoulli|exponential|geometric|cauchy|log_normal|normal|multinomial|poisson|uniform|empty")


def operators():
    """{name: function of a tensor}: all that take x, or x and x, and return floating numbers as a first result."""
    found, vector = {}, meta(torch.tensor(SPECIAL))
    for (namespace, name), op in sorted(OPS.items(), key=lambda item: (item[0][0] or "", item[0][1])):
        tensors = [p for p in op.params if p.kind == "tensor"]
        if RANDOM.search(name) or not 1 <= len(tensors) <= 2 or any([p.default is REQUIRED for p in op.params if p.kind != "tensor"]):
            continue
        try:
            out = op.resolve(op.layout, (vector,) * len(tensors), "").out_metas[0]
        except Exception:                      # whatever a body says that is not for a vector
            continue
        if out.dtype == np.float32 and out.numel:
            found[f"{namespace}.{name}" if namespace else name] = _called(op, len(tensors))
    return found


def _called(op, count):
    def function(x):
        out = apply_any(op, (x,) * count, op.layout)
        return out[0] if isinstance(out, tuple) else out
    return function


def kinds(a):
    """For each element: NaN, an infinity, a zero (with its sign), or a number."""
    return np.where(np.isnan(a), 3, np.where(np.isinf(a), 2, np.where(a == 0, np.where(np.signbit(a), -1, 1), 0)))


def results(tier, outer, inner, rows):
    """{name of f: g(f(x))} in one tier; pairs that raise are left out."""
    policy.pin(tier)
    x, made = torch.tensor(SPECIAL), {}
    for name in rows:
        try:
            made[name] = outer(inner[name](x))
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
            continue
    found = {}
    for name, t in made.items():
        found[name] = t.numpy()
    policy.pin(None)
    return found


def differences(name, functions, chunk=40):
    """(pair, value of x, interpreted, compiled) for each element of which only one tier has the kind."""
    names, found = list(functions), []
    for k in range(0, len(names), chunk):
        a = results("operators", functions[name], functions, names[k:k + chunk])
        b = results("compiled", functions[name], functions, names[k:k + chunk])
        for f in a:
            one, other = a[f], b.get(f)
            if other is None or one.shape != other.shape:
                found.append((f"{name}({f}(x))", None, one, other))
                continue
            small = (np.abs(one) < TINY) & (np.abs(other) < TINY) & ~((one == 0) & (other == 0))
            for at in np.argwhere((kinds(one) != kinds(other)) & ~small):
                at = tuple(at)
                x = SPECIAL[at[0]] if one.shape == (len(SPECIAL),) else None
                found.append((f"{name}({f}(x))", x, one[at], other[at]))
    return found


def main(argv=None):
    """The command; returns 1 where the tiers differ."""
    parser = argparse.ArgumentParser(prog="python -m compat.pairs", description=__doc__.split("\n")[0])
    parser.add_argument("--outer", metavar="REGEX", default="", help="outer operators that match")
    parser.add_argument("--inner", metavar="REGEX", default="", help="inner operators that match")
    parser.add_argument("--list", action="store_true", help="print the operators")
    args = parser.parse_args(argv)
    functions = operators()
    if args.list:
        print(" ".join(functions))
        return 0
    inner = {n: f for n, f in functions.items() if re.search(args.inner, n)}
    pairs = wrong = 0
    for name in functions:
        if re.search(args.outer, name):
            found = differences(name, {name: functions[name], **inner})
            pairs, wrong = pairs + len(inner), wrong + len({pair for pair, *_ in found})
            for pair, x, one, other in found:
                print(f"{pair} at {x}: interpreted {one}, compiled {other}", flush=True)
    print(f"{pairs} pairs, {wrong} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
