"""Differential fuzzing of autograd: random programs, run by two libraries, that must say the same.

    python -m compat.fuzz --programs 1000 --first 0 --reference PYTHON-WITH-TORCH     # compares it with `python -m torchshim`
    python -m compat.fuzz --show SEED                                                 # the text of one program
    python -m compat.fuzz --say SEEDS                                                 # what the library under `import torch` says, as JSON

A program is made from its seed alone: statements over a pool of tensors (operators, views, writes in place, hooks, several roots, regions
without gradients, derivatives of derivatives, and mistakes). Each statement runs by itself; what it says is what it made (shape, dtype,
requires_grad, is_leaf, name of grad_fn, how often it was written since it was made, values), what hooks saw, or the type and text of its
exception. Numbers in double precision are compared to nine digits, in single precision to five, everything else exactly. Programs that meet
one of PyTorch's own internal assertions, gradients that it made as zeros that cannot be written, batched ones that cannot be looked at, or
the end of the memory, do not count.
Programs avoid what PyTorch leaves to chance: other shapes given by `.data =` to what was saved (it reads past the end of the memory then),
the sign of a NaN, roundings that a step function makes visible, medians of expanded tensors (it reads other memory), and in-place operators
inside of functionalize, which forgets what they refuse.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))

from compat.fuzz import functions, programs, wider  # noqa: E402

WIDER = 10 ** 9


def program_of(seed):
    return (wider.WiderProgram if seed >= WIDER else programs.Program)(seed)


def described(torch, x, gradient=False, born=0):
    """What can be seen of a value, as JSON takes it; `born` is the version it had when it was made. By which formula a gradient was found,
    and how often a new value was written, is the engine's affair."""
    if not isinstance(x, torch.Tensor):
        return repr(x)
    values = x.detach().clone().flatten().tolist()
    values = [v for z in values for v in ((z.real, z.imag) if isinstance(z, complex) else (z,))]
    values = [repr(v) if isinstance(v, float) and not math.isfinite(v) else v for v in values]
    fn = x.grad_fn
    try:
        version = None if gradient else x._version - born
    except RuntimeError as e:
        version = str(e)
    name = None if fn is None else "some" if gradient else fn.name()
    return [list(x.shape), str(x.dtype), x.requires_grad, x.is_leaf, name, version, values]


# the third: with is_grads_batched, hooks are given, and `.grad` keeps, tensors that the documented `detach()` refuses
_OWN_FAULTS = ("INTERNAL ASSERT FAILED", "ZeroTensors are immutable", "Batching rule not implemented for aten::detach;",
               "can't allocate memory")
_NOISE = re.compile(r"0x[0-9a-f]+|\n?Exception raised from [\s\S]*")


def text_of(error, text):
    """What an exception says, without what differs from run to run. The size that torch compares the index of a 0-d tensor with lies behind
    the end of its sizes: which of two refusals comes is chance."""
    said = _NOISE.sub("", str(error))
    if "[-1]" in text and said in ("select() cannot be applied to a 0-dim tensor.",
                                   "index -1 is out of bounds for dimension 0 with size 0"):
        return "an index of a 0-d tensor"
    if said.startswith("torch.meshgrid: Expected"):            # torch prints the tensor as C++ does
        return said.partition(":")[0]
    return said


def _made(name, text):
    """Whether a statement gives a name its value."""
    return re.search(rf"\b{name}(, v\d+)* = ", text) is not None


def say(torch, seed):
    """What the program of a seed says."""
    import warnings
    warnings.simplefilter("ignore")
    lines, born = [], {}
    import copy
    space = {"torch": torch, "copy": copy, "say": lambda what, g: lines.append([what, described(torch, g, True)])}
    exec(functions.FUNCTIONS, space)
    if seed >= WIDER:
        exec(wider.FUNCTIONS, space)
    for text, names in program_of(seed).made:
        try:
            exec(text, space)
        except Exception as e:
            lines.append([text, type(e).__name__, text_of(e, text)])
        for name in names:
            if name in space:
                try:
                    if _made(name, text) and isinstance(space[name], torch.Tensor) and not space[name].is_inference():
                        born[name] = space[name]._version
                    lines.append([text, name, described(torch, space[name], born=born.get(name, 0))])
                    grad = (space[name].grad if isinstance(space[name], torch.Tensor)
                            and (space[name].is_leaf or space[name].retains_grad) else None)
                    if grad is not None:
                        lines.append([text, name + ".grad", described(torch, grad, True)])
                except Exception as e:
                    lines.append([text, name, type(e).__name__, _NOISE.sub("", str(e))])
    return lines


_TOLERANCES = {"torch.float32": 1e-5, "torch.complex64": 1e-5, "torch.bfloat16": 2 ** -7, "torch.float16": 2 ** -10}


def same(a, b, tolerance=1e-9):
    """Whether two descriptions agree: numbers to nine digits, in single precision to five, all else exactly."""
    if isinstance(a, float) and isinstance(b, (int, float)) or isinstance(b, float) and isinstance(a, (int, float)):
        return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))
    if isinstance(a, list) and isinstance(b, list):
        tolerance = max(tolerance, _TOLERANCES.get(a[1], 0)) if len(a) > 1 and isinstance(a[1], str) else tolerance
        return len(a) == len(b) and all([same(x, y, tolerance) for x, y in zip(a, b)])
    return a == b


def coarsest(lines):
    """The tolerance for a program: what is made in lower precision may go on in double."""
    said = str(lines)
    return max([t for dtype, t in _TOLERANCES.items() if dtype in said], default=1e-9)


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
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
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
        counted = [s for s in range(*span) if theirs[s] != ["the process died"]
                   and not any([text in str(theirs[s]) for text in _OWN_FAULTS])]
        different = [s for s in counted if not same(theirs[s], ours[s], coarsest(theirs[s]))]
        for seed in different[:o.examples]:
            a, b = theirs[seed], ours[seed]
            k = next((k for k, (x, y) in enumerate(zip(a, b)) if not same(x, y)), min(len(a), len(b)))
            print(f"seed {seed}:\n  torch     {a[k:k + 1]}\n  torchshim {b[k:k + 1]}")
        print(f"{len(counted)} programs, {len(different)} differ")
        sys.exit(bool(different))


if __name__ == "__main__":
    main()
