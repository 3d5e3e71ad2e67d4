"""What libraries import of torch.distributed though they have one process: there, and honest about what it cannot do."""
import pytest

import torchshim as torch
from torchshim import distributed as dist
from torchshim.distributed import _functional_collectives as collectives
from torchshim.distributed import fsdp, rpc
from torchshim.distributed import tensor as sharded
from torchshim.distributed.algorithms.join import Join, Joinable, JoinHook
from torchshim.distributed.checkpoint import hf_storage
from torchshim.distributed.fsdp import wrap


@pytest.mark.parametrize("make, name", [
    (lambda: dist.pipelining.pipeline(None), "torch.distributed.pipelining.pipeline"),
    (lambda: dist.run.main(["--nnodes=2", "x.py"]), "torch.distributed.run on several machines"),
    (lambda: rpc.init_rpc("a", rank=1, world_size=2), "torch.distributed.rpc.init_rpc"),
    (lambda: hf_storage.HuggingFaceStorageWriter("x", save_distributed=True), "HuggingFaceStorageWriter with save_distributed"),
])
def test_what_needs_processes_says_so(make, name):
    with pytest.raises(NotImplementedError, match=name):
        make()


def test_nothing_is_an_instance():
    assert not isinstance(torch.ones(2), sharded.DTensor) and not isinstance(torch.nn.Linear(1, 1), fsdp.FullyShardedDataParallel)
    assert (dist.TCPStore | None) and rpc.is_available()


def test_reductions_are_named_as_in_torch():
    op = dist.ReduceOp
    assert repr(op.SUM) == "<RedOpType.SUM: 0>" and op.SUM is op.RedOpType.SUM and op.MAX == 4 and op(op.MIN) == op.MIN
    assert isinstance(op.SUM, op) and not isinstance(0, op)


def test_placements():
    s, r, p = sharded.Shard(1), sharded.Replicate(), sharded.Partial("avg")
    assert [str(x) for x in (s, r, p)] == ["S(1)", "R", "P(avg)"] and [repr(x) for x in (s, r, p)] == ["Shard(dim=1)", "Replicate()",
        "Partial(avg)"]
    assert s == sharded.Shard(1) != sharded.Shard(0) and len({s, sharded.Shard(1)}) == 1
    assert s.is_shard() and s.is_shard(1) and not s.is_shard(0) and r.is_replicate() and p.is_partial("avg") and not p.is_partial("sum")
    assert not (r.is_shard() or s.is_partial() or p.is_replicate())


def test_wrapping_policies():
    linear, layers = torch.nn.Linear(2, 2), torch.nn.ModuleList()
    by_class = wrap.ModuleWrapPolicy([torch.nn.Linear])
    assert by_class(linear, False) and not by_class(layers, False) and by_class(layers, True)
    assert not wrap.transformer_auto_wrap_policy(layers, False, 0, {torch.nn.Linear})
    size = wrap.size_based_auto_wrap_policy
    assert size(linear, False, 10, 10) and not size(linear, False, 9, 10) and not size(layers, False, 10, 10) and size(layers, True, 10, 10)
    assert not size(torch.nn.MultiheadAttention(2, 1), True, 10, 10)
    assert wrap._or_policy(linear, False, 0, [lambda **k: False, wrap.always_wrap_policy])


@pytest.fixture
def alone(tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_functional_collectives_give_copies(alone):
    x = torch.arange(3.0)
    made = [collectives.all_reduce(x, "sum", [0]), collectives.all_gather_tensor(x, 0, dist.group.WORLD), collectives.broadcast(x, 0, [0]),
            collectives.reduce_scatter_tensor(x, "sum", 0, [0]), collectives.all_to_all_single(x, None, None, [0])]
    assert all([torch.equal(collectives.wait_tensor(y), x) and y is not x for y in made])


def test_join_runs_its_hooks_once(alone):
    class Counting(Joinable):
        join_device, join_process_group = torch.device("cpu"), dist.group.WORLD

        def __init__(self):
            super().__init__()
            self.calls = []

        def join_hook(self, **kwargs):
            hook = JoinHook()
            hook.post_hook = lambda last: self.calls.append((last, kwargs))
            return hook
    a = Counting()
    with Join([a], weight=2):
        Join.notify_join_context(a)
    with Join([a], enable=False):
        pass
    assert a.calls == [(True, {"weight": 2})]
    with pytest.raises(ValueError, match="at least one"):
        Join([])


def test_a_context_for_tensors_beside_dtensors_changes_nothing():
    from torchshim.distributed._tensor.experimental import implicit_replication
    with implicit_replication():
        assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_names_that_only_more_processes_need_import_and_say_so():
    from torchshim.distributed.checkpoint import QuantizedHuggingFaceStorageReader
    from torchshim.distributed.elastic.agent.server import WorkerSpec
    from torchshim.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
    from torchshim.distributed.pipelining import PipelineStage, schedules
    from torchshim.distributed.tensor.experimental import context_parallel
    assert schedules.ScheduleGPipe is dist.pipelining.ScheduleGPipe
    for f in (QuantizedHuggingFaceStorageReader, WorkerSpec, LocalElasticAgent, PipelineStage, schedules.get_schedule_class,
              context_parallel, dist.ProcessGroupGloo):
        with pytest.raises(NotImplementedError, match=f"torchshim: torch.distributed.*{f.__name__}"):
            f()


def test_dimensions_of_a_data_parallel_mesh():
    dims = fsdp.DataParallelMeshDims(shard="dp")
    assert (dims.shard, dims.replicate, dims.shard_names, dims.replicate_names) == ("dp", None, ("dp",), ())
    with pytest.raises(ValueError, match="At least one of"):
        fsdp.DataParallelMeshDims()


def test_inner_names_that_a_trainer_imports():
    # composer imports these before it knows whether it will cut anything; torch cleans names so
    from torchshim.distributed._tensor.device_mesh import init_device_mesh
    from torchshim.distributed.checkpoint.optimizer import load_sharded_optimizer_state_dict
    from torchshim.distributed.checkpoint.utils import CheckpointException
    from torchshim.distributed.fsdp._common_utils import clean_tensor_name
    from torchshim.distributed.fsdp._flat_param import FlatParamHandle
    from torchshim.distributed.fsdp._runtime_utils import _post_backward_final_callback
    from torchshim.profiler._memory_profiler import _CATEGORY_TO_INDEX, MemoryProfileTimeline
    assert init_device_mesh is dist.device_mesh.init_device_mesh and issubclass(CheckpointException, BaseException)
    assert [clean_tensor_name(n) for n in ("_fsdp_wrapped_module.a._checkpoint_wrapped_module.b", "a._fsdp_wrapped_module._flat_param",
                                           "_orig_mod.x")] == ["a.b", "a._flat_param", "_orig_mod.x"]
    assert [c.value for c in _CATEGORY_TO_INDEX if c] == [6, 7, 1, 2, 3, 4, 5]
    for refused in (load_sharded_optimizer_state_dict, FlatParamHandle, _post_backward_final_callback, MemoryProfileTimeline):
        with pytest.raises(NotImplementedError):
            refused(None)
