"""ExportedProgram.run_decompositions: the graph again, of operators below autograd and without writes in place."""
from __future__ import annotations

import copy
import operator

from .. import Tensor, ops, no_grad
from .._dispatch import python
from .._dispatch.python import unseen
from .._subclasses.fake_tensor import FakeTensor
from ..fx.graph import Graph
from ..fx.node import has_side_effect
from ..fx.passes.shape_prop import _extract_tensor_metadata
from ..nn import Module
from ..utils import _pytree as pytree
from .graph_signature import (ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, SymIntArgument,
                              TensorArgument)
from .program import ExportedProgram
from .sizes import Again, DynamicInt, Expr, SymbolicTensor, in_all_cases
from .tracing import Steps, _asking, entry

aten = ops.aten
#: Operators whose results share memory with an argument.
_VIEWS = frozenset("""view alias detach t transpose permute expand squeeze unsqueeze select slice diagonal split split_with_sizes unbind
    as_strided unfold view_as_real view_as_complex lift_fresh""".split())


class Lowering(Steps):
    """Writes each operator down as a step, after what the table makes of it; a write in place is a step without one.

    steps: {id of a tensor: (tensor, its step)}. kept: {id of a tensor of the program's: (tensor, the tensor that has its value now)}.
    """

    def __init__(self, graph, table):
        super().__init__(graph)
        self.table, self.now, self.shared, self.meta = table, {}, set(), {}

    def current(self, x):
        """The tensor that has a tensor's value after the writes to it."""
        while isinstance(x, Tensor) and id(x) in self.now:
            x = self.now[id(x)][1]
        return x

    def track(self, value, step):
        """Let a step stand for a tensor, or for the tensors of a list."""
        if isinstance(value, Tensor):
            self.steps[id(value)] = value, step
            step.meta.update(self.meta, val=self.noted(value), tensor_meta=_extract_tensor_metadata(value))
        elif isinstance(value, (tuple, list)):
            step.meta.update(self.meta, val=tuple([self.noted(x) for x in value]))
            for k, x in enumerate(value):
                if isinstance(x, Tensor):
                    self.track(x, self.graph.call_function(operator.getitem, (step, k)))

    def argument(self, x):
        """An argument as the graph holds it."""
        if isinstance(x, Tensor):
            return self.steps[id(x)][1] if id(x) in self.steps or self.outside is None else self.taken_in(x)
        return self.size(x) if isinstance(x, DynamicInt) else x

    def describe(self, step, name):
        """Say of a size where it comes from."""
        step.meta.update(self.meta)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        args, kwargs = pytree.tree_map(self.current, (tuple(args), dict(kwargs or {})))
        name = func.overloadpacket.__name__
        known = func._schema
        if known.mutated:
            return self.written(func, name, known, args, kwargs)
        rule = self.table.get(func)
        if rule is not None:
            with self:
                made = rule(*args, **kwargs)
            if made is not NotImplemented:
                return made
        if name in ("detach", "alias", "lift_fresh"):
            return args[0]
        step = self.graph.create_node("call_function", func, pytree.tree_map(self.argument, args), pytree.tree_map(self.argument, kwargs),
                                      name=self.graph._target_to_str(name))
        with unseen(), self.fake, _asking():
            made = self.computed(func, name, args, kwargs)
        if name in _VIEWS:
            for t in pytree.tree_leaves((args, made)):
                if isinstance(t, Tensor):
                    self.shared.add(id(t))
        self.track(made, step)
        return made

    def written(self, func, name, known, args, kwargs):
        """A write in place: the operator without one, whose result is the tensor's value from now on."""
        plain, overload = name.rstrip("_"), func._overloadname
        target = args[0]
        if len(known.mutated) != 1 or name[-1:] != "_" or plain not in python.table() or not isinstance(target, Tensor):
            raise NotImplementedError(f"torchshim: run_decompositions of {func}")
        if id(target) in self.shared:
            raise NotImplementedError(f"torchshim: run_decompositions of a write to what shares memory with another tensor ({func})")
        if plain == "copy":
            made = args[1]
            if made._ts_meta.shape == target._ts_meta.shape and made.dtype is target.dtype:
                with self:
                    made = python.do("copy", target, made)
            elif made._ts_meta.shape != target._ts_meta.shape or made.dtype is not target.dtype:
                with self:
                    made = python.do("expand", made if made.dtype is target.dtype else python.do("_to_copy", made, dtype=target.dtype),
                                     list(target.shape))
        else:
            with self:
                made = python.do(plain if overload == "default" else f"{plain}.{overload}", *args, **kwargs)
        if made is target:
            return made
        if made.dtype is not target.dtype:
            with self:
                made = python.do("_to_copy", made, dtype=target.dtype)
        self.now[id(target)] = target, made
        return made


