"""What TorchScript archives hold as source: a small typed language in Python's syntax, made into Python functions.

Only what that language has is let through: names of the archive, of its constants and of operators, attributes of its own objects. Nothing
is imported, no builtin is in reach and no attribute of a Python object can be read, so that a file runs nothing but its arithmetic.
"""
from __future__ import annotations

import ast
import collections
import typing

from .. import Tensor
from . import isinstance as _isinstance
from .operators import operator

_NODES = (ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.With,
          ast.withitem,
          ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.Assert, ast.Call, ast.keyword, ast.Name, ast.Constant, ast.Attribute,
          ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Dict, ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, ast.Load, ast.Store,
          ast.expr_context)
_TYPES = {"Tensor": Tensor, "int": int, "float": float, "str": str, "bool": bool, "NoneType": type(None), "None": type(None), "List": list,
          "Dict": dict, "Tuple": tuple, "Optional": typing.Optional, "Union": typing.Union, "number": (int, float), "complex": complex}
_ROOTS = ("torch", "ops", "__torch__", "CONSTANTS")


class Broken(RuntimeError):
    """Source that is not TorchScript."""


class Object:
    """An instance of a class that a program wrote in TorchScript."""


def dotted(node):
    """The path a.b.c of nested attributes of a name, or None."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def convert(kind, x):
    """A value that is annotated with a type: an element of a tensor becomes a number where one is wanted."""
    return kind(x) if kind in (int, float, bool) and isinstance(x, Tensor) else x


class _Lowered(ast.NodeTransformer):
    """Python's tree for a function: every name of torch, of constants and of other units one global, every attribute a call of `get`."""

    def __init__(self, program):
        self.program = program

    def visit(self, node):
        if not isinstance(node, _NODES):
            raise Broken(f"torchshim: {type(node).__name__} in a TorchScript archive")
        return super().visit(node)

    def name(self, path, node):
        self.program.scope.setdefault(path, None)
        if self.program.scope[path] is None:
            self.program.scope[path] = self.program.resolve(path)
        return ast.copy_location(ast.Name(path, ast.Load()), node)

    def visit_Name(self, node):
        if node.id.startswith("__") and isinstance(node.ctx, ast.Load):
            raise Broken(f"torchshim: {node.id} in a TorchScript archive")
        return node

    def visit_FunctionDef(self, node):
        if node.decorator_list:
            raise Broken("torchshim: a decorator in a TorchScript archive")
        for a in (*node.args.args, *node.args.kwonlyargs):
            a.annotation = None
        node.returns = None
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        node.body = [self.visit(s) for s in node.body]
        return node

    def visit_Attribute(self, node):
        path = dotted(node)
        if path is not None and path.partition(".")[0] in _ROOTS:
            return self.name(path, node)
        if not isinstance(node.ctx, ast.Load):
            raise Broken("torchshim: an attribute among several targets in a TorchScript archive")
        return self.call("get", [self.visit(node.value), ast.Constant(node.attr)], node)

    def call(self, name, args, node):
        return ast.fix_missing_locations(ast.copy_location(ast.Call(ast.Name(f"<{name}>", ast.Load()), args, []), node))

    def visit_Assign(self, node):
        target = node.targets[0]
        if isinstance(target, ast.Attribute):
            done = self.call("set", [self.visit(target.value), ast.Constant(target.attr), self.visit(node.value)], node)
            return ast.copy_location(ast.Expr(done), node)
        return self.generic_visit(node)

    def visit_AnnAssign(self, node):
        return ast.copy_location(ast.Assign([self.visit(node.target)], self.visit(node.value)), node) if node.value else ast.Pass()

    def visit_Call(self, node):
        known = node.func.id if isinstance(node.func, ast.Name) else None
        if known in ("annotate", "unchecked_cast", "uninitialized"):
            if known == "uninitialized":
                return ast.copy_location(ast.Constant(None), node)
            kind = node.args[0].id if isinstance(node.args[0], ast.Name) else None
            value = self.visit(node.args[1])
            return self.call("convert", [ast.Name(kind, ast.Load()), value], node) if kind in ("int", "float", "bool") else value
        if known == "isinstance":
            key = f"<type {ast.dump(node.args[1])}>"
            self.program.scope[key] = self.program.type(node.args[1])
            return self.call("isinstance", [self.visit(node.args[0]), ast.Name(key, ast.Load())], node)
        path = dotted(node.func)
        if path is not None and path.startswith("__torch__.") and path.endswith(".__new__"):
            return self.call("new", [self.name(path.removesuffix(".__new__"), node)], node)
        if known == "getattr":
            return self.call("get", [self.visit(a) for a in node.args], node)
        return self.generic_visit(node)


