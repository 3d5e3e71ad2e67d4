"""Calls of neural-network operators and what PyTorch makes of them.

Each line of `cases/NAME.txt` is a program: statements separated by `;;`, the last an expression. `run` gives a digest of its
results (shape, strides, dtype, grad_fn, values as projections), of their gradients of first and second order, or the
exception. With PyTorch installed, `python tests/nn/cases.py` writes the digests of real torch to `goldens/`.
"""
import json
import pathlib
import warnings

import numpy as np

HERE = pathlib.Path(__file__).parent
NAMES = sorted(p.stem for p in (HERE / "cases").glob("*.txt"))


def lines(name):
    text = (HERE / "cases" / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def projections(a):
    """Two sums that tell arrays apart, and the size of what was summed."""
    a = a.reshape(-1)
    a = np.concatenate([a.real, a.imag]) if np.iscomplexobj(a) else a
    a = a.astype(np.float64)
    shown = np.where(np.isfinite(a), a, 0)
    return [float(f"{x:.7g}") for x in ((shown * np.cos(np.arange(a.size))).sum(), shown.sum(), np.abs(shown).sum())] + [
        int(np.isnan(a).sum()), int(np.isinf(a).sum())]


class Runner:
    """Runs the programs with one torch."""

    def __init__(self, torch):
        self.torch, self.leaves = torch, []

    def given(self, *shape, dtype=None):
        return self.leaf(self.torch.randn(*shape, dtype=dtype))

    def leaf(self, t):
        t = t.detach().requires_grad_()
        self.leaves.append(t)
        return t

    def tensors(self, y):
        if isinstance(y, (tuple, list)):
            return [t for e in y for t in self.tensors(e)]
        return [y]

    def digest(self, t, name=True):
        if not isinstance(t, self.torch.Tensor):
            return None if t is None else repr(t)
        a = t.detach()
        if a.dtype in (self.torch.bfloat16, self.torch.float16):
            a = a.float()
        made = [list(t.shape), list(t.stride()), str(t.dtype), projections(a.numpy())]
        return made + [type(t.grad_fn).__name__ if t.grad_fn is not None else None] if name else made

    def run(self, line):
        torch = self.torch
        torch.manual_seed(0)
        self.leaves = []
        names = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "CL": torch.channels_last, "r": torch.randn, "g": self.given,
                 "leaf": self.leaf}
        *before, last = line.split(";;")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                for statement in before:
                    exec(statement, names)
                results = self.tensors(eval(last, names))
                made = {"out": [self.digest(t) for t in results]}
                made |= self.gradients(results, [p for m in list(names.values()) if isinstance(m, torch.nn.Module) for p in m.parameters()])
            except Exception as error:
                return {"error": [type(error).__name__, str(error).split("\nException")[0]]}
        return made

    def gradients(self, results, parameters):
        torch, wrt = self.torch, self.leaves + parameters
        results = [t for t in results if isinstance(t, torch.Tensor) and t.requires_grad]
        if not results or not wrt:
            return {}
        first = torch.autograd.grad(self.total(results), wrt, create_graph=True, allow_unused=True)
        made = {"grad": [self.digest(x, False) for x in first]}
        again = [x for x in first if x is not None and x.requires_grad]
        if again:
            second = torch.autograd.grad(self.total(again), wrt, allow_unused=True)
            # an unused input and a gradient of zeros are the same here
            made["grad2"] = [None if x is None or not x.any() else self.digest(x, False)[3] for x in second]
        return made

    def total(self, tensors):
        s = sum([(t * self.torch.randn(t.shape, dtype=t.dtype)).sum() for t in tensors])
        return s.abs() if s.is_complex() else s


if __name__ == "__main__":
    import torch
    runner = Runner(torch)
    (HERE / "goldens").mkdir(exist_ok=True)
    for name in NAMES:
        made = [json.dumps({"call": line, **runner.run(line)}) for line in lines(name)]
        (HERE / "goldens" / f"{name}.json").write_text("[\n" + ",\n".join(made) + "\n]\n", encoding="utf-8")
