"""Runs the fuzzer: see the package."""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))

from compat import fuzz  # noqa: E402
from compat.fuzz import coarsest, program_of, same, say  # noqa: E402


def said_by(command, first, n):
    """{seed: lines} of `command`, run in parts so that a crash costs one."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        while first < n[1]:
            out = os.path.join(folder, "said.jsonl")
            subprocess.run([*command, "--say", f"{first}:{n[1]}", "--out", out], check=False, stderr=subprocess.DEVNULL)
            with open(out, encoding="utf-8") as file:
                for line in file:
                    seed, lines = json.loads(line)
                    found[seed] = lines
            last = max(found, default=first - 1)
            if last < n[1] - 1:
                found[last + 1], last = ["the process died"], last + 1
            first = last + 1
    return found


def main():
    ask = argparse.ArgumentParser(description=fuzz.__doc__.partition("\n")[0])
    ask.add_argument("--programs", type=int, default=1000)
    ask.add_argument("--first", type=int, default=0)
    ask.add_argument("--reference", default=sys.executable, help="a Python that has PyTorch")
    ask.add_argument("--show", type=int)
    ask.add_argument("--say")
    ask.add_argument("--out")
    ask.add_argument("--examples", type=int, default=20, help="how many differences to print")
    o = ask.parse_args()
    if o.show is not None:
        print(program_of(o.show).text())
    elif o.say:
        import torch
        first, last = map(int, o.say.split(":"))
        with open(o.out, "w", encoding="utf-8") if o.out else sys.stdout as file:
            for seed in range(first, last):
                print(json.dumps([seed, say(torch, seed)]), file=file, flush=True)
    else:
        here, span = os.path.abspath(__file__), (o.first, o.first + o.programs)
        theirs = said_by([o.reference, here], o.first, span)
        ours = said_by([sys.executable, "-m", "torchshim", here], o.first, span)
        counted = [s for s in range(*span) if fuzz.counts(theirs[s])]
        different = [s for s in counted if not same(theirs[s], ours[s], coarsest(theirs[s]))]
        for seed in different[:o.examples]:
            a, b = theirs[seed], ours[seed]
            k = next((k for k, (x, y) in enumerate(zip(a, b)) if not same(x, y, coarsest(a))), min(len(a), len(b)))
            print(f"seed {seed}:\n  torch     {a[k:k + 1]}\n  torchshim {b[k:k + 1]}")
        print(f"{len(counted)} programs, {len(different)} differ")
        sys.exit(bool(different))


if __name__ == "__main__":
    main()
