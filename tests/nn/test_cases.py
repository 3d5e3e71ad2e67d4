"""Protects the operators and modules of neural networks: results, layouts, grad_fn names, first and second gradients, errors."""
import json

import pytest

import torchshim as torch
from tests.nn.cases import HERE, NAMES, Runner

RUNNER = Runner(torch)
GOLDENS = [pytest.param(golden, id=f"{name}-{i}") for name in NAMES
           for i, golden in enumerate(json.loads((HERE / "goldens" / f"{name}.json").read_text(encoding="utf-8")))]


def same(mine, theirs, dtype="torch.float32"):
    """Whether two digests agree to the dtype's precision."""
    if mine is None or theirs is None or isinstance(mine, str):
        return mine == theirs
    if len(theirs) == 5 and not isinstance(theirs[0], list):
        near = {"torch.float64": 1e-6, "torch.bfloat16": 2e-2, "torch.float16": 2e-3}.get(dtype, 1e-4) * (theirs[2] + 1)
        return mine[3:] == theirs[3:] and all(abs(a - b) <= near for a, b in zip(mine[:3], theirs[:3]))
    return mine[:3] == theirs[:3] and mine[4:] == theirs[4:] and same(mine[3], theirs[3], theirs[2])


@pytest.mark.parametrize("golden", GOLDENS)
def test_as_torch(golden):
    made = RUNNER.run(golden["call"])
    assert made.get("error") == golden.get("error"), golden["call"]
    for part in ("out", "grad", "grad2"):
        mine, theirs = made.get(part, []), golden.get(part, [])
        if part == "grad2" and not mine:
            assert not any(theirs), golden["call"]
            continue
        assert len(mine) == len(theirs), (golden["call"], part)
        for a, b in zip(mine, theirs):
            assert same(a, b), (golden["call"], part, a, b)
