"""Protects names that programs rarely use: they answer truthfully where there is no such device, work where they can,
and else say what is missing."""
import datetime
import json
import typing

import pytest
import torchshim as torch
from torchshim import monitor
from torchshim.autograd.profiler_util import EventList, FunctionEvent


def test_other_devices_answer_as_torch_without_them():
    assert torch.xpu.get_rng_state_all() == [] and torch.mtia.memory_allocated() == 0 and not torch.mps.profiler.is_metal_capture_enabled()
    assert torch.backends.cusparselt.version() is None and torch.cpu.get_capabilities()["architecture"]
    assert not torch.cuda.tunable.is_enabled() and torch.cuda.host_memory_stats() == {} and torch.cuda.cudaStatus.ERROR_NOT_READY == 34
    with pytest.raises(RuntimeError, match="CUDA graphs"):
        torch.cuda.CUDAGraph()
    with pytest.raises(TypeError, match="type torch.cuda.sparse.FloatTensor not available"):
        torch.cuda.sparse.FloatTensor()
    if not torch.cuda.is_available():
        for call in (torch.cuda.profiler.start, torch.cuda.FloatStorage):
            with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
                call()
        with pytest.raises(RuntimeError, match="Tried to instantiate dummy base class MemPool"):
            torch.cuda.MemPool()
        with pytest.raises(ModuleNotFoundError, match="nvidia-ml-py"):
            torch.cuda.temperature()


def test_packed_sequences_attend_to_themselves():
    torch.manual_seed(0)
    q, k, v = [torch.randn(7, 2, 4, requires_grad=True) for _ in range(3)]
    ends = torch.tensor([0, 3, 7], dtype=torch.int32)
    from torchshim.nn.attention.varlen import AuxRequest, varlen_attn
    F = torch.nn.functional
    for window, causal in (((-1, -1), False), ((-1, 0), True)):
        out, lse = varlen_attn(q, k, v, ends, ends, 4, 4, window_size=window, return_aux=AuxRequest(lse=True))
        want = torch.cat([F.scaled_dot_product_attention(*[x[s:e].transpose(0, 1) for x in (q, k, v)], is_causal=causal).transpose(0, 1)
                          for s, e in ((0, 3), (3, 7))])
        torch.testing.assert_close(out, want)
        assert lse.shape == (2, 7) and torch.autograd.grad(out.sum(), q, retain_graph=True)[0].isfinite().all()
    with pytest.raises(ValueError, match="Try setting enable_gqa=True for GQA"):
        varlen_attn(q, k[:, :1], v[:, :1], ends, ends, 4, 4)


def test_statistics_become_events():
    seen = []
    handle = monitor.register_event_handler(seen.append)
    try:
        s = monitor.Stat("s", [monitor.Aggregation.SUM, monitor.Aggregation.COUNT], datetime.timedelta(days=365), 3)
        for x in range(5):
            s.add(x)
        assert s.count == 0 and s.get() == {monitor.Aggregation.SUM: 3.0, monitor.Aggregation.COUNT: 3.0}
        assert seen[0].name == "torch.monitor.Stat" and seen[0].data == {"s.sum": 3.0, "s.count": 3.0}
        monitor.log_event(monitor.Event("e", datetime.datetime.now(), {"b": True}))
        assert seen[1].data == {"b": 1.0}
    finally:
        monitor.unregister_event_handler(handle)
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        monitor.Event("e", 1, {})


def test_events_sum_and_print(tmp_path):
    events = EventList([FunctionEvent(0, "a", 1, 0, 1000, stack=["f.py(1): g"], input_shapes=[]),
                        FunctionEvent(1, "b", 1, 100, 300, stack=[], input_shapes=[])])
    events._build_tree()
    assert events[0].self_cpu_time_total == 800 and events[1].cpu_parent is events[0]
    assert events.key_averages().table().splitlines()[3].split() == ["a", "80.00%", "800.000us", "100.00%", "1.000ms", "1.000ms", "1"]
    events.export_stacks(str(tmp_path / "s"), "self_cpu_time_total")
    assert (tmp_path / "s").read_text() == "f.py(1):_g 800\n"
    with pytest.raises(ValueError, match="metric should be one of"):
        events.export_stacks(str(tmp_path / "s"), "x")


