"""torch.export.graph_signature: what the inputs and outputs of a program's graph stand for."""
from __future__ import annotations

import dataclasses
import enum
from typing import Any, Optional

__all__ = ["ConstantArgument", "CustomObjArgument", "ExportBackwardSignature", "ExportGraphSignature", "InputKind", "InputSpec",
           "OutputKind", "OutputSpec", "SymBoolArgument", "SymFloatArgument", "SymIntArgument", "TensorArgument", "TokenArgument"]


@dataclasses.dataclass
class TensorArgument:
    """A tensor, by the name of its step."""
    name: str


@dataclasses.dataclass
class TokenArgument:
    """What orders effects."""
    name: str


@dataclasses.dataclass
class SymIntArgument:
    """A size, by the name of its step."""
    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A number that depends on values."""
    name: str


@dataclasses.dataclass
class SymBoolArgument:
    """A condition that depends on values."""
    name: str


@dataclasses.dataclass
class CustomObjArgument:
    """An object of a class of the program's own."""
    name: str
    class_fqn: str
    fake_val: Any = None


@dataclasses.dataclass
class ConstantArgument:
    """A number, a string or None that is part of the program."""
    name: str
    value: Any


class InputKind(enum.Enum):
    """What an input is."""
    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """What an output is."""
    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


def _line(kind, name, target, persistent=None):
    return f"{name}: {kind.name}" + (f" target='{target}'" if target is not None else "") + (
        f" persistent={persistent}" if persistent is not None else "")


@dataclasses.dataclass
class InputSpec:
    """An input: its kind, its step, and the parameter, buffer or constant that it is. persistent: of a buffer."""
    kind: InputKind
    arg: Any
    target: Optional[str]
    persistent: Optional[bool] = None

    def __post_init__(self):
        if self.kind == InputKind.BUFFER and self.persistent is None:
            raise AssertionError("Failed to specify persistent flag on BUFFER.")

    def __str__(self):
        return _line(self.kind, getattr(self.arg, "name", ""), self.target, self.persistent)


@dataclasses.dataclass
class OutputSpec:
    """An output: its kind, its step, and what it is written to."""
    kind: OutputKind
    arg: Any
    target: Optional[str]

    def __str__(self):
        return _line(self.kind, getattr(self.arg, "name", ""), self.target)


@dataclasses.dataclass
class ExportBackwardSignature:
    """Which outputs are gradients, of which inputs, and which is the loss."""
    gradients_to_parameters: dict
    gradients_to_user_inputs: dict
    loss_output: str


def _value(arg):
    return arg.value if isinstance(arg, ConstantArgument) else arg.name


@dataclasses.dataclass
class ExportGraphSignature:
    """What the inputs and outputs of a graph stand for, in their order."""
    input_specs: list
    output_specs: list

    def _inputs(self, kind):
        return [s for s in self.input_specs if s.kind == kind]

    def _outputs(self, kind):
        return [s for s in self.output_specs if s.kind == kind]

    parameters = property(lambda self: tuple([s.target for s in self._inputs(InputKind.PARAMETER)]), doc="Names of parameters.")
    buffers = property(lambda self: tuple([s.target for s in self._inputs(InputKind.BUFFER)]), doc="Names of buffers.")
    non_persistent_buffers = property(lambda self: {s.target for s in self._inputs(InputKind.BUFFER) if s.persistent is False},
                                      doc="Names of buffers that state dicts leave out.")
    lifted_tensor_constants = property(lambda self: tuple([s.target for s in self._inputs(InputKind.CONSTANT_TENSOR)]),
                                       doc="Names of tensors that are part of the program.")
    lifted_custom_objs = property(lambda self: tuple([s.target for s in self._inputs(InputKind.CUSTOM_OBJ)]), doc="Names of objects.")
    user_inputs = property(lambda self: tuple([_value(s.arg) for s in self._inputs(InputKind.USER_INPUT)]), doc="Names of a call's inputs.")
    user_outputs = property(lambda self: tuple([_value(s.arg) for s in self.output_specs if s.kind in (
        OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)]), doc="Names of what a call returns.")
    inputs_to_parameters = property(lambda self: {s.arg.name: s.target for s in self._inputs(InputKind.PARAMETER)},
                                    doc="{step: parameter}.")
    inputs_to_buffers = property(lambda self: {s.arg.name: s.target for s in self._inputs(InputKind.BUFFER)}, doc="{step: buffer}.")
    buffers_to_mutate = property(lambda self: {s.arg.name: s.target for s in self._outputs(OutputKind.BUFFER_MUTATION)},
                                 doc="{step: buffer that it is written to}.")
    parameters_to_mutate = property(lambda self: {s.arg.name: s.target for s in self._outputs(OutputKind.PARAMETER_MUTATION)},
                                    doc="{step: parameter that it is written to}.")
    user_inputs_to_mutate = property(lambda self: {s.arg.name: s.target for s in self._outputs(OutputKind.USER_INPUT_MUTATION)},
                                     doc="{step: input that it is written to}.")
    inputs_to_lifted_tensor_constants = property(lambda self: {s.arg.name: s.target for s in self._inputs(InputKind.CONSTANT_TENSOR)},
                                                 doc="{step: constant}.")
    inputs_to_lifted_custom_objs = property(lambda self: {s.arg.name: s.target for s in self._inputs(InputKind.CUSTOM_OBJ)},
                                            doc="{step: object}.")
    assertion_dep_token = None
    input_tokens = output_tokens = property(lambda self: (), doc="What orders effects: nothing here.")

    @property
    def backward_signature(self):
        """Of a joint graph; None for others."""
        losses = self._outputs(OutputKind.LOSS_OUTPUT)
        if not losses:
            return None
        gradients = [{s.arg.name: s.target for s in self._outputs(kind)} for kind in (OutputKind.GRADIENT_TO_PARAMETER,
                                                                                      OutputKind.GRADIENT_TO_USER_INPUT)]
        return ExportBackwardSignature(*gradients, losses[0].arg.name)

    def replace_all_uses(self, old, new):
        """Call a step by another name. AssertionError unless both are strings."""
        if not isinstance(old, str) or not isinstance(new, str):
            raise AssertionError(f"expected names, got {type(old)} and {type(new)}")
        for s in (*self.input_specs, *self.output_specs):
            if getattr(s.arg, "name", None) == old and not isinstance(s.arg, ConstantArgument):
                s.arg.name = new

    def get_replace_hook(self, replace_inputs=False):
        """A hook of graphs that keeps the names of outputs (and inputs) right."""
        def replaced(old, new, user):
            if user.op == "output" or replace_inputs and old.op == "placeholder":
                self.replace_all_uses(old.name, new)
        return replaced

    def __str__(self):
        return "\n".join(["", "# inputs", *[str(s) for s in self.input_specs], "", "# outputs", *[str(s) for s in self.output_specs], ""])
