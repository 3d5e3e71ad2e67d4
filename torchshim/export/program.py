"""torch.export's programs: a graph of ATen operators, what its inputs and outputs stand for, and the tensors that it holds."""
from __future__ import annotations

import copy
import dataclasses
from typing import Any, Optional

from .. import Tensor
from .._export.verifier import TrainingIRVerifier, Verifier
from ..fx.codegen import _PyTreeCodeGen, _PyTreeInfo
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..nn import Module, Parameter
from ..ops import aten
from ..utils import _pytree as pytree
from .graph_signature import InputKind, OutputKind


@dataclasses.dataclass
class ModuleCallSignature:
    """What a module is called with and returns."""
    inputs: list
    outputs: list
    in_spec: Any
    out_spec: Any
    forward_arg_names: Optional[list] = None


@dataclasses.dataclass
class ModuleCallEntry:
    """A module of the program, by its path, and how it is called where that was kept."""
    fqn: str
    signature: Optional[ModuleCallSignature] = None


@dataclasses.dataclass
class CallSpec:
    """How the arguments and the result of a call are nested."""
    in_spec: Any
    out_spec: Any


class GuardsFn(Module):
    """Refuses inputs that the program was not made for. guards: (name, what a value is to be, {dimension: its size as an expression});
    ranges: {symbol: (least, greatest)}."""

    def __init__(self, guards, ranges):
        super().__init__()
        self.guards, self.ranges = guards, ranges

    def forward(self, *values):
        for (name, want, free), value in zip(self.guards, values):
            if not isinstance(want, tuple):
                if value != want:
                    raise AssertionError(f"Guard failed: {name} == {want!r}")
                continue
            if value.dim() != len(want):
                raise AssertionError(f"Guard failed: {name}.ndim == {len(want)}")
            for k, (n, w) in enumerate(zip(value.shape, want)):
                if k not in free and n != w:
                    raise AssertionError(f"Guard failed: {name}.size()[{k}] == {w}")
        known = {}
        for (name, want, free), value in zip(self.guards, values):
            for k, size in free.items():
                self._check(f"{name}.size()[{k}]", size, value.shape[k], known)

    def _check(self, said, size, n, known):
        symbol = size.symbol()
        if symbol is None:
            (symbol,) = size.symbols()
            slope = size.at({symbol: 1}) - size.at({symbol: 0})
            root, rest = divmod(n - size.at({symbol: 0}), slope)
            if rest:
                raise AssertionError(f"Guard failed: {said} % {slope} == {size.at({symbol: 0}) % slope}")
        else:
            root = n
        if symbol in known and known[symbol][1] != root:
            raise AssertionError(f"Guard failed: {said} == {str(size).replace(symbol, known[symbol][0])}")
        known.setdefault(symbol, (said, root))
        least, most = self.ranges[symbol]
        if root < least:
            raise AssertionError(f"Guard failed: {said} >= {size.at({symbol: least})}")
        if most is not None and root > most:
            raise AssertionError(f"Guard failed: {said} <= {size.at({symbol: most})}")


