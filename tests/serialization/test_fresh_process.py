"""Pickles read by a process that has imported nothing else: what they name is found without torch.load having been there before."""
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import torchshim as torch
from torchshim import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
READ = """
import pickle, sys
for made, asked in pickle.load(open(sys.argv[1], "rb")):
    x = pickle.loads(made)
    print(asked, eval(asked))
"""


def scheduler():
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.5, momentum=0.9)
    return torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.5)


TENSOR = (lambda: torch.arange(6.0).view(2, 3)[:, 1], "x.tolist(), x.stride(), x.requires_grad", "([1.0, 4.0], (3,), False)")
OTHERS = [
    (lambda: torch.ones(2, dtype=torch.bfloat16, requires_grad=True), "x.dtype, x.requires_grad, x.is_leaf",
     "(torch.bfloat16, True, True)"),
    (lambda: [torch.zeros(3)] * 2, "x[0].add_(1) is x[1], x[1].tolist()", "(True, [1.0, 1.0, 1.0])"),
    (lambda: nn.Parameter(torch.ones(1)), "type(x).__name__, x.item()", "('Parameter', 1.0)"),
    (lambda: nn.Linear(2, 1), "x, len(x.state_dict())", "(Linear(in_features=2, out_features=1, bias=True), 2)"),
    (lambda: torch.sparse_coo_tensor([[1]], [2.0], (3,)), "x.to_dense().tolist()", "[0.0, 2.0, 0.0]"),
    (lambda: torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=torch.jagged), "x.offsets().tolist()", "[0, 1, 3]"),
    (scheduler, "type(x).__module__, x.get_last_lr()", "('torchshim.optim.lr_scheduler', [0.1])"),
    (lambda: torch.distributions.transforms.ComposeTransform([torch.distributions.ExpTransform()]),
     "x(__import__('torchshim').zeros(1)).item()", "1.0"),
    (lambda: (torch.Size([2]), torch.float16, torch.device("cpu"), torch.Generator().manual_seed(3).get_state()), "x[:3], x[3].dtype",
     "((torch.Size([2]), torch.float16, device(type='cpu')), torch.uint8)"),
]


@pytest.mark.parametrize("cases", [[TENSOR], OTHERS], ids=["tensor", "others"])
def test_pickles_are_read(tmp_path, cases):
    installed = sys.modules.get("torch") is torch          # by another test: then pickles name torch
    torch.uninstall()
    (tmp_path / "x.pkl").write_bytes(pickle.dumps([(pickle.dumps(make()), asked) for make, asked, _ in cases]))
    if installed:
        torch.install()
    done = subprocess.run([sys.executable, "-c", READ, str(tmp_path / "x.pkl")], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stdout.splitlines() == [f"{asked} {expected}" for _, asked, expected in cases], done.stderr