def test_an_execution_trace_and_stacks(tmp_path):
    path = str(tmp_path / "t.json")
    observer = torch.profiler.ExecutionTraceObserver().register_callback(path)
    with torch.profiler.profile(execution_trace_observer=observer, with_stack=True) as p:
        with torch.profiler.record_function("mine"):
            torch.ones(2).add(1).tolist()
    names = [n["name"] for n in json.loads(open(path).read())["nodes"]]
    assert "mine" in names and not observer.is_registered and len(p.get_trace_id()) == 32
    assert any([__file__ in line for e in p.events() if e.name == "mine" for line in e.stack])
    p.export_stacks(str(tmp_path / "s"))


def test_patterns_and_imports_of_packages():
    from torchshim.package import GlobGroup
    from torchshim.package.find_file_dependencies import find_files_source_depends_on
    g = GlobGroup(["torch.**", "a.*.b"], exclude="torch.nn")
    assert [g.matches(n) for n in ("torch", "torch.optim.sgd", "torch.nn", "a.x.b", "a.b")] == [True, True, False, True, False]
    assert find_files_source_depends_on("import a.b\nfrom .c import d", "p.q") == [("a.b", None), ("p.q.c", "d")]


def test_the_range_that_loses_least_by_rounding():
    x = (torch.arange(120.) * 7 % 11 * 0.75 * 1.3) ** 3
    high, low = torch.choose_qparams_optimized(x, 120, 200, 0.16, 4)
    assert (high.item(), low.item()) == (922.22509765625, 4.634296894073486)
    high, low = torch.choose_qparams_optimized(x, 120, 200, 0.5, 2)
    assert (high.item(), low.item()) == (875.88232421875, 23.171483993530273)
    assert torch.choose_qparams_optimized(x, 0, 200, 0.5, 2)[0].tolist() == [0]
    with pytest.raises(RuntimeError, match="^numel is out of the bound of input tensor$"):
        torch.choose_qparams_optimized(x, 121, 200, 0.5, 2)


def test_slices_inverses_power_sums_and_statistics():
    x = torch.arange(12.).reshape(3, 4)
    whole = torch.slice_inverse(x[:, 1:3], x, 1, 1, 3)
    assert torch.equal(whole, x) and whole.data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match=r"slice_inverse\(\): argument 'dim' \(position 2\) must be int, not NoneType"):
        x.slice_inverse(x, None)
    assert torch.linalg._powsum(x, 2, 0).tolist() == [80, 107, 140, 179] and torch.linalg._powsum(x - 3, 0).item() == 12
    with pytest.raises(NotImplementedError, match='"powsum_cpu" not implemented for \'Long\''):
        torch.linalg._powsum(x.long())
    mean, var = torch.zeros(4), torch.ones(4)
    found = torch.batch_norm_update_stats(x, mean, var, 0.5)
    assert found[0].tolist() == [4, 5, 6, 7] and mean.tolist() == [2, 2.5, 3, 3.5] and var.tolist() == [8.5] * 4


def test_sizes_add_what_knows_how():
    class Adds:
        def __radd__(self, other):
            return other, 42
    assert torch.Size([1]) + Adds() == (torch.Size([1]), 42) and torch.Size([1]) + (2,) == (1, 2)
    for other in (3, [1]):
        with pytest.raises(TypeError, match=rf"can only concatenate tuple \(not {type(other).__name__}\) to torch.Size"):
            torch.Size([1]) + other


def test_the_old_classes_have_no_subclasses():
    with pytest.raises(TypeError, match="type 'torch.FloatTensor' is not an acceptable base type"):
        type("Mine", (torch.FloatTensor,), {})
    assert torch.__config__._cxx_flags() == ""


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("b", torch.zeros(2))

    def forward(self, x):
        self.b = self.b + x
        return self.b * self.w


def test_what_a_call_with_other_tensors_puts_in_their_places_is_in_its_dictionary():
    module = Counting()
    given, own = {"b": torch.tensor([5.0, 6.0]), "w": torch.ones(2)}, torch.tensor([5.0, 6.0])
    before = given["b"]
    assert torch.func.functional_call(module, given, (1.0,)).tolist() == [6, 7]
    assert given["b"].tolist() == [6, 7] and before.tolist() == [5, 6] and module.b.tolist() == [0, 0]
    parts = {"b": own}, {"w": torch.ones(2)}
    torch.func.functional_call(module, parts, (1.0,))
    assert parts[0]["b"] is own
    held = {"b": own}
    with torch.nn.utils.stateless._reparametrize_module(module, held):
        module.b = module.b * 2
    assert held["b"].tolist() == [10, 12] and module.b.tolist() == [0, 0]


