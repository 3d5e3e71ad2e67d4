"""torch.export's programs. There is no graph of ATen operators: an ExportedProgram holds the module as it was, and refuses inputs that
PyTorch's program, which is made for the examples' shapes, would refuse."""
from __future__ import annotations

import inspect

from .. import Tensor, serialization
from ..nn import Module
from ..utils._pytree import tree_flatten


class _Missing:
    def __init__(self, name):
        self.name = name

    def __get__(self, obj, cls=None):
        raise NotImplementedError(f"torchshim: ExportedProgram.{self.name}; there is no graph of ATen operators (jax.export writes "
                                  f"StableHLO)")


def _cloned(m, memo):
    """The module in new Module objects on the same parameters and buffers: what is set on the old ones later does not matter."""
    if m is None or id(m) in memo:
        return m and memo[id(m)]
    made = memo[id(m)] = type(m).__new__(type(m))
    made.__dict__.update(m.__dict__)
    for name in ("_parameters", "_buffers"):
        made.__dict__[name] = dict(m.__dict__[name])
    made.__dict__["_modules"] = {k: _cloned(c, memo) for k, c in m._modules.items()}
    return made


def _named(signature, args, kwargs):
    """(name, leaf) of each input, named as the guards name it."""
    bound = signature.bind(*args, **kwargs)
    found = []
    for name, value in bound.arguments.items():
        leaves = tree_flatten(value)[0]
        found += [(name if leaves and leaves[0] is value else f"{name}[{k}]", v) for k, v in enumerate(leaves)]
    return found


def _bounds(spec, dims):
    """{dimension: (least, greatest)} of what dynamic_shapes says of one tensor."""
    found = {}
    given = spec.items() if isinstance(spec, dict) else enumerate(spec or ())
    for k, d in given:
        if d is None or d is getattr(type(d), "STATIC", None) or isinstance(d, int):
            continue
        found[k] = (getattr(d, "min", None) or 0, getattr(d, "max", None))
    return found


class ExportedProgram:
    """A module with the inputs that it was exported for: `module()` gives what can be called."""

    graph, graph_module, graph_signature, range_constraints, call_spec = [_Missing(n) for n in
        ("graph", "graph_module", "graph_signature", "range_constraints", "call_spec")]
    dialect = "TRAINING"

    def __init__(self, module, args, kwargs, dynamic):
        self._module, self.example_inputs = module, (tuple(args), dict(kwargs))
        self._forward = inspect.signature(type(module).forward.__get__(module))
        self._spec = tree_flatten((tuple(args), dict(kwargs)))[1]
        names = _named(self._forward, args, kwargs)
        free = {}
        if isinstance(dynamic, dict):
            top = list(self._forward.bind(*args, **kwargs).arguments)
            if set(dynamic) != set(top):
                from .._dynamo.exc import UserError
                raise UserError(None, f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {top} of "
                                      f"`inputs`, "
                                f"but here they are {list(dynamic)}.")
            free = {n: _bounds(dynamic[n], v) for n, v in names if n in dynamic}
            nested = [n for n, v in names if n not in dynamic]
            if nested and any(tree_flatten(dynamic[n.partition("[")[0]])[0] for n in nested):
                raise NotImplementedError("torchshim: dynamic_shapes of inputs within inputs")
        elif dynamic is not None:
            free = {n: _bounds(d, v) for (n, v), d in zip(names, dynamic)}
        self._guards = [(n, tuple(v.shape) if isinstance(v, Tensor) else v, free.get(n, {})) for n, v in names]

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __repr__(self):
        return f"<ExportedProgram of {type(self._module).__name__}>"

    def __str__(self):
        raise NotImplementedError("torchshim: printing an ExportedProgram; there is no graph of ATen operators")

    @property
    def state_dict(self):
        """The parameters and buffers by name, parameters first."""
        return {**dict(self._module.named_parameters(remove_duplicate=False)), **dict(self._module.named_buffers(remove_duplicate=False))}

    constants: dict = {}

    def parameters(self):
        """The parameters."""
        return self._module.parameters()

    def named_parameters(self):
        """The parameters by name."""
        return self._module.named_parameters()

    def buffers(self):
        """The buffers."""
        return self._module.buffers()

    def named_buffers(self):
        """The buffers by name."""
        return self._module.named_buffers()

    def run_decompositions(self, decomp_table=None, decompose_custom_triton_ops=False):
        """The program itself: operators are not taken apart."""
        return self

    def check(self, args, kwargs):
        """ValueError or AssertionError for inputs that the program was not made for."""
        spec = tree_flatten((tuple(args), dict(kwargs)))[1]
        if spec != self._spec:
            raise ValueError(f"Trying to flatten user inputs with exported input tree spec: \n{self._spec}\nbut actually got inputs with "
                             f"tree "
                             f"spec of: \n{spec}.\nPlease check that the inputs have the same number and type of args and kwargs as the "
                             f"ones "
                             "you used when tracing.")
        for (name, want, free), (_, value) in zip(self._guards, _named(self._forward, args, kwargs)):
            if not isinstance(value, Tensor):
                if value != want:
                    raise AssertionError(f"Guard failed: {name} == {want}")
                continue
            if value.dim() != len(want):
                raise AssertionError(f"Guard failed: {name}.ndim == {len(want)}")
            for k, (n, w) in enumerate(zip(value.shape, want)):
                if k not in free and n != w:
                    raise AssertionError(f"Guard failed: {name}.size()[{k}] == {w}")
                least, most = free.get(k, (0, None))
                if k in free and n < least:
                    raise AssertionError(f"Guard failed: {name}.size()[{k}] >= {least}")
                if k in free and most is not None and n > most:
                    raise AssertionError(f"Guard failed: {name}.size()[{k}] <= {most}")

    def module(self, check_guards=True):
        """A module that computes the program, in the mode (training or not) of its export."""
        made, program = _cloned(self._module, {}), self
        original = type(made)

        def forward(self, *args, **kwargs):
            program.check(args, kwargs)
            return original.forward(self, *args, **kwargs)

        def refused(name):
            def method(self, *args):
                raise NotImplementedError(f"Calling {name}() is not supported yet.")
            return method
        made.__class__ = type("GraphModule", (original,), {"forward": forward, "train": refused("train"), "eval": refused("eval")})
        return made