# -- what operators are made of ---------------------------------------------------------------------------------------------------
def _rules():
    do = python.do
    rules = {
        "t.default": lambda x: do("permute", x, [1, 0]) if x.ndim == 2 else x,
        "transpose.int": lambda x, a, b: do("permute", x, _swapped(x.ndim, a, b)),
        "floor_divide.default": lambda x, other: do("div.Tensor_mode", x, other, rounding_mode="floor"),
        "clamp_min.default": lambda x, low: do("clamp", x, low), "clamp_max.default": lambda x, high: do("clamp", x, None, high),
        "silu.default": lambda x: do("mul.Tensor", x, do("sigmoid", x)),
        "_unsafe_view.default": lambda x, size: do("view", x, size),
        "lift_fresh_copy.default": lambda x: do("clone", x),
        "zeros.default": lambda size, **named: do("full", size, 0, **_typed(named)),
        "ones.default": lambda size, **named: do("full", size, 1, **_typed(named)),
        "zeros_like.default": lambda x, **named: do("full_like", x, 0, **_kept(named)),
        "ones_like.default": lambda x, **named: do("full_like", x, 1, **_kept(named)),
        "zero.default": lambda x: do("full_like", x, 0, pin_memory=False, **_kept({})),
        "fill.Scalar": lambda x, value: do("full_like", x, value, pin_memory=False),
        "new_zeros.default": lambda x, size, **named: do("full", size, 0, **_like(x, named)),
        "new_ones.default": lambda x, size, **named: do("full", size, 1, **_like(x, named)),
        "new_full.default": lambda x, size, value, **named: do("full", size, value, **_like(x, named)),
        "arange.default": lambda end, **named: do("arange.start_step", 0, end, **_laid(named)),
        "arange.start": lambda start, end, **named: do("arange.start_step", start, end, **_laid(named)),
        "stack.default": _stacked,
        "split.Tensor": lambda x, size, dim=0: do("split_with_sizes", x,
                                                  [min(size, x.shape[dim] - k) for k in range(0, x.shape[dim], size)], dim),
        "unbind.int": lambda x, dim=0: [do("squeeze.dims", t, [dim]) for t in [do("slice.Tensor", x, dim, k, k + 1)
                                                                               for k in range(x.shape[dim])]],
        "squeeze.default": lambda x: do("squeeze.dims", x, [d for d, n in enumerate(x.shape) if n == 1]),
        "squeeze.dim": lambda x, dim: do("squeeze.dims", x, [dim]),
        "sum.default": lambda x, **named: do("sum.dim_IntList", x, [], **named),
        "dot.default": lambda x, y: do("sum.dim_IntList", do("mul.Tensor", x, y), []),
        "mv.default": lambda x, y: do("sum.dim_IntList", do("mul.Tensor", x, y), [1]),
        "std.correction": lambda x, dim=None, correction=None, keepdim=False: do("sqrt", do("var.correction", x, dim, correction=float(
            1 if correction is None else correction), keepdim=keepdim)),
        "mse_loss.default": lambda x, y, reduction=1: _closed(do("pow.Tensor_Scalar", do("sub.Tensor", x, y), 2), reduction),
        "soft_margin_loss.default": lambda x, y, reduction=1: _closed(do("log1p", do("exp", do("mul.Tensor", do("neg", x), y))), reduction),
        "softplus.default": _softplus, "mish.default": lambda x: do("mul.Tensor", x, do("tanh", _softplus(x))),
        "hardsigmoid.default": lambda x: do("div.Tensor", _six(x), 6),
        "hardswish.default": lambda x: do("div.Tensor", do("mul.Tensor", x, _six(x)), 6),
        "masked_fill.Scalar": lambda x, mask, value: do("where.self", mask, _number(
            x, float(value) if x.is_floating_point() else value), x),
        "threshold.default": lambda x, low, value: do("where.self", do("le.Scalar", x, low), _number(x, value), x),
        "hardshrink.default": lambda x, low=0.5: do("where.self", do("le.Scalar", do("abs", x), low), _number(x, 0), x),
        "count_nonzero.default": lambda x, dim=None: do("sum.dim_IntList", do("ne.Scalar", x, 0), dim if dim is None else [dim]),
        "deg2rad.default": lambda x: do("mul.Tensor", x, 0.017453292519943295),
        "index_add.default": lambda x, dim, index, source, alpha=1: NotImplemented if alpha != 1 else do(
            "index_put", x, [None] * (dim % max(x.ndim, 1)) + [index], source, True),
        "aminmax.default": lambda x, dim=None, keepdim=False: NotImplemented if dim is not None else (do("amin", x), do("amax", x)),
        "native_batch_norm.default": _batch_norm,
        "addcmul.default": lambda x, a, b, value=1: do("add.Tensor", x, do("mul.Tensor", do("mul.Tensor", a, value), b)),
        "frac.default": lambda x: do("sub.Tensor", x, do("trunc", x)),
        "sgn.default": lambda x: NotImplemented if x.is_complex() else do("sign", x),
    }
    return {_found(name): f for name, f in rules.items()}


