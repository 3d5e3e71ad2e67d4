"""GraphModule: a module whose forward is the code of a graph."""
from __future__ import annotations

import builtins
import copy
import functools
import importlib
import itertools
import linecache
import os
import pathlib
import sys
import traceback
import types

from .. import Tensor
from ..nn import Module
from ..nn.parameter import Parameter
from .codegen import _PyTreeCodeGen
from .graph import Graph
from .namespace import CUSTOM_BUILTINS

_torch = sys.modules[__name__.partition(".")[0]]
_numbers = itertools.count()
_HERE = os.path.dirname(_torch.__file__)
_GUARDS = os.path.join("export", "program.py")           # what refuses inputs is not the generated code's own error
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"     # where `meta` keeps what is to survive copies
_SHOWN = "Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d"      # their text makes them again
_HOOKS = """_state_dict_hooks _load_state_dict_pre_hooks _load_state_dict_post_hooks _replace_hooks _create_node_hooks _erase_node_hooks
    _deepcopy_hooks""".split()


class _CodeOnlyModule(Module):
    """A module that has the attributes of another, which it is given as a dict."""

    def __init__(self, body):
        super().__init__()
        self.__dict__ = body


def _import_torch(name, globals=None, locals=None, fromlist=(), level=0):
    """`import` for generated code: torch is this package, installed or not."""
    if name.partition(".")[0] != "torch":
        return builtins.__import__(name, globals, locals, fromlist, level)
    ours = importlib.import_module(_torch.__name__ + name[5:])
    return ours if fromlist else _torch


def _exec_with_source(src, space, co_fields=None):
    """Run source text under a file name of its own, so that tracebacks and `inspect` find its lines; returns the name."""
    where = f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}" if co_fields else ""
    filename = f"<eval_with_key>.{next(_numbers)}{where}"
    linecache.cache[filename] = (len(src), None, src.splitlines(True), filename)
    exec(compile(src, filename, "exec"), space)
    return filename


def _forward_from_src(src, space, co_fields=None):
    space = dict(space)
    _exec_with_source(src, space, co_fields)
    return space["forward"]


def _import_line(name, obj):
    if name in CUSTOM_BUILTINS:
        return CUSTOM_BUILTINS[name]
    if name in ("wrap",) or getattr(builtins, name, None) is obj:
        return ""
    if isinstance(obj, types.ModuleType):
        return f"import {obj.__name__} as {name}"
    module, own = obj.__module__, getattr(obj, "__qualname__", None) or obj.__name__
    if own.partition(".")[0] != own or "<" in own:
        raise RuntimeError(f"can't pickle a graph that uses {obj!r}: it can't be imported by name")
    module = "operator" if module == "_operator" else module
    return f"from {module} import {own}" + ("" if own == name else f" as {name}")


def _format_import_block(space):
    """The lines that make the global names of generated code."""
    return "\n".join([line for line in dict.fromkeys([_import_line(n, v) for n, v in space.items()]) if line])


def _copy_attr(source, target, path):
    *parents, leaf = path.split(".")
    for name in parents:
        inner, mine = getattr(source, name), getattr(target, name, None)
        if inner is mine:
            return
        if mine is None:
            mine = Module()
            setattr(target, name, mine)
        source, target = inner, mine
    value = getattr(source, leaf)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        target.register_buffer(leaf, value)
    else:
        setattr(target, leaf, value)


def _assign_attr(value, target, path):
    """Set an attribute by its dotted name, with modules on the way where there are none."""
    *parents, leaf = path.split(".")
    for name in parents:
        inner = getattr(target, name, None)
        if inner is None:
            inner = Module()
            setattr(target, name, inner)
        target = inner
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        target.register_buffer(leaf, value)
    else:
        setattr(target, leaf, value)


def _get_attr(model, path):
    """An attribute by its dotted name."""
    return functools.reduce(getattr, path.split("."), model)


def _has_attr(model, path):
    """Whether there is an attribute of a dotted name."""
    *parents, leaf = path.split(".")
    for name in parents:
        model = getattr(model, name, None)
    return hasattr(model, leaf)


def _del_attr(model, path):
    """Delete an attribute by its dotted name."""
    parent, _, leaf = path.rpartition(".")
    delattr(model.get_submodule(parent), leaf)


