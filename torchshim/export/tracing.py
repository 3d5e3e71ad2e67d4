"""The tracing of a module's call: ATen operators above autograd, on tensors without values."""
from __future__ import annotations

import contextlib
import operator
import traceback

from .. import Tensor, empty_like, int64, ops
from .._dispatch.kernels import compute
from .._dispatch.python import unseen
from .._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from ..autograd.grad_mode import grad_mode
from ..engine import context
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import COMPILED, _as_torch
from ..fx.passes.shape_prop import _extract_tensor_metadata
from ..fx.proxy import _program
from ..nn import Module
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ..tensor.core.overriding import switches
from ..utils import _pytree as pytree
from ..utils._python_dispatch import TorchDispatchMode
from . import values
from .sizes import Again, DynamicInt, Expr, SymbolicTensor, symbolic as symbolic_tensor, value_in

#: Operators whose kernels look at values, though their results' shapes do not depend on these.
_SHAPES = {"bernoulli": lambda x, *p: empty_like(x), "histc": lambda x, bins=100, *ends: x.new_empty(bins),
           "multinomial": lambda x, n, *rest: x.new_empty((*x.shape[:-1], n), dtype=int64),
           "native_dropout": lambda x, *p: (empty_like(x), empty_like(x, dtype=_bool()))}

APART = "grad_enabled"                         # what steps that have gradients otherwise than the rest say in their meta
depth = [0]                                    # how many traces we are in the midst of


def entry(graph, name):
    """A new placeholder, which is called what its argument is, be that a builtin's name."""
    step = graph.placeholder(name)
    step.name = name
    return step


def _taking(graph, step):
    """A placeholder of a branch's graph for a step of the graph around it."""
    first = next((n for n in graph.nodes if n.op != "placeholder"), None)
    with graph.inserting_before(first) if first is not None else contextlib.nullcontext():
        made = graph.taken[step] = entry(graph, step.name)
    made.meta.update(step.meta)
    return made


def _sizes(x):
    return [*x.sizes] if isinstance(x, SymbolicTensor) else [*x._ts_meta.shape]


