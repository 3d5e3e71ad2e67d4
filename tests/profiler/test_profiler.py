"""Profiles hold what ran, in ranges, by steps; without one, ranges cost and do nothing. (No times are asserted.)"""
import json

import pytest

import torchshim as torch
from torchshim.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler


def test_ranges_and_tables(tmp_path):
    x = torch.randn(8, 8)
    with torch.autograd.profiler.profile() as prof:
        with record_function("outer"):
            y = x @ x
            with torch.autograd.profiler.record_function("inner"):
                y.sum().item()
    averages = {e.key: e for e in prof.key_averages()}
    assert {"outer", "inner"} <= set(averages) and averages["outer"].count == 1
    assert any([k.startswith("torchshim::program[") for k in averages]) and {"aten::matmul", "aten::sum"} <= set(averages)
    assert averages["outer"].cpu_time_total >= averages["inner"].cpu_time_total
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=2)
    assert "Self CPU" in table and "outer" in table
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    names = [e["name"] for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]]
    assert "inner" in names


def test_operators_of_interpreted_traces_are_told_with_their_lines_and_shapes():
    x = torch.randn(4, 3, requires_grad=True)
    with profile(record_shapes=True, with_stack=True) as prof:
        for _ in range(2):
            torch.relu(x).sum().backward()
            x.grad.add(1).tolist()
    events = [e for e in prof.events() if e.name == "aten::relu"]
    assert len(events) == 2 and events[0].cpu_parent.name.startswith("torchshim::program[")
    assert events[0].input_shapes == [[4, 3]] and "test_profiler.py" in events[0].stack[0]
    by_shape = prof.key_averages(group_by_input_shape=True)
    assert [e.count for e in by_shape if e.key == "aten::relu"] == [2]
    before = len(prof.events())
    torch.relu(x).sum().item()
    assert len(prof.events()) == before


def test_a_failing_operator_ends_its_event():
    with profile() as prof:
        with pytest.raises(RuntimeError):
            torch.linalg.inv(torch.zeros(2, 2)).sum().item()
        torch.ones(2).sum().item()
    assert all([e.time_range.end is not None for e in prof.events()])


def test_schedule(tmp_path):
    plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    A = ProfilerAction
    assert [plan(k) for k in range(6)] == [A.NONE, A.WARMUP, A.RECORD, A.RECORD_AND_SAVE, A.NONE, A.NONE]
    ready = []
    with profile(activities=[ProfilerActivity.CPU], schedule=plan,
                 on_trace_ready=lambda p: ready.append([e.name for e in p.events()])) as p:
        for _ in range(6):
            torch.ones(2).add(1).sum().item()
            p.step()
    assert len(ready) == 1 and [n for n in ready[0] if n.startswith("ProfilerStep")] == ["ProfilerStep#2", "ProfilerStep#3"]
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path))):
        torch.ones(2).sum().item()
    assert len(list(tmp_path.iterdir())) == 1


def test_without_a_profile():
    @record_function("named")
    def f(x):
        return x + 1
    assert f(torch.ones(1)).item() == 2 and f.__name__ == "f"
    with pytest.raises(RuntimeError, match="didn't finish"):
        torch.autograd.profiler.profile().key_averages()


def test_a_range_between_two_calls():
    ops = torch.ops.profiler
    with profile() as p:
        begun = ops._record_function_enter("named")
        torch.ones(2).add(1).sum().item()
        ops._record_function_exit(begun), ops._record_function_exit(ops._record_function_enter_new("again"))
    assert {"named", "again"} <= {e.key for e in p.key_averages()}
    with pytest.raises(RuntimeError, match="^Expected temporary cpp type wrapper$"):
        ops._record_function_exit(begun)
    graph = torch.fx.Graph()
    ops._record_function_exit(torch.fx.Proxy(graph.placeholder("x")))        # a tracer's value makes a step
    assert [n.op for n in graph.nodes] == ["placeholder", "call_function"] and list(graph.nodes)[1].target == ops._record_function_exit