class ExportedProgram:
    """`module()` gives what can be called; see `torch.export.export`.

    graph_module, graph: the operators. graph_signature: what inputs and outputs stand for. state_dict: parameters and buffers. constants:
    other tensors. call_spec, module_call_graph, example_inputs: how it is called.
    """

    def __init__(self, root, graph, graph_signature, state_dict, range_constraints, module_call_graph, example_inputs=None,
                 constants=None, *, guards=((), {}), dialect="TRAINING"):
        made = GraphModule(root if isinstance(root, Module) else Module(), graph, "GraphModule")
        made.meta.update(getattr(root, "meta", {}))
        self._graph_module, self._graph_signature, self._state_dict = made, graph_signature, dict(state_dict)
        self._range_constraints, self._module_call_graph = dict(range_constraints), list(module_call_graph)
        self._example_inputs, self._constants, self._guards, self._dialect = example_inputs, dict(constants or {}), guards, dialect

    graph_module = property(lambda self: self._graph_module, doc="The operators, as a module that takes parameters and buffers too.")
    graph = property(lambda self: self._graph_module.graph, doc="The graph of operators.")
    graph_signature = property(lambda self: self._graph_signature, doc="What inputs and outputs stand for.")
    state_dict = property(lambda self: self._state_dict, doc="The parameters and buffers by name, parameters first.")
    constants = property(lambda self: self._constants, doc="{name: tensor} of what is neither parameter nor persistent buffer.")
    tensor_constants = constants
    range_constraints = property(lambda self: self._range_constraints, doc="{symbol of a size: its bounds}.")
    module_call_graph = property(lambda self: self._module_call_graph, doc="The modules that were called.")
    dialect = property(lambda self: self._dialect, doc="\"TRAINING\", or \"ATEN\" after run_decompositions.")
    verifiers = property(lambda self: [self.verifier], doc="What checks it.")
    verifier = property(lambda self: TrainingIRVerifier if self._dialect == "TRAINING" else Verifier, doc="What checks it.")

    @property
    def example_inputs(self):
        """(args, kwargs) that it was made with."""
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value):
        if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], dict)):
            raise ValueError("Example inputs should be a tuple of args and kwargs")
        self._example_inputs = value

    @property
    def call_spec(self):
        """How the arguments and the result of a call are nested."""
        top = self._module_call_graph[0].signature
        return CallSpec(top.in_spec, top.out_spec)

    def parameters(self):
        """The parameters."""
        for _, p in self.named_parameters():
            yield p

    def named_parameters(self):
        """The parameters by name."""
        for name in self._graph_signature.parameters:
            yield name, self._state_dict[name]

    def buffers(self):
        """The buffers."""
        for _, b in self.named_buffers():
            yield b

    def named_buffers(self):
        """The buffers by name."""
        free = self._graph_signature.non_persistent_buffers
        for name in self._graph_signature.buffers:
            yield name, (self._constants if name in free else self._state_dict)[name]

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self):
        code = self._graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        signature = str(self._graph_signature).replace("\n", "\n    ")
        return (f"ExportedProgram:\n    {code}\nGraph signature: {signature}\n"
                f"Range constraints: {{{', '.join([f'{k}: {v}' for k, v in self._range_constraints.items()])}}}\n")

    def _held(self, name, kind):
        return self._constants[name] if name not in self._state_dict else self._state_dict[name]

    def module(self, check_guards=True):
        """A module that computes the program, on the same parameters and buffers. ValueError for arguments that are nested otherwise,
        AssertionError for those that it was not made for, unless `check_guards` is False."""
        top, signature = self._module_call_graph[0].signature, self._graph_signature
        root, graph, steps = Module(), Graph(), {}
        for name, m in self._graph_module.named_children():
            root.add_module(name, m)
        placeholders = [n for n in self.graph.nodes if n.op == "placeholder"]
        specs = dict(zip([n.name for n in placeholders], signature.input_specs))
        user = [n for n in placeholders if specs[n.name].kind == InputKind.USER_INPUT]
        for n in user:
            steps[n] = graph.placeholder(n.target)
            steps[n].meta = dict(n.meta)
        for n in placeholders:
            spec = specs[n.name]
            if spec.kind == InputKind.USER_INPUT:
                continue
            value = self._held(spec.target, spec.kind)
            _put(root, spec.target, value, spec)
            steps[n] = graph.create_node("get_attr", spec.target, (), {}, name=spec.target.replace(".", "_"))
            steps[n].meta = dict(n.meta)
        if check_guards and self._guards[0]:
            root._guards_fn = GuardsFn(*self._guards)
            graph.call_module("_guards_fn", tuple([steps[n] for n in user]))
        for n in self.graph.nodes:
            if n.op not in ("placeholder", "output"):
                steps[n] = graph.node_copy(n, lambda x: steps[x])
        out = next(n for n in reversed(list(self.graph.nodes)) if n.op == "output")
        results = [steps.get(x, x) for x in out.args[0]]
        by_input = {specs[n.name].arg.name: steps[n] for n in placeholders}
        by_target = {(specs[n.name].kind, specs[n.name].target): steps[n] for n in placeholders}
        returned = []
        for spec, value in zip(signature.output_specs, results):
            where = {OutputKind.BUFFER_MUTATION: lambda: by_target[InputKind.BUFFER, spec.target],
                     OutputKind.PARAMETER_MUTATION: lambda: by_target[InputKind.PARAMETER, spec.target],
                     OutputKind.USER_INPUT_MUTATION: lambda: by_input[spec.target]}.get(spec.kind)
            if where is None:
                returned.append(value)
            else:
                graph.call_function(aten.copy_.default, (where(), value))
        graph.output(tuple(returned))
        names = top.forward_arg_names or [f"arg_{k}" for k in range(len(user))]
        graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(list(names), top.in_spec, top.out_spec)))
        made = GraphModule(root, graph, "GraphModule")
        for spec in signature.input_specs:     # what a GraphModule takes for persistent buffers
            if spec.kind == InputKind.CONSTANT_TENSOR or spec.persistent is False:
                *parents, last = spec.target.split(".")
                holder = made.get_submodule(".".join(parents))
                value = holder._buffers.pop(last, None)
                if spec.persistent is False:
                    holder.register_buffer(last, value, persistent=False)
                elif value is not None:
                    holder.__dict__[last] = value
        made.register_forward_pre_hook(_Checked(top.in_spec), with_kwargs=True)

        def refused(name):
            def method(*args):
                raise NotImplementedError(f"Calling {name}() is not supported yet.")
            return method
        made.train, made.eval = refused("train"), refused("eval")
        return made

    def run_decompositions(self, decomp_table=None, decompose_custom_triton_ops=False):
        """The program without writes in place, of operators that others are made of: those of `default_decompositions()` unless
        `decomp_table` says otherwise."""
        from .decomposing import decomposed
        return decomposed(self, decomp_table)

    def validate(self):
        """Nothing: programs are checked as they are made."""

    def _update(self, graph_module, graph_signature, *, state_dict=None, constants=None, verifiers=None):
        return ExportedProgram(graph_module, graph_module.graph, graph_signature, self._state_dict if state_dict is None else state_dict,
                               copy.deepcopy(self._range_constraints), copy.deepcopy(self._module_call_graph), self._example_inputs,
                               self._constants if constants is None else constants, guards=self._guards, dialect=self._dialect)


