"""Protects what of torch.distributed has a meaning in one process: gradients in contexts, averages of models, metrics, settings."""
import pytest

import torchshim as torch
from torchshim import distributed as dist
from torchshim.distributed import autograd as contexts
from torchshim.distributed import rpc
from torchshim.distributed.algorithms import Join
from torchshim.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, post_localSGD_hook, register_ddp_comm_hook
from torchshim.distributed.algorithms.model_averaging import averagers, utils
from torchshim.distributed.elastic import metrics
from torchshim.distributed.elastic.utils import macros
from torchshim.distributed.elastic.utils.distributed import get_free_port
from torchshim.distributed.launcher import LaunchConfig, elastic_launch
from torchshim.distributed.optim import DistributedOptimizer, PostLocalSGDOptimizer


@pytest.fixture
def group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_gradients_gather_in_a_context():
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    with contexts.context() as here:
        contexts.backward(here, [(x * y).sum()])
        contexts.backward(here, [x.sum()])
        found = contexts.get_gradients(here)
        assert found[x].tolist() == [4, 4] and found[y].tolist() == [1, 1] and x.grad is None
        with pytest.raises(RuntimeError, match="is not a scalar, all roots need to be scalar"):
            contexts.backward(here, [x * y])
    with pytest.raises(RuntimeError, match=f"Could not find autograd context with id: {here}"):
        contexts.get_gradients(here)


def test_an_optimizer_of_remote_parameters():
    rpc.init_rpc("worker", rank=0, world_size=1)
    try:
        x = torch.ones(2, requires_grad=True)
        opt = DistributedOptimizer(torch.optim.SGD, [rpc.RRef(x)], lr=0.5)
        with contexts.context() as here:
            contexts.backward(here, [(2 * x).sum()])
            opt.step(here)
        assert x.tolist() == [0, 0] and x.grad is None
    finally:
        rpc.shutdown()


def test_averages_of_models(group):
    p, q = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.zeros(1))
    p.grad = torch.ones(2)
    assert utils.get_params_to_average([p, q]) == [p] and utils.get_params_to_average([{"params": [p, q]}]) == [p]
    averager = averagers.PeriodicModelAverager(period=2, warmup_steps=1)
    opt = PostLocalSGDOptimizer(torch.optim.SGD([p], lr=1.0), averager)
    opt.step()
    assert p.tolist() == [0, 0] and averager.step == 1 and opt.state_dict()["step"] == 1
    with pytest.raises(ValueError, match="Arg ``period`` must be a positive value."):
        averagers.PeriodicModelAverager(period=0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    register_ddp_comm_hook(DDPCommHookType.POST_LOCALSGD, model, post_localSGD_hook.PostLocalSGDState(None, dist.group.WORLD, 1))
    for _ in range(2):
        model(torch.ones(1, 2)).sum().backward()
    assert model.module.weight.grad.tolist() == [[2, 2]]
    with pytest.raises(ValueError, match="at least one joinable"):
        Join([])


def test_metrics_and_settings():
    seen = []

    class Handler(metrics.MetricHandler):
        def emit(self, metric_data):
            seen.append(metric_data[1:])
    metrics.configure(Handler(), "mine")
    metrics.put_metric("a", 1, "mine")
    metrics.put_metric("b", 1)

    @metrics.prof(group="mine")
    def work():
        return 3
    assert work() == 3 and seen[0] == ("mine", "a", 1) and [s[1].rsplit(".", 1)[1] for s in seen[1:]] == ["success", "ms"]
    assert macros.substitute(["--rank", macros.local_rank], "2") == ["--rank", "2"] and get_free_port() > 0
    assert dist.config.use_torchcomms is False and dist.BarrierOptions().device_ids == dist.BarrierOptions.device_ids == []
    with pytest.raises(NotImplementedError, match="elastic_launch on several machines"):
        elastic_launch(LaunchConfig(1, 2, 1), print)
    assert repr(dist.BackendConfig("cpu:gloo,cuda:nccl")) == "cpu:gloo,cuda:nccl" and dist.get_debug_level() is dist.DebugLevel.OFF
    with pytest.raises(RuntimeError, match="No rendezvous handler for foo://"):
        dist.rendezvous("foo://x")


def test_what_calls_take_when_nothing_is_said_is_where_libraries_read_it():
    assert rpc.api.UNSET_RPC_TIMEOUT == rpc.constants.UNSET_RPC_TIMEOUT == -1.0 and rpc.constants.DEFAULT_RPC_TIMEOUT_SEC == 60.0
    assert rpc.api.rpc_sync is rpc.rpc_sync and rpc.rpc_sync.__module__.endswith("distributed.rpc.api")


def test_what_needs_a_worker_says_so_before_it_runs():
    """Libraries decorate calls of their own with torch's check."""
    @rpc.api._require_initialized
    def answer(x, *, y=1):
        """Adds."""
        return x + y
    assert answer.__doc__ == "Adds."
    with pytest.raises(RuntimeError, match="^RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.$"):
        answer(1)
