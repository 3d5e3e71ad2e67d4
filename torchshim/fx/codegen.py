"""The Python code that a graph stands for: how it is written, and what may be changed about that."""
from __future__ import annotations

import dataclasses
import enum
import keyword
import re
import sys
import types
import typing
from typing import Any, NamedTuple, Optional

from . import _pytree as fx_pytree
from .namespace import CUSTOM_BUILTINS
from .node import Node, _get_qualified_name, _type_repr
from ..utils import _pytree as pytree

_torch = sys.modules[__name__.partition(".")[0]]
_BINARY = {"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}
_REFLECTED = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>",
              "and_": "&", "or_": "|", "xor": "^", "matmul": "@"}
reflectable_magic_methods = {**{k: f"{{}} {v} {{}}" for k, v in _REFLECTED.items()}, "getitem": "{}[{}]"}
magic_methods = {**{k: f"{{}} {v} {{}}" for k, v in _BINARY.items()}, "pos": "+{}", "neg": "-{}", "invert": "~{}",
                 **reflectable_magic_methods}
inplace_methods = {**{f"i{k.strip('_')}": f"{{}} {v}= {{}}" for k, v in _REFLECTED.items()}, "setitem": "{}[{}] = {}"}
_COUNTER = "# COUNTER: "
_GENERIC = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet, tuple: typing.Tuple}


@dataclasses.dataclass
class PythonCode:
    """Source text, the global names that it needs, and {line after its head: number of the step}."""
    src: str
    globals: dict
    _lineno_map: Optional[dict]
    _prologue_start: int = 0
    fn_code: str = ""


class _PyTreeInfo(NamedTuple):
    orig_args: list
    in_spec: Any
    out_spec: Any


def _snake_case(s):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", s).lower()


def _is_from_torch(obj):
    module = getattr(obj, "__module__", None)
    if module is not None:
        return module.partition(".")[0] in ("torch", _torch.__name__)
    name = getattr(obj, "__name__", None)
    return name is not None and name != "torch" and any([getattr(place, name, None) is obj for place in (_torch, _torch.nn.functional)])


def _format_target(base, target):
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() and not keyword.iskeyword(part) else f'getattr({base}, "{part}")'
    return base


def _found(name):
    """Whether generated code finds a dotted name under `torch`."""
    at = _torch
    for part in name.split(".")[1:]:
        at = getattr(at, part, None)
    return at