def _closed(x, reduction):
    return x if reduction == 0 else python.do("mean" if reduction == 1 else "sum", x)


def _softplus(x, beta=1, threshold=20):
    if beta != 1:
        return NotImplemented
    soft = python.do("log1p", python.do("exp", x))
    return python.do("where.self", python.do("gt.Scalar", x, threshold), x, soft)


def _six(x):
    return python.do("clamp", python.do("clamp", python.do("add.Tensor", x, 3), 0), None, 6)


def _number(x, value):
    from .. import strided
    return python.do("scalar_tensor", value, dtype=x.dtype, layout=strided, device=x.device)


def _stacked(tensors, dim=0):
    d = dim % (tensors[0].ndim + 1)
    shape = [*tensors[0].shape[:d], len(tensors), *tensors[0].shape[d:]]
    if d == tensors[0].ndim:
        return python.do("cat", [python.do("unsqueeze", t, dim) for t in tensors], dim)
    return python.do("view", python.do("cat", list(tensors), d), shape)


def _batch_norm(x, weight, bias, mean, var, training, momentum, eps):
    if not training:
        made = python.do("_native_batch_norm_legit_no_training", x, weight, bias, mean, var, momentum, eps)
        return made[0], made[1], made[2]
    if mean is None:
        return python.do("_native_batch_norm_legit.no_stats", x, weight, bias, True, momentum, eps)
    made = python.do("_native_batch_norm_legit_functional", x, weight, bias, mean, var, True, momentum, eps)
    python.state().stack[-1].now.update({id(mean): (mean, made[3]), id(var): (var, made[4])})
    return made[0], made[1], made[2]


def _kept(named):
    from .. import preserve_format
    return {"memory_format": preserve_format, **named}


def _laid(named):
    from .. import strided
    return {**{k: v for k, v in named.items() if k == "dtype"}, "layout": strided, **{k: v for k, v in named.items() if k != "dtype"}}


def _like(x, named):
    from .. import strided
    return {"dtype": named.get("dtype") or x.dtype, "layout": strided, "device": named.get("device") or x.device, "pin_memory": False}


def _found(name):
    base, _, overload = name.partition(".")
    return getattr(getattr(aten, base), overload)


def _typed(named):
    from .. import get_default_dtype, strided
    return {"dtype": named.get("dtype") or get_default_dtype(), "layout": strided, **{k: v for k, v in named.items() if k != "dtype"}}


def _swapped(n, a, b):
    order = list(range(n))
    order[a], order[b] = order[b], order[a]
    return order


def default_decompositions():
    """{overload: what it is made of}, for run_decompositions. Those of torch that are missing here leave their operators as they are."""
    from .decomp_utils import CustomDecompTable
    return CustomDecompTable()


DEFAULT = _rules


def _dropout(x, p, train):
    if not train:
        return python.do("clone", x)
    return python.do("native_dropout", x, p, True)[0]


#: What torch takes apart otherwise here than where nobody exports.
_GRAPH = {aten.dropout.default: _dropout}
has_side_effect(aten._assert_tensor_metadata.default)


# -- programs -------------------------------------------------------------------------------------------------------------------
def decomposed(program, table):
    """The program of operators below autograd. NotImplementedError for writes to what shares memory, and where it depends on the values
    of sizes that are symbols."""
    if any([str(k)[0] == "u" for k in program.range_constraints]):
        raise NotImplementedError("torchshim: run_decompositions of a program with numbers or sizes that depend on values")
    try:
        return _decomposed(program, table)
    except Again as again:
        raise NotImplementedError(f"torchshim: run_decompositions that depends on the values of sizes ({', '.join(again.names)})") from None


