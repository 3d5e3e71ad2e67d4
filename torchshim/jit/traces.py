"""torch.jit._get_trace_graph: what a module does with its arguments, as a graph of ATen operators of the kind that counters of operations
read (nodes with kinds, scopes, inputs and outputs with sizes)."""
from __future__ import annotations

from .. import Tensor
from .._dispatch.kernels import compute
from ..utils import _pytree as pytree
from ..utils._python_dispatch import TorchDispatchMode

current = None                                 # the State of the trace that is under way


class State:
    """The scopes in whose midst a trace is; hooks of modules push their names."""

    def __init__(self):
        self.scopes = []

    def push_scope(self, name):
        """Go into a scope."""
        self.scopes.append(name)

    def pop_scope(self):
        """Leave it."""
        self.scopes.pop()

    def current_scope(self):
        """The scopes, outermost first, with a stroke between."""
        return "/".join(self.scopes)


class Type:
    """The type of a Value: of a tensor, with its sizes, or of anything else."""

    def __init__(self, value):
        self._of = value

    def kind(self):
        """TensorType, IntType, …"""
        if isinstance(self._of, Tensor):
            return "TensorType"
        names = {bool: "BoolType", int: "IntType", float: "FloatType", str: "StringType", type(None): "NoneType", list: "ListType",
                 tuple: "TupleType"}
        return names.get(type(self._of), "IntType")

    def sizes(self):
        """A tensor's sizes, else None."""
        return list(self._of.shape) if isinstance(self._of, Tensor) else None

    def strides(self):
        """A tensor's strides, else None."""
        return list(self._of.stride()) if isinstance(self._of, Tensor) else None

    def dim(self):
        """The number of a tensor's dimensions, else None."""
        return self._of.dim() if isinstance(self._of, Tensor) else None

    def dtype(self):
        """A tensor's dtype, else None."""
        return self._of.dtype if isinstance(self._of, Tensor) else None

    def scalarType(self):
        """Its name as TorchScript has it, Float; None for what is no tensor."""
        if not isinstance(self._of, Tensor):
            return None
        name = str(self._of.dtype).rpartition(".")[2]
        return {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
                "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool"}.get(name, name)


class Value:
    """What a node takes or gives."""

    def __init__(self, graph, node, of):
        self._node, self._of, self._name = node, of, str(len(graph._values))
        graph._values.append(self)

    def node(self):
        """The node that gives it."""
        return self._node

    def type(self):
        """Its type."""
        return Type(self._of)

    def isCompleteTensor(self):
        """Whether it is a tensor, whose sizes are known then."""
        return isinstance(self._of, Tensor)

    def toIValue(self):
        """A constant's value, None for others."""
        return self._of if self._node.kind() == "prim::Constant" else None

    def debugName(self):
        """Its name in the graph's text."""
        return self._name


class Node:
    """One call of an operator."""

    def __init__(self, kind, scope, inputs=()):
        self._kind, self._scope, self._inputs, self._outputs = kind, scope, list(inputs), []

    def kind(self):
        """aten::linear, prim::Constant, …"""
        return self._kind

    def scopeName(self):
        """Where in the module it was called."""
        return self._scope

    def inputs(self):
        """Its arguments."""
        return iter(self._inputs)

    def outputs(self):
        """Its results."""
        return iter(self._outputs)

    def inputsSize(self):
        """How many arguments it has."""
        return len(self._inputs)

    def outputsSize(self):
        """How many results it has."""
        return len(self._outputs)