class _Writer:
    """The writing of one function's code."""

    def __init__(self, codegen, root_module, namespace):
        self.codegen, self.root, self.namespace = codegen, root_module, namespace
        self.globals, self.free, self.body, self.wrapped, self.returns = {}, [], [], {}, ""
        self.stack_trace, self.verbose = None, False
        values = {"inf": float("inf"), "nan": float("nan"), "NoneType": type(None), "torch": _torch, "device": _torch.device,
                  "fx_pytree": fx_pytree, "pytree": pytree}
        for name, value in (*codegen.additional_globals(), *[(n, values[n]) for n in CUSTOM_BUILTINS]):
            self.add_global(name, value)

    def add_global(self, hint, obj):
        """The name under which the code finds an object."""
        if _is_from_torch(obj) and obj is not _torch.device:
            name = _get_qualified_name(obj)
            if name.startswith("torch.") and _found(name) is not None:
                return name
        name = self.namespace.create_name(hint, obj if _hashable(obj) else None)
        self.globals[name] = obj
        return name

    def type_repr(self, o):
        """A type as code."""
        if o == ():
            return "()"
        if isinstance(o, types.UnionType):
            return "|".join([self.type_repr(a) for a in o.__args__])
        origin = getattr(o, "__origin__", None)
        if origin is not None:
            if not isinstance(o, types.GenericAlias):
                origin = _GENERIC.get(origin, origin)
            shown = self.add_global(_type_repr(origin), origin)
            return f"{shown}[{','.join([self.type_repr(a) for a in o.__args__])}]" if getattr(o, "__args__", None) else shown
        return self.add_global(_type_repr(o), o)

    def value(self, a):
        """An argument as code."""
        if isinstance(a, Node):
            return repr(a)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return f"{self.add_global(_get_qualified_name(type(a)), type(a))}({', '.join([self.value(x) for x in a])})"
        if isinstance(a, tuple):
            return f"({', '.join([self.value(x) for x in a])}{',' if len(a) == 1 else ''})"
        if isinstance(a, list):
            return f"[{', '.join([self.value(x) for x in a])}]"
        if isinstance(a, dict):
            return "{" + ", ".join([f"{k!r}: {self.value(v)}" for k, v in a.items()]) + "}"
        if isinstance(a, slice):
            return f"slice({', '.join([self.value(x) for x in (a.start, a.stop, a.step)])})"
        if isinstance(a, enum.Enum):
            return f"{self.add_global(type(a).__name__, type(a))}.{a.name}"
        if isinstance(a, type) or callable(a) and hasattr(a, "__name__"):
            return self.add_global(_get_qualified_name(a), a)
        if isinstance(a, (bool, int, float, complex, str, bytes, range, _torch.device, type(None), type(...))):
            return repr(a)
        shown = repr(a)
        return shown if shown.startswith("torch.") and _found(shown) is a else self.add_global(f"_{type(a).__name__.lower()}", a)

    def arguments(self, args, kwargs):
        return ", ".join([*[self.value(a) for a in args], *[f"{k} = {self.value(v)}" for k, v in kwargs.items()]])

    def emit(self, node):
        """Add the line of one step, without its end."""
        kind = "" if node.type is None else f" : {self.type_repr(node.type)}"
        if self.verbose and node.op != "output":
            kind = _annotation(node) or kind
        name, op, target = repr(node), node.op, node.target
        if op == "placeholder":
            default = f" = {self.value(node.args[0])}" if node.args else ""
            self.free.append(f"{target}{kind}{default}")
            raw = target.replace("*", "")
            if raw != name:
                self.body.append(f"{name} = {raw}\n")
        elif op == "call_method":
            self.body.append(f"{name}{kind} = "
                             f"{_format_target(self.value(node.args[0]), target)}({self.arguments(node.args[1:], node.kwargs)})")
        elif op == "call_function":
            self.body.append(self.call(node, name, kind))
        elif op == "call_module":
            self.body.append(f"{name}{kind} = {_format_target(self.root, target)}({self.arguments(node.args, node.kwargs)})")
        elif op == "get_attr":
            self.body.append(f"{name}{kind} = {_format_target(self.root, target)}")
        else:
            if node.type is not None:
                self.returns = f" -> {self.type_repr(node.type)}"
            self.body.append(self.codegen.generate_output(node.args[0]))

    def call(self, node, name, kind):
        target, args = node.target, node.args
        short = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            form = magic_methods.get(short)
            if form and len(args) == form.count("{}"):
                return f"{name}{kind} = {form.format(*[self.value(a) for a in args])}"
            form = inplace_methods.get(short)
            if form and len(args) == form.count("{}"):
                return f"{form.format(*[self.value(a) for a in args])};  {name}{kind} = {self.value(args[0])}"
        found = self.add_global(_get_qualified_name(target), target)
        if found == "getattr" and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return f"{name}{kind} = {_format_target(self.value(args[0]), args[1])}"
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(found)
        return f"{name}{kind} = {found}({self.arguments(args, node.kwargs)})"

    def comment(self, node):
        """Say where the next steps come from, where that changes."""
        if node.op in ("placeholder", "output"):
            return
        trace = node.stack_trace
        if trace:
            if trace != self.stack_trace:
                self.stack_trace = trace
                self.body.append(f"\n# {_place_of(trace)}\n")
        elif self.stack_trace != "":
            self.stack_trace = ""
            self.body.append("\n# No stacktrace found for following nodes\n")


_SHORT = {"float": "f", "complex": "c", "bfloat": "bf", "int": "i", "uint": "u"}


def _annotation(node):
    """What verbose code says of a step's value."""
    val = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
    if isinstance(val, _torch.Tensor) or type(val).__name__ == "TensorMetadata":
        name = str(val.dtype).rpartition(".")[2]
        letters, bits = re.match(r"([a-z]+)([0-9].*)?$", name).groups()
        short = "b8" if name == "bool" else f"{_SHORT[letters]}{bits}" if letters in _SHORT else name
        return f': "{short}{list(val.shape)}"'
    if isinstance(val, (_torch.SymInt, _torch.SymBool, _torch.SymFloat)):
        return f': "Sym({val})"'
    return ""


def _hashable(obj):
    try:
        hash(obj)
    except TypeError:
        return False
    return True


