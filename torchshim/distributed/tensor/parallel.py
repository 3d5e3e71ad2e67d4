"""torch.distributed.tensor.parallel: modules whose parameters and inputs are DTensors, cut by columns, rows or along a sequence.

The interface and the layouts are those of PyTorch's tensor parallelism; over the one process there is every part is the whole, so that a
module computes what it computes without.
"""
from __future__ import annotations

import contextlib
import fnmatch

from ... import nn
from ...dropin import missing_attribute as _missing_attribute
from ...engine import warn
from ...tensor.core.tensor import Tensor
from ..device_mesh import current_mesh
from ._api import DTensor, distribute_module, distribute_tensor
from .placement_types import Placement, Replicate, Shard

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput", "RowwiseParallel",
           "SequenceParallel", "loss_parallel", "parallelize_module"]


class ParallelStyle:
    """How one module is made parallel; subclasses define `_apply(module, device_mesh)`, which returns the module."""
    src_data_rank = 0

    def _apply(self, module, device_mesh):
        raise NotImplementedError


def _shown(style, names):
    return f"{type(style).__name__}({', '.join(f'{name}={getattr(style, name)}' for name in names)})"


def _laid(x, mesh, layouts, wanted):
    """An input as a DTensor that lies as `wanted`; a plain one lies as `layouts` say."""
    if not isinstance(x, DTensor):
        x = DTensor.from_local(x, mesh, layouts, run_check=False)
    return x if x.placements == tuple(wanted) else x.redistribute(placements=wanted)


def _place(module, name, p, mesh, placement):
    module.register_parameter(name, nn.Parameter(distribute_tensor(p.data, mesh, [placement]), requires_grad=p.requires_grad))


class _Cut(ParallelStyle):
    """A Linear or Embedding module with its weight cut along one dimension. `_cuts`: {module class: (weight's, bias's, wanted input's
    placement)}."""
    _cuts: dict = {}
    _defaults: tuple = ()

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output=True):
        super().__init__()
        self.input_layouts, self.output_layouts = (input_layouts or self._defaults[0],), (output_layouts or self._defaults[1],)
        self.use_local_output = use_local_output

    def _apply(self, module, device_mesh):
        """Place the parameters on the mesh and see to inputs and outputs. NotImplementedError for other modules."""
        cut = next((c for kind, c in self._cuts.items() if isinstance(module, kind)), None)
        if cut is None:
            raise NotImplementedError(f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!")

        def partition(name, part, mesh):
            for key, p in list(part.named_parameters()):
                _place(part, key, p, mesh, cut[1] if key == "bias" else cut[0])

        def before(mod, inputs, mesh):
            return _laid(inputs[0], mesh, self.input_layouts, (cut[2],))

        def after(mod, outputs, mesh):
            if outputs.placements != self.output_layouts:
                outputs = outputs.redistribute(placements=self.output_layouts)
            return outputs.to_local() if self.use_local_output else outputs
        return distribute_module(module, device_mesh, partition, before, after)

    def __repr__(self):
        return _shown(self, ("input_layouts", "output_layouts", "use_local_output"))


class ColwiseParallel(_Cut):
    """A Linear or Embedding module cut by the columns of what it computes. Inputs are replicated, outputs cut along the last dimension."""
    _cuts = {nn.Linear: (Shard(0), Shard(0), Replicate()), nn.Embedding: (Shard(1), Shard(1), Replicate())}
    _defaults = Replicate(), Shard(-1)


class RowwiseParallel(_Cut):
    """A Linear or Embedding module cut by the rows that it combines. Inputs are cut along the last dimension, outputs replicated."""
    _cuts = {nn.Linear: (Shard(1), Replicate(), Shard(-1)), nn.Embedding: (Shard(0), Shard(0), Replicate())}
    _defaults = Shard(-1), Replicate()


class SequenceParallel(ParallelStyle):
    """A module such as LayerNorm or Dropout on inputs cut along `sequence_dim`; its parameters are replicated."""

    def __init__(self, *, sequence_dim=1, use_local_output=False):
        super().__init__()
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _apply(self, module, device_mesh):
        def partition(name, part, mesh):
            for key, p in list(part.named_parameters()):
                _place(part, key, p, mesh, Replicate())

        def before(mod, inputs, mesh):
            if not isinstance(inputs[0], Tensor):
                raise ValueError(f"expecting input of {mod} to be a torch.Tensor or DTensor, but got {inputs[0]}")
            return _laid(inputs[0], mesh, self.sequence_sharding, self.sequence_sharding)

        def after(mod, outputs, mesh):
            return outputs.to_local() if self.use_local_output else outputs
        return distribute_module(module, device_mesh, partition, before, after)

    def __repr__(self):
        return f"SequenceParallel(sequence_dim={self.sequence_sharding[0].dim}, use_local_output={self.use_local_output})"


def _tuple(x):
    return (x,) if isinstance(x, Placement) else x


def _same_length(a, b, what):
    if len(a) != len(b):
        raise AssertionError(f"{what} should have same length!")


def _prepared(x, mesh, layout, wanted, local):
    if layout is None:
        return x
    if not isinstance(x, Tensor):
        raise AssertionError("expecting input to be a torch.Tensor!")
    x = x if isinstance(x, DTensor) else DTensor.from_local(x, mesh, (layout,), run_check=False)
    if wanted is not None and layout != wanted:
        x = x.redistribute(placements=(wanted,))
    return x.to_local() if local else x


class PrepareModuleInput(ParallelStyle):
    """Make a module's inputs DTensors that lie as the desired layouts say; None leaves one as it is."""

    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None, desired_input_kwarg_layouts=None,
                 use_local_output=False):
        self.input_layouts, self.desired_input_layouts = _tuple(input_layouts), _tuple(desired_input_layouts)
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            _same_length(self.input_layouts, self.desired_input_layouts, "input_layouts and desired_input_layouts")
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts, self.desired_input_kwarg_layouts = input_kwarg_layouts or {}, desired_input_kwarg_layouts or {}
        if self.with_kwargs:
            _same_length(self.input_kwarg_layouts, self.desired_input_kwarg_layouts, "input_kwarg_layouts and desired_input_kwarg_layouts")

    def _inputs(self, inputs, mesh):
        if self.input_layouts is None:
            return inputs
        if len(inputs) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        return tuple([_prepared(x, mesh, *layouts, self.use_local_output)
                      for x, *layouts in zip(inputs, self.input_layouts, self.desired_input_layouts)])

    def _apply(self, module, device_mesh):
        def before(mod, inputs, kwargs):
            named = {key: _prepared(x, device_mesh, self.input_kwarg_layouts.get(key), self.desired_input_kwarg_layouts.get(key),
                                    self.use_local_output) for key, x in kwargs.items()}
            return self._inputs(inputs, device_mesh), named
        module.register_forward_pre_hook(before, with_kwargs=True)
        return module

    def __repr__(self):
        return _shown(self, ("input_layouts", "desired_input_layouts", "input_kwarg_layouts", "desired_input_kwarg_layouts",
                             "use_local_output"))


