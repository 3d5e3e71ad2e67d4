"""torch.utils.hooks: what registering a hook returns."""
from ..tensor.core.graph import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f):
    """A decorator: the hook is left behind, with a warning, when its tensor is pickled."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Warn of hooks that pickling leaves behind."""
    import warnings
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function "
                          "with @torch.utils.hooks.unserializable_hook to suppress this warning", stacklevel=2)