class Graph:
    """The nodes of a trace, in their order."""
    __module__ = "torch"

    def __init__(self):
        self._nodes, self._values, self._params, self._returned = [], [], Node("prim::Param", ""), []

    def nodes(self):
        """The nodes."""
        return iter(self._nodes)

    def inputs(self):
        """The tensors that the program is called with, and those of its parameters and buffers."""
        return self._params.outputs()

    def outputs(self):
        """What the program returns."""
        return iter(self._returned)

    def __repr__(self):
        lines = [f"graph({', '.join(['%' + v.debugName() for v in self.inputs()])}):"]
        for n in self._nodes:
            given = ", ".join(["%" + v.debugName() for v in n.inputs()])
            value = f"[value={n._outputs[0]._of!r}]" if n._kind == "prim::Constant" else ""
            lines.append(f"  {', '.join(['%' + v.debugName() for v in n.outputs()])} = {n._kind}{value}({given})")
        return "\n".join([*lines, f"  return ({', '.join(['%' + v.debugName() for v in self._returned])})"]) + "\n"


class Tracing(TorchDispatchMode):
    """Notes each operator down, before what is made of others is taken apart, and computes it."""
    above_autograd = True

    def __init__(self, graph, state):
        super().__init__()
        self.graph, self.state, self.known = graph, state, {}

    def running(self, asking):
        """A block in which a public function runs."""
        from contextlib import nullcontext
        return nullcontext()

    def holds(self, tensor, node):
        """The new Value of a tensor."""
        made = Value(self.graph, node, tensor)
        self.known[id(tensor)] = made, tensor
        return made

    def node(self, kind, inputs, of):
        """A new node and its results."""
        n = Node(kind, self.state.current_scope(), inputs)
        self.graph._nodes.append(n)
        n._outputs = [self.holds(x, n) if isinstance(x, Tensor) else Value(self.graph, n, x) for x in of]
        return n

    def argument(self, x):
        """The Value of an argument; constants and lists are nodes of their own."""
        if isinstance(x, Tensor):
            found = self.known.get(id(x))
            return found[0] if found is not None else self.node("prim::Constant", (), [x])._outputs[0]
        if isinstance(x, (list, tuple)):
            return self.node("prim::ListConstruct", [self.argument(y) for y in x], [list(x)])._outputs[0]
        return self.node("prim::Constant", (), [x])._outputs[0]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        arguments = []
        for k, a in enumerate(func._schema.arguments):
            arguments.append(args[k] if k < len(args) and not a.kwarg_only else kwargs.get(a.name, a.default))
        if name.startswith("conv") and name.removeprefix("conv").removeprefix("_transpose")[:2] in ("1d", "2d", "3d"):
            name, arguments = "_convolution", _convolution(name, arguments)
        elif name == "lift_fresh":
            return compute(func, args, kwargs)
        given = [self.argument(x) for x in arguments]
        made = compute(func, args, kwargs)
        self.node(f"aten::{name}", given, made if isinstance(made, (tuple, list)) else [made])
        return made


def _convolution(name, arguments):
    """The arguments of aten::_convolution for those of conv2d and the like."""
    n, transposed = int(name[-2]), "transpose" in name
    each = lambda x: list(x) * n if isinstance(x, (list, tuple)) and len(x) == 1 else [x] * n if isinstance(x, int) else list(x)
    x, weight, bias, stride, padding, *rest = arguments
    extra, groups, dilation = (each(rest[0]), rest[1], each(rest[2])) if transposed else ([0] * n, rest[1], each(rest[0]))
    return [x, weight, bias, each(stride), padding if isinstance(padding, str) else each(padding), dilation, transposed, extra, groups,
            False, False, True, True]


def trace_graph(f, args, kwargs):
    """(graph, what the call returned)."""
    global current
    graph, state = Graph(), State()
    mode = Tracing(graph, state)
    named = [*f.state_dict(keep_vars=True).values()] if hasattr(f, "state_dict") else []
    for x in [*pytree.tree_leaves((args, kwargs)), *named]:
        if isinstance(x, Tensor) and id(x) not in mode.known:
            graph._params._outputs.append(mode.holds(x, graph._params))
    before, current = current, state
    try:
        with mode:
            made = f(*args, **kwargs)
    finally:
        current = before
    graph._returned = [mode.argument(x) for x in pytree.tree_leaves(made) if isinstance(x, Tensor)]
    return graph, made