class PrepareModuleOutput(ParallelStyle):
    """The same for a module's outputs."""

    def __init__(self, *, output_layouts, desired_output_layouts, use_local_output=True):
        self.output_layouts, self.desired_output_layouts = _tuple(output_layouts), _tuple(desired_output_layouts)
        self.use_local_output = use_local_output
        _same_length(self.output_layouts, self.desired_output_layouts, "output_layouts and desired_output_layouts")

    def _apply(self, module, device_mesh):
        def after(mod, inputs, outputs):
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            if len(outputs) != len(self.output_layouts):
                raise ValueError("module outputs and output_layouts should have same length!")
            made = tuple([_prepared(x, device_mesh, *layouts, self.use_local_output)
                          for x, *layouts in zip(outputs, self.output_layouts, self.desired_output_layouts)])
            return made[0] if len(made) == 1 else made
        module.register_forward_hook(after)
        return module

    def __repr__(self):
        return _shown(self, ("output_layouts", "desired_output_layouts", "use_local_output"))


class PrepareModuleInputOutput(ParallelStyle):
    """The same for both."""

    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None, desired_input_kwarg_layouts=None,
                 use_local_input=False, output_layouts, desired_output_layouts, use_local_output=True):
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts, input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(output_layouts=output_layouts, desired_output_layouts=desired_output_layouts,
                                                         use_local_output=use_local_output)

    def _apply(self, module, device_mesh):
        return self.prepare_module_output._apply(self.prepare_module_input._apply(module, device_mesh), device_mesh)

    def __repr__(self):
        before, after = self.prepare_module_input, self.prepare_module_output
        return (f"PrepareModuleInputOutput(input_layouts={before.input_layouts}, desired_input_layouts={before.desired_input_layouts}, "
                f"input_kwarg_layouts={before.input_kwarg_layouts}, desired_input_kwarg_layouts={before.desired_input_kwarg_layouts}, "
                f"use_local_input={before.use_local_output}, output_layouts={after.output_layouts}, "
                f"desired_output_layouts={after.desired_output_layouts}, use_local_output={after.use_local_output})")


def parallelize_module(module, device_mesh=None, parallelize_plan=None, *, src_data_rank=0):
    """Make a module parallel in place, and return it.

    parallelize_plan: a ParallelStyle, or {path of submodules, with wildcards for names: ParallelStyle}; a path that leads nowhere warns.
    TypeError for another plan.
    """
    mesh = device_mesh or current_mesh()
    if parallelize_plan is None:
        warn("No parallelize_plan is provided and auto-parallel is not supported at the moment, so this parallelize_module call will do "
             "nothing.")
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} found!")
    for path, style in parallelize_plan.items():
        token, _, rest = path.partition(".")
        if not path:
            parallelize_module(module, mesh, style)
            continue
        found = [part for name, part in module.named_children() if fnmatch.fnmatch(name, token)]
        if not found:
            warn(f"Parallelize plan key '{path}' could not be resolved: no submodule matching token '{token}' in module {module}, skipping "
                 "this plan entry.")
        for part in found:
            parallelize_module(part, mesh, {rest: style} if rest else style, src_data_rank=src_data_rank)
    return module


@contextlib.contextmanager
def loss_parallel():
    """A context in which `cross_entropy` takes logits cut along their classes; with one process they are whole."""
    yield


__getattr__ = _missing_attribute(__name__)
