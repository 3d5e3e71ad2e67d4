"""Writes the archives of tests/export/test_archives.py with PyTorch: `PYTHON tests/export/make_archives.py tests/export/archives`, PYTHON an
interpreter with torch 2.13."""
import json
import os
import sys
import zipfile

import torch
from torch import nn
from torch.export import Dim, export, save


class Net(nn.Module):
    """Parameters that two modules share, buffers in the state and beside it, a constant, results of several kinds."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.Linear(8, 3)
        self.again = self.head
        self.register_buffer("shift", torch.arange(3.0))
        self.register_buffer("beside", torch.ones(3), persistent=False)
        self.turned = nn.Parameter(torch.arange(6.0).view(2, 3).t())
        self.constant = torch.tensor([1, 2, 3])

    def forward(self, x, index=None, *, scale=2.0):
        h = nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        h = torch.cat([self.head(h.flatten(1)), self.again(h.flatten(1)) * scale], 1)
        a, b = h.split(3, 1)
        least, where = b.topk(2)
        return {"a": a + self.shift[index].sum() + self.beside @ self.turned.sum(1), "b": (b.softmax(-1).double(), self.constant.sum(), None),
                "c": [least, where, h[:, None, [0, 2]], nn.functional.pad(a, (1, 1), value=float("-inf"))], "d": x.shape[0] * 2}


class Branch(nn.Module):
    """A branch by value."""

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: (x + 1, x.sin()), lambda x: (x - 1, x.cos()), (x,))


class Sized(nn.Module):
    """Sizes that depend on values, and what checks them."""

    def forward(self, x):
        n = x[0].int().item()
        torch._check(n <= 5)
        return x.nonzero(), torch.ones(n) * 2, x.to(torch.float64)


def parameters_of(net):
    """Parameters that are the same on each machine."""
    with torch.no_grad():
        for k, p in enumerate(net.parameters()):
            p.copy_(torch.linspace(-1, 1, p.numel()).view_as(p) + k / 8)
    return net


def x():
    """The example input."""
    return torch.linspace(-2, 2, 48).view(3, 1, 4, 4)


def without_traces(path):
    """The archive without what its steps tell of their making: that names the machine's folders."""
    left_out = "stack_trace", "from_node", "custom"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("/model.json"):
                data = json.dumps(json.loads(data, object_hook=lambda d: {k: v for k, v in d.items() if k not in left_out})).encode()
            new.writestr(name, data)
    os.replace(path + ".new", path)


if __name__ == "__main__":
    folder = sys.argv[1]
    given = (x(), torch.tensor([1, 2])), {"scale": 3.0}
    batch = {"x": {0: Dim("batch", min=2, max=9)}, "index": None, "scale": None}
    save(export(parameters_of(Net()).eval(), *given, dynamic_shapes=batch), f"{folder}/net.pt2", extra_files={"note": "written by torch"})
    save(export(parameters_of(Net()).train(), *given).run_decompositions(), f"{folder}/decomposed.pt2")
    save(export(Branch(), (torch.ones(2),)), f"{folder}/branch.pt2")
    save(export(Sized(), (torch.tensor([3.0, 0.0]),)), f"{folder}/sized.pt2")
    for kind in ("net", "decomposed", "branch", "sized"):
        without_traces(f"{folder}/{kind}.pt2")
