"""Protects what programs ask before they begin: torch.cuda, torch.backends, torch.accelerator and their company tell the truth, and
torch.distributed works over one process."""
import socket

import jax
import pytest
import torchshim as torch
import torchshim.distributed as dist

GPUS = [d for d in jax.devices() if d.platform == "gpu"]


def test_cuda_tells_what_jax_has():
    assert torch.cuda.is_available() == bool(GPUS) and torch.cuda.device_count() == len(GPUS)
    assert torch.backends.cuda.is_built() == bool(GPUS) and torch.accelerator.is_available() == (jax.devices()[0].platform != "cpu")
    assert not torch.backends.mps.is_available() and not torch.xpu.is_available()


@pytest.mark.skipif(bool(GPUS), reason="a GPU is there")
def test_without_a_gpu_nothing_counts_and_what_needs_one_raises():
    torch.cuda.manual_seed_all(0), torch.cuda.empty_cache(), torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.memory_allocated() == torch.cuda.max_memory_reserved() == 0 and torch.cuda.get_rng_state_all() == []
    for f in (torch.cuda.current_device, torch.cuda.get_device_name, torch.cuda.synchronize, torch.cuda.get_rng_state):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            f()
    with pytest.raises(TypeError, match="^type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled.$"):
        torch.cuda.FloatTensor(2)
    with pytest.raises(RuntimeError, match="^Cannot access accelerator device when none is available.$"):
        torch.ones(2).pin_memory()
    for f in (lambda: torch.device(0), lambda: torch.ones(2).to(0), lambda: torch.ones(2).cuda(1), lambda: torch.ones(2, device=0),
              lambda: torch.nn.Linear(1, 1).to(0)):
        with pytest.raises(RuntimeError, match="^Cannot access accelerator device when none is available.$"):
            f()
    with pytest.raises(RuntimeError, match="^torch.cuda.Stream requires CUDA support$"):
        torch.cuda.Stream()
    with pytest.raises(RuntimeError, match="^Tried to instantiate dummy base class Event$"):
        torch.cuda.Event(enable_timing=True)
    assert torch.accelerator.current_accelerator() is None


@pytest.mark.skipif(bool(GPUS), reason="a GPU is there")
def test_streams_and_events_of_the_cpu_wait_for_nothing_and_record_nothing():
    s, e = torch.Stream("cpu:0"), torch.Event(enable_timing=True)
    assert repr(s) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0" and s == torch.Stream() != torch.Stream("meta")
    assert repr(e) == "torch.Event device_type=cpu, device_index=-1, event_flag=1, event_id=0" and hash(s) == hash(torch.Stream())
    assert s.query() and e.query() and s.synchronize() is e.wait() is s.wait_event(e) is None and (s.device_index, s.device_type) == (-1, 0)
    with s as entered:
        assert entered is s
    for f in (e.record, s.record_event, lambda: s.wait_stream(s)):
        with pytest.raises(RuntimeError, match="^cpu backend doesn't support events.$"):
            f()
    with pytest.raises(ValueError, match="^Both events must be recorded before"):
        e.elapsed_time(torch.Event(enable_timing=True))
    with pytest.raises(ValueError, match="^Both events must be created with argument 'enable_timing=True'.$"):
        e.elapsed_time(torch.Event())
    for f in (torch.Stream, torch.Event):
        with pytest.raises(RuntimeError, match="^PyTorch is not linked with support for cuda devices$"):
            f("cuda")
    with pytest.raises(TypeError, match=r"^Stream\(\) got an unexpected keyword argument 'stream'$"):
        torch.Stream(stream=1)
    named = torch.Stream(stream_id=1, device_index=0, device_type=1)
    assert repr(named) == "torch.Stream device_type=cuda, device_index=0, stream_id=1"


def test_switches_are_kept_and_put_back():
    assert torch.backends.cudnn.benchmark is False
    with torch.backends.cudnn.flags(benchmark=True):
        assert torch.backends.cudnn.benchmark is True
    assert torch.backends.cudnn.benchmark is False
    with pytest.raises(AttributeError):
        torch.backends.cuda.matmul.no_such_switch = 1


def test_a_group_of_one(monkeypatch):
    assert dist.is_available() and not dist.is_initialized()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()
    with pytest.raises(ValueError, match="environment variable RANK expected"):
        dist.init_process_group("gloo")
    with pytest.raises(ValueError, match="environment variable MASTER_ADDR expected"):      # though nobody else is there
        dist.init_process_group("gloo", rank=0, world_size=1)
    monkeypatch.setenv("RANK", "0"), monkeypatch.setenv("WORLD_SIZE", "1")
    with pytest.raises(ValueError, match="environment variable MASTER_ADDR expected"):
        dist.init_process_group("gloo")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1"), monkeypatch.setenv("MASTER_PORT", str(port))
    dist.init_process_group("gloo")
    try:
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
        x, parts = torch.arange(3.), [torch.zeros(3)]
        dist.all_reduce(x, op=dist.ReduceOp.SUM), dist.all_gather(parts, x), dist.barrier()
        assert parts[0].tolist() == x.tolist() == [0, 1, 2] and dist.all_reduce(x, async_op=True).wait()
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
        assert list(model.state_dict()) == ["module.weight", "module.bias"]
        with model.no_sync():
            model(x).sum().backward()
        assert model.module.weight.grad.tolist() == [[0, 1, 2]]
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


@pytest.mark.parametrize("make, error, text", [
    (lambda: torch.device(1.5), TypeError, "device() received an invalid combination of arguments - got (float), but expected one of:\n"
     " * (torch.device device)\n      didn't match because some of the arguments have invalid types: (!float!)\n"
     " * (str type, int index = -1)\n"),
    (lambda: torch.device("cpu", "a"), TypeError, "device(): argument 'index' (position 2) must be int, not str"),
    (lambda: torch.device(torch.device("cpu"), 1), TypeError, "device(): argument 'type' (position 1) must be str, not torch.device"),
    (lambda: torch.device("cpu:0", 1), RuntimeError,
     "type (string) must not include an index because index was passed explicitly: cpu:0")])
def test_what_no_device_is_made_of(make, error, text):
    with pytest.raises(error) as refusal:
        make()
    assert str(refusal.value) == text
