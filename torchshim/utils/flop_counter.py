"""torch.utils.flop_counter: the floating-point operations of products, convolutions and attention.

PyTorch sees each ATen operator as it runs. Here the trace is read: it says which operators were recorded, forward and backward, and the
counts are booked under the names that PyTorch's own operators would have had. As there, what is elementwise is not counted, nor what runs
in kernels that PyTorch does not count: products with a vector, recurrent LSTM layers and flash attention on the CPU.
"""
from __future__ import annotations

from collections import defaultdict
from math import prod

from ..engine import context, warn
from ..engine.compile.gradient import inlined, needed
from ..engine.compile.operator import VjpOp
from ..engine.device import is_host
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]
suffixes = ["", "K", "M", "B", "T"]


class _Packet(str):
    """An operator's name as a key of the counts; prints as torch.ops.aten.mm does."""
    overloads = property(lambda self: ["default"])

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"


_NAMES = {name: _Packet(f"aten.{name}") for name in ("mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward",
          "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_backward")}


# -- formulas ---------------------------------------------------------------------------------------------------------------------
def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Of a product of matrices (m, k) and (k, n): 2 m n k."""
    (m, k), (k2, n) = a_shape, b_shape
    if k != k2:
        raise AssertionError(f"matmul: inner dimensions must match (k == k2), got {k} and {k2}")
    return 2 * m * n * k


def addmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    """Of the product alone."""
    return mm_flop(a_shape, b_shape)


def bmm_flop(a_shape, b_shape, out_shape=None, **kwargs):
    """Of products of matrices (b, m, k) and (b, k, n)."""
    b, b2 = a_shape[0], b_shape[0]
    if b != b2:
        raise AssertionError(f"bmm: batch dimensions must match (b == b2), got {b} and {b2}")
    return b * mm_flop(a_shape[1:], b_shape[1:])


def baddbmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    """Of the products alone."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape, w_shape, out_shape, transposed=False):
    """Of a convolution without its bias: each position of the result (of the input, if transposed) meets the whole filter."""
    return 2 * x_shape[0] * prod((x_shape if transposed else out_shape)[2:]) * prod(w_shape)


def conv_flop(x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, *args, out_shape=None, **kwargs):
    """See `conv_flop_count`."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


def conv_backward_flop(grad_out_shape, x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, _output_padding, _groups,
                       output_mask, out_shape, **kwargs):
    """Of the gradients of input and weight that `output_mask` asks for. A weight's is counted as without groups, as torch does."""
    turned = lambda shape: [shape[1], shape[0], *shape[2:]]
    count = conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed) if output_mask[0] else 0
    if output_mask[1]:
        a, b = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(turned(a), turned(b), turned(out_shape[1]))
    return count


def sdpa_flop_count(query_shape, key_shape, value_shape):
    """Of attention: scores and their product with the values."""
    b, h, q, d = query_shape
    b2, h_kv, k, d2 = key_shape
    b3, h3, k3, dv = value_shape
    if not (b == b2 == b3 and h_kv == h3 and d == d2 and k == k3):
        raise AssertionError(f"sdpa_flop_count: query/key/value shapes are incompatible: q={query_shape}, k={key_shape}, v={value_shape}")
    if h < h_kv or h % h_kv != 0:
        raise AssertionError(f"sdpa_flop_count: query heads ({h}) must be a multiple of key/value heads ({h_kv})")
    return 2 * b * h * q * k * (d + dv)


