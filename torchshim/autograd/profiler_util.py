"""torch.autograd.profiler_util: events, what they sum to, and their tables."""
from __future__ import annotations

import bisect
import json
import math
import warnings
from collections import defaultdict, namedtuple
from typing import NamedTuple

from ..dropin import missing_attribute as _missing_attribute
from .device_type import DeviceType

__all__ = ["EventList", "EventMetadata", "FormattedTimesMixin", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel", "MemRecordsAcc",
           "StringTable"]

Kernel = namedtuple("Kernel", ["name", "device", "duration"])
_METADATA = """registers_per_thread shared_memory grid block priority blocks_per_sm warps_per_sm occupancy est_occupancy_pct queued graph_id
    graph_node_id stream context channel channel_type bytes bandwidth_gb_s collective_name dtype in_msg_nelems out_msg_nelems in_split_size
    out_split_size global_rank_start global_rank_stride group_size process_group_name process_group_desc group_ranks rank src_rank dst_rank
    seq is_async""".split()
EventMetadata = NamedTuple("EventMetadata", [(name, object) for name in _METADATA])
EventMetadata.__doc__ = "What is told of an event of a GPU; none is here."


def _format_time(us):
    return f"{us / 1e6:.3f}s" if us >= 1e6 else f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _in_unit(us, unit):
    """A time in "s", "ms" or "us"; in what suits it for another unit."""
    scale = {"s": 1e6, "ms": 1e3, "us": 1}.get(unit)
    return _format_time(us) if scale is None else f"{us / scale:.3f}{unit}"


def _format_time_share(us, total):
    return "NaN" if total == 0 else f"{us * 100.0 / total:.2f}%"


def _format_memory(nbytes):
    for k, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(nbytes) >= 1024 ** k:
            return f"{nbytes / 1024 ** k:.2f} {unit}"
    return f"{nbytes} B"


def _old(name, new):
    def get(self):
        warnings.warn(f"`{name}` is deprecated, please use `{new}` instead.", FutureWarning, stacklevel=2)
        return getattr(self, new)
    return property(get, doc=f"`{new}` by its old name.")


def _text(name):
    return property(lambda self: _format_time(getattr(self, name)), doc=f"`{name}` as text.")


class FormattedTimesMixin:
    """Times as text, and times a call."""
    cpu_time_str, device_time_str = _text("cpu_time"), _text("device_time")
    cpu_time_total_str, device_time_total_str = _text("cpu_time_total"), _text("device_time_total")
    self_cpu_time_total_str, self_device_time_total_str = _text("self_cpu_time_total"), _text("self_device_time_total")
    cpu_time = property(lambda self: self.cpu_time_total / self.count if self.count else 0.0, doc="Microseconds a call.")
    device_time = property(lambda self: self.device_time_total / self.count if self.count else 0.0, doc="Microseconds a call on a device.")
    cuda_time = _old("cuda_time", "device_time")


