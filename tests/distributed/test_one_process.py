"""What torch.distributed's differentiable collectives and sharded optimizer are in a group of one process."""
import pytest

import torchshim as torch
from torchshim import distributed as dist
from torchshim.distributed import nn as collectives
from torchshim.distributed.optim import ZeroRedundancyOptimizer


@pytest.fixture
def alone(monkeypatch, tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_gradients_flow_through_collectives(alone):
    x = torch.ones(2, requires_grad=True)
    made = [collectives.all_reduce(x), *collectives.all_gather(x), collectives.broadcast(x, 0), collectives.reduce(x, 0)]
    sum(made).sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_the_sharded_optimizer_is_the_optimizer(alone):
    def losses(make):
        torch.manual_seed(0)
        net = torch.nn.Linear(3, 2)
        optimizer, out = make(net.parameters()), []
        for _ in range(3):
            loss = net(torch.ones(2, 3)).pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            out.append(loss.item())
        return out, optimizer
    mine, optimizer = losses(lambda p: ZeroRedundancyOptimizer(p, torch.optim.Adam, lr=0.1))
    assert mine == losses(lambda p: torch.optim.Adam(p, lr=0.1))[0]
    optimizer.consolidate_state_dict()
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    assert optimizer.param_groups is optimizer.optim.param_groups and state["param_groups"][0]["lr"] == 0.1


def test_without_a_group_it_says_so():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        collectives.all_reduce(torch.ones(2))
