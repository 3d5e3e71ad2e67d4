"""torch.export.export: the tracing of a module with what stands for its parameters, buffers and inputs."""
from __future__ import annotations

import contextlib
import inspect
import re


from .. import Tensor
from .._dispatch.python import begin, unseen
from ..fx.graph import Graph
from ..nn import Module
from ..ops import aten
from ..utils import _pytree as pytree
from . import tracing
from .dynamic_shapes import bounds_of, names_of, paths_of, symbols_of
from .graph_signature import (ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, SymIntArgument,
                              TensorArgument)
from .parts import apart
from .program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .sizes import INFINITE, Again, Key, Symbols, ValueRanges, in_all_cases, int_oo

_HINT = ("\n\nThe error above occurred when calling torch.export.export. If you would like to view some more information about this error, "
         "and get a list of all other errors that may occur in your export call, you can replace your `export()` call with "
         "`draft_export()`.")


def export(mod, args, kwargs=None, *, dynamic_shapes=None, strict=False, preserve_module_call_signature=(),
           prefer_deferred_runtime_asserts_over_guards=False):
    """The program of a module's call as a graph of ATen operators, for inputs of the examples' shapes; `dynamic_shapes` says which sizes
    may differ.

    The module is called once on tensors without values, so nothing is computed and nothing is changed. strict: the same. ValueError for
    what is no module, torch's UserError for arguments that are not a tuple, GuardOnDataDependentSymNode for conditions on values, and
    NotImplementedError for other uses of values.
    """
    from .._dynamo.exc import UserError
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(None, f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    kwargs = dict(kwargs or {})
    kept = [*preserve_module_call_signature]
    if kept:
        raise NotImplementedError("torchshim: torch.export.export(preserve_module_call_signature=)")
    made = _Export(mod, args, kwargs, dynamic_shapes)
    for _ in range(64):
        try:
            return made.program()
        except Again as again:
            made.learn(again)
    raise NotImplementedError("torchshim: torch.export of sizes that depend on each other in ways that tracing does not find out")


class _Export:
    def __init__(self, mod, args, kwargs, dynamic):
        self.mod, self.args, self.kwargs = mod, args, kwargs
        self.signature = inspect.signature(type(mod).forward.__get__(mod))
        self.bound = self.signature.bind(*args, **kwargs)
        self.names = names_of(self.signature, args, kwargs)
        self.leaves, self.in_spec = pytree.tree_flatten((tuple(args), kwargs))
        free = bounds_of(dynamic, self.signature, self.bound, args, kwargs)
        sources = _guard_names(self.signature, args, kwargs)
        self.symbols, self.sizes = symbols_of(free, self.leaves, sources)
        self.fixed, self.learned = set(), None     # learned: {number that depends on values: its range}, None where there are none

    def _tensors(self):
        """(kind, name, tensor, persistent) of the module's own."""
        free = {f"{path}.{n}" if path else n for path, m in self.mod.named_modules() for n in m._non_persistent_buffers_set}
        for name, p in self.mod.named_parameters(remove_duplicate=False):
            yield InputKind.PARAMETER, name, p, None
        for name, b in self.mod.named_buffers(remove_duplicate=False):
            yield InputKind.BUFFER, name, b, name not in free

    def learn(self, again):
        """What a trace found out about sizes. torch's UserError where the program asked for something else."""
        names = again.names
        if again.what == "values":
            self.learned = {**(self.learned or {}), **{name: again.value for name in names}}
            return
        if any([n not in self.symbols for n in names]):
            raise NotImplementedError("torchshim: torch.export of sizes that depend on values where the program asks for more than their ranges")
        if again.what == "failed" and len(names) == 2 and len({self.symbols[n].hint for n in names}) == 1:
            again.what = "same"
        if again.what == "same":
            old, new = [self.symbols[n] for n in names]
            if old.dim and new.dim and old.dim != new.dim:
                raise self._violated([old, new], [f"The values of {new.dim} = {new.source} and {old.dim} = {old.source} must always be "
                                                  "equal."],
                                     [f"{new.dim} = {old.dim}"])
            del self.symbols[old.name]
            new.least = max(old.least, new.least)
            new.most = min([m for m in (old.most, new.most) if m is not None], default=None)
            new.dim = new.dim or old.dim
            self.sizes = {place: size.replaced(old.name, new.name) for place, size in self.sizes.items()}
        elif again.what == "range":
            s = self.symbols[names[0]]
            if s.dim and (again.value[0], again.value[1]) != (s.least, s.most):
                low, high = again.value
                least, also = f"{low} <= " if low > s.least else "", f" and {s.source}" if low > s.least and high is not None else ""
                shown = "".join([f", min={low}" if low > 2 or s.least > 2 else "", "" if high is None else f", max={high}"])
                raise self._violated([s], [f"Not all values of {s.dim} = {s.source} in the specified range satisfy the generated guard "
                                           f"{least}{s.source}{also}{f' <= {high}' if high is not None else ''}."],
                                     [f"{s.dim} = Dim('{s.dim}'{shown})"])
            s.least, s.most = again.value
        else:
            for name in names:
                s = self.symbols[name]
                if s.strict:
                    said = s.dim or s.source
                    raise self._violated([s], [
                        f"You marked {said} as dynamic but your code specialized it to be a constant ({s.hint}). If you're using "
                        "mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either "
                        "Dim.STATIC or Dim.AUTO."], [f"{s.dim} = {s.hint}"] if s.dim else [])
                del self.symbols[name]
                self.sizes = {place: size for place, size in self.sizes.items() if name not in size.symbols()}

    def _violated(self, symbols, reasons, fixes):
        from .._dynamo.exc import UserError
        said = ", ".join([s.dim or s.source for s in symbols])
        text = (f'Constraints violated ({said})! For more information, run with TORCH_LOGS="+dynamic".\n'
                + "\n".join([f"  - {r}" for r in reasons]))
        return UserError(None, text + ("\nSuggested fixes:\n" + "\n".join([f"  {f}" for f in fixes]) if fixes else "") + _HINT)

    def _fake(self, mode, of, k, x):
        """What stands for an input: with symbols among its sizes where these may differ."""
        made = mode.fake.from_tensor(x)
        places = {d: size for (j, d), size in self.sizes.items() if j == k}
        return in_all_cases(of, made, places, x) if places else made

    def program(self):
        """One trace. Again where it found out that sizes depend on each other."""
        begin()
        self.inputs, self.graph = [], Graph()
        mod, graph, of = self.mod, self.graph, Symbols(self.symbols, self.learned)
        constants = {}
        for path, m in mod.named_modules():
            for n, x in vars(m).items():
                if isinstance(x, Tensor):
                    constants.setdefault(id(x), f"{path}.{n}" if path else n)
        mode = tracing.Tracing(graph, constants)
        mode.of, of.mode = of, mode
        fakes, specs = {}, {}
        own = list(self._tensors())
        for kind, name, x, persistent in own:
            prefix = "p_" if kind is InputKind.PARAMETER else "b_"
            step = graph.placeholder(prefix + re.sub(r"[^a-zA-Z0-9]", "_", name).removeprefix("self_"))
            specs[step] = kind, name, persistent
            if id(x) not in fakes:
                with unseen():
                    fakes[id(x)] = mode.fake.from_tensor(x)
                mode.track(fakes[id(x)], step)
            step.meta["val"] = _detached(mode, fakes[id(x)], x)
        made = []
        given = {}
        for k, (name, x) in enumerate(zip(self.names, self.leaves)):
            step = tracing.entry(graph, name)
            specs[step] = InputKind.USER_INPUT, None, None
            self.inputs.append(step)
            if isinstance(x, Tensor):
                if id(x) not in given:
                    with unseen():
                        given[id(x)] = self._fake(mode, of, k, x)
                    mode.track(given[id(x)], step)
                step.meta["val"] = _detached(mode, given[id(x)], x)
                made.append(given[id(x)])
            else:
                step.meta["val"] = x
                made.append(x)
        mode.last_input = next(reversed(list(graph.nodes)), None)
        for (k, d), size in self.sizes.items():
            if size.symbol() is not None:
                mode.input_sizes.setdefault(size.symbol(), (self.inputs[k], d))
        mode.first_input = self.inputs[0] if self.inputs else None
        mode.last_held = next(iter([s for s in reversed(list(specs)) if s not in self.inputs]), None)
        args, kwargs = pytree.tree_unflatten(made, self.in_spec)
        with _standing_in(mod, fakes) as changed, mode.within(mod), _counted(), mode:
            returned = mod(*args, **kwargs)
            for name, old, new in changed():
                aten.copy_.default(old, new)
            results, out_spec = pytree.tree_flatten(returned)
            out = tuple([mode.argument(x) for x in results])
        mode.number_inputs(self.symbols)
        graph.output(out)
        for step, name in mode.lifted:
            specs[step] = InputKind.CONSTANT_TENSOR, name, None
        root = apart(graph)
        for name, part in mode.parts.items():
            root.add_module(name, part)
        out = next(n for n in graph.nodes if n.op == "output").args[0]
        return self._assembled(mode, specs, out, out_spec, root)

    def _assembled(self, mode, specs, out, out_spec, root):
        graph, mod = self.graph, self.mod
        ins = []
        for step in graph.nodes:
            if step.op == "placeholder":
                kind, target, persistent = specs[step]
                value = step.meta["val"]
                arg = TensorArgument(step.name) if isinstance(value, Tensor) else ConstantArgument(step.name, value)
                ins.append(InputSpec(kind, arg, target, persistent))
        outs = [OutputSpec(OutputKind.USER_OUTPUT, ConstantArgument("", x) if not hasattr(x, "op") else TensorArgument(x.name)
            if isinstance(
            x.meta["val"], Tensor) else SymIntArgument(x.name), None) for x in out]
        state, constants = {}, dict(mode.constants)
        for kind, name, x, persistent in self._tensors():
            (constants if persistent is False else state)[name] = x
        entries = [ModuleCallEntry(path) for path, _ in mod.named_modules(remove_duplicate=False)]
        entries[0].signature = ModuleCallSignature([], [], self.in_spec, out_spec, list(self.bound.arguments) if not any([
            p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in self.signature.parameters.values()]) else _arg_names(
                self.signature, self.args, self.kwargs))
        guards = [(name, tuple(x.shape) if isinstance(x, Tensor) else x, {d: size for (j, d), size in self.sizes.items() if j == k})
                  for k, (name, x) in enumerate(zip(_guard_names(self.signature, self.args, self.kwargs), self.leaves))]
        ranges = {Key(name): ValueRanges(-int_oo if least == -INFINITE else least, int_oo if most == INFINITE else most)
                  for name, (least, most) in mode.of.unbacked.items()}
        for size in self.sizes.values():
            names = size.symbols()
            for name in names:
                s = self.symbols[name]
                if size.symbol() is None:
                    ranges[Key(size)] = ValueRanges(size.at({name: s.declared[0]}), int_oo if s.most is None else size.at({name: s.most}))
                ranges[Key(name)] = ValueRanges(max(s.least, 2) if size.symbol() is None else s.least, int_oo if s.most is None else s.most)
        return ExportedProgram(root, graph, ExportGraphSignature(ins, outs), state, ranges, entries, (self.args, self.kwargs), constants,
                               guards=(guards, {n: (s.least, s.most) for n, s in self.symbols.items()}))


def _detached(mode, fake, x):
    """What an input's step says of its value."""
    made = mode.noted(fake)
    if x.requires_grad:
        with unseen():
            made.requires_grad_()
    return made


def _arg_names(signature, args, kwargs):
    names = []
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        kind = signature.parameters[name].kind
        names += [f"{name}_{k}" for k in range(len(value))] if kind is inspect.Parameter.VAR_POSITIONAL else (
            list(value) if kind is inspect.Parameter.VAR_KEYWORD else [name])
    return names


def _guard_names(signature, args, kwargs):
    """How guards call the inputs: x, d['key'][0]."""
    return [n + "".join([str(p) for p in path]) for n, path in paths_of(signature, args, kwargs)]


@contextlib.contextmanager
def _counted():
    tracing.depth[0] += 1
    try:
        yield
    finally:
        tracing.depth[0] -= 1


@contextlib.contextmanager
def _standing_in(mod, fakes):
    """A block in which a module has tensors without values for its own. What is entered gives (name, that tensor, another) of each that the
    module put in its place."""
    kept = []
    modules = list(dict.fromkeys(mod.modules()))
    for m in modules:
        kept.append((m, dict(m._parameters), dict(m._buffers), dict(m.__dict__)))
        for table in (m._parameters, m._buffers):
            for name, x in table.items():
                if x is not None:
                    table[name] = fakes[id(x)]

    def changed():
        for m, _, buffers, _ in kept:
            for name, x in buffers.items():
                if x is not None and m._buffers.get(name) is not fakes[id(x)]:
                    yield name, fakes[id(x)], m._buffers[name]
    try:
        yield changed
    finally:
        for m, parameters, buffers, attributes in kept:
            for table, before in ((m._parameters, parameters), (m._buffers, buffers)):
                table.clear()
                table.update(before)
            for name in set(m.__dict__) - set(attributes):
                del m.__dict__[name]
            m.__dict__.update(attributes)