class Interval:
    """From `start` to `end`, in microseconds."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        """Microseconds between."""
        return self.end - self.start


class FunctionEvent(FormattedTimesMixin):
    """One thing that ran: `name`, `cpu_time_total` and `self_cpu_time_total` (µs), `count`, `thread`, `time_range`."""

    def __init__(self, id, name, thread, start_us, end_us, overload_name=None, fwd_thread=None, input_shapes=None, stack=None, scope=0,
                 use_device=None, cpu_memory_usage=0, device_memory_usage=0, is_async=False, is_remote=False, sequence_nr=-1, node_id=-1,
                 device_type=DeviceType.CPU, device_index=0, device_resource_id=None, is_legacy=False, flops=None, trace_name=None,
                 concrete_inputs=None, kwinputs=None, is_user_annotation=False, is_python_function=False, activity_type=None,
                 metadata_json=None, flow_id=None, flow_type=None, flow_start=None, external_id=0, linked_correlation_id=0, extra_meta=None,
                 structured_input_shapes=None, structured_input_strides=None, input_dtypes=None, python_id=-1, python_parent_id=-1,
                 python_module_id=-1):
        self.id, self.name, self.thread, self.time_range = id, name, thread, Interval(start_us, end_us)
        self.overload_name, self.fwd_thread, self.input_shapes = overload_name, fwd_thread, input_shapes
        self.stack, self.scope = stack, scope
        self.use_device, self.cpu_memory_usage, self.device_memory_usage = use_device, cpu_memory_usage, device_memory_usage
        self.is_async, self.is_remote, self.sequence_nr, self.node_id = is_async, is_remote, sequence_nr, node_id
        self.device_type, self.device_index, self.is_legacy, self.flops = device_type, device_index, is_legacy, flops
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.trace_name, self.concrete_inputs, self.kwinputs = name if trace_name is None else trace_name, concrete_inputs, kwinputs
        self.is_user_annotation, self.is_python_function, self.activity_type = is_user_annotation, is_python_function, activity_type
        self._metadata_json, self.flow_id, self.flow_type, self.flow_start = metadata_json, flow_id, flow_type, flow_start
        self.external_id, self.linked_correlation_id = external_id, linked_correlation_id
        self.structured_input_shapes, self.structured_input_strides = structured_input_shapes, structured_input_strides
        self.input_dtypes, self.python_id = input_dtypes, python_id
        self.python_parent_id, self.python_module_id = python_parent_id, python_module_id
        self.count, self.kernels, self.cpu_children, self.cpu_parent, self.event_metadata = 1, [], [], None, None
        self.self_cpu_percent = self.total_cpu_percent = self.total_device_percent = -1

    key = property(lambda self: self.name, doc="What it is grouped by.")

    def _on_cpu(self, other=None):
        for what, event in (("", self), *([("child ", other)] if other is not None else ())):
            if event.device_type is not DeviceType.CPU:
                raise AssertionError(f"Expected {what}device_type to be CPU")

    def append_kernel(self, name, device, duration):
        """Note what it made a device do."""
        self._on_cpu()
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child):
        """Note an event within."""
        if not isinstance(child, FunctionEvent):
            raise AssertionError("Expected child to be a FunctionEvent")
        self._on_cpu(child)
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent):
        """Note the event that it is within."""
        if not isinstance(parent, FunctionEvent):
            raise AssertionError("Expected parent to be a FunctionEvent")
        self._on_cpu(parent)
        self.cpu_parent = parent

    def _alone(self, name):
        """A figure without that of the events within."""
        if self.is_async or self.device_type is not DeviceType.CPU:
            return 0
        return getattr(self, name) - sum([getattr(c, name) for c in self.cpu_children])

    @property
    def cpu_time_total(self):
        """Microseconds from beginning to end."""
        return self.time_range.elapsed_us() if self.device_type is DeviceType.CPU else 0

    @property
    def device_time_total(self):
        """Microseconds that kernels ran; 0 where no device is watched."""
        if self.is_async or not self.use_device:
            return 0
        if self.device_type is not DeviceType.CPU:
            return self.time_range.elapsed_us()
        within = 0 if self.is_legacy else sum([c.device_time_total for c in self.cpu_children])
        return sum([k.duration for k in self.kernels]) + within

    @property
    def self_device_time_total(self):
        """The same without the events within."""
        if self.is_async or not self.use_device:
            return 0
        return self.device_time_total if self.device_type is not DeviceType.CPU else self._alone("device_time_total")

    self_cpu_time_total = property(lambda self: self._alone("cpu_time_total"), doc="Microseconds without the events within.")
    self_cpu_memory_usage = property(lambda self: self._alone("cpu_memory_usage"), doc="Bytes without the events within.")
    self_device_memory_usage = property(lambda self: self._alone("device_memory_usage"), doc="Bytes without the events within.")
    self_cuda_memory_usage = _old("self_cuda_memory_usage", "self_device_memory_usage")
    cuda_time_total, self_cuda_time_total = _old("cuda_time_total", "device_time_total"), _old("self_cuda_time_total",
                                                                                               "self_device_time_total")
    metadata_json = _old("metadata_json", "_metadata_json")

    def __repr__(self):
        d = self.use_device
        return (f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} device_type={self.device_type} "
                f"node_id={self.node_id} cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
                f"cpu_children={[c.id for c in self.cpu_children]} {d}_time={self.device_time_str} name={self.name} thread={self.thread} "
                f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} {d}_memory_usage={self.device_memory_usage} "
                f"is_async={self.is_async} is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>")


_SUMMED = ("cpu_time_total", "device_time_total", "self_cpu_time_total", "self_device_time_total", "cpu_memory_usage",
           "device_memory_usage", "self_cpu_memory_usage", "self_device_memory_usage", "count")
_TAKEN = ("key", "node_id", "is_async", "is_remote", "cpu_parent", "cpu_children", "overload_name", "input_shapes", "stack", "scope",
          "device_type", "is_legacy", "use_device", "is_user_annotation")


class FunctionEventAvg(FormattedTimesMixin):
    """All events of one name together; `add` puts another to them."""
    cuda_time_total = _old("cuda_time_total", "device_time_total")

    def __init__(self):
        vars(self).update(dict.fromkeys(_TAKEN), node_id=0, is_async=False, is_remote=False, device_type=DeviceType.CPU, is_legacy=False)
        vars(self).update(dict.fromkeys(_SUMMED, 0), flops=0)

    def add(self, other):
        """Add an event of the same name; AssertionError for another."""
        if self.key is None:
            for name in _TAKEN:
                setattr(self, name, getattr(other, name))
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops = other.flops if self.flops is None else self.flops + (other.flops or 0)
        return self

    __iadd__ = add

    def __repr__(self):
        d = self.use_device or "cuda"
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str}  "
                f"self_{d}_time={self.self_device_time_total_str} {d}_time={self.device_time_str} input_shapes={self.input_shapes} "
                f"cpu_memory_usage={self.cpu_memory_usage} {d}_memory_usage={self.device_memory_usage}>")


class EventList(list):
    """Events, with their sums and tables."""

    def __init__(self, *args, **kwargs):
        self._use_device, self._profile_memory = kwargs.pop("use_device", None), kwargs.pop("profile_memory", False)
        self._with_flops, self._tree_built = kwargs.pop("with_flops", False), False
        super().__init__(*args, **kwargs)

    def _build_tree(self):
        """Note which event is within which, by their times."""
        by_thread = defaultdict(list)
        for e in self:
            if not e.is_async and e.device_type is DeviceType.CPU:
                by_thread[e.thread, e.node_id].append(e)
        for events in by_thread.values():
            around = []
            for e in sorted(events, key=lambda e: (e.time_range.start, -e.time_range.end)):
                while around and (e.time_range.start >= around[-1].time_range.end or e.time_range.end > around[-1].time_range.end):
                    around.pop()
                if around:
                    around[-1].append_cpu_child(e)
                    e.set_cpu_parent(around[-1])
                around.append(e)
        self._tree_built = True

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """One event for each name; also for each of the shapes, of the innermost lines of code, or of the overloads."""
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        groups = defaultdict(FunctionEventAvg)
        for e in self:
            more = [str(e.overload_name)] * bool(group_by_overload_name) + [str(e.input_shapes)] * bool(group_by_input_shapes)
            groups[(e.key, e.node_id, e.device_type, e.is_legacy, e.is_user_annotation, *more, *(e.stack or [])[:group_by_stack_n])].add(e)
        made = EventList(groups.values(), use_device=self._use_device, profile_memory=self._profile_memory, with_flops=self._with_flops)
        for e in made:
            e.stack = (e.stack or [])[:group_by_stack_n]
            e.input_shapes = e.input_shapes if group_by_input_shapes else ""
            e.overload_name = e.overload_name if group_by_overload_name else ""
        return made

    def total_average(self):
        """One event for all."""
        total = FunctionEventAvg()
        for e in self:
            total.key = None
            total.add(e)
        total.key = "Total"
        return total

    self_cpu_time_total = property(lambda self: sum([e.self_cpu_time_total for e in self]), doc="Microseconds of all events.")

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80, header=None,
              top_level_events_only=False, time_unit=None):
        """A table of the events, by an attribute (such as "cpu_time_total"), the largest first; row_limit -1: all of them. time_unit: "s",
        "ms" or "us" for all times."""
        return _table(self, sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header,
                      top_level_events_only, time_unit)

    def __str__(self):
        return self.table()

    def export_chrome_trace(self, path):
        """Write a file that chrome://tracing and Perfetto show."""
        shown = [{"ph": "X", "cat": "user_annotation" if e.is_user_annotation else "cpu_op", "name": e.trace_name, "pid": "CPU functions",
                  "tid": e.thread, "ts": e.time_range.start, "dur": e.time_range.elapsed_us(), "args": {}} for e in self if e.trace_name]
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": shown}, f)

    def supported_export_stacks_metrics(self):
        """What `export_stacks` can write."""
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def export_stacks(self, path, metric):
        """Write a line for each event that has a stack (`with_stack=True`) and took time: its lines of code and a figure, as flame graphs
        take them. ValueError for another metric."""
        known = self.supported_export_stacks_metrics()
        if metric not in known:
            raise ValueError("metric should be one of: " + str(known))
        for kind in ("cuda", "xpu", "privateuse1"):
            metric = metric.replace(kind, "device")
        plain = str.maketrans(" ;\t\n", "____")
        with open(path, "w", encoding="utf-8") as f:
            for e in self:
                figure = int(getattr(e, metric))
                if e.stack and figure > 0:
                    f.write(f"{';'.join([entry.translate(plain) for entry in reversed(e.stack)])} {figure}\n")


