"""fully_shard in one process: DTensors between steps, plain Parameters within, and the numbers of a module that is not sharded."""
import copy

import pytest

import torchshim as torch
from torchshim import distributed as dist
from torchshim import nn
from torchshim.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torchshim.distributed.checkpoint.state_dict import (StateDictOptions, get_model_state_dict, get_optimizer_state_dict,
                                                               set_model_state_dict)
from torchshim.distributed.device_mesh import init_device_mesh
from torchshim.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method
from torchshim.distributed.tensor import DTensor, Shard
from torchshim.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


@pytest.fixture(autouse=True)
def alone():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.seen = nn.Linear(4, 8), nn.Linear(8, 4), []

    def forward(self, x):
        self.seen.append((type(self.a.weight), self.a.weight.dtype, x.dtype))
        return x + self.b(torch.relu(self.a(x)))

    def twice(self, x):
        return self.forward(self.forward(x))


def net():
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.Linear(4, 2))


def sharded(model, **kwargs):
    for block in model[:2]:
        fully_shard(block, **kwargs)
    return fully_shard(model, **kwargs)


def train(model, steps=3):
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=0.1), []
    for k in range(steps):
        loss = model(torch.linspace(-1, 1, 12).view(3, 4)).float().square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, optimizer


def test_it_trains_as_without():
    made = sharded(net())
    assert type(made).__name__ == "FSDPSequential" and isinstance(made, FSDPModule) and type(made[0]).__name__ == "FSDPBlock"
    assert all(type(p) is DTensor and p.placements == (Shard(0),) for p in made.parameters())
    assert train(made)[0] == train(net())[0]
    assert made[0].seen[0] == (nn.Parameter, torch.float32, torch.float32) and type(made[0].a.weight) is DTensor


def test_mixed_precision_computes_in_one_dtype_and_keeps_another():
    made = sharded(net(), mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    out = made(torch.ones(2, 4))
    assert out.dtype == torch.bfloat16 and made[1].seen[0] == (nn.Parameter, torch.bfloat16, torch.bfloat16)
    out.float().sum().backward()
    assert all(p.dtype == p.grad.dtype == torch.float32 for p in made.parameters())
    assert (fully_shard(nn.Linear(4, 2), mp_policy=MixedPrecisionPolicy(torch.bfloat16, output_dtype=torch.float64))(torch.ones(4)).dtype
            == torch.float64)


def test_gradients_gather_until_they_are_wanted():
    made, plain, x = sharded(net()), net(), torch.ones(2, 4)
    for k in range(2):
        made.set_requires_gradient_sync(k == 1)
        made(x).sum().backward()
        assert (made[0].a.weight.grad is None) == (k == 0)
        plain(x).sum().backward()
    assert torch.equal(made[0].a.weight.grad.full_tensor(), plain[0].a.weight.grad)


def test_recomputed_and_parallel_parts_and_state_dicts():
    mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    made = net()
    for k in range(2):
        parallelize_module(made[k], mesh["tp"], {"a": ColwiseParallel(), "b": RowwiseParallel()})
        made[k] = fully_shard(checkpoint_wrapper(made[k]), mesh=mesh["dp"])
    fully_shard(made, mesh=mesh["dp"])
    weight = next(made.parameters())
    assert str(weight._spec) == "Spec(f32[8, 4](S(0)S(0)))" and weight.device_mesh.mesh_dim_names == ("dp", "tp")
    losses, optimizer = train(made)
    assert losses == pytest.approx(train(net())[0], rel=1e-6)           # the norm of the gradients adds up in another order
    whole = StateDictOptions(full_state_dict=True)
    states = get_model_state_dict(made, options=whole)
    assert {type(x) for x in states.values()} == {torch.Tensor} and {type(x) for x in made.state_dict().values()} == {DTensor}
    assert type(get_optimizer_state_dict(made, optimizer, options=whole)["state"]["0.a.weight"]["exp_avg"]) is torch.Tensor
    set_model_state_dict(made, {k: torch.zeros_like(x) for k, x in states.items()}, options=whole)
    assert made(torch.ones(1, 4)).tolist() == [[0., 0.]] and type(next(made.parameters())) in (nn.Parameter, DTensor)


def test_methods_run_as_forward_does():
    made = fully_shard(Block())
    register_fsdp_forward_method(made, "twice")
    plain = Block()
    plain.load_state_dict(get_model_state_dict(made, options=StateDictOptions(full_state_dict=True)))
    assert torch.equal(made.twice(torch.ones(4)), plain.twice(torch.ones(4)))
    made.reshard()
    assert type(made.a.weight) is DTensor and made.unshard() is None and type(made.a.weight) is nn.Parameter
    with pytest.raises(ValueError, match="does not have a method nowhere"):
        register_fsdp_forward_method(made, "nowhere")


def test_what_cannot_be_sharded():
    with pytest.raises(ValueError, match="does not support containers that do not implement forward: ModuleList"):
        fully_shard(nn.ModuleList())
    scalar = nn.Module()
    scalar.p = nn.Parameter(torch.tensor(1.))
    with pytest.raises(ValueError, match="doesn't support scalar parameters. Change p to a 1D tensor"):
        fully_shard(scalar)
    with pytest.raises(AssertionError, match="FSDP does not support deepcopy"):
        copy.deepcopy(fully_shard(nn.Linear(1, 1)))
    with torch.device("meta"):
        late = nn.Linear(3, 4)
    fully_shard(late).to_empty(device="cpu")
    late.reset_parameters()
    assert late(torch.ones(3)).shape == (4,) and not late.weight.is_meta


@pytest.mark.parametrize("given, rests", [(True, True), (False, False), (1, False), (None, True)])
def test_parameters_rest_after_forward(given, rests):
    """A block's parameters between forward and backward; the group size 1 means that they stay whole, not True."""
    block = net()[0]
    model = fully_shard(nn.Sequential(fully_shard(block, reshard_after_forward=given)))
    model(torch.ones(2, 4))
    assert isinstance(block.a.weight, DTensor) is rests


def test_what_would_never_be_called_is_refused():
    model = fully_shard(nn.Linear(2, 2))
    for name in ("set_all_reduce_hook", "set_custom_all_gather", "set_custom_reduce_scatter"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(model, name)(lambda *_: None)


def test_ignored_parameters_may_be_a_list_or_an_iterator():
    model = nn.Linear(2, 2)
    fully_shard(model, ignored_params=iter([model.bias]))
    assert isinstance(model.weight, DTensor) and not isinstance(model.bias, DTensor)
