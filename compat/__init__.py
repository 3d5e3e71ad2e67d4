"""The compatibility suite: plain torch programs, and what real PyTorch prints for them.

    python -m compat                          every program under `python -m torchshim`, against the stored results
    python -m compat --only 'views/'          some of them
    python -m compat --live --torch PYTHON    against real torch too, where an interpreter has it
    python -m compat --record --torch PYTHON  write compat/expected/ anew from real torch
    python -m compat.bench --torch PYTHON     times against torch eager and hand-written jax.jit steps
    python -m compat.scripts_check --torch PYTHON   the two training scripts, loss by loss

A program is a file `programs/<area>/<name>.py` that says `import torch` and prints. Nothing in it
knows of this library. Tests use the functions below to run programs inside their own process.
"""
from compat.suite import compare, expected, load_program, normalise, programs_list, run_program

__all__ = ["compare", "expected", "load_program", "normalise", "programs_list", "run_program"]