def export(mod, args, kwargs=None, *, dynamic_shapes=None, strict=False, preserve_module_call_signature=(),
           prefer_deferred_runtime_asserts_over_guards=False):
    """The program of a module for inputs of the examples' shapes; `dynamic_shapes` says which sizes may differ.

    The module is called once with the examples. It is not traced: Python that asks for values of tensors, which PyTorch refuses, runs at
    each call. ValueError for what is no module, and torch's UserError for arguments that are not a tuple.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        from .._dynamo.exc import UserError
        raise UserError(None, f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    program = ExportedProgram(_cloned(mod, {}), args, kwargs or {}, dynamic_shapes)
    from .. import no_grad
    state = {k: v.clone() for k, v in mod.named_buffers()}
    with no_grad():
        program._module(*args, **(kwargs or {}))
        for k, v in mod.named_buffers():       # tracing leaves what batch norm counts as it was
            if not (v.device.type == "meta"):
                v.copy_(state[k])
    return program


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol=2):
    """Write a program for `load`; only torchshim reads it. TypeError for anything else."""
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead.")
    serialization.save({"torchshim_program": (ep._module, *ep.example_inputs, ep._guards), "extra_files": dict(extra_files or {})}, f)


def load(f, *, extra_files=None, expected_opset_version=None):
    """A program that `save` wrote; like `torch.load(weights_only=False)` it runs what the file says.

    NotImplementedError for PyTorch's files.
    """
    import zipfile
    with serialization._opened(f, "rb") as file:
        at = file.tell()
        foreign = zipfile.is_zipfile(file) and not any([n.endswith("/data.pkl") for n in zipfile.ZipFile(file).namelist()])
        file.seek(at)
        found = None if foreign else serialization.load(file, weights_only=False)
    if not isinstance(found, dict) or "torchshim_program" not in found:
        raise NotImplementedError("torchshim: torch.export.load of a file that PyTorch wrote; it holds a graph of ATen operators")
    module, args, kwargs, guards = found["torchshim_program"]
    for k in extra_files or ():
        extra_files[k] = found["extra_files"].get(k, extra_files[k])
    program = ExportedProgram(module, args, kwargs, None)
    program._guards = guards
    return program