def _cut(text, width):
    return text if width is None or len(text) < width - 3 else text[:width - 3] + "..."


def _tail(path, width):
    return path if len(path) <= width else "..." + path[len(path) - width + 3:]


def _flops_scale(flops):
    k = min(int(max(0, math.log10(flops) / 3)), 5)
    return 1000.0 ** -k, ["FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"][k]


def _table(events, sort_by, row_limit, src_width, name_width, shapes_width, header, top_level_only, unit):
    if not events:
        return ""
    memory, with_flops = events._profile_memory, events._with_flops
    on_device, device = any([e.self_device_time_total > 0 for e in events]), (events[0].use_device or "None").upper()
    if sort_by is not None:
        for kind in ("cuda", "xpu", "privateuse1"):
            sort_by = sort_by.replace(kind, "device")
        events = sorted(events, key=lambda e: getattr(e, sort_by), reverse=True)
    shapes, overloads = any([e.input_shapes for e in events]), any([e.overload_name for e in events])
    stacks = [e.stack for e in events if e.stack]
    width = lambda wanted, most: wanted if most is None else min(wanted, most)
    first = width(max([len(e.key) for e in events]) + 4, name_width)
    columns = [("Name", first, ">")] + [("Overload Name", first, ">")] * overloads
    columns += [(title, 12, ">") for title in ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg")]
    columns += [(title, 12, ">") for title in (f"Self {device}", f"Self {device} %", f"{device} total", f"{device} time avg")] * on_device
    columns += [(title, 12, ">") for title in ("CPU Mem", "Self CPU Mem")] * bool(memory) + [("# of Calls", 12, ">")]
    if shapes:
        across = width(max([len(str(e.input_shapes)) for e in events]) + 4, shapes_width)
        columns.append(("Input Shapes", across, ">"))
    if stacks:
        deep = width(max([len(entry) for stack in stacks for entry in stack]) + 4, src_width)
        columns.append(("Source Location", deep, "<"))
    counted = [e.flops for e in events if e.flops] if with_flops else []
    if counted:
        scale, title = _flops_scale(min(counted))
        columns.append((f"Total {title}", 12, ">"))
    line = lambda row: "".join([f"{str(cell):{way}{w}}  " for cell, (_, w, way) in zip(row, columns)])
    total = sum([e.self_cpu_time_total for e in events])
    of_device = sum([e.self_device_time_total for e in events])
    rule = "".join(["-" * w + "  " for _, w, _ in columns])
    wide = "=" * (sum([w + 2 for _, w, _ in columns]) - 2)
    lines = ([wide, header] if header is not None else []) + (
        [wide, "This report only display top-level ops statistics"] if top_level_only else []) + [rule, line([c[0] for c in columns]), rule]
    shown = [e for e in events if not (top_level_only and e.cpu_parent is not None)]
    for e in shown if row_limit < 0 else shown[:row_limit]:
        time = lambda us: _in_unit(us, unit)
        row = [_cut(e.key, name_width)] + [_cut(e.overload_name or "", name_width)] * overloads
        e.self_cpu_percent = _format_time_share(e.self_cpu_time_total, total)
        e.total_cpu_percent = 0 if e.is_async else _format_time_share(e.cpu_time_total, total)
        row += [e.self_cpu_percent, time(e.self_cpu_time_total), e.total_cpu_percent, time(e.cpu_time_total), time(e.cpu_time)]
        if on_device:
            e.total_device_percent = _format_time_share(e.self_device_time_total, of_device)
            row += [time(e.self_device_time_total), e.total_device_percent, time(e.device_time_total), time(e.device_time)]
        row += [_format_memory(e.cpu_memory_usage), _format_memory(e.self_cpu_memory_usage)] * bool(memory) + [e.count]
        row += [str(e.input_shapes)[:across]] if shapes else []
        row += [_tail(e.stack[0], deep) if e.stack else ""] if stacks else []
        row += [f"{e.flops * scale:8.3f}" if e.flops else "--"] if counted else []
        lines.append(line(row))
        if stacks:
            at = [c[0] for c in columns].index("Source Location")
            lines += [line([""] * at + [_tail(entry, deep)]) for entry in e.stack[1:]] + [line([""] * len(columns))]
    lines += [rule, f"Self CPU time total: {_in_unit(total, unit)}"]
    lines += [f"Self {device} time total: {_in_unit(of_device, unit)}"] if on_device else []
    return "\n".join(lines) + "\n"


class StringTable(defaultdict):
    """Names by themselves."""

    def __missing__(self, key):
        self[key] = key
        return key


class MemRecordsAcc:
    """Records of memory by their time: pairs whose first has `start_ns()`."""

    def __init__(self, mem_records):
        self._records = sorted(mem_records, key=lambda r: r[0].start_ns())
        self._starts = [r[0].start_ns() for r in self._records]

    def in_interval(self, start_ns, end_ns):
        """Those from one time to another."""
        yield from self._records[bisect.bisect_left(self._starts, start_ns):bisect.bisect_right(self._starts, end_ns)]


__getattr__ = _missing_attribute(__name__)