class _Call:
    """A GraphModule's `__call__`: an error in generated code is shown with its lines, which no file has."""

    def __init__(self, cls, call):
        self.cls, self.call = cls, call

    def __call__(self, module, *args, **kwargs):
        try:
            return self.call(module, *args, **kwargs) if self.call is not None else super(self.cls, module).__call__(*args, **kwargs)
        except Exception as e:
            frame = ([f for f in traceback.extract_tb(e.__traceback__) if not f.filename.startswith(_HERE) or f.filename.endswith(_GUARDS)]
                     or [None])[-1]
            if frame is None or not frame.filename.startswith("<eval_with_key>"):
                raise
            print(traceback.format_exc(), file=sys.stderr)
            lines = linecache.getlines(frame.filename)
            before, line, after = lines[frame.lineno - 2: frame.lineno - 1], lines[frame.lineno - 1], lines[frame.lineno: frame.lineno + 2]
            print("\n".join([f"Call using an FX-traced Module, line {frame.lineno} of the traced Module's generated forward function:",
                             "".join([*before, line]), "~" * (len(line.rstrip()) - 1) + " <--- HERE", *after]), file=sys.stderr)
            raise e.with_traceback(None)        # noqa: B904


class GraphModule(Module):
    """A module made of a graph. root: the module (or {name: attribute}) whose attributes the graph uses; `code` is what it runs.

    After changes of `graph` call `recompile()`. RuntimeError where `root` lacks what the graph reads.
    """

    def __new__(cls, *args, **kwargs):
        # each has a class of its own, since forward lies there
        base = next(c for c in cls.__mro__ if not c.__qualname__.endswith("GraphModuleImpl"))
        made = types.new_class("GraphModuleImpl", (base,))
        made.__module__, made.__qualname__ = __name__, "GraphModule.__new__.<locals>.GraphModuleImpl"
        return super().__new__(made)

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            if isinstance(root, _CodeOnlyModule):
                for name in [*dict(root.named_children()), *root._buffers, *root._parameters]:
                    _copy_attr(root, self, name)
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            targets = []
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    if node.target not in root:
                        raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided in ``root``!")
                    targets.append(node.target)
            for name in sorted(targets, key=lambda t: t.count(".")):
                _assign_attr(root[name], self, name)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self._tracer_cls = graph._tracer_cls if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__ else None
        self._tracer_extras, self.meta, self.shape_env = graph._tracer_extras or {}, {}, None

    @property
    def graph(self):
        """The graph; assigning one recompiles."""
        return self.__dict__["_graph"]

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The source of forward."""
        return self.__dict__["_code"]

    def recompile(self):
        """Make forward anew from the graph; returns the code."""
        codegen, cls = self._graph._codegen, type(self)
        if isinstance(codegen, _PyTreeCodeGen):
            self.__dict__["_in_spec"], self.__dict__["_out_spec"] = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        made = self._graph.python_code("self")
        self.__dict__["_code"], self.__dict__["_lineno_map"] = made.src, made._lineno_map
        cls.forward = _forward_from_src(made.src, made.globals, self._graph._co_fields)
        own = cls.__dict__.get("__call__")
        if "_wrapped_call" not in cls.__dict__:
            cls._wrapped_call = _Call(cls, own)

            def call_wrapped(module, *args, **kwargs):
                return module._wrapped_call(module, *args, **kwargs)
            cls.__call__ = call_wrapped
        return made

    def add_submodule(self, target, m):
        """Install a module at a dotted name; whether that was possible."""
        *parents, leaf = target.split(".")
        at = self
        for name in parents:
            inner = getattr(at, name, None)
            if inner is None:
                inner = Module()
                setattr(at, name, inner)
            if not isinstance(inner, Module):
                return False
            at = inner
        at.add_module(leaf, m)
        return True

    def delete_submodule(self, target):
        """Remove a submodule; whether it was there."""
        *parents, leaf = target.split(".")
        at = self
        for name in parents:
            at = getattr(at, name, None)
        if not isinstance(getattr(at, leaf, None), Module):
            return False
        delattr(at, leaf)
        return True

    def delete_all_unused_submodules(self):
        """Remove the submodules that the graph does not use."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update([".".join(parts[:k + 1]) for k in range(len(parts))])
                called = functools.reduce(lambda m, name: getattr(m, name, None), parts, self) if node.op == "call_module" else None
                if called is not None:
                    used.update([f"{node.target}.{n}" for n, _ in called.named_modules() if n])
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    def to_folder(self, folder, module_name="FxModule"):
        """Write the module as a Python package: `module.py` with a class, and its parameters."""
        folder = pathlib.Path(folder)
        folder.mkdir(exist_ok=True)
        _torch.save(self.state_dict(), folder / "state_dict.pt")
        made = self.graph.python_code("self")
        text = ("\nimport torch\n" + _format_import_block(made.globals) + "\n\nfrom torch.nn import *\n"
                f"class {module_name}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n")
        for name, module in self.named_children():
            if type(module).__name__ in _SHOWN and type(module) is getattr(_torch.nn, type(module).__name__):
                shown = repr(module)
            else:
                _torch.save(module, folder / f"{name}.pt")
                shown = f"torch.load(r'{folder / (name + '.pt')}', weights_only=False)  # {type(module).__name__}"
            text += f"        setattr(self, '{name}', {shown})\n"
        for name, b in self._buffers.items():
            if b is not None:
                text += f"        self.register_buffer('{name}', torch.empty({list(b.shape)}, dtype={b.dtype}))\n"
        for name, p in self._parameters.items():
            if p is not None:
                text += f"        setattr(self, '{name}', torch.nn.Parameter(torch.empty({list(p.shape)}, dtype={p.dtype})))\n"
        text += f"        self.load_state_dict(torch.load(r'{folder / 'state_dict.pt'}'))\n" + _indented(self.code, 4) + "\n"
        for name, content in (("module.py", text), ("__init__.py", f"from .module import {module_name}\n")):
            partial = folder / f".{name}.{os.getpid()}"
            partial.write_text(content)
            os.replace(partial, folder / name)

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False, **options):
        """The code as that of a class, with the places where the program made the steps; printed, and returned."""
        if include_stride or include_device or any(options.values()):
            raise NotImplementedError("torchshim: print_readable with more than the code")
        text = self._readable(type(self).__name__)
        if print_output:
            print(text)
        return text

    def _readable(self, name):
        code = self.graph.python_code("self", verbose=True).src.lstrip("\n")
        inner = [m._readable(n) for n, m in self.named_children() if isinstance(m, GraphModule)]
        return _indented(f"class {name}(torch.nn.Module):\n{code}", 4) + _indented("\n".join(["", *inner]), 4)

    def _replicate_for_data_parallel(self):
        made = copy.copy(self)
        made.__dict__["_is_replica"] = True
        return made

    def __copy__(self):
        made = GraphModule(self, self.graph)
        made.meta = self.__dict__.get("meta", {})
        return made

    def __deepcopy__(self, memo):
        made = memo[id(self)] = type(self).__new__(type(self))
        body = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        GraphModule.__init__(made, body, body.__dict__["_graph"])
        for name in _HOOKS:
            if name in self.__dict__:
                made.__dict__[name] = copy.deepcopy(self.__dict__[name], memo)
        made.meta = copy.deepcopy(self.__dict__.get("meta", {}), memo)
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        return made

    def __reduce__(self):
        """By its code, which is traced when it is loaded, as PyTorch does; their files and ours are alike."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_lineno_map", "_wrapped_call")}
        state["_graphmodule_cls_name"] = type(self).__name__
        return reduce_graph_module, (state, _format_import_block(self.recompile().globals))

    def __str__(self):
        return "\n".join([super().__repr__(), self.code, "# To see more debug info, please use `graph_module.print_readable()`"])


def _indented(text, spaces):
    """All lines but the first moved to the right, empty ones but for their spaces."""
    first, *rest = text.split("\n")
    return "\n".join([first, *[" " * spaces + line if line.strip() else "" for line in rest]])


def reduce_graph_module(body, import_block):
    """The GraphModule of a pickle. body: its attributes, with the code of forward; import_block: what the code needs."""
    from ._symbolic_trace import Tracer

    class KeepModules(Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return True
    src = body.get("_code") or body["code"]
    space = {"__builtins__": {**vars(builtins), "__import__": _import_torch}}
    forward = _forward_from_src(f"{import_block}\n{src}", space)
    shell = _CodeOnlyModule(body)
    tracer_cls, name = body.get("_tracer_cls"), body.get("_graphmodule_cls_name", "GraphModule")
    shell_class = type("CodeOnlyModule", (_CodeOnlyModule,), {"forward": forward})
    shell.__class__ = shell_class
    graph = KeepModules().trace(shell, **body.get("_tracer_extras", {}))
    graph._tracer_cls = tracer_cls
    made = GraphModule(shell, graph, class_name=name)
    for k, v in body.items():
        if not hasattr(made, k):
            setattr(made, k, v)
    return made
