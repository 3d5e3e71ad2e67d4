"""FullyShardedDataParallel in one process: flat parameters, names of state dicts and optimizer states,
and the numbers of an unwrapped module."""
import copy

import pytest

import torchshim as torch
from torchshim import distributed as dist
from torchshim import nn
from torchshim.distributed.fsdp import FullyShardedDataParallel as FSDP
from torchshim.distributed.fsdp import MixedPrecision, StateDictType
from torchshim.distributed.fsdp.wrap import CustomPolicy, ModuleWrapPolicy, enable_wrap, wrap

pytestmark = pytest.mark.filterwarnings("ignore:FSDP", "ignore:When using ``NO_SHARD``")
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def alone():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 4)
        self.register_buffer("k", torch.ones(2))

    def forward(self, x):
        self.seen = self.a.weight.dtype, x.dtype, self.k.dtype
        return x + self.b(torch.relu(self.a(x)))


def net():
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.Linear(4, 2))


def train(model, steps=3):
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.1), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.linspace(-1, 1, 12).view(3, 4)).float().square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, optimizer


WRAPS = [{}, {"use_orig_params": True}, {"auto_wrap_policy": ModuleWrapPolicy({Block})},
         {"auto_wrap_policy": CustomPolicy(lambda m: isinstance(m, nn.Linear)), "use_orig_params": True}]


@pytest.mark.parametrize("options", WRAPS)
def test_it_trains_as_without_and_its_states_go_into_another(options):
    made, plain = FSDP(net(), device_id=CPU, **options), net()
    losses, optimizer = train(made)
    assert losses == pytest.approx(train(plain)[0], rel=1e-6)
    states = made.state_dict()
    assert list(states) == list(plain.state_dict()) and states["0.a.weight"].shape == (8, 4)
    optimizers = FSDP.optim_state_dict(made, optimizer)
    assert optimizers["state"]["1.b.weight"]["exp_avg"].shape == (4, 8)
    assert sorted(optimizers["param_groups"][0]["params"]) == sorted(n for n, _ in plain.named_parameters())
    other = FSDP(net(), device_id=CPU, **options)
    assert str(other.load_state_dict(states)) == "<All keys matched successfully>"
    again = torch.optim.Adam(other.parameters(), lr=0.1)
    if "use_orig_params" in options:           # else optimizers share what is loaded, as in torch; flat states are made anew
        optimizers = copy.deepcopy(optimizers)
    again.load_state_dict(FSDP.optim_state_dict_to_load(other, again, optimizers))
    for model, one in ((made, optimizer), (other, again)):
        one.zero_grad()
        model(torch.ones(1, 4)).sum().backward()
        one.step()
    assert all(torch.equal(x, y) for x, y in zip(made.state_dict().values(), other.state_dict().values()))


def test_flat_parameters_and_names():
    made = FSDP(net(), device_id=CPU, auto_wrap_policy=ModuleWrapPolicy({Block}))
    assert [(n, tuple(p.shape)) for n, p in made.named_parameters()] == [
        ("_fsdp_wrapped_module._flat_param", (10,)), ("_fsdp_wrapped_module.0._fsdp_wrapped_module._flat_param", (76,)),
        ("_fsdp_wrapped_module.1._fsdp_wrapped_module._flat_param", (76,))]
    assert len(FSDP.fsdp_modules(made)) == 3 and FSDP.fsdp_modules(made, root_only=True) == [made] and made[2].weight.shape == (2, 4)
    with FSDP.summon_full_params(made):
        assert [n for n, _ in made.named_parameters()] == [n for n, _ in net().named_parameters()]
        with torch.no_grad():
            made.module[2].bias.fill_(7)
    assert made(torch.zeros(1, 4)).shape == (1, 2) and made.state_dict()["2.bias"].tolist() == [7., 7.]
    made(torch.ones(1, 4)).sum().backward()
    with made.no_sync():
        made(torch.ones(1, 4)).sum().backward()
    assert (made.clip_grad_norm_(1.).item() > 1
            and torch.nn.utils.get_total_norm([p.grad for p in made.parameters()]).item() == pytest.approx(1))


@pytest.mark.parametrize("original", [False, True])
def test_mixed_precision(original):
    made = FSDP(net(), device_id=CPU, use_orig_params=original,
                mixed_precision=MixedPrecision(torch.bfloat16, torch.float32, torch.bfloat16))
    out = made(torch.ones(1, 4))
    assert out.dtype == torch.bfloat16 and made[0].seen == (torch.bfloat16,) * 3
    out.float().sum().backward()
    assert all(p.dtype == p.grad.dtype == torch.float32 for p in made.parameters())
    assert {t.dtype for t in made.state_dict().values()} == {torch.float32}


def test_settings_and_wrap():
    with enable_wrap(wrapper_cls=FSDP, device_id=CPU):
        made = wrap(nn.Linear(2, 2))
    assert type(made) is FSDP and type(wrap(nn.ReLU())) is nn.ReLU
    with FSDP.state_dict_type(made, StateDictType.SHARDED_STATE_DICT):
        assert FSDP.get_state_dict_type(made).state_dict_type is StateDictType.SHARDED_STATE_DICT
    assert FSDP.get_state_dict_type(made).state_dict_type is StateDictType.FULL_STATE_DICT
    with pytest.raises(RuntimeError, match="FSDP needs a non-CPU accelerator device, but no accelerator device is detected."):
        FSDP(nn.Linear(1, 1))
    with pytest.warns(UserWarning, match="FSDP is switching to use `NO_SHARD` instead of ShardingStrategy.FULL_SHARD since the world size "
                                         "is 1."):
        FSDP(nn.Linear(1, 1), device_id=CPU)