class Program:
    """The units of an archive: functions and classes by their full names, made when they are first asked for.

    read(path): the source below `code/`, or None; constants: the archive's tensors and other constants; make_class(name, node, methods,
    constants, program): what a class of modules becomes.
    """

    def __init__(self, read, constants, make_class):
        self.read, self.constants, self.make_class = read, constants, make_class
        self.files, self.made = {}, {}
        self.scope = {"__builtins__": {}, "<get>": get, "<set>": put, "<new>": new, "<convert>": convert, "<isinstance>": _isinstance,
                      "range": range,
                      "inf": float("inf"), "nan": float("nan"), "infj": complex(0, float("inf")), "nanj": complex(0, float("nan"))}
        for name in ("int", "float", "bool", "str", "print", "ord", "chr", "hex", "bin", "oct", "complex", "hasattr"):
            self.scope[name] = has if name == "hasattr" else operator(f"torch.{name}")

    def units(self, path):
        """{name: tree} of one file of the archive."""
        if path not in self.files:
            source = self.read(path)
            if source is None:
                raise Broken(f"torchshim: the archive has no code/{path}")
            try:
                tree = ast.parse(source)
            except SyntaxError as error:
                raise Broken(f"torchshim: code/{path} of the archive is damaged: {error}") from None
            self.files[path] = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
            self.files[path][""] = source
        return self.files[path]

    def resolve(self, path):
        """The operator, constant, function or class that a dotted name means."""
        root, _, rest = path.partition(".")
        if root == "CONSTANTS":
            return self.constants[int(rest.removeprefix("c"))]
        if root != "__torch__":
            return operator(path)
        if path not in self.made:
            self.made[path] = self._make(path)
        return self.made[path]

    def _make(self, path):
        module, _, name = path.rpartition(".")
        units = self.units(module.replace(".", "/") + ".py")
        if name not in units or not name:
            raise Broken(f"torchshim: the archive has no {path}")
        node = units[name]
        if isinstance(node, ast.FunctionDef):
            return self.function(node, module)
        base = node.bases[0].id if node.bases and isinstance(node.bases[0], ast.Name) else "object"
        if base == "NamedTuple":
            return self._named_tuple(node)
        if base not in ("Module", "object"):
            raise NotImplementedError(f"torchshim: a {base} in a TorchScript archive")
        holder = self.made[path] = type(name, (Object,), {}) if base == "object" else None
        methods = {n.name: self.function(n, path) for n in node.body if isinstance(n, ast.FunctionDef)}
        fields = {dotted(n.target) or n.target.slice.value: n for n in node.body if isinstance(n, ast.AnnAssign)}
        constants = {k: ast.literal_eval(n.value) for k, n in fields.items() if n.value is not None}
        names = {*methods, *fields, *[n.targets[0].slice.value for n in node.body if isinstance(n,
            ast.Assign) and isinstance(n.targets[0], ast.Subscript)]}
        if holder is None:
            return self.make_class(path, node, methods, constants, names, self)
        for k, v in {**constants, **methods, "_names": frozenset(names)}.items():
            setattr(holder, k, v)
        return holder

    @staticmethod
    def _named_tuple(node):
        fields = [n.target.id for n in node.body if isinstance(n, ast.AnnAssign)]
        defaults = [ast.literal_eval(n.value) for n in node.body if isinstance(n, ast.AnnAssign) and n.value is not None]
        return collections.namedtuple(node.name, fields, defaults=defaults)

    def function(self, node, home):
        """A Python function from the tree of one."""
        lowered = ast.fix_missing_locations(ast.Module([_Lowered(self).visit(node)], []))
        space: dict = {}
        exec(compile(lowered, f"<TorchScript {home}>", "exec"), self.scope, space)
        return space[node.name]

    def type(self, node):
        """The Python type that an annotation means."""
        if isinstance(node, ast.Constant) and node.value is None:
            return type(None)
        if isinstance(node, ast.Tuple):
            return tuple([self.type(n) for n in node.elts])
        if isinstance(node, ast.Subscript):
            inner, outer = self.type(node.slice), self.type(node.value)
            return outer[inner]
        path = dotted(node)
        if path in _TYPES:
            return _TYPES[path]
        if path is not None and path.startswith("__torch__."):
            return self.resolve(path)
        raise NotImplementedError(f"torchshim: the type {ast.unparse(node)} in a TorchScript archive")


def new(cls):
    """An object of a class of the program, without its attributes yet."""
    if not (isinstance(cls, type) and issubclass(cls, Object)):
        raise Broken("torchshim: an object of an unknown class in a TorchScript archive")
    return object.__new__(cls)


def has(obj, name):
    """Whether an object of the program has an attribute."""
    from .modules import LoadedModule
    if isinstance(obj, LoadedModule):
        return obj._has(name)
    return isinstance(obj, Object) and (name in type(obj)._names or name in vars(obj))


def get(obj, name):
    """An attribute that a program of the archive may see."""
    if has(obj, name) or isinstance(obj, tuple) and name in getattr(obj, "_fields", ()):
        return getattr(obj, name)
    raise AttributeError(f"a TorchScript archive asks for {name!r} of a {type(obj).__name__}")


def put(obj, name, value):
    """Set an attribute of an object of the program."""
    if not has(obj, name) or callable(getattr(type(obj), name, None)):
        raise AttributeError(f"a TorchScript archive sets {name!r} of a {type(obj).__name__}")
    setattr(obj, name, value)