class Steps(TorchDispatchMode):
    """Writes operators down as steps of `graph`; sizes among them may be symbols.

    input_sizes: {symbol: (the step of an input, its dimension)}. sizes: {expression: its step}.
    """

    def __init__(self, graph):
        super().__init__()
        self.graph, self.fake = graph, FakeTensorMode(allow_non_fake_inputs=True)
        self.steps, self.sizes, self.input_sizes, self.last_size, self.last_input = {}, {}, {}, None, None
        self.outside, self.parts = None, {}    # of a branch: the graph around it; modules that the graph calls

    def noted(self, value):
        """What a step's `val` says of a value."""
        if not isinstance(value, Tensor):
            return value
        with unseen(), grad_mode(False), _asking():
            made = value.detach()
            if isinstance(value, SymbolicTensor):
                made.__class__ = SymbolicTensor
                made.sizes, made.cases, made.of = value.sizes, (), value.of
        return made

    def size(self, x):
        """The step of a size that is a symbol or made of symbols."""
        step = self.sizes.get(x.expr)
        if step is not None:
            return step
        place = self.input_sizes.get(x.expr.symbol())
        if place is not None:                  # at the top, as the inputs are
            with self.graph.inserting_after(self.last_size or self.last_input):
                step = self.last_size = self.graph.create_node("call_function", ops.aten.sym_size.int, place, {}, name="sym_size_int")
        else:
            op, args = x.steps
            if op == "size":
                step = self.graph.create_node("call_function", ops.aten.sym_size.int, (self.argument(args[0]), args[1]), {},
                                              name="sym_size_int")
            elif op == "numel":
                step = self.graph.create_node("call_function", ops.aten.sym_numel.default, (self.argument(args[0]),), {},
                                              name="sym_numel_default")
            else:
                step = self.graph.call_function(op, tuple([self.argument(a) for a in args]))
            self.describe(step, step.name)
        step.meta["val"] = x
        self.sizes[x.expr] = step
        return step

    def computed(self, func, name, args, kwargs):
        """The result of an operator; for all cases of the sizes where one of its arguments has symbols among them."""
        given = pytree.tree_map(self.faked, (args, kwargs))
        symbolic = [x for x in pytree.tree_leaves(given) if isinstance(x, (SymbolicTensor, DynamicInt))]
        count = len(symbolic[0].of.cases) if symbolic else 1
        made = []
        for k in range(count):
            a, named = pytree.tree_map(lambda x: value_in(x, k), given)
            try:
                made.append(_SHAPES[name](*a) if name in _SHAPES else compute(func, a, named))
            except (RuntimeError, IndexError, ValueError) as error:
                if not k or isinstance(error, (NotImplementedError, *_values())):
                    raise
                names = sorted({n for x in symbolic for n in ([x.expr.symbols()] if isinstance(x, DynamicInt) else [
                    e.symbols() for e in x.sizes if not isinstance(e, int)]) for n in n}, key=list(symbolic[0].of.by_name).index)
                raise Again("failed", names) from None
        if count == 1:
            return made[0]
        of = symbolic[0].of

        def joined(*each):
            return symbolic_tensor(of, each) if isinstance(each[0], FakeTensor) and all([x is not each[0] for x in each[1:]]) else each[0]
        return pytree.tree_map(joined, *made)

    def faked(self, x):
        """A constant without its values."""
        if isinstance(x, Tensor) and not isinstance(x, FakeTensor):
            return self.fake.from_tensor(x)
        return x

    # -- branches ------------------------------------------------------------------------------------------------------------------
    _OF_A_GRAPH = ("graph", "steps", "sizes", "input_sizes", "last_size", "last_input", "parts")

    @contextlib.contextmanager
    def _on(self, around, **graph):
        """A block in which the steps belong to another graph."""
        before, outside = {name: getattr(self, name) for name in self._OF_A_GRAPH}, self.outside
        vars(self).update(graph, outside=before | {"outside": outside} if around is None else around)
        try:
            yield
        finally:
            vars(self).update(before, outside=outside)

    def taken_in(self, x):
        """The placeholder, in a branch, of what the graph around it has."""
        around = dict(self.outside)
        with self._on(around.pop("outside") or False, **around):
            if self.outside is False:
                self.outside = None
            step = self.argument(x)
        made = _taking(self.graph, step)
        self.steps[id(x)] = x, made
        return made

    def _branch(self, fn, operands):
        """(graph, results, their form) of one branch."""
        graph = Graph()
        graph.taken, graph.root = {}, Module()       # {step of the graph around: placeholder}; what it calls
        with self._on(None, graph=graph, steps={}, sizes={}, input_sizes={}, last_size=None, last_input=None, parts=graph.root._modules):
            made, form = pytree.tree_flatten(fn(*operands))
            made = [self.current(x) for x in made]
            if not all([isinstance(x, Tensor) for x in made]):
                raise NotImplementedError("torchshim: torch.export of torch.cond whose branches return anything but tensors")
            graph.output(tuple([self.argument(x) for x in made]))
        for n in graph.nodes:
            if n.meta.get(APART) is not None:
                raise NotImplementedError("torchshim: torch.export of torch.cond where gradients are switched off")
            if n.op == "call_function" and getattr(getattr(n.target, "_schema", None), "mutated", ()) and n.args[0] in graph.taken.values():
                raise NotImplementedError("torchshim: torch.export of torch.cond whose branch writes to what it was given")
        return graph, made, form

    def current(self, x):
        """The tensor that has a tensor's value now."""
        return x

    def branches(self, pred, true_fn, false_fn, operands):
        """torch.cond: both branches, each as a module that the graph calls."""
        (yes, made, form), (no, others, other) = [self._branch(fn, operands) for fn in (true_fn, false_fn)]
        if form != other or any([(_sizes(a), a.dtype) != (_sizes(b), b.dtype) for a, b in zip(made, others)]):
            raise NotImplementedError("torchshim: torch.export of torch.cond whose branches return tensors of different shapes or dtypes")
        if any([t is x for t in (*made, *others) for x in pytree.tree_leaves(operands)]):
            raise NotImplementedError("torchshim: torch.export of torch.cond whose branch returns what it was given")
        place = {self.argument(x): k for k, x in enumerate(pytree.tree_leaves(operands))}       # what functions found comes first
        order = sorted({**yes.taken, **no.taken}, key=lambda s: (s in place, place.get(s, 0), s.name))
        given = [s for both, one in ((True, True), (False, True), (False, False)) for s in order
                 if (s in yes.taken and s in no.taken) == both and (s in yes.taken) == one]
        held, number = [], len(self.parts) // 2
        for what, graph in (("true", yes), ("false", no)):
            first = next(n for n in graph.nodes if n.op != "placeholder")
            for s in given:
                first.prepend(graph.taken[s] if s in graph.taken else _taking(graph, s))
            name = f"{what}_graph_{number}"
            self.parts[name] = GraphModule(graph.root, graph, name)
            held.append(self.graph.create_node("get_attr", name, (), {}, name=name))
        step = self.graph.create_node("call_function", ops.higher_order.cond, (self.argument(pred), *held, tuple(given)), {}, name="cond")
        self.describe(step, "cond")
        self.track(tuple(made), step)
        return pytree.tree_unflatten(made, form)

    def number_inputs(self, symbols):
        """Name the steps of the symbols as torch does, in the order of the symbols."""
        asked = [n for s in symbols if (n := self.sizes.get(Expr.atom(s))) is not None]
        for k, step in enumerate(asked):
            step._rename(f"sym_size_int_{len(asked) + k}")