def _decomposed(program, table):
    python.begin()
    graph = Graph()
    mode = Lowering(graph, DEFAULT() if table is None else dict(table))
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    specs = {n: s for n, s in zip(placeholders, program.graph_signature.input_specs)}
    order = _ordered(program, placeholders, specs)
    env, ins = {}, []
    for n in order:
        step = entry(graph, n.target)
        step.meta.update(n.meta)
        val = n.meta["val"]
        mode.last_input = step
        if isinstance(val, Tensor):
            env[n] = _input(mode, val)
            for k, size in enumerate(env[n].sizes if isinstance(env[n], SymbolicTensor) else ()):
                if isinstance(size, Expr) and size.symbol() is not None:
                    mode.input_sizes.setdefault(size.symbol(), (step, k))
            mode.steps[id(env[n])] = env[n], step
        else:
            env[n] = val
        ins.append(specs[n])
    with no_grad(), mode:
        for n in program.graph.nodes:
            if n.op in ("placeholder", "output"):
                continue
            if n.op == "get_attr":                 # a part of its own, whose operators are written down with the others
                env[n] = program.graph_module.get_submodule(n.target)
                continue
            mode.meta = {k: v for k, v in n.meta.items() if k in ("nn_module_stack", "stack_trace", "torch_fn")}
            given, named = pytree.tree_map(lambda a: mode.current(env[a]) if hasattr(a, "op") else a, (tuple(n.args), dict(n.kwargs)))
            if n.target is aten.sym_size.int:
                env[n] = given[0].shape[given[1]]
                continue
            rule = _GRAPH.get(n.target)
            env[n] = n.target(*given, **named) if rule is None else rule(*given, **named)
    return _program(program, graph, mode, env, order, specs, ins)


def _input(mode, val):
    """What stands for an input, with the symbols that the program has among its sizes."""
    with unseen():
        made = mode.fake.from_tensor(val).detach() if not isinstance(val, FakeTensor) else val.detach()
        if not isinstance(made, FakeTensor):
            made = mode.fake.from_tensor(made)
        if isinstance(val, SymbolicTensor):
            made = in_all_cases(val.of, made, {d: e for d, e in enumerate(val.sizes) if isinstance(e, Expr)}, val)
    return made


def _ordered(program, placeholders, specs):
    """The placeholders as torch orders them: parameters, then buffers and constants as a module has them, then inputs."""
    of = lambda *kinds: [n for n in placeholders if specs[n].kind in kinds]
    held = of(InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
    top = [n for n in held if "." not in specs[n].target]
    return [*of(InputKind.PARAMETER), *top, *[n for n in held if n not in top], *of(InputKind.USER_INPUT)]


def _program(program, graph, mode, env, order, specs, ins):
    returned = next(n for n in program.graph.nodes if n.op == "output").args[0]
    outs, values = [], []
    symbols = next((x.of for x in env.values() if isinstance(x, SymbolicTensor)), None)
    kinds = {InputKind.BUFFER: OutputKind.BUFFER_MUTATION, InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
             InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION}
    for n in order:
        if isinstance(env[n], Tensor) and mode.current(env[n]) is not env[n]:
            kind = kinds.get(specs[n].kind)
            if kind is None:
                raise NotImplementedError("torchshim: run_decompositions of a write to a constant")
            step = mode.argument(mode.current(env[n]))
            values.append(step)
            outs.append(OutputSpec(kind, TensorArgument(step.name), specs[n].target or specs[n].arg.name))
    for x, spec in zip(returned, program.graph_signature.output_specs):
        value = mode.current(env[x]) if hasattr(x, "op") else x
        step = mode.argument(value)
        values.append(step)
        arg = TensorArgument(step.name) if isinstance(value, Tensor) else SymIntArgument(step.name) if isinstance(
            value, DynamicInt) else ConstantArgument("", value)
        outs.append(OutputSpec(spec.kind, arg, spec.target))
    if symbols is not None:
        mode.number_inputs(symbols.by_name)
    graph.output(tuple(values))
    graph.eliminate_dead_code()
    specs_in = [InputSpec(s.kind, copy.copy(s.arg), s.target, s.persistent) for s in ins]
    root = Module()
    for name, part in mode.parts.items():
        root.add_module(name, part)
    return ExportedProgram(root, graph, ExportGraphSignature(specs_in, outs), program.state_dict, program.range_constraints,
                           copy.copy(program.module_call_graph), program.example_inputs, program.constants, guards=program._guards,
                           dialect="ATEN")
