"""Protects what of torch.distributed's larger parts works in one process: rpc to oneself, safetensors checkpoints, hooks on gradients,
torchrun."""
import json
import sys

import pytest

import torchshim as torch
import torchshim.distributed.checkpoint as dcp
from torchshim import distributed as dist
from torchshim.distributed import rpc, run
from torchshim.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, default_hooks, register_ddp_comm_hook
from torchshim.nn.parallel import DistributedDataParallel


def add(x, y=1):
    return x + y


def fails():
    raise ValueError("no")


@pytest.fixture
def group(monkeypatch):
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "29511")
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_rpc_to_oneself():
    with pytest.raises(RuntimeError, match="RPC has not been initialized"):
        rpc.rpc_sync("worker", add, args=(1,))
    rpc.init_rpc("worker", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(num_worker_threads=4))
    try:
        assert rpc.rpc_sync("worker", add, args=(torch.ones(2), 3)).tolist() == [4, 4] and rpc.rpc_sync(0, add, (1,), {"y": 4}) == 5
        assert rpc.rpc_async("worker", add, args=(1, 2)).wait() == 3 and rpc.remote("worker", add, args=(1, 2)).to_here() == 3
        assert repr(rpc.get_worker_info()) == "WorkerInfo(id=0, name=worker)"
        held = rpc.RRef(torch.ones(2))
        assert held.rpc_sync().sum() == 2 and held.remote().sum().to_here() == 2 and held.rpc_async().mean().wait() == 1 and held.is_owner()
        with pytest.raises(ValueError, match=r"On WorkerInfo\(id=0, name=worker\):\nValueError\('no'\)"):
            rpc.rpc_sync("worker", fails)
        with pytest.raises(RuntimeError, match="name:worker,rank:0 could not find destination name nope"):
            rpc.rpc_sync("nope", add)
        with pytest.raises(RuntimeError, match="RPC is already initialized"):
            rpc.init_rpc("worker", rank=0, world_size=1)
    finally:
        rpc.shutdown()


def test_safetensors_checkpoints(tmp_path):
    held = {"a": torch.arange(6.0).view(2, 3), "b": {"c": torch.ones(2, dtype=torch.bfloat16)}, "i": torch.tensor([1, 2])}
    dcp.save(held, storage_writer=dcp.HuggingFaceStorageWriter(path=str(tmp_path)))
    raw = (tmp_path / "model-00001-of-00001.safetensors").read_bytes()
    n = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + n])
    assert n % 8 == 0 and len(raw) == 8 + n + 44 and header["i"] == {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]}
    assert header["b.c"] == {"dtype": "BF16", "shape": [2], "data_offsets": [40, 44]}
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["metadata"] == {"total_size": 44} and list(index["weight_map"]) == ["a", "b.c", "i"]
    found = {"a": torch.zeros(2, 3), "b": {"c": torch.zeros(2, dtype=torch.bfloat16)}, "i": torch.tensor([0, 0])}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(path=str(tmp_path)))
    assert found["a"].tolist() == held["a"].tolist() and found["b"]["c"].tolist() == [1, 1] and found["i"].tolist() == [1, 2]
    other = tmp_path / "two"
    dcp.save({"x": torch.ones(2), "y": torch.zeros(3)}, storage_writer=dcp.HuggingFaceStorageWriter(other, {"x": 1, "y": 2}))
    assert sorted(p.name for p in other.iterdir()) == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                                                       "model.safetensors.index.json"]
    with pytest.raises(dcp.api.CheckpointException, match="zz"):
        dcp.load({"zz": torch.zeros(1)}, storage_reader=dcp.HuggingFaceStorageReader(other))


def test_gradients_pass_through_hooks(group):
    model = DistributedDataParallel(torch.nn.Linear(2, 1))
    x = torch.tensor([[1.0001, 2.0003]])
    model(x).sum().backward()
    exact = model.module.weight.grad.clone()
    assert exact.tolist() == x.tolist()
    model.zero_grad()
    register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, model)
    model(x).sum().backward()
    assert model.module.weight.grad.tolist() == x.half().float().tolist() and model.module.weight.grad.dtype is torch.float32
    with pytest.raises(RuntimeError, match="register_comm_hook or register_builtin_comm_hook can only be called once."):
        model.register_comm_hook(None, default_hooks.allreduce_hook)
    seen = []

    def hook(state, bucket):
        seen.append((state, bucket.index(), bucket.is_last(), [tuple(p.shape) for p in bucket.parameters()]))
        return default_hooks.allreduce_hook(None, bucket).then(lambda done: done.value() * 2)
    second = DistributedDataParallel(torch.nn.Linear(2, 1))
    second.register_comm_hook("state", hook)
    second(x).sum().backward()
    assert second.module.weight.grad.tolist() == (2 * x).tolist() and seen == [("state", 0, True, [(1, 2), (1,)])]


def test_subgroups_by_enumeration(group):
    mine, made = dist.new_subgroups_by_enumeration([[0]])
    assert made == [mine]
    with pytest.raises(ValueError, match="The arg 'ranks_per_subgroup_list' cannot be empty"):
        dist.new_subgroups_by_enumeration([])


def test_a_script_runs_under_torchrun(tmp_path, capsys):
    script = tmp_path / "train.py"
    script.write_text("import os, sys; print(os.environ['RANK'], os.environ['WORLD_SIZE'], sys.argv[1:], __name__)")
    before = list(sys.argv)
    run.main(["--standalone", "--nproc_per_node=1", str(script), "--lr", "1"])
    assert capsys.readouterr().out == "0 1 ['--lr', '1'] __main__\n" and sys.argv == before
    args = run.get_args_parser().parse_args(["x.py", "-a"])
    assert (args.nnodes, args.rdzv_backend, args.training_script_args, args.max_restarts) == ("1:1", "static", ["-a"], 0)


def test_small_names():
    from torchshim.ao.nn.quantized import FloatFunctional
    from torchshim.numa.binding import AffinityMode, NumaOptions
    from torchshim.utils._ordered_set import OrderedSet
    s = OrderedSet([3, 1, 3])
    s.add(2)
    assert repr(s) == "OrderedSet([3, 1, 2])" and list(s | {9}) == [3, 1, 2, 9] and s.pop() == 2 and s == {1, 3} and 1 in s
    assert list(s.union([5], [6])) == [3, 1, 5, 6] and list(s - {1}) == [3] and list(s.intersection([1])) == [1]
    f = FloatFunctional()
    assert (f.add(torch.ones(1), 1).item() == 2 and f.add_relu(torch.ones(1), -3).item() == 0
            and torch.nn.quantized.FloatFunctional is FloatFunctional)
    assert repr(f) == "FloatFunctional(\n  (activation_post_process): Identity()\n)"
    assert AffinityMode("node") is AffinityMode.NODE and NumaOptions(AffinityMode.NODE).should_fall_back_if_binding_fails is False
