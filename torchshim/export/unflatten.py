"""torch.export.unflatten: programs as the modules that they were."""
__all__ = ["FlatArgsAdapter", "UnflattenedModule", "unflatten"]


class FlatArgsAdapter:
    """Says how inputs that are nested otherwise become those of a program: subclasses define `adapt`."""

    def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        """The leaves for `target_spec`."""
        raise NotImplementedError

    def get_flat_arg_paths(self):
        """The paths of the leaves."""
        return []


class UnflattenedModule:
    """NotImplementedError."""

    def __init__(self, export_module, flat_args_adapter=None):
        raise NotImplementedError("torchshim: torch.export.unflatten: ExportedProgram.module() gives one module")


def unflatten(module, flat_args_adapter=None):
    """NotImplementedError."""
    return UnflattenedModule(module, flat_args_adapter)