def sdpa_flop(query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """See `sdpa_flop_count`."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape):
    """Of attention's backward: scores again, and two products for each of the two forward."""
    b, h, q, d = query_shape
    return 2 * sdpa_flop_count(query_shape, key_shape, value_shape) + 2 * b * h * q * key_shape[2] * d


def sdpa_backward_flop(grad_out_shape, query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """See `sdpa_backward_flop_count`."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


def register_flop_formula(targets, get_raw=False):
    """NotImplementedError: operators that a program defines are seen by what they are made of."""
    raise NotImplementedError("torchshim: register_flop_formula; a program's own operators are counted by the operators in them")


register_flop_formula.__unimplemented__ = True


# -- what an operator of the trace counts ---------------------------------------------------------------------------------------
def _linear(inst):
    x = inst.in_metas[0]
    return "addmm" if len(inst.in_metas) == 3 and (x.ndim <= 2 or x.contiguous) else "mm"


def _matmul(inst):
    a, b = inst.in_metas[:2]
    if a.ndim < 2 or b.ndim < 2:
        return None                            # a matrix and a vector
    folded = a.ndim > 2 == b.ndim and all([a.strides[i] == a.strides[i + 1] * a.shape[i + 1] for i in range(a.ndim - 2)])
    return "mm" if folded or a.ndim == b.ndim == 2 else "bmm"


def _inner(inst):
    return "mm" if min(m.ndim for m in inst.in_metas) and max(m.ndim for m in inst.in_metas) > 1 else None


def _einsum(inst):
    return "bmm" if _products(inst) and _sums(inst.layout[0]) else None


def _sums(equation):
    """Whether two operands of an equation share a label that the result has not."""
    operands, result = equation.split("->")
    return any([operands.count(c) > 1 and c not in result for c in set(operands) - {",", "."}])


#: Operators whose products count: torch's names for them forward and backward, or a function of the Instance that says the first.
_PRODUCTS = {"linear": (_linear, "mm"), "matmul": (_matmul, None), "mm": ("mm", "mm"), "bmm": ("bmm", "bmm"), "addmm": ("addmm", "mm"),
             "baddbmm": ("baddbmm", "bmm"), "addbmm": (None, "bmm"), "einsum": (_einsum, None), "tensordot": ("mm", "mm"),
             "inner": (_inner, None), "linalg_multi_dot": ("mm", "mm"), "scaled_dot_product_attention": ("bmm", "bmm"),
             "rnn_layer": ("addmm", "mm"), "lstm_cell_state": ("addmm", "mm"), "gru_cell": ("addmm", "mm"),
             "rnn_tanh_cell": ("addmm", "mm"), "rnn_relu_cell": ("addmm", "mm")}


def _counted(inst):
    """(torch's name, number of operations) of a record; (None, 0) if it does not count."""
    order, of = 0, inst
    while isinstance(of.op, VjpOp):
        order, of = order + 1, of.op.inst
    name = of.op.name
    if name == "convolution":
        return _convolution(inst, of, order)
    if name not in _PRODUCTS or name == "rnn_layer" and of.layout[-2] == "LSTM":
        return None, 0
    if name == "scaled_dot_product_attention" and order < 2:
        counted = _attention(inst, of, order)
        if counted:
            return counted
    forward, backward = _PRODUCTS[name]
    if callable(forward):
        forward = forward(of)
    label = (backward or forward) if order else forward
    if label is None:
        return None, 0
    count = _products(inst)
    if name == "rnn_layer" and order == 1 and 1 not in inst.op.plan_of.needs:
        count -= 2 * of.in_metas[1].numel * of.in_metas[4 - (of.layout[2] is None)].shape[0]       # the first state's gradient
    return _NAMES[label], count


def _attention(inst, of, order):
    """torch computes attention from products where it is not of four dimensions, has dropout, or there is nothing to compute with."""
    q, k, v = [m.shape for m in of.in_metas[:3]]
    if len(q) != 4 or of.layout[4] is not None or of.in_metas[0].device == "meta":
        return None if order else (_NAMES["bmm"], 2 * prod(of.out_metas[0].shape[:-1]) * k[-2] * (q[-1] + v[-1]))
    if is_host(of.in_metas[0].device):
        return None, 0                         # torch has no formula for its kernel
    if order:
        return _NAMES["_scaled_dot_product_flash_attention_backward"], sdpa_backward_flop_count(of.out_metas[0].shape, q, k, v)
    return _NAMES["_scaled_dot_product_flash_attention"], sdpa_flop_count(q, k, v)


def _convolution(inst, of, order):
    transposed, ins = of.layout[6], of.in_metas
    if order == 0:
        return _NAMES["convolution"], conv_flop_count(ins[0].shape, ins[1].shape, inst.out_metas[0].shape, transposed)
    if order == 1:
        needs = inst.op.plan_of.needs
        return _NAMES["convolution_backward"], conv_backward_flop(of.out_metas[0].shape, ins[0].shape, ins[1].shape, None, None, None, None,
                                                                  transposed, None, None, (0 in needs, 1 in needs),
                                                                  (ins[0].shape, ins[1].shape))
    return _NAMES["convolution"], _products(inst)


def _products(inst):
    """The operations of an Instance's products and convolutions. In a backward only those that depend on a cotangent: the others are
    computed again from what was saved, where torch would have saved them."""
    jaxpr, given = inlined(inst.jaxpr).jaxpr, None
    if isinstance(inst.op, VjpOp):
        plan = inst.op.plan_of
        first = len(plan.args) + len(plan.outs)
        given = set(jaxpr.invars[first:first + len(plan.cts)])
    return _count(jaxpr, given)


def _count(jaxpr, given=None):
    count = 0
    for eqn in needed(jaxpr, jaxpr.outvars, ())[0]:
        if given is not None:
            if given.isdisjoint([v for v in eqn.invars if not hasattr(v, "val")]):
                continue
            given.update(eqn.outvars)
        name = eqn.primitive.name
        if name == "dot_general":
            (contracted, _), _ = eqn.params["dimension_numbers"]
            a = eqn.invars[0].aval.shape
            count += 2 * prod(eqn.outvars[0].aval.shape) * prod([a[i] for i in contracted])
        elif name == "conv_general_dilated":
            spec = eqn.params["dimension_numbers"]
            a, w, out = [v.aval.shape for v in (*eqn.invars[:2], *eqn.outvars)]
            dilated = any([d > 1 for d in eqn.params["lhs_dilation"]])
            shape, at = (a, spec.lhs_spec) if dilated else (out, spec.out_spec)
            count += 2 * shape[at[0]] * prod([shape[i] for i in at[2:]]) * prod(w)
        else:
            inner = [getattr(p, "jaxpr", p) for p in eqn.params.values()]
            count += sum([_count(j) for j in inner if hasattr(j, "eqns")]) * (eqn.params["length"] if name == "scan" else 1)
    return count


# -- counting --------------------------------------------------------------------------------------------------------------------
class _Reader:
    """The engine's executor, which reads what was recorded before it runs."""

    def __init__(self, executor, counter):
        self.executor, self.counter = executor, counter

    def __getattr__(self, name):
        return getattr(self.executor, name)

    def run_trace(self, trace):
        """See `Context`."""
        self.counter._read(trace, trace.end)
        return self.executor.run_trace(trace)

    def immediate(self, *call):
        """See `Context`."""
        made, inst = self.executor.immediate(*call)
        if (made[0] if isinstance(made, list) else made).trace is None:
            self.counter._book(inst)           # else it was recorded after all
        return made, inst


class _Tracker(ModuleTracker):
    """Tells the counter before the set of running modules changes."""

    def __init__(self, counter):
        super().__init__()
        self.counter = counter

    def _before(self, module, args):
        self.counter._read()
        super()._before(module, args)

    def _after(self, module, args, result):
        self.counter._read()
        super()._after(module, args, result)

    def _watch(self, values, what, name):
        super()._watch(values, lambda n: (self.counter._read(), what(n)), name)

    def _end_backward(self):
        self.counter._read()
        super()._end_backward()


class FlopCounterMode:
    """A context that counts the floating-point operations of what this thread does in it, forward and backward, by module.

    mods: not needed; depth: how deep the table goes (None: all); display: print the table at the end; custom_mapping:
    {operator: formula}, NotImplementedError. Afterwards: `get_total_flops()`, `get_flop_counts()`, `get_table()`.
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")
        if custom_mapping:
            raise NotImplementedError("torchshim: FlopCounterMode's custom_mapping; formulas are those of this module")
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.mod_tracker = _Tracker(self)
        self._seen = None                      # (trace, its state up to which everything is counted)

    def __enter__(self):
        self.flop_counts.clear()
        self._seen = context.trace, context.trace.state
        self.mod_tracker.__enter__()
        self._executor = context.executor
        context.executor = _Reader(self._executor, self)
        return self

    def __exit__(self, *exc):
        self._read()
        context.executor = self._executor
        self.mod_tracker.__exit__(*exc)
        self._seen = None
        if self.display:
            print(self.get_table(self.depth))
        return False

    def _read(self, trace=None, end=None):
        """Count what was recorded since, up to `end` or where the present trace is."""
        if self._seen is None:
            return                             # not counting any more
        if trace is None:
            trace = context.trace
            end = trace.state
        start = self._seen[1] if self._seen[0] is trace else None
        self._seen, found, state = (trace, end), [], end
        while state is not None and state is not start and state.parent is not None:
            if state.slots or hasattr(state.inst, "op"):
                found.append(state.inst)
            state = state.parent
        for inst in reversed(found):
            self._book(inst)

    def _book(self, inst):
        name, count = _counted(inst)
        if name is not None:
            for module in self.mod_tracker.parents:
                self.flop_counts[module][name] += count

    def get_total_flops(self):
        """All of them."""
        self._read()
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """{module: {operator: count}}; "Global" is everything."""
        self._read()
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """The counts as text, modules to a depth."""
        depth = 999999 if (depth or self.depth) is None else depth or self.depth
        total = self.get_total_flops()
        suffix = get_suffix_str(total)
        row = lambda name, n: (name, convert_num_with_suffix(n, suffix) if suffix else str(n), convert_to_percent_str(n, total))

        def rows_of(module, indent):
            counts = self.flop_counts[module]
            return [row(" " * indent + module, sum(counts.values())), *[row(f"{' ' * indent} - {k}", n) for k, n in counts.items()]]
        shown = [m for m in sorted(self.flop_counts) if m != "Global" and m.count(".") < depth]
        rows = [r for m in shown for r in rows_of(m, m.count("."))]
        if "Global" in self.flop_counts and all([sum(self.flop_counts[m].values()) < total for m in shown]):
            rows = rows_of("Global", 0) + [(" " + name, *rest) for name, *rest in rows]
        table = [("Module", "FLOP", "% Total"), *(rows or [("Global", "0", "0%")])]
        widths = [max(len(head) + 2, *[len(r[k]) for r in table]) for k, head in enumerate(table[0])]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in table]
        return "\n".join([lines[0].rstrip(), "  ".join(["-" * w for w in widths]), *lines[1:]])


def get_suffix_str(number):
    """The unit in which a number has up to four digits before the point."""
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number, suffix):
    """A number in a unit."""
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num, denom):
    """A part of a whole."""
    return "0%" if denom == 0 else f"{num / denom:.2%}"