class Tracing(Steps):
    """Writes each operator down as a step of `graph`, and gives tensors without values.

    steps: {id of a tensor: (tensor, its step)}. constants: {name: tensor} of what the program holds, `names` what the module calls them.
    """
    above_autograd = True

    def __init__(self, graph, named_constants):
        super().__init__(graph)
        self.constants, self.names = {}, named_constants
        self.stack, self.counts, self.lifted, self.grad, self.function = [], {}, [], context.grad, None
        self.constant_of = {}                  # {id of a tensor: (tensor, the constant that it is)}

    def track(self, value, step):
        """Let a step stand for a tensor, or for the tensors of a list."""
        if isinstance(value, Tensor):
            self.steps[id(value)] = value, step
            step.meta.setdefault("val", self.noted(value))
            if "tensor_meta" not in step.meta and step.meta.pop("described", True):
                step.meta["tensor_meta"] = _extract_tensor_metadata(value)
        elif isinstance(value, (tuple, list)):
            step.meta["val"] = type(value)([self.noted(x) for x in value]) if type(value) in (tuple, list) else tuple(
                [self.noted(x) for x in value])
            for k, x in enumerate(value):
                if isinstance(x, Tensor):
                    part = self.graph.call_function(operator.getitem, (step, k))
                    part.meta.update({n: m for n, m in step.meta.items() if n not in ("val", "tensor_meta")})
                    self.track(x, part)

    def constant(self, tensor, prefix="lifted_tensor_"):
        """The step of a tensor that the program found outside."""
        name = self.names.get(id(tensor))
        if name is None:
            name = f"{prefix}{len([n for n in self.constants if n.startswith(prefix)])}"
        with self.graph.inserting_before(self.first_input) if self.first_input else self.graph.inserting_after(self.last_held):
            step = self.graph.placeholder("c_" + name.replace(".", "_"))
        if not self.first_input:
            self.last_held = step
        step.meta["described"] = False             # torch says of constants less than of others
        self.constants[name] = tensor
        self.lifted.append((step, name))
        with unseen():
            self.track(tensor, step)
            step.meta["val"] = self.fake.from_tensor(tensor.detach())
        return step

    def argument(self, x):
        """An argument as the graph holds it."""
        if isinstance(x, Tensor):
            found = self.steps.get(id(x))
            return found[1] if found is not None else self.constant(x) if self.outside is None else self.taken_in(x)
        return self.size(x) if isinstance(x, DynamicInt) else x

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        if name == "item":
            found = self.constant_of.get(id(args[0]))
            if found is not None:
                return found[1].item()
            if args[0].is_floating_point() or args[0].is_complex() or args[0].dtype is _bool():
                raise _data_dependent(func, args[0])
            return values.number(self, func, args[0])
        if name == "lift_fresh":
            func, name = ops.aten.lift_fresh_copy.default, "lift_fresh_copy"
        if name == "_assert_tensor_metadata":
            self.describe(self.graph.call_function(func, (self.argument(args[0]),), {"dtype": args[3], **kwargs}), name)
            return None
        step = self.graph.create_node("call_function", func, pytree.tree_map(self.argument, tuple(args)),
                                      pytree.tree_map(self.argument, dict(kwargs)), name=self.graph._target_to_str(name))
        self.describe(step, name)
        with unseen(), self.fake, _asking():
            failure = None
            try:
                made = self.computed(func, name, tuple(args), dict(kwargs))
            except (*_values(), NotImplementedError) as error:
                failure = error
        of_values = None
        if failure is not None:
            with unseen():
                of_values = values.tensor(self, name, args)
            if of_values is None:
                raise failure if isinstance(failure, NotImplementedError) else _data_dependent(func, args[0], failure)
            made = of_values[0]
        if name in ("detach_", "lift_fresh_copy"):
            known = args[0] if not isinstance(args[0], FakeTensor) else self.constant_of.get(id(args[0]), (0, None))[1]
            if known is not None:
                self.constant_of[id(made)] = made, known
        self.track(made, step)
        if of_values is not None:
            values.bounded(self, *of_values)
        return made

    def describe(self, step, name):
        """Where a step comes from: the modules whose forwards run, the program's lines, the function;
        whether it has gradients as the rest."""
        if context.grad is not self.grad:
            step.meta[APART] = bool(context.grad)
        frames = _program(traceback.extract_stack())
        at = next((k for k, f in enumerate(frames) if f.name == "forward" or self.stack), 0)
        step.meta["stack_trace"] = "".join(traceback.format_list(frames[at:][-3:]))
        step.meta["nn_module_stack"] = {key: (path, kind) for key, path, kind in self.stack}
        step.meta["torch_fn"] = self.function or (f"{name}_1", f"builtin_function_or_method.{name}")

    @contextlib.contextmanager
    def running(self, asking):
        """A block of a public function, whose steps say which it was."""
        if self.function is not None:
            yield
            return
        place, _, name = asking.name.rpartition(".")
        count = self.counts[name] = self.counts.get(name, 0) + 1
        if place.startswith("torch.Tensor"):
            kind = "method-wrapper" if name in ("__get__", "__set__") else "wrapper_descriptor" if name in (
                "__getitem__", "__setitem__") else "method_descriptor"
        else:
            kind = "function" if place == "torch.functional" or place == "torch.nn.functional" and name not in COMPILED else (
                "builtin_function_or_method")
        self.function = f"{name}_{count}", f"{kind}.{name}"
        try:
            yield
        finally:
            self.function = None

    # -- modules -------------------------------------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def within(self, root):
        """A context in which calls of modules are followed."""
        paths, called = {}, {}
        for path, m in root.named_modules(remove_duplicate=False):
            paths.setdefault(id(m), path)

        def enter(m, args):
            path = paths.get(id(m))
            if path is not None:
                count = called[path] = called.get(path, -1) + 1
                again = f"@{count}" if count else ""
                self.stack = [*self.stack, (f"L__self__{path}{again}", path, f"{_as_torch(type(m).__module__)}.{type(m).__qualname__}")]

        def leave(m, args, result):
            if id(m) in paths:
                self.stack = self.stack[:-1]
        hooks = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True)]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


@contextlib.contextmanager
def _asking():
    """A block in which tensors without values are asked, whatever function is running."""
    s = switches()
    before, s.off = s.off, None
    try:
        yield
    finally:
        s.off = before


def _values():
    from .._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
    return DataDependentOutputException, DynamicOutputShapeException


def _data_dependent(func, tensor, error=None):
    """The error of a program that asks for values: as torch has it for conditions;
    numbers that torch would keep symbolic are missing here."""
    from ..fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
    if error is not None or tensor.dtype is not _bool():
        return NotImplementedError(f"torchshim: torch.export of {func}: sizes and numbers that depend on values")
    frame = _program(traceback.extract_stack())[-1]
    return GuardOnDataDependentSymNode(
        None, "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).  (Size-like symbols: none)\n\nconsider using "
        "data-dependent friendly APIs such as guard_or_false, guard_or_true and statically_known_true.\n\nThe following call raised this "
        f'error:\n  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n    {frame.line}\n')


def _bool():
    from .. import bool as kind
    return kind
