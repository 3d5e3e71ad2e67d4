"""How often JAX traces: each trace of an operator's body takes milliseconds, which is most of what a model costs that was never seen."""
import subprocess
import sys

import torchshim as torch

MODEL = """
import torchshim as torch
from torchshim import nn
from torchshim.nn import functional as F
model = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 10, 3, 2), nn.BatchNorm2d(10), nn.GELU(),
                      nn.Flatten(), nn.Linear(90, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    loss = F.cross_entropy(model(torch.randn(4, 3, 8, 8)), torch.tensor([0, 1, 2, 3]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
    print(torch.stats()["traces"])
"""


def traces():
    return torch.stats()["traces"]


def test_an_operator_is_traced_once_and_its_pullback_once():
    """Running the gradient needs no trace of its own: it is a part of the pullback's."""
    x = torch.linspace(-0.9, 0.9, 24).reshape(1, 2, 1, 3, 1, 2, 2).requires_grad_()
    ct = torch.ones(1, 2, 1, 3, 1, 2, 2)
    ct.numpy()
    before = traces()
    gradient, = torch.autograd.grad(torch.special.erfinv(x), x, ct)
    gradient.numpy()
    assert traces() - before <= 2


def test_a_model_never_seen():
    """A second step traces nothing, and nothing warns."""
    said = subprocess.run([sys.executable, "-W", "error", "-c", MODEL], capture_output=True, text=True, check=True).stdout.split()
    first, second = map(int, said)
    assert second == first <= 36


def test_updates_of_parameters_of_all_shapes_share_what_is_traced():
    """The elements of a large parameter are in a row, as those of small ones are."""
    said = []
    for ranks in ((1, 2), (1, 2, 3, 4, 5, 6)):
        parameters = [torch.nn.Parameter(torch.ones(*[2] * (rank - 1), 5000)) for rank in ranks]
        optimizer = torch.optim.Adamax(parameters, lr=0.5)
        for _ in range(2):
            for p in parameters:
                p.grad = torch.ones_like(p).transpose(0, -1).contiguous().transpose(0, -1)
                p.grad.sum().item()
            before = traces()
            optimizer.step()
            assert all([p.tolist() for p in parameters])
            said.append(traces() - before)
        assert all([p.shape == p.grad.shape and abs(p - 0.0).max().item() < 1e-4 for p in parameters])
    assert said[2] == said[3] == 0


def test_attention_on_keys_that_grow_is_not_traced():
    """A model that makes a text attends to one key more for each word."""
    x = torch.linspace(-1, 1, 2 * 4 * 40 * 8).reshape(2, 4, 40, 8)
    torch.nn.functional.scaled_dot_product_attention(x[:, :, :1], x[:, :2, :3], x[:, :2, :3], scale=0.3, enable_gqa=True).numpy()
    before = traces()
    for n in range(4, 40):
        torch.nn.functional.scaled_dot_product_attention(x[:, :, :1], x[:, :2, :n], x[:, :2, :n], scale=0.3, enable_gqa=True).numpy()
    assert traces() == before


def test_one_shape_of_ones_is_traced_twice_however_it_lies():
    """The last column of a table that grows has one shape, and strides that differ each time."""
    for n in range(2, 5):
        (torch.erfinv(torch.zeros(1, n)[:, -1:]) + 0).numpy()
    before = traces()
    for n in range(5, 25):
        (torch.erfinv(torch.zeros(1, n)[:, -1:]) + 0).numpy()
    assert traces() == before