def _place_of(trace):
    lines = [line.strip() for line in trace.strip().splitlines()]
    for k in range(len(lines) - 2, -1, -1):
        match = re.match(r'^File "(.+)", line (\d+), in (.+)$', lines[k])
        if match:
            return f"File: {match.group(1)}:{match.group(2)} in {match.group(3)}, code: {lines[k + 1]}"
    return ""


class CodeGen:
    """How a graph's code is written. Subclasses change the head of the function, what it does with inputs and outputs,
    and its last line."""

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"
        self._get_repr = repr

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        """The `def` line. free_vars: parameters as code, with types and defaults."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args, *, descs=None):
        """The last line. output_args: what the output holds, Nodes that print as their names."""
        return f"return {self._get_repr(output_args)}"

    def process_inputs(self, *args):
        """The values of the placeholders, from the arguments of a call."""
        return args

    def process_outputs(self, outputs):
        """What a call returns, from the value of the output."""
        return outputs

    def additional_globals(self):
        """Pairs (name, object) that the code may use besides."""
        return []

    def _gen_python_code(self, nodes, root_module, namespace, *, verbose=False):
        writer, last, doomed = _Writer(self, root_module, namespace), {}, {}
        for node in nodes:
            for n in node.all_input_nodes:
                last[n] = node
        for n, user in last.items():
            doomed.setdefault(user, []).append(n)
        self._get_repr, writer.verbose = writer.value, verbose
        try:
            for k, node in enumerate(nodes):
                if verbose:
                    writer.comment(node)
                writer.body.append(f"{_COUNTER}{k}\n")
                writer.emit(node)
                if node.op not in ("placeholder", "output"):
                    gone = [n for n in node.all_input_nodes if n in doomed.get(node, ())] + ([] if node.users else [node])
                    writer.body.append(f";  {' = '.join([*[repr(n) for n in gone], 'None'])}\n" if gone else "\n")
                elif node.op == "output":
                    writer.body.append("\n")
        finally:
            self._get_repr = repr
        body = writer.body if any([not line.startswith(_COUNTER) for line in writer.body]) else ["pass\n"]
        if self._body_transformer:
            body = self._body_transformer(body)
        wrap = "\n".join([f'{writer.add_global("wrap", _torch.fx.wrap)}("{name}")' for name in writer.wrapped])
        head = f"\n{wrap}\n\n{self.gen_fn_def(writer.free, writer.returns)}\n"
        first, lines, places, step = head.count("\n"), [], {}, None
        for line in "".join(body).split("\n"):
            if line.startswith(_COUNTER):
                step = int(line[len(_COUNTER):])
            elif line or lines:
                lines.append(f"    {line}")
                places[len(lines)] = step
        return PythonCode(head + "\n".join(lines), writer.globals, places, first)


class _PyTreeCodeGen(CodeGen):
    """Code for a function whose arguments are containers: the placeholders are what lies in these."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        """The leaves of the arguments."""
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out):
        """The result, in its containers again."""
        if not isinstance(out, (list, tuple)):
            out = [out]
        return pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        """The `def` line with the function's own parameters, and one that takes them apart."""
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation)
        args = list(self.pytree_info.orig_args)
        bound = ["self"] if not args or args[0] != "self" else [args.pop(0)]
        head = super().gen_fn_def([*bound, *args], maybe_return_annotation)
        if free_vars:
            plain = [re.split(r"[ :=]", v)[0] for v in free_vars]
            typed = [f"{v}\n    " for v in [re.split(r"=", v)[0].rstrip() for v in free_vars] if ":" in v]
            spec = self.pytree_info.in_spec
            given = f"[{', '.join(args)}]"
            if spec.type is tuple and [c.type for c in spec.children()] == [tuple, dict]:        # arguments, and those by name
                count = len(spec.children()[0].children())
                by_name = [f"'{k}':{a}" for k, a in zip(spec.children()[1].context, args[count:])]
                given = f"([{', '.join(args[:count])}], {{{','.join(by_name)}}})"
            head += f"\n    {', '.join(plain)}, = fx_pytree.tree_flatten_spec({given}, self._in_spec)"
            head += "".join([f"\n    {t.rstrip()}" for t in typed])
        return head

    def generate_output(self, output_args, *, descs=None):
        """The last line, which puts the result into its containers."""
        if self.pytree_info and self.pytree_info.out_spec:
            return f"return pytree.tree_unflatten({self._get_repr(output_args)}, self._out_spec)"
        return super().generate_output(output_args)
