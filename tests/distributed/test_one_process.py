"""What training scripts for many processes use, in the one process there is: meshes, named state dicts, checkpoint wrappers."""
import pytest

import torchshim as torch
from torchshim import distributed as dist
from torchshim import nn
from torchshim.distributed.algorithms._checkpoint.checkpoint_wrapper import (CheckpointImpl, apply_activation_checkpointing,
                                                                             checkpoint_wrapper)
from torchshim.distributed.checkpoint.state_dict import (StateDictOptions, get_model_state_dict, get_optimizer_state_dict,
                                                         set_model_state_dict, set_optimizer_state_dict)
from torchshim.distributed.elastic.multiprocessing.errors import record


@pytest.fixture
def alone():
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def test_a_mesh_of_one_process_begins_the_default_group(alone):
    mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    assert dist.is_initialized() and repr(mesh) == "DeviceMesh((dp=1, tp=1), 'cpu', stride=((), ()))"
    assert (mesh.size(), mesh.shape, mesh.get_coordinate(), mesh["dp"].get_local_rank()) == (1, (1, 1), (0, 0), 0)
    assert mesh.mesh.dtype == torch.int32 and mesh["dp"].get_group() is mesh.get_group("dp") and mesh == mesh["dp", "tp"]
    assert mesh.get_group(0).size() == 1 and len(mesh.get_all_groups()) == 2
    with pytest.raises(RuntimeError, match="Optional kwarg `mesh_dim` needs"):
        mesh.get_group()
    with pytest.raises(KeyError, match="Invalid mesh_dim_names"):
        mesh["pp"]
    with pytest.raises(RuntimeError, match="default world size 1, but found 2 ranks"):
        dist.init_device_mesh("cpu", (2,))
    with pytest.raises(RuntimeError, match="must be unique"):
        dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "a"))


@pytest.mark.parametrize("flat", [False, True])
def test_an_optimizers_state_by_names_goes_into_another(flat):
    model = nn.Sequential(nn.Linear(2, 3), checkpoint_wrapper(nn.Linear(3, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.25)
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    options = StateDictOptions(flatten_optimizer_state_dict=flat)
    state = get_optimizer_state_dict(model, optimizer, options=options)
    if flat:
        assert state["param_groups.1.bias.lr"] == 0.25 and "state.1.weight.exp_avg" in state
    else:
        assert state["param_groups"][0]["params"] == ["0.weight", "0.bias", "1.weight", "1.bias"] == list(state["state"])
    plain = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    other = torch.optim.Adam(plain.parameters())
    set_optimizer_state_dict(plain, other, state, options=options)
    assert other.param_groups[0]["lr"] == 0.25
    assert torch.equal(other.state[plain[1].weight]["exp_avg"], optimizer.state[model[1].weight]["exp_avg"])


def test_a_models_state_by_names():
    model = nn.Sequential(nn.Linear(2, 2), checkpoint_wrapper(nn.Linear(2, 2)))
    state = get_model_state_dict(model)
    assert list(state) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    set_model_state_dict(model, {name: torch.zeros_like(value) for name, value in state.items()})
    assert not any(p.any() for p in model.parameters())
    assert list(get_model_state_dict(model, submodules={model[1]}, options=StateDictOptions(keep_submodule_prefixes=False))) == ["weight", "bias"]
    model[0].requires_grad_(False)
    assert list(get_model_state_dict(model, options=StateDictOptions(ignore_frozen_params=True))) == ["1.weight", "1.bias"]
    with pytest.raises(ValueError, match="full_state_dict must be True"):
        get_model_state_dict(model, options=StateDictOptions(broadcast_from_rank0=True))


@pytest.mark.parametrize("kind", list(CheckpointImpl))
@pytest.mark.filterwarnings("ignore:Please specify CheckpointImpl")
def test_wrapped_modules_compute_the_same_and_are_not_seen(kind):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    x = torch.randn(2, 3, requires_grad=True)
    model(x).sum().backward()
    expected, names = [p.grad.clone() for p in model.parameters()], list(model.state_dict())
    model.zero_grad()
    apply_activation_checkpointing(model, lambda m: checkpoint_wrapper(m, kind), lambda m: isinstance(m, nn.Linear))
    model(x).sum().backward()
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), expected))
    assert list(model.state_dict()) == names and [n for n, _ in model[0].named_parameters()] == ["weight", "bias"]
    assert model[0].in_features == 3 and str(model[0]).startswith("CheckpointWrapper(\n  (_checkpoint_wrapped_module): Linear")
    assert str(model.load_state_dict(model.state_dict())) == "<All keys matched successfully>"


def test_errors_pass_record_as_they_are():
    @record
    def main(x):
        raise ValueError(x)

    with pytest.raises(ValueError, match="why"):
        main("why")
    assert main.__name__ == "main"
