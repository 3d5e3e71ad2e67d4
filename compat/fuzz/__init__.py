"""Differential fuzzing of autograd: random programs, run by two libraries, that must say the same.

    python -m compat.fuzz --programs 1000 --first 0 --reference PYTHON-WITH-TORCH     # compares it with `python -m torchshim`
    python -m compat.fuzz --show SEED                                                 # the text of one program
    python -m compat.fuzz --say SEEDS                                                 # what the library under `import torch` says, as JSON

A program is made from its seed alone: statements over a pool of tensors (operators, views, writes in place, hooks, several roots, regions
without gradients, derivatives of derivatives, and mistakes). Seeds from 1000000000 on make programs of a second kind (`wider`), which know more
dtypes, layouts, operators, losses, modules and optimizers, transforms, custom Functions and hooks; from 2000000000 on of a third one (`real`),
models that are trained, saved and transformed, and from 3000000000 on whole training scripts (`training`). Each statement runs by itself; what it says is what it made (shape, dtype,
requires_grad, is_leaf, name of grad_fn, how often it was written since it was made, values), what hooks saw, or the type and text of its
exception. Numbers in double precision are compared to nine digits, in single precision to five, in half precision to its last bit, everything
else exactly, and so all of a program in which one of these occurs. Programs that meet one of PyTorch's own internal assertions, gradients
that it made as zeros that cannot be written, batched ones that cannot be looked at, integers that require grad (which it cannot
differentiate), transforms of nothing that its library refuses, or the end of the memory, do not count.
Programs avoid what PyTorch leaves to chance: other shapes given by `.data =` to what was saved (it reads past the end of the memory then),
the sign of a NaN, roundings that a step function makes visible, medians of expanded tensors (it reads other memory), and in-place operators
inside of functionalize, which forgets what they refuse.
"""
from __future__ import annotations

import math
import re

from . import functions, programs, real, training, wider

WIDER, REAL, TRAINING = 10 ** 9, 2 * 10 ** 9, 3 * 10 ** 9


def program_of(seed):
    return (training.TrainingProgram if seed >= TRAINING else real.RealProgram if seed >= REAL else
            wider.WiderProgram if seed >= WIDER else programs.Program)(seed)


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
OWN_FAULTS = ("INTERNAL ASSERT FAILED", "ZeroTensors are immutable", "Batching rule not implemented for aten::detach;",
               "can't allocate memory", "MKL FFT error")
_INTEGERS_THAT_REQUIRE_GRAD = re.compile(r"'torch\.(?:u?int\d+|bool)', True")
_NOISE = re.compile(r"0x[0-9a-f]+|\n?Exception raised from [\s\S]*")


def counts(lines):
    """Whether what PyTorch says is none of its own faults."""
    said = str(lines)
    if lines == ["the process died"] or any([line[0] == "out = compiled(x)" and line[1] in ("IndexError", "Unsupported") for line in lines]):
        return False                           # the latter: dynamo reads the text of lambdas from files, where these are not
    return not any([text in said for text in OWN_FAULTS]) and not _INTEGERS_THAT_REQUIRE_GRAD.search(said)


def text_of(error, text):
    """What an exception says, without what differs from run to run. The size that torch compares the index of a 0-d tensor with lies behind
    the end of its sizes: which of two refusals comes is chance."""
    said = _NOISE.sub("", str(error))
    if said.startswith("Caught "):                             # by a worker, with its traceback
        return said.partition("\n")[0] + said.rstrip().rpartition("\n")[2]
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
        exec(training.WORLD if seed >= TRAINING else real.FUNCTIONS if seed >= REAL else wider.FUNCTIONS, space)
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


_SPELLED = {"torch.float32": "float", "torch.bfloat16": "bfloat16", "torch.float16": "half"}


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
    return max([t for dtype, t in _TOLERANCES.items() if dtype in said or f".{_SPELLED.get(dtype)}(" in said], default=1e-9)