class _Checked:
    """What comes before a call: ValueError for arguments that are nested otherwise."""

    def __init__(self, spec):
        self.spec = spec

    def __call__(self, module, args, kwargs):
        want = self.spec.children()[1].context if len(self.spec.children()) == 2 else []
        if set(kwargs) != set(want):
            raise ValueError(f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected {list(want)}")
        kwargs = {k: kwargs[k] for k in want}
        found = pytree.tree_structure((tuple(args), kwargs))
        if found != self.spec:
            raise ValueError(f"Trying to flatten user inputs with exported input tree spec: \n{self.spec}\nbut actually got inputs with "
                             f"tree spec of: \n{found}.\nPlease check that the inputs have the same number and type of args and kwargs as "
                             "the ones you used when tracing.")
        return args, kwargs


def _put(root, path, value, spec):
    """A tensor at its place in a module."""
    *parents, last = path.split(".")
    for part in parents:
        if part not in root._modules:
            root.add_module(part, Module())
        root = root._modules[part]
    if isinstance(value, Parameter) and spec.kind == InputKind.PARAMETER:
        root.register_parameter(last, value)
    elif isinstance(value, Tensor):
        if spec.kind == InputKind.BUFFER:
            root.register_buffer(last, value, persistent=bool(spec.persistent))
        else:
            root.__dict__[last] = value
    else:
        setattr(root, last, value)


for _class in (ModuleCallSignature, ModuleCallEntry, ExportedProgram):
    _class.__module__ = "torchshim.export.exported_program"       # where torch has them