def test_names_that_libraries_ask_in_passing():
    from torchshim.amp.autocast_mode import _cast
    from torchshim.distributed.autograd import DistAutogradContext  # noqa: F401
    assert torch.jit.annotations.List is typing.List
    assert torch._cast_Long(torch.tensor([1.7, -2.5])).tolist() == [1, -2] and torch._cast_Byte(torch.ones(1)).dtype == torch.uint8
    cast = _cast({"a": [torch.ones(1), b"x", 3, torch.ones(1).double()]}, "cpu", torch.bfloat16)["a"]
    assert cast[0].dtype == torch.bfloat16 and cast[1:3] == [b"x", 3] and cast[3].dtype == torch.float64
    assert list(_cast({1}, "cpu", torch.half)) == [1]
    assert torch._tensor_str._add_suffixes("t(1", ["a"], 2, True) == "t(1,\n  a)"
    assert torch._tensor_str._add_suffixes("t([1.]", ["dtype=torch.float64", "x" * 80], 2, False) == \
        "t([1.], dtype=torch.float64,\n  " + "x" * 80 + ")"
    assert torch._C._get_cudnn_enabled() is True and torch._C._jit_can_fuse_on_cpu() is False
    assert torch.profiler.profiler._default_schedule_fn(3) == torch.profiler.ProfilerAction.RECORD


def test_a_profile_ends_from_outside():
    assert not torch.autograd._profiler_enabled()
    with torch.autograd.profiler.profile():
        assert torch.autograd._profiler_enabled()
        torch.autograd._disable_profiler()
        assert not torch.autograd._profiler_enabled()
    assert not torch.autograd._profiler_enabled()


def test_one_worker_gathers_and_waits_for_itself():
    from torchshim.distributed import rpc
    with pytest.raises(RuntimeError, match="RPC has not been initialized"):
        rpc.api._all_gather(1)
    rpc.init_rpc("me", rank=0, world_size=1)
    try:
        rpc.api._barrier({"me"})
        assert rpc.api._all_gather(1) == {"me": 1}
    finally:
        rpc.shutdown()


def test_names_of_one_library_or_two():
    from torchshim._dynamo import external_utils
    from torchshim._inductor import codecache, config    # noqa: F401
    from torchshim.nn.attention.flex_attention import _mask_mod_signature, _score_mod_signature    # noqa: F401
    from torchshim.nn.utils.clip_grad import _no_grad, _tensor_or_tensors    # noqa: F401
    from torchshim.utils._sympy.numbers import int_oo
    from torchshim.utils._sympy.value_ranges import ValueRanges
    assert torch._utils.is_compiling() is external_utils.is_compiling() is False and repr(ValueRanges(-int_oo, 3)) == "VR[-int_oo, 3]"
    assert torch._inductor.list_mode_options("reduce-overhead") == {"triton.cudagraphs": True} and config.allow_buffer_reuse
    assert torch._dynamo.decorators.mark_unbacked(torch.ones(2), 0) is None and _no_grad(torch._C.is_grad_enabled)() is False
    assert torch._as_tensor_fullprec(1.5).dtype == torch.float64 and torch._as_tensor_fullprec(True).dtype == torch.bool
    assert torch._tensor._convert((torch.ones(1), 2), torch.nn.Parameter)[1] == 2
    assert torch._utils._get_device_index("cuda:1") == 1 and torch._utils._get_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="Expected a torch.device with a specified index or an integer, but got:None"):
        torch._utils._get_device_index(None)
    t = torch.ones(2)
    with torch.autograd._unsafe_preserve_version_counter(t):
        t.add_(1)
    assert t._version == 0 and t.tolist() == [2, 2]
    found, grads = torch.zeros(1), [torch.tensor([2., 4.]), torch.tensor([1.])]
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor([0.5]))
    assert found.item() == 0 and grads[0].tolist() == [1, 2]
    torch._amp_foreach_non_finite_check_and_unscale_([torch.tensor([float("inf")])], found, torch.tensor([0.5]))
    assert found.item() == 1


def test_dispatch_can_be_switched_off():
    from torchshim.utils._python_dispatch import TorchDispatchMode

    class Refusing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise AssertionError(func)
    with Refusing(), torch._C._DisableTorchDispatch():
        assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_an_optimizer_that_made_no_step_gets_a_state():
    from torchshim.distributed.checkpoint.state_dict import _init_optim_state
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([p], lr=0.1)
    _init_optim_state(optimizer)
    assert set(optimizer.state[p]) == {"step", "exp_avg", "exp_avg_sq"} and p.tolist() == [1, 1] and optimizer.param_groups[0]["lr"] == 0.1
